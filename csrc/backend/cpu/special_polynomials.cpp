#include <cmath>
#include <limits>

#include "backend/cpu/special.h"

namespace uh::special {
namespace {

constexpr double kMany = 64;          // above this degree closed forms are faster, and exact enough
constexpr double kNoDegree = 0x1p63;  // from here PyTorch's int64 degree is negative
constexpr double kEndless = 1e6;      // above this degree asymptotic forms replace sums

// Computes p0, p1, and p_k = next(k, p_(k-1), p_(k-2)) up to degree n; 0 for negative degrees.
template <class Next>
double recur(double n, double p0, double p1, const Next& next) {
  n = std::trunc(n);
  if (!(n >= 0 && n < kNoDegree)) return 0;
  if (n == 0) return p0;
  for (double k = 2; k <= n && !std::isnan(p1); ++k) {
    const double p2 = next(k, p1, p0);
    p0 = p1;
    p1 = p2;
  }
  return p1;
}

// Chebyshev's four kinds share a recurrence and differ in degree 1; `closed(angle, n)` is the form
// in angle = arccos(x).
template <class Closed>
double chebyshev(double x, double n, double p1, const Closed& closed) {
  if (!(n < kNoDegree)) return 0;
  if (n > kMany && std::fabs(x) < 1) return closed(std::acos(x), std::trunc(n));
  if (n > kMany && std::fabs(x) == 1)  // the recurrence is linear there: x^n (1 + n (x p1 - 1))
    return (x > 0 || std::fmod(std::trunc(n), 2) == 0 ? 1 : -1) *
           (1 + std::trunc(n) * (x * p1 - 1));
  if (n > kEndless && std::fabs(x) > 1)  // infinite up to the sign
    return x > 0 || std::fmod(std::trunc(n), 2) == 0 ? std::numeric_limits<double>::infinity()
                                                     : -std::numeric_limits<double>::infinity();
  return recur(n, 1, p1, [&](double, double a, double b) { return 2 * x * a - b; });
}

}  // namespace

double chebyshev_t(double x, double n) {
  return chebyshev(x, n, x, [](double a, double k) { return std::cos(k * a); });
}
double chebyshev_u(double x, double n) {
  return chebyshev(x, n, 2 * x,
                   [](double a, double k) { return std::sin((k + 1) * a) / std::sin(a); });
}
double chebyshev_v(double x, double n) {
  return chebyshev(x, n, 2 * x - 1,
                   [](double a, double k) { return std::cos((k + 0.5) * a) / std::cos(a / 2); });
}
double chebyshev_w(double x, double n) {
  return chebyshev(x, n, 2 * x + 1,
                   [](double a, double k) { return std::sin((k + 0.5) * a) / std::sin(a / 2); });
}
double shifted_chebyshev_t(double x, double n) { return chebyshev_t(2 * x - 1, n); }
double shifted_chebyshev_u(double x, double n) { return chebyshev_u(2 * x - 1, n); }
double shifted_chebyshev_v(double x, double n) { return chebyshev_v(2 * x - 1, n); }
double shifted_chebyshev_w(double x, double n) { return chebyshev_w(2 * x - 1, n); }

double hermite_h(double x, double n) {
  return recur(n, 1, 2 * x,
               [&](double k, double a, double b) { return 2 * (x * a - (k - 1) * b); });
}
double hermite_he(double x, double n) {
  return recur(n, 1, x, [&](double k, double a, double b) { return x * a - (k - 1) * b; });
}
// Hilb's formulas approximate L_n and P_n for large n by Bessel functions of order 0; the
// recurrence would take n steps, as they oscillate or grow.
double laguerre_l(double x, double n) {
  if (n > kEndless) {
    const double at = 2 * std::sqrt((std::trunc(n) + 0.5) * std::fabs(x));
    return x == 0 ? 1 : std::exp(x / 2) * (x > 0 ? bessel_j0(at) : bessel_i0(at));
  }
  return recur(n, 1, 1 - x, [&](double k, double a, double b) {
    return ((2 * k - 1 - x) * a - (k - 1) * b) / k;
  });
}
double legendre_p(double x, double n) {
  if (n > kEndless) {
    const double sign = x > 0 || std::fmod(std::trunc(n), 2) == 0 ? 1 : -1;
    const double size = std::fabs(x);
    if (size == 1) return sign;
    if (size > 1) {
      const double angle = std::acosh(size);
      return sign * std::sqrt(angle / std::sinh(angle)) * bessel_i0((std::trunc(n) + 0.5) * angle);
    }
    const double angle = std::acos(size);
    return sign * std::sqrt(angle / std::sin(angle)) * bessel_j0((std::trunc(n) + 0.5) * angle);
  }
  return recur(n, 1, x, [&](double k, double a, double b) {
    return ((2 * k - 1) * x * a - (k - 1) * b) / k;
  });
}

}  // namespace uh::special
