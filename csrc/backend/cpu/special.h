// Special functions of one real number, in double: special::... in expressions.
//
// Compiled once, not per instruction set: each performs tens of operations, so a call costs little.
// float32 results are computed in double and rounded once. The implementations are in special.cpp
// (gamma), special_bessel.cpp, special_normal.cpp and special_polynomials.cpp.
#pragma once

#include <limits>

namespace uh::special {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kEps = std::numeric_limits<double>::epsilon();

// ---- gamma
double log_gamma(double x);
double digamma(double x);
double polygamma(double order, double x);
double zeta(double s, double q);     // Hurwitz: sum over k >= 0 of (k + q)**-s
double gamma_p(double a, double x);  // regularised lower incomplete gamma function
double gamma_q(double a, double x);  // 1 - gamma_p, without cancellation

// ---- Bessel; suffix `e`: scaled by e**-|x| (i) or e**x (k)
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double bessel_i0(double x);
double bessel_i0e(double x);
double bessel_i1(double x);
double bessel_i1e(double x);
double bessel_k0(double x);
double bessel_k0e(double x);
double bessel_k1(double x);
double bessel_k1e(double x);
double spherical_j0(double x);
double airy_ai(double x);

// ---- error function and normal distribution
double erfinv(double y);
double erfcx(double x);
double normal_cdf(double x);
double normal_quantile(double p);
double log_normal_cdf(double x);
double entropy(double x);

// ---- orthogonal polynomials of degree n (truncated to an integer; 0 for negative degrees)
double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
double shifted_chebyshev_t(double x, double n);
double shifted_chebyshev_u(double x, double n);
double shifted_chebyshev_v(double x, double n);
double shifted_chebyshev_w(double x, double n);
double hermite_h(double x, double n);
double hermite_he(double x, double n);
double laguerre_l(double x, double n);
double legendre_p(double x, double n);

}  // namespace uh::special
