// per_thread<T>(): the calling thread's T, created at its first use.
//
// It is on the heap: libraries that Python loads late share 512 bytes of thread-local memory. If
// torch has used them up, a library that needs more fails to load.
//
// It may be used until the process ends. The destructors of static objects run after those of the
// main thread's thread-local ones, and may release Tensors: they get another T, which is leaked.
#pragma once

#include <utility>

namespace uh {

template <class T>
T& per_thread() {
  thread_local constinit T* value = nullptr;
  if (!value) [[unlikely]] {
    struct Owner {
      ~Owner() { delete std::exchange(value, nullptr); }
    };
    thread_local Owner owner;
    value = new T;
  }
  return *value;
}

}  // namespace uh
