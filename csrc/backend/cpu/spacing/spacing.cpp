// The operators of spacing.yaml.
#include <cmath>
#include <complex>
#include <numbers>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/special.h"
#include "base/parallel.h"
#include "generated/kernels/spacing.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/scan.h"
#include "generated/ops/spacing.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 4096;

// Returns a vector with out[i] = f(i), computed as T.
template <class T, class F>
Tensor generate(int64_t n, DType dtype, Device device, const F& f) {
  Tensor out = empty(Dims{n}, dtype, device == Device::kUndefined ? Device::kCPU : device);
  if (out.is_meta()) return out;
  const Tensor result = dtype == dtype_of<T>::value ? out : empty(Dims{n}, dtype_of<T>::value);
  T* at = result.data_as<T>();
  parallel_for(0, n, kGrainSize, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) at[i] = f(i);
  });
  if (!result.is_same(out)) copy_elements(out, result);
  record_write(out);
  return out;
}

struct WindowArguments {
  int64_t length;
  bool periodic;
  DType dtype;
  Device device;
};

// Returns shape(i, N) for each element; N is the last index, which a periodic window omits.
template <class F>
Tensor window(const WindowArguments& a, std::string_view op, const F& shape) {
  const DType dtype = a.dtype == DType::kUndefined ? default_dtype() : a.dtype;
  check(is_floating(dtype), op, " expects floating point dtypes, got ", info(dtype).title);
  check(a.length >= 0, op, " requires non-negative window_length, got window_length=", a.length);
  const double last = static_cast<double>(a.periodic ? a.length : a.length - 1);
  return generate<double>(a.length, dtype, a.device, [&](int64_t i) {
    return a.length == 1 ? 1.0 : shape(static_cast<double>(i), last);
  });
}

Complex128 power(double base, Complex128 exponent) {
  const auto p =
      std::pow(std::complex<double>(base), std::complex<double>(exponent.re, exponent.im));
  return {p.real(), p.imag()};
}

double turn(double i, double last) { return 2 * std::numbers::pi * i / last; }

}  // namespace

Tensor logspace(KeySet, const Scalar& start, const Scalar& end, int64_t steps, double base,
                DType dtype, Device device) {
  check(steps >= 0, "logspace: number of steps must be non-negative, got ", steps);
  const bool complex = start.is_complex() || end.is_complex();
  const DType own = complex ? to_complex(default_dtype()) : default_dtype();
  const DType target = dtype == DType::kUndefined ? own : dtype;
  check(!complex || is_complex(target), "logspace(): inferred dtype ", info(own).title,
        " can't be safely cast to passed dtype ", info(target).title);
  check_kind(target != DType::kBool, ErrorKind::kNotImplemented,
             "\"logspace_cpu\" not implemented for 'Bool'");
  // Computed from both ends towards the middle. Limits are converted to the dtype; exponents are
  // not rounded.
  const auto make = [&](auto zero) {
    using T = decltype(zero);
    const auto limit = [&](const Scalar& s) {
      if (is_integral(target) && steps > 1) return static_cast<T>(s.to_int());
      if (target == DType::kFloat32) return static_cast<T>(static_cast<float>(s.to_double()));
      return s.to<T>();
    };
    const T a = limit(start), b = limit(end);
    const T step = steps > 1 ? (b - a) / static_cast<T>(static_cast<double>(steps - 1)) : T(0);
    return generate<T>(steps, target, device, [=](int64_t i) {
      const auto from_end = static_cast<T>(static_cast<double>(steps - i - 1));
      const T exponent = i < steps / 2 || steps == 1
                             ? a + step * static_cast<T>(static_cast<double>(i))
                             : b - step * from_end;
      if constexpr (std::is_same_v<T, double>)
        return std::pow(base, exponent);
      else
        return power(base, exponent);
    });
  };
  return is_complex(target) ? make(Complex128{}) : make(double{});
}

Tensor hann_window(KeySet, int64_t window_length, bool periodic, DType dtype, Device device) {
  return window({window_length, periodic, dtype, device}, "hann_window",
                [](double i, double last) { return 0.5 - 0.5 * std::cos(turn(i, last)); });
}

Tensor hamming_window(KeySet, int64_t window_length, bool periodic, double alpha, double beta,
                      DType dtype, Device device) {
  return window({window_length, periodic, dtype, device}, "hamming_window",
                [=](double i, double last) { return alpha - beta * std::cos(turn(i, last)); });
}

Tensor bartlett_window(KeySet, int64_t window_length, bool periodic, DType dtype, Device device) {
  return window({window_length, periodic, dtype, device}, "bartlett_window",
                [](double i, double last) { return 1 - std::abs(2 * i / last - 1); });
}

Tensor blackman_window(KeySet, int64_t window_length, bool periodic, DType dtype, Device device) {
  return window({window_length, periodic, dtype, device}, "blackman_window",
                [](double i, double last) {
                  const double at = turn(i, last);
                  return 0.42 - 0.5 * std::cos(at) + 0.08 * std::cos(2 * at);
                });
}

Tensor kaiser_window(KeySet, int64_t window_length, bool periodic, double beta, DType dtype,
                     Device device) {
  return window({window_length, periodic, dtype, device}, "kaiser_window",
                [=](double i, double last) {
                  const double off = 2 * i / last - 1;  // distance from the middle, in half windows
                  const double height = std::sqrt(std::max(1 - off * off, 0.0));
                  return special::bessel_i0(beta * height) / special::bessel_i0(beta);
                });
}

Tensor vander(KeySet, const Tensor& x, std::optional<int64_t> N, bool increasing) {
  check(x.ndim() == 1, "vander: x must be a one-dimensional tensor, got ", x.ndim(), " dimensions");
  const int64_t n = N.value_or(x.size(0));
  check(n >= 0, "vander: N must be non-negative, got ", n);
  const DType dtype = promote(x.dtype(), DType::kInt64);
  Tensor out = ops::ones({x.size(0), std::min<int64_t>(n, 1)}, dtype, x.device());
  if (n > 1) {
    const Tensor repeated = ops::expand(ops::unsqueeze(x, 1), {x.size(0), n - 1}, false);
    out = ops::cat({out, ops::cumprod(repeated, 1, dtype)}, 1);
  }
  return increasing ? out : ops::flip(out, {1});
}

}  // namespace uh::kernels
