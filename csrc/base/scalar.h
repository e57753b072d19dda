// A Python number on its way into an operator: bool, int or float, with its kind kept.
#pragma once

#include <cstdint>
#include <ostream>
#include <type_traits>

#include "base/dtype.h"

namespace uh {

class Scalar {
 public:
  enum class Kind : int { kBool = 0, kInt = 1, kFloat = 2 };

  Scalar() = default;
  Scalar(bool value) : kind_(Kind::kBool), integer_(value), real_(value) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Scalar(T value)
      : kind_(Kind::kInt),
        integer_(static_cast<int64_t>(value)),
        real_(static_cast<double>(value)) {}
  Scalar(double value) : kind_(Kind::kFloat), integer_(0), real_(value) {}

  Kind kind() const { return kind_; }
  bool is_float() const { return kind_ == Kind::kFloat; }
  double to_double() const { return is_float() ? real_ : static_cast<double>(integer_); }
  // Truncates towards zero as a C cast does; out-of-range floats saturate (a C cast is undefined).
  int64_t to_int() const {
    if (!is_float()) return integer_;
    if (!(real_ > -9223372036854775808.0)) return INT64_MIN;
    if (real_ >= 9223372036854775808.0) return INT64_MAX;
    return static_cast<int64_t>(real_);
  }
  bool to_bool() const { return is_float() ? real_ != 0 : integer_ != 0; }

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return to_bool();
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(to_int());
    else if constexpr (std::is_same_v<T, double>)
      return to_double();
    else
      return T(static_cast<float>(to_double()));
  }

  // The dtype a lone number would have as a tensor, given the default floating dtype.
  DType dtype(DType default_float) const {
    if (kind_ == Kind::kBool) return DType::kBool;
    return kind_ == Kind::kInt ? DType::kInt64 : default_float;
  }

 private:
  Kind kind_ = Kind::kInt;
  int64_t integer_ = 0;
  double real_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.kind() == Scalar::Kind::kBool) return out << (s.to_bool() ? "True" : "False");
  if (s.is_float()) return out << s.to_double();
  return out << s.to_int();
}

}  // namespace uh
