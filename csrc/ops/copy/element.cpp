#include "ops/copy/element.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"

namespace uh {
namespace {

// The C++ type names in PyTorch's message.
constexpr std::string_view kTypeNames[] = {"bool",
                                           "uint8_t",
                                           "int8_t",
                                           "int16_t",
                                           "int",
                                           "int64_t",
                                           "at::Half",
                                           "at::BFloat16",
                                           "float",
                                           "double",
                                           "c10::complex<float>",
                                           "c10::complex<double>"};

bool fits(const Scalar& value, DType dtype) {
  const auto within = [&](double limit) {
    const double v = value.to_double();
    return !std::isfinite(v) || std::fabs(v) <= limit;
  };
  if (is_complex(dtype) || dtype == DType::kBool) return true;
  if (value.imag() != 0) return false;
  switch (dtype) {
    case DType::kFloat64: return true;
    case DType::kFloat32: return within(std::numeric_limits<float>::max());
    case DType::kFloat16: return within(65504.0);
    case DType::kBFloat16: return within(0x1.fep127);
    default: break;
  }
  return visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const int64_t hi = std::numeric_limits<T>::max();
      const int64_t lo = std::numeric_limits<T>::min();
      if (value.is_float() || value.is_complex()) {
        const double v = value.to_double();
        return v >= static_cast<double>(lo) && v <= static_cast<double>(hi);  // false for NaN
      }
      // A negative integer may wrap into an unsigned type, as in C.
      return value.to_int() >= (std::is_signed_v<T> ? lo : -hi) && value.to_int() <= hi;
    }
    return true;
  });
}

}  // namespace

void check_fits(const Scalar& value, DType dtype) {
  check(fits(value, dtype), "value cannot be converted to type ",
        kTypeNames[static_cast<int>(dtype)], " without overflow: ", value, " is outside of ",
        name(dtype));
}

ElementBytes element_bytes(const Scalar& value, DType dtype) {
  check_fits(value, dtype);
  ElementBytes bytes{};
  visit_any(dtype, [&](auto zero) {
    const auto element = value.to<decltype(zero)>();
    std::memcpy(bytes.data(), &element, sizeof element);
  });
  return bytes;
}

Scalar read_scalar(const Tensor& self) {
  check(!self.is_meta(), "Tensor.item() cannot be called on meta tensors");
  if (!is_host(self.device())) return read_scalar(copy_to_host(self));
  return visit_any(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (is_complex_v<T>)
      return Scalar(Complex128(*self.data_as<T>()));
    else if constexpr (std::is_same_v<T, bool>)
      return Scalar(*self.data_as<uint8_t>() != 0);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<int64_t>(*self.data_as<T>()));
    else
      return Scalar(static_cast<double>(*self.data_as<T>()));
  });
}

}  // namespace uh
