// PyTorch's C++ names for the engine, for the sources of PyTorch extensions.
//
// A namespace alias cannot have further members, so torch, at and c10 are namespaces that use `uh`.
// torch/extension.h adds the Python part.
#pragma once

#include <iostream>
#include <sstream>

#include "capi/underhood_autograd.hpp"

namespace at {
using namespace ::uh;  // NOLINT: that is what these namespaces are
using IntArrayRef = std::vector<int64_t>;
template <class T>
using ArrayRef = std::vector<T>;
using TensorList = std::vector<::uh::Tensor>;
using OptionalIntArrayRef = std::optional<std::vector<int64_t>>;
using AutoNonVariableTypeMode = ::uh::AutoDispatchBelowAutograd;
using AutoDispatchBelowADInplaceOrView = ::uh::AutoDispatchBelowAutograd;
}  // namespace at
namespace c10 {
using namespace ::at;  // NOLINT
using IValue = ::uh::Value;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

namespace detail {
[[noreturn]] inline void fail(int kind, const char* condition, const std::string& text) {
  throw ::uh::Error(kind, text.empty()
                              ? "Expected " + std::string(condition) + " to be true, but got false."
                              : text);
}
template <class... T>
std::string str(const T&... parts) {
  std::ostringstream out;
  ((out << parts), ...);
  return out.str();
}
}  // namespace detail
template <class... T>
std::string str(const T&... parts) {
  return detail::str(parts...);
}
}  // namespace c10
namespace torch {
using namespace ::c10;  // NOLINT
namespace autograd = ::uh::autograd;
}  // namespace torch

namespace uh {
inline namespace v1 {
// PyTorch's names of dtypes, and its format of lists.
inline const char* toString(ScalarType dtype) {
  constexpr const char* names[] = {"Bool",  "Byte",   "Char",         "Short",
                                   "Int",   "Long",   "Half",         "BFloat16",
                                   "Float", "Double", "ComplexFloat", "ComplexDouble"};
  return names[static_cast<size_t>(dtype)];
}
inline std::ostream& operator<<(std::ostream& out, ScalarType dtype) {
  return out << toString(dtype);
}
inline std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << (device.is_meta() ? "meta" : "cpu");
}
// Prints the rows of the last two dimensions, then dtype and sizes.
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (!tensor) return out << "[ Tensor (undefined) ]";
  const bool is_complex = tensor.is_complex();
  const std::vector<double> values = tensor.doubles();
  const int64_t columns = tensor.dim() ? tensor.size(-1) : 1;
  const size_t parts = is_complex ? 2 : 1;
  for (size_t i = 0; i < values.size(); i += parts) {
    const auto column = static_cast<int64_t>(i / parts) % std::max<int64_t>(columns, 1);
    out << ' ' << values[i];
    if (is_complex) out << (values[i + 1] < 0 ? "" : "+") << values[i + 1] << 'j';
    if (column == columns - 1 || tensor.dim() <= 1) out << '\n';
  }
  out << "[ CPU" << tensor.dtype() << "Type{";
  const Sizes sizes = tensor.sizes();
  for (size_t d = 0; d < sizes.size(); ++d) out << (d ? "," : "") << sizes[d];
  return out << "} ]";
}
}  // namespace v1
}  // namespace uh

#define UNDERHOOD_CHECK(kind, condition, ...)                                                      \
  do {                                                                                             \
    if (!(condition)) ::c10::detail::fail(kind, #condition, ::c10::detail::str(__VA_ARGS__));      \
  } while (0)
#define TORCH_CHECK(condition, ...)                                                                \
  UNDERHOOD_CHECK(UH_ERROR_RUNTIME, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...)                                                          \
  UNDERHOOD_CHECK(UH_ERROR_INDEX, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...)                                                          \
  UNDERHOOD_CHECK(UH_ERROR_VALUE, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...)                                                           \
  UNDERHOOD_CHECK(UH_ERROR_TYPE, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...)                                                \
  UNDERHOOD_CHECK(UH_ERROR_NOT_IMPLEMENTED, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...)                                                      \
  UNDERHOOD_CHECK(UH_ERROR_RUNTIME, condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ERROR(...) TORCH_CHECK(false, __VA_ARGS__)
#define TORCH_WARN(...) (std::cerr << "Warning: " << ::c10::detail::str(__VA_ARGS__) << '\n')

#define TORCH_LIBRARY(ns, m) UH_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) UH_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) UH_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(function) &function

// An extension without pybind11 may define its own import function: this makes it visible despite
// -fvisibility=hidden.
#ifdef TORCH_EXTENSION_NAME
#define UNDERHOOD_MODULE(name) UNDERHOOD_MODULE_OF(name)
#define UNDERHOOD_MODULE_OF(name) PyInit_##name
struct _object;  // PyObject
extern "C" __attribute__((visibility("default"))) _object* UNDERHOOD_MODULE(TORCH_EXTENSION_NAME)();
#endif

// Calls a lambda in which scalar_t is the C++ type of a dtype.
#define UNDERHOOD_CASE(dtype, type, ...)                                                           \
  case dtype: {                                                                                    \
    using scalar_t [[maybe_unused]] = type;                                                        \
    return __VA_ARGS__();                                                                          \
  }
#define UNDERHOOD_SWITCH(type, name, cases)                                                        \
  [&] {                                                                                            \
    const ::uh::ScalarType uh_dtype = type;                                                        \
    switch (uh_dtype) {                                                                            \
      cases default : throw ::uh::Error(UH_ERROR_NOT_IMPLEMENTED,                                  \
                                        std::string("\"") + (name) + "\" not implemented for '" +  \
                                            ::uh::toString(uh_dtype) + "'");                       \
    }                                                                                              \
  }()
#define UNDERHOOD_FLOATING(...)                                                                    \
  UNDERHOOD_CASE(::uh::kFloat, float, __VA_ARGS__)                                                 \
  UNDERHOOD_CASE(::uh::kDouble, double, __VA_ARGS__)
#define UNDERHOOD_INTEGRAL(...)                                                                    \
  UNDERHOOD_CASE(::uh::kByte, uint8_t, __VA_ARGS__)                                                \
  UNDERHOOD_CASE(::uh::kChar, int8_t, __VA_ARGS__)                                                 \
  UNDERHOOD_CASE(::uh::kShort, int16_t, __VA_ARGS__)                                               \
  UNDERHOOD_CASE(::uh::kInt, int32_t, __VA_ARGS__)                                                 \
  UNDERHOOD_CASE(::uh::kLong, int64_t, __VA_ARGS__)
#define UNDERHOOD_COMPLEX(...)                                                                     \
  UNDERHOOD_CASE(::uh::kComplexFloat, std::complex<float>, __VA_ARGS__)                            \
  UNDERHOOD_CASE(::uh::kComplexDouble, std::complex<double>, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...)                                                \
  UNDERHOOD_SWITCH(type, name, UNDERHOOD_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...)                                                \
  UNDERHOOD_SWITCH(type, name, UNDERHOOD_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(type, name, ...)                                                 \
  UNDERHOOD_SWITCH(type, name, UNDERHOOD_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(type, name, ...)                                    \
  UNDERHOOD_SWITCH(type, name, UNDERHOOD_FLOATING(__VA_ARGS__) UNDERHOOD_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(type, name, ...)                                                     \
  UNDERHOOD_SWITCH(type, name, UNDERHOOD_FLOATING(__VA_ARGS__) UNDERHOOD_INTEGRAL(__VA_ARGS__))
