// per_thread<T>(): the calling thread's T, created at its first use.
//
// It is on the heap: libraries that Python loads late share 512 bytes of thread-local memory. If
// torch has used them up, a library that needs more fails to load.
#pragma once

#include <memory>

namespace uh {

template <class T>
T& per_thread() {
  thread_local std::unique_ptr<T> value;
  if (!value) value = std::make_unique<T>();
  return *value;
}

}  // namespace uh
