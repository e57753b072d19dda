// Functions that yaml expressions may call, in any compute type: those that codegen/helpers.yaml
// names but does not declare.
//
// Note [Vector math]: glibc's libmvec has SIMD versions of these functions. Declaring them with
// __attribute__((simd)) lets `#pragma omp simd` loops call them (4 ulp or better). If the build
// found no libmvec (UH_HAVE_LIBMVEC unset), the same names are scalar.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backend/cpu/pointwise.h"
#include "backend/cpu/special.h"
#include "backend/cpu/vector_math.h"

#if defined(UH_HAVE_LIBMVEC)
#define UH_SIMD __attribute__((simd("notinbranch"), const, nothrow))
#define UH_MVEC(name)                                                                              \
  extern "C" {                                                                                     \
  UH_SIMD double name(double);                                                                     \
  UH_SIMD float name##f(float);                                                                    \
  }
#define UH_MVEC2(name)                                                                             \
  extern "C" {                                                                                     \
  UH_SIMD double name(double, double);                                                             \
  UH_SIMD float name##f(float, float);                                                             \
  }
UH_MVEC(exp)
UH_MVEC(exp2)
UH_MVEC(expm1)
UH_MVEC(log)
UH_MVEC(log2)
UH_MVEC(log10)
UH_MVEC(log1p) UH_MVEC(sin) UH_MVEC(cos) UH_MVEC(tan) UH_MVEC(asin) UH_MVEC(acos) UH_MVEC(atan)
    UH_MVEC(sinh) UH_MVEC(cosh) UH_MVEC(tanh) UH_MVEC(asinh) UH_MVEC(acosh) UH_MVEC(atanh)
        UH_MVEC(erf) UH_MVEC(erfc) UH_MVEC2(pow) UH_MVEC2(atan2) UH_MVEC2(hypot)
#undef UH_MVEC
#undef UH_MVEC2
#endif

            namespace uh::UH_ISA::m {

#define UH_UNARY(name)                                                                             \
  inline float name(float x) { return ::name##f(x); }                                              \
  inline double name(double x) { return ::name(x); }
  UH_UNARY(exp2)
  UH_UNARY(expm1)
  UH_UNARY(log2)
  UH_UNARY(log10)
  UH_UNARY(sin)
  UH_UNARY(cos)
  UH_UNARY(tan) UH_UNARY(asin) UH_UNARY(acos) UH_UNARY(atan) UH_UNARY(sinh) UH_UNARY(cosh)
      UH_UNARY(asinh) UH_UNARY(acosh) UH_UNARY(atanh) UH_UNARY(erfc) UH_UNARY(sqrt) UH_UNARY(floor)
          UH_UNARY(ceil) UH_UNARY(trunc) UH_UNARY(fabs) UH_UNARY(rint)
#undef UH_UNARY

              inline double
              exp(double x) {
    return ::exp(x);
  }
  inline float log(float x) { return log_float(x); }
  inline double log(double x) { return ::log(x); }
  inline float log1p(float x) { return log1p_float(x); }
  inline double log1p(double x) { return ::log1p(x); }
  inline double tanh(double x) { return ::tanh(x); }
  inline double erf(double x) { return ::erf(x); }

  inline float atan2(float y, float x) { return ::atan2f(y, x); }
  inline double atan2(double y, double x) { return ::atan2(y, x); }
  inline float hypot(float x, float y) { return ::hypotf(x, y); }
  inline double hypot(double x, double y) { return ::hypot(x, y); }
  inline float copysign(float x, float y) { return ::copysignf(x, y); }
  inline double copysign(double x, double y) { return ::copysign(x, y); }

  // Giles, "Approximating the erfinv function" (2010): y P(w) with w = -log(1 - y**2); near the
  // ends, y P(sqrt(w)). Up to 4 ulp.
  [[gnu::always_inline]] inline double erfinv(double y) {
    const double a = fabs(y), w = -log((1 - a) * (1 + a)), root = ::sqrt(w);
    const double middle =
        polynomial(w - 3.125, -3.64441206401782e-21, -1.6850591381820166e-19, 1.28584807152564e-18,
                   1.1157877678025181e-17, -1.333171662854621e-16, 2.0972767875968562e-17,
                   6.637638134358324e-15, -4.054566272975207e-14, -8.151934197605472e-14,
                   2.6335093153082323e-12, -1.2975133253453532e-11, -5.415412054294628e-11,
                   1.0512122733215323e-09, -4.112633980346984e-09, -2.9070369957882005e-08,
                   4.2347877827932404e-07, -1.3654692000834679e-06, -1.3882523362786469e-05,
                   0.00018673420803405714, -0.000740702534166267, -0.006033670871430149,
                   0.24015818242558962, 1.6536545626831027);
    const double near = polynomial(
        root - 3.25, 2.2137376921775787e-09, 9.075656193888539e-08, -2.7517406297064545e-07,
        1.8239629214389228e-08, 1.5027403968909828e-06, -4.013867526981546e-06,
        2.9234449089955446e-06, 1.2475304481671779e-05, -4.7318229009055734e-05,
        6.828485145957318e-05, 2.4031110387097894e-05, -0.0003550375203628475,
        0.0009532893797373805, -0.0016882755560235047, 0.002491442096107851, -0.003751208507569241,
        0.005370914553590064, 1.0052589676941592, 3.0838856104922208);
    const double far = polynomial(
        root - 5, -2.7109920616438573e-11, -2.555641816996525e-10, 1.5076572693500548e-09,
        -3.789465440126737e-09, 7.61570120807834e-09, -1.496002662714924e-08, 2.914795345090108e-08,
        -6.771199775845234e-08, 2.2900482228026655e-07, -9.9298272942317e-07, 4.526062597223154e-06,
        -1.968177810553167e-05, 7.599527703001776e-05, -0.00021503011930044477,
        -0.00013871931833623122, 1.0103004648645344, 4.849906401408584);
    const double outer = w < 16 ? near : far;
    const double ratio = w < 6.25 ? middle : outer;
    return y * (a == 1 ? std::numeric_limits<double>::infinity() : ratio);
  }
  [[gnu::always_inline]] inline float erfinv(float y) { return erfinv_float(y); }

  // sin(pi r) for |r| <= 0.5.
  [[gnu::always_inline]] inline double sin_pi(double r) {
    return r * polynomial(r * r, -2.1165609793176371e-05, 0.00046601186138373052,
                          -0.0073703723765365173, 0.082145880333209353, -0.59926452901403504,
                          2.5501640398758454, -5.1677127800502154, 3.1415926535897931);
  }

  // Computed in double, as log_gamma: x is shifted to at least 8, where eight reciprocals are
  // summed two at a time; below zero by reflection.
  [[gnu::always_inline]] inline float digamma(float x) {
    const bool negative = x < 0;
    const double v = x, t = negative ? 1 - v : v;
    const double square = t * (t + 7);  // t (t + 7), (t + 1) (t + 6), ...
    const double shift = (2 * t + 7) * (1 / square + 1 / (square + 6) + 1 / (square + 10) +
                                        1 / (square + 12));
    const bool small = t < 8;
    const double z = small ? t + 8 : t, inverse = 1 / z, power = inverse * inverse;
    const double series =
        power * polynomial(power, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252,
                           -1.0 / 120, 1.0 / 12);
    const double positive = ::log(z) - 0.5 * inverse - series - (small ? shift : 0.0);
    const double r = v - rint(v), cosine = sin_pi(0.5 - fabs(r)), sine = sin_pi(r);
    const double reflected = positive - 3.14159265358979323846 * cosine / sine;
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const float result = static_cast<float>(!negative ? positive : r == 0 ? kNaN : reflected);
    return x == 0 ? copysign(kInf, -x) : result;
  }
  inline double digamma(double x) { return special::digamma(x); }

  // Computed in double: x is shifted to at least 8, where Stirling's series has an error of 1e-16;
  // below zero by reflection, sin(pi x) at the distance from the nearest integer.
  [[gnu::always_inline]] inline float log_gamma(float x) {
    const bool negative = x <= 0;
    const double v = x, t = negative ? 1 - v : v;
    const double square = t * (t + 7);  // of t (t + 1) ... (t + 7), two factors at a time
    const double product = square * (square + 6) * (square + 10) * (square + 12);
    const bool small = t < 8;
    const double z = small ? t + 8 : t, inverse = 1 / z;
    const double series =
        polynomial(inverse * inverse, -3617.0 / 122400, 1.0 / 156, -691.0 / 360360, 1.0 / 1188,
                   -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12);
    const double stirling = (z - 0.5) * ::log(z) - z + 0.91893853320467274178 + series * inverse;
    const double sine = sin_pi(v - rint(v));
    const double shift = small ? product : 1.0;
    const double divisor = negative ? fabs(sine) / (shift * 3.14159265358979323846) : shift;
    const double result = (negative ? -stirling : stirling) - ::log(divisor);
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const float finite = x == 1 || x == 2 ? 0.0f : static_cast<float>(result);  // exact at its roots
    return fabs(x) == kInf ? kInf : finite;
  }
  inline double log_gamma(double x) { return special::log_gamma(x); }

  template <class T>
  inline bool isnan(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return x != x;
    else
      return (void)x, false;
  }
  template <class T>
  inline bool isinf(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return fabs(x) == std::numeric_limits<T>::infinity();
    else
      return (void)x, false;
  }

  // Tests the sign bit: GCC 12 crashes on a vectorised std::signbit (internal compiler error,
  // extract_insn).
  inline bool signbit(float x) { return std::bit_cast<int32_t>(x) < 0; }
  inline bool signbit(double x) { return std::bit_cast<int64_t>(x) < 0; }

  // Absolute value; the most negative integer stays as it is (two's complement).
  template <class T>
  inline T abs(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return fabs(x);
    else if constexpr (std::is_unsigned_v<T>)
      return x;
    else
      return x < 0 ? static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x)) : x;
  }

  template <class T>
  inline T sign(T x) {
    if constexpr (std::is_same_v<T, bool>)
      return x;
    else
      return static_cast<T>((x > T(0)) - (x < T(0)));  // 0 for NaN, as in PyTorch
  }

  // Wrapping integer arithmetic: signed overflow is undefined in C++, two's complement in PyTorch.
  template <class T>
  inline T add(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
  template <class T>
  inline T sub(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    else
      return a - b;
  }
  template <class T>
  inline T mul(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }

  template <class T>
  inline bool bad_divisor(T b, const Params& q) {
    if (b != 0) [[likely]]
      return false;
    q.divided_by_zero();
    return true;
  }
  // True if a / b may overflow: the most negative integer divided by -1 traps on x86.
  template <class T>
  inline bool overflows(T b) {
    return std::is_signed_v<T> && b == static_cast<T>(-1);
  }

  // The remainder with the sign of `a`: exact like std::fmod, which takes a step per bit of the
  // quotient. In double, the quotient of two floats has a relative error of 2^-51, and the
  // remainder is exact, as it is a multiple of b's last bit: six quotients reduce even the largest
  // (2^277) to one that is off by at most 1. Without branches, so that loops vectorise.
  inline float fmod(float a, float b) {
#if defined(__FMA__)
    const double x = fabs(static_cast<double>(a)), y = fabs(static_cast<double>(b)),
                 inverse = 1 / y;
    double r = x;
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) r = __builtin_fma(-trunc(r * inverse), y, r);
    r = r < 0 ? r + y : r;
    r = r >= y ? r - y : r;
    return copysign(static_cast<float>(x < y ? x : r), a);
#else
  return std::fmod(a, b);
#endif
  }
  // One quotient if it fits a double's mantissa: rounded up to an integer, it leaves a negative
  // remainder, which is exact too.
  inline double fmod(double a, double b) {
#if defined(__FMA__)
    const double x = fabs(a), y = fabs(b), quotient = x / y;
    if (quotient < 0x1p53) [[likely]] {
      double r = __builtin_fma(-trunc(quotient), y, x);
      r = r < 0 ? r + y : r;
      return copysign(x < y ? x : r, a);
    }
#endif
    return std::fmod(a, b);
  }

  // Rounds towards minus infinity, like Python's //.
  template <class T>
  inline T floor_div(T a, T b, const Params& q) {
    if constexpr (std::is_floating_point_v<T>) {
      const T r = fmod(a, b), all = a / b;
      const T quotient = (a - r) / b;
      const T d = (r != 0) & ((b < 0) != (r < 0)) ? quotient - 1 : quotient;
      const T f = floor(d);
      const T near = d - f > T(0.5) ? f + 1 : f;
      const T result = d == 0 ? copysign(T(0), all) : near;
      return b == 0 ? all : result;
    } else if constexpr (sizeof(T) <= 2) {
      // A float's quotient of 16-bit integers is less than an integer if the exact one is, and its
      // division is faster.
      if (bad_divisor(b, q)) return 0;
      const float quotient = static_cast<float>(a) / static_cast<float>(b);
      return static_cast<T>(static_cast<int32_t>(__builtin_floorf(quotient)));
    } else {
      if (bad_divisor(b, q)) return 0;
      if (overflows(b)) return sub(T(0), a);
      const T d = static_cast<T>(a / b);
      return static_cast<T>(d - ((a % b != 0) & ((a < 0) != (b < 0))));  // not &&: no branches
    }
  }
  template <class T>
  inline T trunc_div(T a, T b, const Params& q) {
    if constexpr (std::is_floating_point_v<T>)
      return trunc(a / b);
    else {
      if (bad_divisor(b, q)) return 0;
      return overflows(b) ? sub(T(0), a) : static_cast<T>(a / b);
    }
  }
  // Has the sign of the divisor, like Python's %.
  template <class T>
  inline T remainder(T a, T b, const Params& q) {
    if constexpr (std::is_floating_point_v<T>) {
      const T r = fmod(a, b);
      return (r != 0) & ((r < 0) != (b < 0)) ? r + b : r;
    } else {
      if (bad_divisor(b, q)) return 0;
      if (overflows(b)) return 0;
      const T r = static_cast<T>(a % b);
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    }
  }
  // Has the sign of the dividend, like C's fmod.
  template <class T>
  inline T fmod(T a, T b, const Params& q) {
    if constexpr (std::is_floating_point_v<T>)
      return fmod(a, b);
    else {
      if (bad_divisor(b, q)) return 0;
      return overflows(b) ? T(0) : static_cast<T>(a % b);
    }
  }

  template <class T>
  inline T pow(T a, T b) {
    if constexpr (std::is_same_v<T, float>)
      return ::powf(a, b);
    else if constexpr (std::is_same_v<T, double>)
      return ::pow(a, b);
    else {
      if (b < 0)
        return a == T(1)                 ? T(1)
               : a == static_cast<T>(-1) ? (b % 2 != 0 ? static_cast<T>(-1) : T(1))
                                         : T(0);
      T result = 1;
      for (; b; b = static_cast<T>(b / 2), a = mul(a, a)) {
        if (b % 2) result = mul(result, a);
      }
      return result;
    }
  }

  // Shifts of 8 and 16 bits take a step for each bit of the count: AVX2 has no shift of such
  // elements by different counts, and widened to 32 bits they took three times as long. The shifts
  // are by constants in plain sight, or the compiler widens them. Larger counts leave 0.
  template <class U>
  inline U small_shift_left(U x, U count) {
    x = (count & 1) != 0 ? static_cast<U>(x << 1) : x;
    x = (count & 2) != 0 ? static_cast<U>(x << 2) : x;
    x = (count & 4) != 0 ? static_cast<U>(x << 4) : x;
    if constexpr (sizeof(U) == 2) x = (count & 8) != 0 ? static_cast<U>(x << 8) : x;
    return count < U(8 * sizeof(U)) ? x : U(0);
  }
  template <class U>
  inline U small_shift_right(U x, U count) {
    x = (count & 1) != 0 ? static_cast<U>(x >> 1) : x;
    x = (count & 2) != 0 ? static_cast<U>(x >> 2) : x;
    x = (count & 4) != 0 ? static_cast<U>(x >> 4) : x;
    if constexpr (sizeof(U) == 2) x = (count & 8) != 0 ? static_cast<U>(x >> 8) : x;
    return count < U(8 * sizeof(U)) ? x : U(0);
  }

  // Counts that are negative, or at least the width of T, leave 0, or of a negative number to the
  // right -1. As unsigned numbers, negative counts are large.
  template <class T>
  inline T shift_left(T a, T b) {
    using U = std::make_unsigned_t<T>;
    const U x = static_cast<U>(a), count = static_cast<U>(b);
    if constexpr (sizeof(T) < 4) {
      return static_cast<T>(small_shift_left(x, count));
    } else {
      constexpr U bits = 8 * sizeof(T);
      const auto shifted = static_cast<T>(x << (count & (bits - 1)));
      return count < bits ? shifted : T(0);
    }
  }
  template <class T>
  inline T shift_right(T a, T b) {
    using U = std::make_unsigned_t<T>;
    constexpr U bits = 8 * sizeof(T);
    const U count = static_cast<U>(b);
#ifdef __AVX512BW__
    constexpr bool has_shift = sizeof(T) == 4 || sizeof(T) == 2;
#else
    constexpr bool has_shift = sizeof(T) == 4;
#endif
    if constexpr (has_shift) {  // of signed elements, each by a different count
      const U max_count = bits - 1;
      return static_cast<T>(a >> (count < max_count ? count : max_count));
    } else {  // unsigned numbers have such shifts: of a negative one, the complement is shifted
      const U sign = a < 0 ? U(-1) : U(0);
      const U x = static_cast<U>(static_cast<U>(a) ^ sign);
      if constexpr (sizeof(T) < 4)
        return static_cast<T>(small_shift_right(x, count) ^ sign);
      else
        return static_cast<T>((count < bits ? x >> (count & (bits - 1)) : U(0)) ^ sign);
    }
  }

}  // namespace uh::UH_ISA::m

// exp(float), sigmoid, maximum...: they call the functions above.
#include "generated/helpers.h"
