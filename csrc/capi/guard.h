// The boundary between C++ exceptions and the C ABI.
#pragma once

#include <type_traits>

#include "base/call_section.h"
#include "base/error.h"

namespace uh {

// Note [The last error]: after a call has failed and before its host reads the error, other code
// may run on the thread: a garbage collector's finalizers, whose own calls may fail. A thread's
// errors therefore form a stack. Each failure is pushed; the host pops each error that it has read,
// and nested code does not touch the errors below its own.

// Pushes an error and returns the previous number of errors.
size_t set_last_error(ErrorKind kind, const char* text);
// Pops unread errors down to this number.
void forget_errors(size_t until);
// Throws this thread's last error, set by a failed callback.
[[noreturn]] void throw_last_error();

// Within a catch block: stores the exception as the last error. Every function of the C ABI needs
// it; inlined into each, it would be most of their code.
// `op`: the operator's name, where the function is one.
void remember_failure(const char* op = nullptr);

// Runs f as a call (Note [Calls and changes]) and returns its result. If f throws, stores the error
// and returns `failure`. The result has f's type, so that a literal 0 as `failure` does not turn a
// handle into an int.
template <class Failure, class F>
std::invoke_result_t<F> guard(Failure failure, F&& f, const char* op = nullptr) {
  const CallSection call;
  try {
    return f();
  } catch (...) {
    remember_failure(op);
  }
  return static_cast<std::invoke_result_t<F>>(failure);
}

// Registers the operators; must run before every other function.
void initialise();

}  // namespace uh
