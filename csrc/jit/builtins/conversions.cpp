// int(), float(), bool(), complex(), str(), ord(), chr(), hex()... and tensors as numbers.
#include <charconv>
#include <cmath>

#include "autograd/autograd_meta.h"
#include "jit/builtins/float_conversion.h"
#include "jit/builtins/numbers.h"
#include "jit/builtins/register_builtin.h"
#include "jit/builtins/tensors.h"
#include "jit/builtins/utf8.h"
#include "ops/copy/element.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Z = Complex128;

std::string_view stripped(std::string_view text) {
  while (!text.empty() && characters::is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && characters::is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Removes the single underscores that Python's literals allow between digits.
std::string without_underscores(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t k) { return k < text.size() && characters::is_digit(text[k]); };
    if (text[i] == '_' && i && digit(i - 1) && digit(i + 1)) continue;
    digits += text[i];
  }
  return digits;
}

Int int_of_text(StringArg text) {
  const std::string digits = without_underscores(stripped(text));
  const char* from = digits.c_str();
  const bool plus = *from == '+' && from[1] != '-';
  Int value = 0;
  const auto [end, error] = std::from_chars(from + plus, from + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    fail(ErrorKind::kRuntime, "OverflowError: ", text, " does not fit an int of 64 bits");
  if (error != std::errc() || end != from + digits.size())
    fail(ErrorKind::kValue, "invalid literal for int() with base 10: '", text, "'");
  return value;
}

double float_of_text(StringArg text) {
  const std::string digits = without_underscores(stripped(text));
  const char* from = digits.c_str();
  const bool plus = *from == '+' && from[1] != '-';
  double value = 0;
  const char* last = from + digits.size();
  const auto [end, error] = std::from_chars(from + plus, last, value);
  if (error == std::errc::result_out_of_range && end == last)  // as in Python: inf or 0
    return rounded_double({from + plus, last});
  if (error != std::errc() || end != last || digits.find('(') != std::string::npos)
    fail(ErrorKind::kValue, "could not convert string to float: '", text, "'");
  return value;
}

// ord() and chr(), in UTF-8.
Int code_point(StringArg text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t n = text.size();
  const size_t expected = n == 0            ? 0
                          : byte(0) < 0x80  ? 1
                          : byte(0) >= 0xf0 ? 4
                          : byte(0) >= 0xe0 ? 3
                                            : 2;
  if (n == 0 || n != expected)
    fail(ErrorKind::kType, "ord() expected a character, but string of length ", n, " found");
  if (n == 1) return byte(0);
  Int code = byte(0) & (0xff >> (n + 1));
  for (size_t i = 1; i < n; ++i) code = (code << 6) | (byte(i) & 0x3f);
  return code;
}

std::string character(Int code) {
  if (code < 0 || code > 0x10ffff) fail(ErrorKind::kValue, "chr() arg not in range(0x110000)");
  std::string text;
  const auto add = [&](Int byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | (code >> 6));
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | (code >> 12));
    add(0x80 | ((code >> 6) & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | (code >> 18));
    add(0x80 | ((code >> 12) & 0x3f));
    add(0x80 | ((code >> 6) & 0x3f));
    add(0x80 | (code & 0x3f));
  }
  return text;
}

template <int base>
std::string in_base(Int value) {
  constexpr const char* kPrefix = base == 16 ? "0x" : base == 8 ? "0o" : "0b";
  uint64_t remainder = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[remainder % base]);
    remainder /= base;
  } while (remainder);
  return (value < 0 ? "-" : "") + (kPrefix + digits);
}

// Converts a Tensor argument of a number parameter: only one without a gradient and dimensions,
// because the number is a constant to autograd.
Scalar implicit(const Tensor& t) {
  check(!autograd::requires_grad(t),
        "Cannot input a tensor that requires grad as a scalar argument");
  check(t.ndim() == 0, "Cannot input a tensor of dimension other than 0 as a scalar argument");
  return number_in(t);
}

void define_text_conversions() {
  define("Int.str(str a) -> int", boxed<[](StringArg a) { return int_of_text(a); }>);
  define("Float.str(str a) -> float", boxed<[](StringArg a) { return float_of_text(a); }>);
  define("Bool.str(str a) -> bool", boxed<[](StringArg a) { return !a.empty(); }>);
  define("str(t elem) -> str", boxed<[](const IValue& v) { return text_of(v); }>);
  define("ord(str string) -> int", boxed<[](StringArg text) { return code_point(text); }>);
  define("chr(int i) -> str", boxed<[](Int code) { return character(code); }>);
  define("hex(int i) -> str", boxed<[](Int value) { return in_base<16>(value); }>);
  define("oct(int i) -> str", boxed<[](Int value) { return in_base<8>(value); }>);
  define("bin(int i) -> str", boxed<[](Int value) { return in_base<2>(value); }>);
  define("device(str a) -> Device",
         boxed<[](const IValue& text) { return from_value<Device>(text); }>);
  define("device.with_index(str type, int index) -> Device", boxed<[](StringArg type, Int index) {
           return from_value<Device>(IValue(type + ":" + std::to_string(index)));
         }>);
}

void define_complex() {
  for (const char* a : {"int", "float", "bool"}) {
    for (const char* b : {"int", "float", "bool"}) {
      define(message("Complex.", a, "_", b, "(", a, " x, ", b, " y) -> complex"),
             boxed<[](Scalar x, Scalar y) { return Z(x.to_double(), y.to_double()); }>);
    }
    define(message("Complex.", a, "(", a, " a) -> complex"),
           boxed<[](Scalar a) { return a.to_complex(); }>);
  }
  define("Complex.complex(complex a) -> complex", boxed<[](Z a) { return a; }>);
  define("Complex.Scalar(Scalar a) -> complex", boxed<[](Scalar a) { return a.to_complex(); }>);
  define("Complex.Tensor(Tensor a) -> complex",
         boxed<[](const Tensor& t) { return number_in(t).to_complex(); }>);
}

void define_implicit() {
  define("ScalarImplicit(Tensor a) -> Scalar", boxed<[](const Tensor& t) { return implicit(t); }>);
  define("FloatImplicit(Tensor a) -> float",
         boxed<[](const Tensor& t) { return implicit(t).to_double(); }>);
  define("ComplexImplicit(Tensor a) -> complex",
         boxed<[](const Tensor& t) { return implicit(t).to_complex(); }>);
  define("IntImplicit(Tensor a) -> int", boxed<[](const Tensor& t) {
           check(t.dtype() < DType::kFloat16, "Cannot input a tensor of type ",
                 info(t.dtype()).title, " as an integral argument");
           return implicit(t).to_int();
         }>);
}

Int to_int(const Scalar& a) { return a.is_float() ? python::to_int(a.to_double()) : a.to_int(); }

}  // namespace

Scalar number_in(const Tensor& t) {
  check_kind(static_cast<bool>(t), ErrorKind::kType, "expected a Tensor, got None");
  check(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  check(!t.is_meta(), "Tensor.item() cannot be called on meta tensors");
  return read_scalar(t);
}

bool truth_of(const Tensor& t) {
  check(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  check(t.numel() == 1, "Boolean value of Tensor with more than one value (", t.numel(),
        ") is ambiguous");
  return number_in(t).to_bool();
}

IValue number_value(const Tensor& t) {
  Stack stack;
  leave(stack, number_in(t));
  return std::move(stack.back());
}

namespace {
// Python's hash() of a key; an int hashes to itself.
Int hash_of(const IValue& value) {
  if (const auto* i = value.get_if<Int>()) return *i;
  if (const auto* b = value.get_if<bool>()) return *b;
  if (const auto* d = value.get_if<double>())
    return *d == std::floor(*d) && std::abs(*d) < 9e15 ? static_cast<Int>(*d)
                                                       : static_cast<Int>(std::hash<double>()(*d));
  if (const auto* s = value.get_if<std::string>())
    return static_cast<Int>(std::hash<std::string>()(*s));
  fail(ErrorKind::kType, "unhashable type: '", value.type_name(), "'");
}

}  // namespace

void define_conversions() {
  define("hash.generic(t value) -> int", boxed<[](const IValue& value) { return hash_of(value); }>);
  define("Int.bool(bool a) -> int", boxed<[](bool a) { return Int{a}; }>);
  define("Int.float(float a) -> int", boxed<[](double a) { return python::to_int(a); }>);
  define("Int.int(int a) -> int", boxed<[](Int a) { return a; }>);
  define("Int.Tensor(Tensor a) -> int",
         boxed<[](const Tensor& t) { return to_int(number_in(t)); }>);
  define("Float.int(int a) -> float", boxed<[](Int a) { return static_cast<double>(a); }>,
         kNeverRaises);
  define("Float.bool(bool a) -> float", boxed<[](bool a) { return a ? 1.0 : 0.0; }>, kNeverRaises);
  define("Float.float(float a) -> float", boxed<[](double a) { return a; }>, kNeverRaises);
  define("Float.Tensor(Tensor a) -> float",
         boxed<[](const Tensor& t) { return number_in(t).to_double(); }>);
  define("Bool.int(int a) -> bool", boxed<[](Int a) { return a != 0; }>, kNeverRaises);
  define("Bool.float(float a) -> bool", boxed<[](double a) { return a != 0; }>, kNeverRaises);
  define("Bool.bool(bool a) -> bool", boxed<[](bool a) { return a; }>, kNeverRaises);
  define("Bool.Tensor(Tensor a) -> bool", boxed<[](const Tensor& t) { return truth_of(t); }>);
  define_text_conversions();
  define_complex();
  define("Int.Scalar(Scalar a) -> int", boxed<[](Scalar a) { return to_int(a); }>);
  define("Float.Scalar(Scalar a) -> float", boxed<[](Scalar a) { return a.to_double(); }>);
  define("Bool.Scalar(Scalar a) -> bool", boxed<[](Scalar a) { return a.to_bool(); }>);
  define_implicit();
  constexpr auto unwrap = &boxed<[](const IValue& value) {
    check(!value.is_none(), "Unwrapping null optional");
    return IValue(value);
  }>;
  define("_unwrap_optional(t(a)? optional) -> t(a)", unwrap);
  define("prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", unwrap);
  define("item(Tensor self) -> Scalar", boxed<[](const Tensor& t) { return number_in(t); }>);
}

}  // namespace uh::jit
