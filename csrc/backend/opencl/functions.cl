// The functions that pointwise expressions call and that are not expressions: those with `cpp` in codegen/helpers.yaml.
//
// A line `//: name category...` begins a function for elements of these categories: bool, int, float, double, complex.
// codegen/expression_opencl.py prints those that an expression calls before it. T: the compute type; R: the type of its
// parts; UT: the unsigned type in which integers wrap around. `zero_division` counts divisors that are 0.

//: sqrt float double
#define m_sqrt sqrt
//: floor float double
#define m_floor floor
//: ceil float double
#define m_ceil ceil
//: trunc float double
#define m_trunc trunc
//: rint float double
#define m_rint rint
//: signbit float double
#define m_signbit signbit
//: copysign float double
#define m_copysign copysign
//: log float double
#define m_log log
//: log1p float double
#define m_log1p log1p
//: log2 float double
#define m_log2 log2
//: log10 float double
#define m_log10 log10
//: exp2 float double
#define m_exp2 exp2
//: expm1 float double
#define m_expm1 expm1
//: exp double
#define m_exp exp
//: tanh double
#define m_tanh tanh
//: erf double
#define m_erf erf
//: sin float double
#define m_sin sin
//: cos float double
#define m_cos cos
//: tan float double
#define m_tan tan
//: asin float double
#define m_asin asin
//: acos float double
#define m_acos acos
//: atan float double
#define m_atan atan
//: sinh float double
#define m_sinh sinh
//: cosh float double
#define m_cosh cosh
//: asinh float double
#define m_asinh asinh
//: acosh float double
#define m_acosh acosh
//: atanh float double
#define m_atanh atanh
//: erfc float double
#define m_erfc erfc
//: atan2 float double
#define m_atan2 atan2
//: hypot float double
#define m_hypot hypot
//: nextafter float double
#define m_nextafter nextafter
//: pow float double
#define m_pow pow

//: isnan float double
#define m_isnan(x) ((x) != (x))
//: isnan bool int
#define m_isnan(x) false
//: isnan complex
bool m_isnan(T z) { return z.x != z.x || z.y != z.y; }
//: isinf float double
#define m_isinf(x) (fabs(x) == INFINITY)
//: isinf bool int
#define m_isinf(x) false
//: isinf complex
bool m_isinf(T z) { return fabs(z.x) == INFINITY || fabs(z.y) == INFINITY; }

//: abs float double
#define m_abs fabs
//: abs int
T m_abs(T x) { return x < 0 ? (T)(0 - (UT)x) : x; }

//: at_most float
float m_at_most(float x, float limit) { return as_float(min(as_int(x), as_int(limit))); }
//: shift_bits float
#define m_shift_bits(x, n) as_float(as_uint(x) << (n))

//: sign float double int
T m_sign(T x) { return (T)((x > 0) - (x < 0)); }
//: sign bool
#define m_sign(x) (x)

// The smallest integer by -1 overflows; a divisor of 0 is counted.
//: floor_div int
T m_floor_div(T a, T b, global int *zero_division) {
  if (b == 0) return *zero_division = 1, (T)0;
  if (b == (T)-1 && (T)-1 < 0) return (T)(0 - (UT)a);
  const T d = a / b;
  return (T)(d - ((a % b != 0) && ((a < 0) != (b < 0))));
}
//: floor_div float double
T m_floor_div(T a, T b, global int *zero_division) {
  const T r = fmod(a, b), all = a / b;
  const T quotient = (a - r) / b;
  const T d = r != 0 && (b < 0) != (r < 0) ? quotient - 1 : quotient;
  const T f = floor(d);
  const T rounded = d - f > (T)0.5f ? f + 1 : f;
  return b == 0 ? all : d == 0 ? copysign((T)0, all) : rounded;
}
//: trunc_div int
T m_trunc_div(T a, T b, global int *zero_division) {
  if (b == 0) return *zero_division = 1, (T)0;
  return b == (T)-1 && (T)-1 < 0 ? (T)(0 - (UT)a) : (T)(a / b);
}
//: trunc_div float double
#define m_trunc_div(a, b, zero_division) trunc((a) / (b))
//: remainder int
T m_remainder(T a, T b, global int *zero_division) {
  if (b == 0) return *zero_division = 1, (T)0;
  if (b == (T)-1 && (T)-1 < 0) return 0;
  const T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
//: remainder float double
T m_remainder(T a, T b, global int *zero_division) {
  const T r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//: fmod int
T m_fmod(T a, T b, global int *zero_division) {
  if (b == 0) return *zero_division = 1, (T)0;
  return b == (T)-1 && (T)-1 < 0 ? (T)0 : (T)(a % b);
}
//: fmod float double
#define m_fmod(a, b, zero_division) fmod(a, b)

//: pow int
T m_pow(T a, T b) {
  if (b < 0) return a == 1 ? (T)1 : a == (T)-1 ? (b % 2 != 0 ? (T)-1 : (T)1) : (T)0;
  T result = 1;
  for (; b != 0; b = b / 2, a = (T)((UT)a * (UT)a)) {
    if (b % 2 != 0) result = (T)((UT)result * (UT)a);
  }
  return result;
}

//: round_to float double
T m_round_to(T x, long decimals) {
  const T scale = pow((T)10, (T)(decimals < 0 ? -decimals : decimals));
  return decimals < 0 ? rint(x / scale) * scale : rint(x * scale) / scale;
}

// A count outside of the width has the result of that many shifts by one.
//: shift_left int
T m_shift_left(T a, T b) {
  const int bits = 8 * sizeof(T);
  return b < 0 || b >= bits ? (T)0 : (T)((UT)a << b);
}
//: shift_right int
T m_shift_right(T a, T b) {
  const int max_shift = 8 * sizeof(T) - 1;
  const T none = (T)-1 < 0 && a < 0 ? (T)-1 : (T)0;
  return b < 0 || b > max_shift ? none : (T)(a >> b);
}

//: gcd int
T m_gcd(T a, T b) {
  a = a < 0 ? (T)(0 - (UT)a) : a;
  b = b < 0 ? (T)(0 - (UT)b) : b;
  while (b != 0) {
    const T rest = b == (T)-1 ? (T)0 : (T)(a % b);
    a = b;
    b = rest;
  }
  return a < 0 ? (T)(0 - (UT)a) : a;
}
//: lcm int gcd
T m_lcm(T a, T b) {
  const T divisor = m_gcd(a, b);
  if (divisor == 0) return 0;
  const T product = (T)((UT)(T)(a / divisor) * (UT)b);
  return product < 0 ? (T)(0 - (UT)product) : product;
}

//: nan_to_num float double
T m_nan_to_num(T x, T nan_value, bool has_high, T high, bool has_low, T low) {
  if (x != x) return nan_value;
  if (x == INFINITY) return has_high ? high : LARGEST;
  if (x == -INFINITY) return has_low ? low : -LARGEST;
  return x;
}
//: close float double
bool m_close(T a, T b, T rtol, T atol, bool equal_nan) {
  if (a == b) return true;
  if (a != a || b != b) return equal_nan && a != a && b != b;
  const T gap = fabs(a - b);
  return gap != INFINITY && gap <= atol + fabs(rtol * b);
}
//: close int
bool m_close(T a, T b, R rtol, R atol, bool equal_nan) {
  return a == b || fabs((R)a - (R)b) <= atol + fabs(rtol * (R)b);
}
//: close bool
#define m_close(a, b, rtol, atol, equal_nan) (fabs((R)(a) - (R)(b)) <= (atol) + fabs((rtol) * (R)(b)))
//: angle float
T m_angle(T x) { return x < 0 ? M_PI_F : x != x ? x : (T)0; }
//: angle double
T m_angle(T x) { return x < 0 ? M_PI : x != x ? x : (T)0; }

//: log_gamma float double
#define m_log_gamma lgamma

// ---- complex numbers

//: conj complex
#define m_conj(z) ((T)((z).x, -(z).y))
//: magnitude complex
#define m_magnitude(z) hypot((z).x, (z).y)
//: angle complex
#define m_angle(z) atan2((z).y, (z).x)
//: sgn complex
T m_sgn(T z) {
  const R size = hypot(z.x, z.y);
  return size == 0 ? (T)(0, 0) : z / size;
}
//: exp complex
T m_exp(T z) {
  const R size = exp(z.x);
  return (T)(z.y == 0 ? size : size * cos(z.y), z.y == 0 ? z.y : size * sin(z.y));
}
//: log complex
T m_log(T z) { return (T)(log(hypot(z.x, z.y)), atan2(z.y, z.x)); }
