// Functions of numbers: the `math` module, rounding, sums.
#include <algorithm>
#include <cmath>

#include "jit/builtins/float_conversion.h"
#include "jit/builtins/numbers.h"
#include "jit/builtins/register_builtin.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Z = Complex128;

// Defines a real function: float overloads for int and float, whose result type the Scalar overload
// lacks.
template <auto F>
void define_real(const std::string& name) {
  constexpr auto floats = &boxed<[](double a) { return static_cast<double>(F(a)); }>;
  define(name + ".int(int a) -> float", floats);
  define(name + ".float(float a) -> float", floats);
}

// The same with an overload for complex numbers.
template <auto F>
void define_complex(const std::string& name) {
  define_real<F>(name);
  define(name + ".complex(complex a) -> complex",
         boxed<[](Z a) { return python::narrow(F(python::wide(a))); }>);
  define(name + ".Scalar(Scalar a) -> Scalar", boxed<[](Scalar a) -> Scalar {
           if (a.is_complex()) return python::narrow(F(python::wide(a.to_complex())));
           return static_cast<double>(F(a.to_double()));
         }>);
}
template <auto F>
void define_real_scalar(const std::string& name) {
  define_real<F>(name);
  define(name + ".Scalar(Scalar a) -> Scalar",
         boxed<[](Scalar a) -> Scalar { return static_cast<double>(F(a.to_double())); }>);
}

// Defines a function of two reals, each an int or a float.
template <auto F>
void define_two(const std::string& name) {
  constexpr auto floats = &boxed<[](double a, double b) { return static_cast<double>(F(a, b)); }>;
  define(name + ".int(int a, int b) -> float", floats);
  define(name + ".float(float a, float b) -> float", floats);
  define(name + ".int_float(int a, float b) -> float", floats);
  define(name + ".float_int(float a, int b) -> float", floats);
  define(name + "(Scalar a, Scalar b) -> float", floats);
}

// Round half to even, as Python's.
double round_even(double a) { return std::nearbyint(a); }

// Rounds half to even, by the float's exact decimal value.
double round_digits(double a, Int digits) {
  if (digits > 300 || !std::isfinite(a)) return a;
  if (digits < -300) return std::copysign(0.0, a);
  if (digits >= 0) return rounded_double(decimal(a, 'f', static_cast<int>(digits)));
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(a / scale) * scale;
}

Int factorial(Int n) {
  if (n < 0) fail(ErrorKind::kValue, "factorial() not defined for negative values");
  if (n > 20)
    fail(ErrorKind::kRuntime, "OverflowError: factorial(", n, ") does not fit an int of 64 bits");
  Int product = 1;
  for (Int i = 2; i <= n; ++i) product *= i;
  return product;
}

constexpr double kDegrees = 180.0 / 3.14159265358979323846;

void define_rounding() {
  constexpr auto same = &boxed<[](Int a) { return a; }>;
  define("floor.int(int a) -> int", same);
  define("floor.float(float a) -> int",
         boxed<[](double a) { return python::to_int(std::floor(a)); }>);
  define("floor.Scalar(Scalar a) -> Scalar",
         boxed<[](Scalar a) { return python::to_int(std::floor(a.to_double())); }>);
  define("ceil.int(int a) -> int", same);
  define("ceil.float(float a) -> int",
         boxed<[](double a) { return python::to_int(std::ceil(a)); }>);
  define("ceil.Scalar(Scalar a) -> Scalar",
         boxed<[](Scalar a) { return python::to_int(std::ceil(a.to_double())); }>);
  define("trunc.int(int a) -> int", same);
  define("trunc.float(float a) -> int",
         boxed<[](double a) { return python::to_int(std::trunc(a)); }>);
  define_real_scalar<[](double a) { return round_even(a); }>("round");
  define("round.digits(float a, int ndigits) -> float",
         boxed<[](double a, Int digits) { return round_digits(a, digits); }>);
  define("round.int_digits(int a, int ndigits) -> int", boxed<[](Int a, Int digits) {
           if (digits >= 0) return a;
           return python::to_int(round_digits(static_cast<double>(a), digits));
         }>);
}

void define_parts() {
  define("modf(float a) -> (float, float)", boxed<[](double a) {
           double integral = 0;
           const double remainder = std::modf(a, &integral);
           return std::tuple(remainder, integral);
         }>);
  define("frexp(float a) -> (float, int)", boxed<[](double a) {
           int exponent = 0;
           const double mantissa = std::frexp(a, &exponent);
           return std::tuple(mantissa, Int{exponent});
         }>);
  define("ldexp(float x, int i) -> float", boxed<[](double x, Int i) {
           const Int exponent = std::clamp(i, Int{-10000}, Int{10000});
           return std::ldexp(x, static_cast<int>(exponent));
         }>);
  define("isnan.float(float a) -> bool", boxed<[](double a) { return std::isnan(a); }>);
  define("isinf.float(float a) -> bool", boxed<[](double a) { return std::isinf(a); }>);
  define("isfinite.float(float a) -> bool", boxed<[](double a) { return std::isfinite(a); }>);
  define("isnan.complex(complex a) -> bool",
         boxed<[](Z a) { return std::isnan(a.re) || std::isnan(a.im); }>);
  define("isinf.complex(complex a) -> bool",
         boxed<[](Z a) { return std::isinf(a.re) || std::isinf(a.im); }>);
  define("isfinite.complex(complex a) -> bool",
         boxed<[](Z a) { return std::isfinite(a.re) && std::isfinite(a.im); }>);
  define("prim::real(complex a) -> float", boxed<[](Z a) { return a.re; }>);
  define("prim::imag(complex a) -> float", boxed<[](Z a) { return a.im; }>);
  define("conj.complex(complex a) -> complex", boxed<[](Z a) { return Z(a.re, -a.im); }>);
  define("angle.complex(complex a) -> float", boxed<[](Z a) { return std::atan2(a.im, a.re); }>);
  define("polar.float(float a, float b) -> complex",
         boxed<[](double r, double phi) { return Z(r * std::cos(phi), r * std::sin(phi)); }>);
}

template <class T>
T sum_of(const List& list) {
  T sum{};
  for (const IValue& item : list.items) {
    if constexpr (std::is_same_v<T, Z>)
      sum = sum + complex_of(item);
    else if constexpr (std::is_same_v<T, Int>)
      sum = python::add(sum, from_value<Int>(item));
    else
      sum += from_value<T>(item);
  }
  return sum;
}

bool truth(const IValue& value) {
  const auto* text = value.get_if<std::string>();
  return text ? !text->empty() : from_value<Scalar>(value).to_bool();
}

void define_sums() {
  define("sum.int(int[] self) -> int", boxed<[](List& l) { return sum_of<Int>(l); }>);
  define("sum.float(float[] self) -> float", boxed<[](List& l) { return sum_of<double>(l); }>);
  define("sum.complex(complex[] self) -> complex", boxed<[](List& l) { return sum_of<Z>(l); }>);
  define("sum.bool(bool[] self) -> int", boxed<[](List& l) { return sum_of<Int>(l); }>);
  define_each("any.$($[] self) -> bool", {"bool", "int", "float", "str"}, boxed<[](List& l) {
                for (const IValue& item : l.items)
                  if (truth(item)) return true;
                return false;
              }>);
  define_each("all.$($[] self) -> bool", {"bool", "int", "float"}, boxed<[](List& l) {
                for (const IValue& item : l.items)
                  if (!truth(item)) return false;
                return true;
              }>);
}

void define_logarithms() {
  define_complex<[](auto a) { return std::log(a); }>("log");
  define_complex<[](auto a) { return std::log10(a); }>("log10");
  define_real_scalar<[](double a) { return std::log2(a); }>("log2");
  define_real_scalar<[](double a) { return std::log1p(a); }>("log1p");
  constexpr auto base = &boxed<[](double a, double b) { return std::log(a) / std::log(b); }>;
  for (const char* a : {"int", "float"})
    for (const char* b : {"int", "float"})
      define(message("log.", a, "_", b, "(", a, " a, ", b, " b) -> float"), base);
}

}  // namespace

void define_math() {
  define_complex<[](auto a) { return std::sqrt(a); }>("sqrt");
  define_complex<[](auto a) { return std::exp(a); }>("exp");
  define_logarithms();
  define_complex<[](auto a) { return std::sin(a); }>("sin");
  define_complex<[](auto a) { return std::cos(a); }>("cos");
  define_complex<[](auto a) { return std::tan(a); }>("tan");
  define_complex<[](auto a) { return std::asin(a); }>("asin");
  define_complex<[](auto a) { return std::acos(a); }>("acos");
  define_complex<[](auto a) { return std::atan(a); }>("atan");
  define_complex<[](auto a) { return std::sinh(a); }>("sinh");
  define_complex<[](auto a) { return std::cosh(a); }>("cosh");
  define_complex<[](auto a) { return std::tanh(a); }>("tanh");
  define_complex<[](auto a) { return std::asinh(a); }>("asinh");
  define_complex<[](auto a) { return std::acosh(a); }>("acosh");
  define_complex<[](auto a) { return std::atanh(a); }>("atanh");
  define_real_scalar<[](double a) { return std::expm1(a); }>("expm1");
  define_real_scalar<[](double a) { return std::erf(a); }>("erf");
  define_real_scalar<[](double a) { return std::erfc(a); }>("erfc");
  define_real_scalar<[](double a) { return std::tgamma(a); }>("gamma");
  define_real_scalar<[](double a) { return std::lgamma(a); }>("lgamma");
  define_real_scalar<[](double a) { return std::abs(a); }>("fabs");
  define_real_scalar<[](double a) { return a * kDegrees; }>("degrees");
  define_real_scalar<[](double a) { return a / kDegrees; }>("radians");
  define_two<[](double a, double b) { return std::atan2(a, b); }>("atan2");
  define_two<[](double a, double b) { return std::copysign(a, b); }>("copysign");
  define_two<[](double a, double b) { return python::fast_fmod(a, b); }>("fmod");
  define_two<[](double a, double b) { return std::remainder(a, b); }>("mathremainder");
  define_two<[](double a, double b) { return std::hypot(a, b); }>("hypot");
  define("gcd.int(int a, int b) -> int", boxed<[](Int a, Int b) { return python::gcd(a, b); }>);
  define("factorial.int(int a) -> int", boxed<[](Int a) { return factorial(a); }>);
  define_rounding();
  define_parts();
  define_sums();
}

}  // namespace uh::jit
