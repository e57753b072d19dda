#include <cmath>
#include <numbers>

#include "backend/cpu/special.h"

namespace uh::special {
namespace {

constexpr double kSlope = 2 * std::numbers::inv_sqrtpi;  // derivative of erf at zero

// Returns x > 0 with erfc(x) = z: starts from a closed form accurate to 0.2 % (in terms of ln(1 -
// erf**2), passed as `log_rest`), then three Halley steps reach double precision. `error` returns
// the error of erfc(x).
template <class Error>
double solve(double log_rest, const Error& error) {
  constexpr double kShape = 0.147;
  const double t = 2 / (std::numbers::pi * kShape) + log_rest / 2;
  double x = std::sqrt(std::sqrt(t * t - log_rest / kShape) - t);
  for (int i = 0; i < 3; ++i) {
    const double step = error(x) / (kSlope * std::exp(-x * x));
    x += step / (1 - x * step);
  }
  return x;
}

// For 0 < z <= 1.
double erfcinv(double z) {
  if (z > 0.5) return erfinv(1 - z);
  return solve(std::log(z * (2 - z)), [&](double x) { return std::erfc(x) - z; });
}

}  // namespace

double erfinv(double y) {
  const double size = std::fabs(y);
  if (!(size <= 1)) return kNaN;
  if (size == 1) return std::copysign(kInf, y);
  if (size < 1e-9) return y / kSlope;
  if (size > 0.5) return std::copysign(erfcinv(1 - size), y);
  const double x = solve(std::log1p(-size * size), [&](double at) { return size - std::erf(at); });
  return std::copysign(x, y);
}

double erfcx(double x) {
  if (x < 0) return x < -26.7 ? kInf : 2 * std::exp(x * x) - erfcx(-x);
  if (x < 10) {  // corrects for the rounding error of x**2, which e**(x**2) would amplify
    const double square = x * x, rest = std::fma(x, x, -square);
    return std::exp(square) * (1 + rest) * std::erfc(x);
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 40 && std::fabs(term) > kEps / 4; ++k) {
    term *= -(2.0 * k - 1) / (2 * x * x);
    sum += term;
  }
  return std::isnan(x) ? x : sum / x * std::numbers::inv_sqrtpi;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double normal_quantile(double p) {
  if (!(p >= 0) || !(p <= 1)) return kNaN;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  return p < 0.5 ? -std::numbers::sqrt2 * erfcinv(2 * p) : std::numbers::sqrt2 * erfinv(2 * p - 1);
}

double log_normal_cdf(double x) {
  if (x < -1) return std::log(erfcx(-x / std::numbers::sqrt2) / 2) - x * x / 2;
  return std::log1p(-std::erfc(x / std::numbers::sqrt2) / 2);
}

double entropy(double x) {
  if (x > 0) return -x * std::log(x);
  return x == 0 ? 0 : std::isnan(x) ? x : -kInf;
}

}  // namespace uh::special
