// The wall between C++ exceptions and the C ABI.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace uh {

void set_last_error(ErrorKind kind, const char* text);

// Runs f and returns its result; when f throws, remembers why and returns `failure`.
// The type is f's: a bare 0 as `failure` must not make a handle an int.
template <class Failure, class F>
std::invoke_result_t<F> guard(Failure failure, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    set_last_error(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    set_last_error(ErrorKind::kMemory, "out of memory");
  } catch (const std::exception& error) {
    set_last_error(ErrorKind::kInternal, error.what());
  }
  return static_cast<std::invoke_result_t<F>>(failure);
}

// The engine is ready (operators registered) before anything else is called.
void initialise();

}  // namespace uh
