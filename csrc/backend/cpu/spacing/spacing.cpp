// The kernels of spacing.yaml.
#include <cmath>
#include <complex>
#include <numbers>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/special.h"
#include "base/parallel.h"
#include "generated/kernels/spacing.h"

namespace uh::kernels {
namespace {

constexpr int64_t kSpacingGrain = 4096;

// Writes out[i] = f(i), computed as T.
template <class T, class F>
void generate(const Tensor& out, const F& f) {
  const int64_t n = out.numel();
  const bool direct = out.dtype() == dtype_of<T>::value;
  const Tensor result = direct ? out : empty(Dims{n}, dtype_of<T>::value);
  T* at = result.data_as<T>();
  parallel_for(0, n, kSpacingGrain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) at[i] = f(i);
  });
  if (!direct) copy_elements(out, result);
}

// Writes shape(i, N) for each element; N is the last index, which a periodic window omits.
template <class F>
void window(const Tensor& out, bool periodic, const F& shape) {
  const int64_t length = out.numel();
  const double last = static_cast<double>(periodic ? length : length - 1);
  generate<double>(
      out, [&](int64_t i) { return length == 1 ? 1.0 : shape(static_cast<double>(i), last); });
}

Complex128 power(double base, Complex128 exponent) {
  const auto p =
      std::pow(std::complex<double>(base), std::complex<double>(exponent.re, exponent.im));
  return {p.real(), p.imag()};
}

double turn(double i, double last) { return 2 * std::numbers::pi * i / last; }

}  // namespace

void logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, DType, Device,
              const Tensor& result) {
  const DType target = result.dtype();
  // Computed from both ends towards the middle. Limits are converted to the dtype; exponents are
  // not rounded.
  const auto compute = [&](auto zero) {
    using T = decltype(zero);
    const auto limit = [&](const Scalar& s) {
      if (is_integral(target) && steps > 1) return static_cast<T>(s.to_int());
      if (target == DType::kFloat32) return static_cast<T>(static_cast<float>(s.to_double()));
      return s.to<T>();
    };
    const T a = limit(start), b = limit(end);
    const T step = steps > 1 ? (b - a) / static_cast<T>(static_cast<double>(steps - 1)) : T(0);
    generate<T>(result, [=](int64_t i) {
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
  is_complex(target) ? compute(Complex128{}) : compute(double{});
}

void hann_window(int64_t, bool periodic, DType, Device, const Tensor& result) {
  window(result, periodic,
         [](double i, double last) { return 0.5 - 0.5 * std::cos(turn(i, last)); });
}

void hamming_window(int64_t, bool periodic, double alpha, double beta, DType, Device,
                    const Tensor& result) {
  window(result, periodic,
         [=](double i, double last) { return alpha - beta * std::cos(turn(i, last)); });
}

void bartlett_window(int64_t, bool periodic, DType, Device, const Tensor& result) {
  window(result, periodic, [](double i, double last) { return 1 - std::abs(2 * i / last - 1); });
}

void blackman_window(int64_t, bool periodic, DType, Device, const Tensor& result) {
  window(result, periodic, [](double i, double last) {
    const double at = turn(i, last);
    return 0.42 - 0.5 * std::cos(at) + 0.08 * std::cos(2 * at);
  });
}

void kaiser_window(int64_t, bool periodic, double beta, DType, Device, const Tensor& result) {
  window(result, periodic, [=](double i, double last) {
    const double off = 2 * i / last - 1;  // distance from the middle, in half windows
    const double height = std::sqrt(std::max(1 - off * off, 0.0));
    return special::bessel_i0(beta * height) / special::bessel_i0(beta);
  });
}

}  // namespace uh::kernels
