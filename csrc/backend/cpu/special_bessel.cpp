#include <cmath>
#include <numbers>

#include "backend/cpu/special.h"

namespace uh::special {
namespace {

// I_v(x) for integer v and 0 <= x <= 20: the power series, whose terms are all positive.
double i_series(int order, double x) {
  const double quarter = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; term > sum * kEps / 4; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// e**-x I_v(x) for x > 20: Hankel's asymptotic series, whose smallest term is below 1e-17 there.
double i_asymptotic(int order, double x) {
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60 && std::fabs(term) > kEps / 4; ++k) {
    const double odd = 2.0 * k - 1;
    term *= -(mu - odd * odd) / (8 * k * x);
    sum += term;
  }
  return sum / std::sqrt(2 * std::numbers::pi * x);
}

double i_scaled(int order, double x) {
  const double size = std::fabs(x);
  if (std::isinf(x)) return 0;
  const double value =
      size <= 20 ? i_series(order, size) * std::exp(-size) : i_asymptotic(order, size);
  return order % 2 != 0 ? std::copysign(value, x) : value;
}

double i_plain(int order, double x) {
  const double size = std::fabs(x);
  if (std::isinf(x)) return kNaN;          // as in PyTorch; the limit is an infinity
  const double half = std::exp(size / 2);  // twice: e**x alone overflows before the product
  double value = half;                     // infinite above 1e4, where the first factor underflows
  if (size <= 1e4) {
    value = size <= 20 ? i_series(order, size) : i_asymptotic(order, size) * half * half;
  }
  return order % 2 != 0 ? std::copysign(value, x) : value;
}

// e**x K_v(x) = integral over t >= 0 of e**(-x (cosh t - 1)) cosh(v t). The integrand decays double
// exponentially and is analytic for |Im t| < pi / 2, so the trapezoidal rule with step 1/4 has an
// error of e**-39.
double k_scaled(double order, double x) {
  if (x == 0) return kInf;
  if (!(x > 0)) return kNaN;
  if (std::isinf(x)) return 0;
  if (order == 1 && x < 1e-100) return 1 / x;  // the integrand would overflow
  constexpr double kStep = 0.25;
  // For large x the integrand has width 1 / sqrt(x), and the step shrinks with it.
  const double step = x > 1 ? kStep / std::sqrt(x) : kStep, root = std::sqrt(2 * x);
  double sum = 0.5;
  for (int k = 1;; ++k) {
    // Takes the root first: for a huge x the square of sinh underflows.
    const double t = k * step, scaled = root * std::sinh(t / 2), decay = scaled * scaled;
    const double term = std::exp(-decay) * (order == 0 ? 1 : std::cosh(order * t));
    sum += term;
    if (term < sum * kEps / 16 && decay > 1) break;
  }
  return sum * step;
}

// Ai for -10 <= x <= 1: its integral, rotated by pi / 6 in the complex plane so that it decays.
// With s = e**(u - e**-u) both ends decay double exponentially, as the trapezoidal rule requires.
double airy_integral(double x) {
  constexpr double kStep = 1.0 / 32;
  double sum = 0;
  for (int k = -128; k <= 96; ++k) {
    const double u = k * kStep, s = std::exp(u - std::exp(-u));
    const double exponent = -s * s * s / 3 - x * s / 2;
    const double angle = std::numbers::sqrt3 / 2 * x * s + std::numbers::pi / 6;
    sum += std::exp(exponent) * std::cos(angle) * s * (1 + std::exp(-u));
  }
  return sum * kStep / std::numbers::pi;
}

// Ai for x < -10: the asymptotic series of the oscillating branch.
double airy_wave(double x) {
  const double z = -x, zeta = 2.0 / 3 * z * std::sqrt(z);
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 30 && std::fabs(term) > kEps / 4; ++k) {
    term *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2.0 * k - 1) * zeta);
    const double sign = k / 2 % 2 == 0 ? 1 : -1;
    (k % 2 == 0 ? even : odd) += sign * term;
  }
  const double angle = zeta - std::numbers::pi / 4;
  return (std::cos(angle) * even + std::sin(angle) * odd) /
         (std::sqrt(std::numbers::pi) * std::sqrt(std::sqrt(z)));
}

}  // namespace

// NaN at the infinities, as in PyTorch; the limits are 0.
double bessel_j0(double x) { return std::isinf(x) ? kNaN : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? kNaN : ::j1(x); }
double bessel_y0(double x) { return x < 0 || std::isinf(x) ? kNaN : ::y0(x); }
double bessel_y1(double x) { return x < 0 || std::isinf(x) ? kNaN : ::y1(x); }
double bessel_i0(double x) { return i_plain(0, x); }
double bessel_i0e(double x) { return i_scaled(0, x); }
double bessel_i1(double x) { return i_plain(1, x); }
double bessel_i1e(double x) { return i_scaled(1, x); }
double bessel_k0(double x) { return k_scaled(0, x) * std::exp(-x); }
double bessel_k0e(double x) { return k_scaled(0, x); }
double bessel_k1(double x) { return k_scaled(1, x) * std::exp(-x); }
double bessel_k1e(double x) { return k_scaled(1, x); }

double spherical_j0(double x) {
  if (std::isinf(x)) return 0;
  if (std::fabs(x) < 1e-4) return 1 - x * x / 6;
  return std::sin(x) / x;
}

double airy_ai(double x) {
  if (std::isinf(x)) return kNaN;  // as in PyTorch; the limits are 0
  if (x > 1e3) return 0;           // below the smallest double from 104 on
  if (x < -10) return airy_wave(x);
  if (!(x > 1)) return airy_integral(x);
  const double zeta = 2.0 / 3 * x * std::sqrt(x);
  return std::sqrt(x / 3) / std::numbers::pi * k_scaled(1.0 / 3, zeta) * std::exp(-zeta);
}

}  // namespace uh::special
