// Scalar: a bool, int, float or complex argument of an operator, with its kind.
//
// Reading a complex number as a real one throws unless its imaginary part is 0, as in PyTorch's
// Scalar.
#pragma once

#include <bit>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "base/dtype.h"

namespace uh {

// Throws because a complex number cannot be read as a real one. Out of line, as loops that are
// compiled for several instruction sets read Scalars.
[[noreturn]] void imaginary_part_lost(double imag);

class Scalar {
 public:
  enum class Kind : int { kBool = 0, kInt = 1, kFloat = 2, kComplex = 3 };

  Scalar() = default;
  Scalar(bool value) : kind_(Kind::kBool), integer_(value), real_(value) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Scalar(T value)
      : kind_(Kind::kInt),
        integer_(static_cast<int64_t>(value)),
        real_(static_cast<double>(value)) {}
  Scalar(double value) : kind_(Kind::kFloat), integer_(0), real_(value) {}
  Scalar(Complex128 value)
      : kind_(Kind::kComplex), integer_(std::bit_cast<int64_t>(value.im)), real_(value.re) {}

  Kind kind() const { return kind_; }
  bool is_float() const { return kind_ == Kind::kFloat; }
  bool is_complex() const { return kind_ == Kind::kComplex; }
  double imag() const { return is_complex() ? std::bit_cast<double>(integer_) : 0; }
  double to_double() const {
    if (is_float()) return real_;
    if (is_complex()) return checked_real();
    return static_cast<double>(integer_);
  }
  // Truncates towards zero as a C cast does; out-of-range floats saturate (a C cast is undefined).
  int64_t to_int() const {
    if (kind_ < Kind::kFloat) return integer_;
    const double real = to_double();
    if (!(real > -9223372036854775808.0)) return INT64_MIN;
    if (real >= 9223372036854775808.0) return INT64_MAX;
    return static_cast<int64_t>(real);
  }
  bool to_bool() const { return kind_ < Kind::kFloat ? integer_ != 0 : real_ != 0 || imag() != 0; }
  Complex128 to_complex() const {
    return is_complex() ? Complex128(real_, imag()) : Complex128(to_double());
  }

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return to_bool();
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(to_int());
    else if constexpr (std::is_same_v<T, double>)
      return to_double();
    else if constexpr (is_complex_v<T>)
      return T(to_complex());
    else
      return T(static_cast<float>(to_double()));
  }

  // The dtype that a tensor made from the number would have, with this default floating dtype.
  DType dtype(DType default_float) const {
    if (kind_ == Kind::kBool) return DType::kBool;
    if (is_complex()) return uh::to_complex(default_float);
    return kind_ == Kind::kInt ? DType::kInt64 : default_float;
  }

 private:
  double checked_real() const {
    if (imag() != 0) [[unlikely]]
      imaginary_part_lost(imag());
    return real_;
  }

  Kind kind_ = Kind::kInt;
  int64_t integer_ = 0;  // for a complex number: the bits of the imaginary part
  double real_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.kind() == Scalar::Kind::kBool) return out << (s.to_bool() ? "True" : "False");
  if (s.is_float()) return out << s.to_double();
  if (s.is_complex()) {
    const Complex128 z = s.to_complex();
    return out << "(" << z.re << (z.im < 0 ? "" : "+") << z.im << "j)";
  }
  return out << s.to_int();
}

}  // namespace uh
