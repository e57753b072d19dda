// per_thread<T>(): the calling thread's T, made at its first use.
//
// It is on the heap: thread-local memory of a library that Python loads late is taken from 512
// bytes that it shares with all others. When torch has taken them, a larger library does not load.
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
