// Errors of the engine: one C++ exception class with a kind.
//
// Every failure is thrown as uh::Error. Its kind chooses the Python class (PyTorch's choice);
// its text has the operator, the actual values and the rule, in lower case without a full
// stop. Invariant: no exception crosses the C ABI; capi/guard.h stores it as the thread's last
// error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>

#include "base/error_kinds.h"

namespace uh {

enum class ErrorKind : int {
  kRuntime = UH_ERROR_RUNTIME,
  kValue = UH_ERROR_VALUE,
  kType = UH_ERROR_TYPE,
  kIndex = UH_ERROR_INDEX,
  kNotImplemented = UH_ERROR_NOT_IMPLEMENTED,
  kMemory = UH_ERROR_MEMORY,
  kBuffer = UH_ERROR_BUFFER,
  kInternal = UH_ERROR_INTERNAL,
  kLinAlg = UH_ERROR_LINALG,
  kForeign = UH_ERROR_FOREIGN,
  kScript = UH_ERROR_SCRIPT,
  kDeviceMemory = UH_ERROR_DEVICE_MEMORY,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Host code accessed elements in the memory of another device. Thrown by a tensor, without the
// operator's name, which the C ABI then puts before the text.
class HostReadError final : public Error {
 public:
  explicit HostReadError(const std::string& message) : Error(ErrorKind::kNotImplemented, message) {}
};

// One part of a message: anything streamable, as a pointer and the function that writes it.
// There are some 900 messages; joining them is compiled once (error.cpp), and each is a short list.
class Piece {
 public:
  Piece(const char* text)  // of any length: a template of arrays would be one function per length
      : value_(text), write_([](std::ostream& out, const void* value) {
          out << static_cast<const char*>(value);
        }) {}
  template <class T>
  Piece(const T& value)
      : value_(&value),
        write_([](std::ostream& out, const void* value) { out << *static_cast<const T*>(value); }) {
  }
  void write(std::ostream& out) const { write_(out, value_); }

 private:
  const void* value_;
  void (*write_)(std::ostream& out, const void* value);
};

std::string joined(std::initializer_list<Piece> pieces);
[[noreturn]] void fail_with(ErrorKind kind, std::initializer_list<Piece> pieces);

// Joins anything streamable into one string: message("mm: ", 2, " != ", 3).
template <class... Parts>
std::string message(const Parts&... parts) {
  return joined({Piece(parts)...});
}

template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  fail_with(kind, {Piece(parts)...});
}

// Throws for a user's mistake unless `ok`. The message is built only then.
template <class... Parts>
inline void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(ErrorKind::kRuntime, parts...);
}

template <class... Parts>
inline void check_kind(bool ok, ErrorKind kind, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(kind, parts...);
}

}  // namespace uh
