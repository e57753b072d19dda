// Arithmetic on tensors that changes no bit, for the dtypes where that holds.
//
// Floats: x * 1, x / 1, x - 0 and x + -0.0 are exact for every x, infinities and NaN included; x +
// 0 turns -0.0 into 0.0. A number must not promote the dtype: an integer tensor times 1.0 is a
// float tensor. Complex numbers are left alone: (a + bi) * 1 computes b * 0, which is NaN for b =
// inf.
#include <cmath>

#include "jit/builtins/builtin.h"
#include "jit/peephole/rules.h"

namespace uh::jit {
namespace {

// The value of a constant operand that does not affect the result's dtype.
std::optional<double> quiet_number(const Value* value, DType dtype) {
  if (const std::optional<int64_t> i = constant_int(value)) {
    if (!is_integral(dtype) && !is_floating(dtype)) return std::nullopt;
    if (*i < -1 || *i > 1) return std::nullopt;  // not used by any rule, and may not be a double
    return static_cast<double>(*i);
  }
  const std::optional<double> f = constant_float(value);
  return f && is_floating(dtype) ? f : std::nullopt;
}

bool is_one(const Value* value, DType dtype) { return quiet_number(value, dtype) == 1.0; }
bool is_zero(const Value* value, DType dtype) { return quiet_number(value, dtype) == 0.0; }

bool of_tensor(const Node* node) {
  return node->op() && !as_builtin(node->op()) && !node->op()->schema().is_mutable();
}

bool to_x(Peephole& p, Node* node, Value* x, const char* rule,
          Peephole::Location location = Peephole::Location::current()) {
  return is_dense(x) &&
         p.same(node, x, rule, {}, "exact for every element of this dtype", location);
}

bool times_one(Peephole& p, Node* node) {
  if (!of_tensor(node)) return false;
  Value *a = node->input(0), *b = node->input(1);
  if (is_one(b, known_dtype(a))) return to_x(p, node, a, "x * 1 -> x");
  return is_one(a, known_dtype(b)) && to_x(p, node, b, "1 * x -> x");
}

bool divided_by_one(Peephole& p, Node* node) {
  if (!of_tensor(node) || !is_floating(known_dtype(node->input(0)))) return false;
  const Value* mode = node->input("rounding_mode");
  return (!mode || is_constant_none(mode)) && is_one(node->input(1), known_dtype(node->input(0))) &&
         to_x(p, node, node->input(0), "x / 1 -> x");
}

bool plus_zero(Peephole& p, Node* node) {
  if (!of_tensor(node) || constant_int(node->input("alpha")) != 1) return false;
  Value *a = node->input(0), *b = node->input(1);
  const auto adds_nothing = [](const Value* number, const Value* x) {
    const DType dtype = known_dtype(x);
    if (is_integral(dtype)) return is_zero(number, dtype);
    const std::optional<double> f = constant_float(number);
    return is_floating(dtype) && f == 0.0 && std::signbit(*f);
  };
  if (adds_nothing(b, a))
    return to_x(p, node, a, is_integral(known_dtype(a)) ? "x + 0 -> x" : "x + -0.0 -> x");
  return adds_nothing(a, b) &&
         to_x(p, node, b, is_integral(known_dtype(b)) ? "0 + x -> x" : "-0.0 + x -> x");
}

bool minus_zero(Peephole& p, Node* node) {
  if (!of_tensor(node) || constant_int(node->input("alpha")) != 1) return false;
  Value* x = node->input(0);
  const std::optional<double> f = constant_float(node->input(1));
  if (f && std::signbit(*f)) return false;  // -0.0 - -0.0 is 0.0
  return is_zero(node->input(1), known_dtype(x)) && to_x(p, node, x, "x - 0 -> x");
}

bool to_the_first(Peephole& p, Node* node) {
  if (!of_tensor(node)) return false;
  Value* x = node->input(0);
  return is_one(node->input(1), known_dtype(x)) && to_x(p, node, x, "x ** 1 -> x");
}

// Folds an operator applied twice that is its own inverse. `fits`: true for dtypes for which the
// operator raises no error.
bool twice(Peephole& p, Node* node, const char* rule, bool (*fits)(DType),
           Peephole::Location location) {
  Node* inner = node->input(0)->node();
  if (!of_tensor(node) || inner->op() != node->op() || !is_dense(inner->input(0)) ||
      !fits(known_dtype(inner->input(0))))
    return false;
  return p.same(node, inner->input(0), rule, {inner}, "", location);
}

bool negated_twice(Peephole& p, Node* node) {
  const auto fits = [](DType dtype) {
    return is_integral(dtype) || is_floating(dtype) || is_complex(dtype);
  };
  return twice(p, node, "-(-x) -> x", fits, Peephole::Location::current());
}

bool inverted_twice(Peephole& p, Node* node) {
  const auto fits = [](DType dtype) { return is_integral(dtype) || dtype == DType::kBool; };
  return twice(p, node, "~~x -> x", fits, Peephole::Location::current());
}

bool not_twice(Peephole& p, Node* node) {
  const auto fits = [](DType dtype) { return dtype == DType::kBool; };  // other dtypes become bools
  return twice(p, node, "logical_not(logical_not(x)) -> x", fits, Peephole::Location::current());
}

}  // namespace

const PeepholeRules& tensor_arithmetic_rules() {
  static const auto* rules = new PeepholeRules{
      {{"aten::mul"}, times_one},
      {{"aten::div"}, divided_by_one},
      {{"aten::add"}, plus_zero},
      {{"aten::sub"}, minus_zero},
      {{"aten::pow"}, to_the_first},
      {{"aten::neg"}, negated_twice},
      {{"aten::bitwise_not"}, inverted_twice},
      {{"aten::logical_not"}, not_twice},
  };
  return *rules;
}

}  // namespace uh::jit
