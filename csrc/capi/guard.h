// The wall between C++ exceptions and the C ABI.
#pragma once

#include <type_traits>

#include "base/call_section.h"
#include "base/error.h"

namespace uh {

void set_last_error(ErrorKind kind, const char* text);
// A callback has failed and left its reason as this thread's last error: goes on with that.
[[noreturn]] void throw_last_error();

// Within a catch block: remembers why the exception was thrown. Written once, for it is needed in
// every function of the C ABI, and compiled into each it would be most of it.
void remember_failure();

// Runs f as a call (Note [Calls and changes]) and returns its result;
// when f throws, remembers why and returns `failure`.
// The type is f's: a bare 0 as `failure` must not make a handle an int.
template <class Failure, class F>
std::invoke_result_t<F> guard(Failure failure, F&& f) {
  const CallSection call;
  try {
    return f();
  } catch (...) {
    remember_failure();
  }
  return static_cast<std::invoke_result_t<F>>(failure);
}

// The engine is ready (operators registered) before anything else is called.
void initialise();

}  // namespace uh
