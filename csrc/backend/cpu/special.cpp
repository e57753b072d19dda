#include "backend/cpu/special.h"

#include <array>
#include <cmath>
#include <numbers>

namespace uh::special {
namespace {

constexpr double kPi = std::numbers::pi;

// Bernoulli numbers B2, B4, ... B24: coefficients of all asymptotic series in this file.
constexpr std::array<double, 12> kBernoulli = {
    1.0 / 6, -1.0 / 30,     1.0 / 42,      -1.0 / 30,       5.0 / 66,       -691.0 / 2730,
    7.0 / 6, -3617.0 / 510, 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730,
};

// ln Gamma(a + 1) - (a ln a - a + ln(2 pi a) / 2) for a >= 10, by Stirling's series.
double stirling_rest(double a) {
  double sum = 0, power = 1 / a;
  for (size_t k = 0; k < 8; ++k, power /= a * a) {
    const double even = 2.0 * static_cast<double>(k) + 2;
    sum += kBernoulli[k] / (even * (even - 1)) * power;
  }
  return sum;
}

// x**a e**-x / Gamma(a + 1). Near x = a the parts of the exponent are huge and nearly cancel, so
// their difference is used.
double gamma_factor(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - log_gamma(a + 1));
  const double away = (x - a) / a;
  const double exponent =
      away > -0.5 && away < 2 ? a * (std::log1p(away) - away) : a * (std::log(x / a) + 1) - x;
  return std::exp(exponent - stirling_rest(a)) / std::sqrt(2 * kPi * a);
}

// P(a, x) = factor * (1 + x/(a+1) + x**2/((a+1)(a+2)) + ...), where all terms are positive.
double gamma_series(double a, double x) {
  double term = 1, sum = 1;
  for (double n = a + 1; term > sum * kEps / 4; n += 1) {
    term *= x / n;
    sum += term;
  }
  return sum * gamma_factor(a, x);
}

// Q(a, x) by its continued fraction, evaluated forwards (Lentz's method).
double gamma_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (double i = 1; i < 1e7; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = numerator * d + b;
    c = b + numerator / c;
    d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
    c = std::fabs(c) < kTiny ? kTiny : c;
    h *= d * c;
    if (std::fabs(d * c - 1) < kEps) break;
  }
  return h * a * gamma_factor(a, x);
}

}  // namespace

double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// By the recurrence up to 10, then the asymptotic series; below zero by reflection.
double digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNaN;
    double integral;
    return digamma(1 - x) - kPi / std::tan(kPi * std::modf(x, &integral));
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  sum += std::log(x) - 0.5 / x;
  const double inverse = 1 / (x * x);
  double power = inverse;
  for (size_t k = 0; k < 8; ++k, power *= inverse)
    sum -= kBernoulli[k] / (2.0 * static_cast<double>(k) + 2) * power;
  return sum;
}

double polygamma(double order, double x) {
  if (order == 0) return digamma(x);
  const double sign = std::fmod(order, 2) == 0 ? -1 : 1;
  return sign * std::tgamma(order + 1) * zeta(order + 1, x);
}

// Adds terms until they are negligible or the Euler-Maclaurin formula gives the remainder.
double zeta(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1)) return kNaN;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (s != std::floor(s)) return kNaN;
  }
  if (q < 0) {  // terms below zero are two mirrored positive sums
    const double above = q - std::floor(q), sign = std::fmod(s, 2) == 0 ? 1 : -1;
    return zeta(s, above) + sign * (zeta(s, 1 - above) - zeta(s, 1 - q));
  }
  double sum = 0, at = q;
  for (; at < 12 + s / 2; at += 1) {
    const double term = std::pow(at, -s);
    sum += term;
    if (term <= sum * kEps / 16 && at >= 1) return sum;
  }
  const double last = std::pow(at, -s);
  sum += last * at / (s - 1) + last / 2;
  double factor = s * last / at, factorial = 2;
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    const double part = kBernoulli[k] / factorial * factor;
    sum += part;
    if (std::fabs(part) < std::fabs(sum) * kEps / 16) break;
    const double n = 2.0 * static_cast<double>(k) + 1;
    factor *= (s + n) * (s + n + 1) / (at * at);
    factorial *= (n + 2) * (n + 3);
  }
  return sum;
}

double gamma_p(double a, double x) {
  if (!(x >= 0) || !(a >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double gamma_q(double a, double x) {
  if (!(x >= 0) || !(a >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 0 : kNaN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

}  // namespace uh::special
