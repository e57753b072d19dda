// Arithmetic and bitwise operators of numbers: + - * / // % ** & | ^ << >>.
#include "jit/builtins/numbers.h"
#include "jit/builtins/register_builtin.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Z = Complex128;

struct Add {
  static Int of(Int a, Int b) { return python::add(a, b); }
  static double of(double a, double b) { return a + b; }
  static Z of(Z a, Z b) { return a + b; }
};
struct Sub {
  static Int of(Int a, Int b) { return python::sub(a, b); }
  static double of(double a, double b) { return a - b; }
  static Z of(Z a, Z b) { return a - b; }
};
struct Mul {
  static Int of(Int a, Int b) { return python::mul(a, b); }
  static double of(double a, double b) { return a * b; }
  static Z of(Z a, Z b) { return a * b; }
};
struct FloorDiv {
  static Int of(Int a, Int b) { return python::floordiv(a, b); }
  static double of(double a, double b) { return python::floordiv(a, b); }
  static Z of(Z, Z) { fail(ErrorKind::kType, "can't take floor of complex number."); }
};
struct Remainder {
  static Int of(Int a, Int b) { return python::mod(a, b); }
  static double of(double a, double b) { return python::mod(a, b); }
  static Z of(Z, Z) { fail(ErrorKind::kType, "can't mod complex numbers."); }
};

template <class F>
Scalar of_scalars(Scalar a, Scalar b) {
  if (a.is_complex() || b.is_complex()) return F::of(a.to_complex(), b.to_complex());
  if (a.is_float() || b.is_float()) return F::of(a.to_double(), b.to_double());
  return F::of(a.to_int(), b.to_int());
}

template <class F>
void define_real(const std::string& name, TagSet tags = 0) {
  define(name + ".int(int a, int b) -> int", boxed<[](Int a, Int b) { return F::of(a, b); }>, tags);
  constexpr auto floats = &boxed<[](double a, double b) { return F::of(a, b); }>;
  define(name + ".float(float a, float b) -> float", floats, tags);
  define(name + ".int_float(int a, float b) -> float", floats, tags);
  define(name + ".float_int(float a, int b) -> float", floats, tags);
}

template <class F>
void define_number_arithmetic(const std::string& name, TagSet tags) {
  define_real<F>(name, tags);
  constexpr auto complex = &boxed<[](Z a, Z b) { return F::of(a, b); }>;
  define(name + ".complex(complex a, complex b) -> complex", complex, tags);
  define(name + ".complex_float(complex a, float b) -> complex", complex, tags);
  define(name + ".complex_int(complex a, int b) -> complex", complex, tags);
  define(name + ".float_complex(float a, complex b) -> complex", complex, tags);
  define(name + ".int_complex(int a, complex b) -> complex", complex, tags);
}

template <class F>
void define_scalars(const std::string& name, TagSet tags = 0) {
  define(name + "(Scalar a, Scalar b) -> Scalar",
         boxed<[](Scalar a, Scalar b) { return of_scalars<F>(a, b); }>, tags);
}

void define_div() {
  define("div.int(int a, int b) -> float", boxed<[](Int a, Int b) {
           return python::div(static_cast<double>(a), static_cast<double>(b), "division by zero");
         }>);
  define("div.float(float a, float b) -> float",
         boxed<[](double a, double b) { return python::div(a, b); }>);
  // With one real operand the quotient is a float; the Scalar overload would lose that type.
  define("div.int_float(int a, float b) -> float",
         boxed<[](Int a, double b) { return python::div(static_cast<double>(a), b); }>);
  define("div.float_int(float a, int b) -> float",
         boxed<[](double a, Int b) { return python::div(a, static_cast<double>(b)); }>);
  define("div.complex(complex a, complex b) -> complex",
         boxed<[](Z a, Z b) { return python::div(a, b); }>);
  define("div(Scalar a, Scalar b) -> Scalar", boxed<[](Scalar a, Scalar b) -> Scalar {
           if (a.is_complex() || b.is_complex()) return python::div(a.to_complex(), b.to_complex());
           return python::div(a.to_double(), b.to_double());
         }>);
}

// As in PyTorch: int ** int is a float, as the exponent may be negative.
void define_pow() {
  constexpr auto floats = &boxed<[](double a, double b) { return python::power(a, b); }>;
  constexpr auto complex = &boxed<[](Z a, Z b) { return python::power(a, b); }>;
  define("pow.int(int a, int b) -> float", floats);
  define("pow.float(float a, float b) -> float", floats);
  define("pow.int_float(int a, float b) -> float", floats);
  define("pow.float_int(float a, int b) -> float", floats);
  define("pow.complex(complex a, complex b) -> complex", complex);
  define("pow.complex_float(complex a, float b) -> complex", complex);
  define("pow.float_complex(float a, complex b) -> complex", complex);
  define("pow.int_complex(int a, complex b) -> complex", complex);
  define("pow.complex_int(complex a, int b) -> complex", complex);
  define("pow.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", boxed<[](Scalar a, Scalar b) -> Scalar {
           if (a.is_complex() || b.is_complex())
             return python::power(a.to_complex(), b.to_complex());
           return python::power(a.to_double(), b.to_double());
         }>);
  define("pow.int_to_int(int a, int b) -> int",
         boxed<[](Int a, Int b) { return python::power(a, b); }>);
}

Int modulus(Int a) { return a < 0 ? python::neg(a) : a; }
double modulus(Z a) { return std::abs(python::wide(a)); }

void define_signs() {
  define("neg.int(int a) -> int", boxed<[](Int a) { return python::neg(a); }>, kNeverRaises);
  define("neg.float(float a) -> float", boxed<[](double a) { return -a; }>, kNeverRaises);
  define("neg.complex(complex a) -> complex", boxed<[](Z a) { return -a; }>, kNeverRaises);
  define("neg.Scalar(Scalar a) -> Scalar", boxed<[](Scalar a) -> Scalar {
           if (a.is_complex()) return -a.to_complex();
           return a.is_float() ? Scalar(-a.to_double()) : Scalar(python::neg(a.to_int()));
         }>,
         kNeverRaises);
  define("prim::abs.int(int a) -> int", boxed<[](Int a) { return modulus(a); }>, kNeverRaises);
  define("prim::abs.float(float a) -> float", boxed<[](double a) { return std::abs(a); }>,
         kNeverRaises);
  define("prim::abs.complex(complex a) -> float", boxed<[](Z a) { return modulus(a); }>,
         kNeverRaises);
  define("prim::abs.Scalar(Scalar a) -> Scalar", boxed<[](Scalar a) -> Scalar {
           if (a.is_complex()) return modulus(a.to_complex());
           return a.is_float() ? Scalar(std::abs(a.to_double())) : Scalar(modulus(a.to_int()));
         }>,
         kNeverRaises);
}

void define_bits() {
  define("__and__.bool(bool a, bool b) -> bool", boxed<[](bool a, bool b) { return a && b; }>,
         kNeverRaises | kCommutative);
  define("__and__.int(int a, int b) -> int", boxed<[](Int a, Int b) { return a & b; }>,
         kNeverRaises | kCommutative);
  define("__or__.bool(bool a, bool b) -> bool", boxed<[](bool a, bool b) { return a || b; }>,
         kNeverRaises | kCommutative);
  define("__or__.int(int a, int b) -> int", boxed<[](Int a, Int b) { return a | b; }>,
         kNeverRaises | kCommutative);
  define("__xor__.bool(bool a, bool b) -> bool", boxed<[](bool a, bool b) { return a != b; }>,
         kNeverRaises | kCommutative);
  define("__xor__.int(int a, int b) -> int", boxed<[](Int a, Int b) { return a ^ b; }>,
         kNeverRaises | kCommutative);
  define("__lshift__.int(int a, int b) -> int",
         boxed<[](Int a, Int n) { return python::shift_left(a, n); }>);
  define("__rshift__.int(int a, int b) -> int",
         boxed<[](Int a, Int n) { return python::shift_right(a, n); }>);
  define("bitwise_not.int(int a) -> int", boxed<[](Int a) { return ~a; }>);
  define("__not__(bool self) -> bool", boxed<[](bool a) { return !a; }>, kNeverRaises);
}

void define_divmod() {
  define("divmod.int(int x, int y) -> (int, int)",
         boxed<[](Int a, Int b) { return std::tuple{python::floordiv(a, b), python::mod(a, b)}; }>);
  constexpr auto floats = &boxed<[](double a, double b) {
    return std::tuple{python::floordiv(a, b, "float divmod()"), python::mod(a, b)};
  }>;
  define("divmod.float(float x, float y) -> (float, float)", floats);
  define("divmod.int_float(int x, float y) -> (float, float)", floats);
  define("divmod.float_int(float x, int y) -> (float, float)", floats);
}

// Trip count of range(lo, hi, step), and its n-th value.
void define_ranges() {
  define("__range_length(int lo, int hi, int step) -> int", boxed<[](Int lo, Int hi, Int step) {
           if (step == 0) fail(ErrorKind::kValue, "range() arg 3 must not be zero");
           const bool up = (step > 0);
           if (up ? lo >= hi : lo <= hi) return Int{0};
           const auto way = up ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo)
                               : static_cast<uint64_t>(lo) - static_cast<uint64_t>(hi);
           const auto stride = up ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
           return static_cast<Int>((way - 1) / stride + 1);
         }>);
  define("__derive_index(int index, int start, int step) -> int",
         boxed<[](Int index, Int start, Int step) {
           return python::add(start, python::mul(index, step));
         }>);
}

}  // namespace

// A name's Scalar overloads are last: they match every number, and their result type is vague.
void define_arithmetic() {
  define_number_arithmetic<Add>("add", kNeverRaises | kCommutative);
  define_number_arithmetic<Sub>("sub", kNeverRaises);
  define_number_arithmetic<Mul>("mul", kNeverRaises | kCommutative);
  define_real<FloorDiv>("floordiv");
  define_real<Remainder>("remainder");
  define_scalars<Add>("add", kNeverRaises | kCommutative);
  define_scalars<Sub>("sub", kNeverRaises);
  define_scalars<Mul>("mul", kNeverRaises | kCommutative);
  define_scalars<FloorDiv>("floordiv");
  define_scalars<Remainder>("remainder");
  define_div();
  define_pow();
  define_signs();
  define_bits();
  define_divmod();
  define_ranges();
}

}  // namespace uh::jit
