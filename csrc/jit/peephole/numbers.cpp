// Arithmetic and conversions of numbers that return their input, or a constant.
#include <cmath>

#include "jit/builtins/builtin.h"
#include "jit/peephole/rules.h"

namespace uh::jit {
namespace {

bool is_kind(const Value* value, TypeKind kind) { return value->type()->is(kind); }
bool is_int(const Value* value) { return is_kind(value, TypeKind::kInt); }
bool is_float(const Value* value) { return is_kind(value, TypeKind::kFloat); }

// True for a builtin of one or two numbers that are all ints, or all bools.
bool of_kind(const Node* node, TypeKind kind) {
  if (!as_builtin(node->op())) return false;
  for (const Value* input : node->inputs())
    if (!is_kind(input, kind)) return false;
  return true;
}

// True for a builtin of a float and a number.
bool of_floats(const Node* node) {
  return as_builtin(node->op()) && node->inputs().size() == 2 && is_float(node->output()) &&
         is_float(node->input(0)) && (is_float(node->input(1)) || is_int(node->input(1)));
}

std::optional<double> number(const Value* value) {
  if (const std::optional<int64_t> i = constant_int(value)) return static_cast<double>(*i);
  return constant_float(value);
}

bool add(Peephole& p, Node* node) {
  Value *a = node->input(0), *b = node->input(1);
  if (of_kind(node, TypeKind::kInt)) {
    if (constant_int(b) == 0) return p.same(node, a, "i + 0 -> i");
    return constant_int(a) == 0 && p.same(node, b, "0 + i -> i");
  }
  const std::optional<double> f = constant_float(b);
  return of_floats(node) && f == 0.0 && std::signbit(*f) && p.same(node, a, "f + -0.0 -> f");
}

bool sub(Peephole& p, Node* node) {
  Value *a = node->input(0), *b = node->input(1);
  if (of_kind(node, TypeKind::kInt)) {
    if (constant_int(b) == 0) return p.same(node, a, "i - 0 -> i");
    return a == b && p.constant(node, int64_t{0}, "i - i -> 0");
  }
  const std::optional<double> f = number(b);
  return of_floats(node) && f == 0.0 && !std::signbit(*f) && p.same(node, a, "f - 0 -> f");
}

bool mul(Peephole& p, Node* node) {
  Value *a = node->input(0), *b = node->input(1);
  if (of_kind(node, TypeKind::kInt)) {
    if (constant_int(b) == 1) return p.same(node, a, "i * 1 -> i");
    if (constant_int(a) == 1) return p.same(node, b, "1 * i -> i");
    return (constant_int(a) == 0 || constant_int(b) == 0) &&
           p.constant(node, int64_t{0}, "i * 0 -> 0");
  }
  return of_floats(node) && number(b) == 1.0 && p.same(node, a, "f * 1 -> f");
}

bool div(Peephole& p, Node* node) {
  return of_floats(node) && number(node->input(1)) == 1.0 &&
         p.same(node, node->input(0), "f / 1 -> f");
}

bool floordiv(Peephole& p, Node* node) {
  return of_kind(node, TypeKind::kInt) && constant_int(node->input(1)) == 1 &&
         p.same(node, node->input(0), "i // 1 -> i");
}

bool remainder(Peephole& p, Node* node) {
  return of_kind(node, TypeKind::kInt) && constant_int(node->input(1)) == 1 &&
         p.constant(node, int64_t{0}, "i % 1 -> 0");
}

bool pow(Peephole& p, Node* node) {
  return of_floats(node) && number(node->input(1)) == 1.0 &&
         p.same(node, node->input(0), "f ** 1 -> f");
}

bool shift(Peephole& p, Node* node) {
  return of_kind(node, TypeKind::kInt) && constant_int(node->input(1)) == 0 &&
         p.same(node, node->input(0), "i << 0 -> i");
}

bool twice(Peephole& p, Node* node) {
  Node* inner = node->input(0)->node();
  return as_builtin(node->op()) && inner->op() == node->op() &&
         (of_kind(node, TypeKind::kInt) || of_kind(node, TypeKind::kFloat)) &&
         p.same(node, inner->input(0), node->is("aten::neg") ? "-(-n) -> n" : "~~i -> i", {inner});
}

bool both(Peephole& p, Node* node) {
  Value *a = node->input(0), *b = node->input(1);
  const bool bools = of_kind(node, TypeKind::kBool);
  if (!bools && !of_kind(node, TypeKind::kInt)) return false;
  if (a == b) return p.same(node, a, "a and a -> a");
  if (!bools) return false;
  const bool neutral = node->is("aten::__and__");  // True and b, False or b
  for (Value* known : {a, b}) {
    const std::optional<bool> value = constant_bool(known);
    if (!value) continue;
    Value* other = known == a ? b : a;
    if (*value == neutral)
      return p.same(node, other, neutral ? "True and b -> b" : "False or b -> b");
    return p.constant(node, !neutral, neutral ? "False and b -> False" : "True or b -> True");
  }
  return false;
}

// `not a < b` is `a >= b`, except for floats: both are false for NaN.
bool not_of(Peephole& p, Node* node) {
  Node* inner = node->input(0)->node();
  if (!as_builtin(node->op())) return false;
  if (inner->is("aten::__not__")) return p.same(node, inner->input(0), "not not b -> b", {inner});
  static const std::pair<const char*, const char*> kOpposites[] = {
      {"aten::eq", "aten::ne"},
      {"aten::lt", "aten::ge"},
      {"aten::le", "aten::gt"},
      {"aten::ne", "aten::eq"},
      {"aten::ge", "aten::lt"},
      {"aten::gt", "aten::le"},
      {"aten::__is__", "aten::__isnot__"},
      {"aten::__isnot__", "aten::__is__"}};
  if (!as_builtin(inner->op()) || inner->output()->uses().size() != 1) return false;
  for (const auto& [kind, opposite] : kOpposites) {
    if (!inner->is(kind)) continue;
    const bool equality = inner->is("aten::eq") || inner->is("aten::ne");
    const bool identity = inner->is("aten::__is__") || inner->is("aten::__isnot__");
    const bool numbers = of_kind(inner, TypeKind::kInt) || of_kind(inner, TypeKind::kString);
    if (!numbers && !identity && !(equality && of_kind(inner, TypeKind::kFloat))) return false;
    const std::string overload(inner->op()->schema().overload_name());
    const Builtin* op = find_builtin(opposite + (overload.empty() ? "" : "." + overload));
    if (!op) return false;
    const std::vector<Value*> inputs = inner->inputs();
    const char* rule = identity   ? "not a is b -> a is not b"
                       : equality ? "not a == b -> a != b"
                                  : "not a < b -> a >= b";
    return p.instead(node, rule, {inner}, [&](Graph& graph) {
      return graph.insert(graph.create_call(*op, inputs))->output();
    });
  }
  return false;
}

// Folds a Value compared with itself; not for floats, as NaN is not equal to itself.
bool compared_with_itself(Peephole& p, Node* node) {
  if (!as_builtin(node->op()) || node->input(0) != node->input(1)) return false;
  if (!of_kind(node, TypeKind::kInt) && !of_kind(node, TypeKind::kString) &&
      !of_kind(node, TypeKind::kBool))
    return false;
  const bool holds = node->is("aten::eq") || node->is("aten::le") || node->is("aten::ge");
  return p.constant(node, holds, holds ? "a == a -> True" : "a < a -> False");
}

// Folds int() of an int, str() of a str...
bool converted_to_itself(Peephole& p, Node* node) {
  return as_builtin(node->op()) && node->inputs().size() == 1 &&
         !node->input(0)->type()->is(TypeKind::kNumber) &&
         same_type(*node->input(0)->type(), *node->output()->type()) &&
         p.same(node, node->input(0), "int(i) -> i", {}, "it is one already");
}

// Folds a trace's round trip of sizes: to a tensor, and back to a number for an operator.
bool number_of_tensor_of_number(Peephole& p, Node* node) {
  if (node->inputs().size() != 1) return false;
  Node* inner = node->input(0)->node();
  return inner->is("prim::NumToTensor") &&
         inner->input(0)->type()->is(node->output()->type()->kind()) &&
         !p.alias().has_writers(inner->output()) &&
         p.same(node, inner->input(0), "int(tensor(i)) -> i", {inner}, "it was one before");
}

}  // namespace

const PeepholeRules& number_rules() {
  static const auto* rules = new PeepholeRules{
      {{"aten::add"}, add},
      {{"aten::sub"}, sub},
      {{"aten::mul"}, mul},
      {{"aten::div"}, div},
      {{"aten::floordiv"}, floordiv},
      {{"aten::remainder"}, remainder},
      {{"aten::pow"}, pow},
      {{"aten::__lshift__", "aten::__rshift__"}, shift},
      {{"aten::neg", "aten::bitwise_not"}, twice},
      {{"aten::__and__", "aten::__or__"}, both},
      {{"aten::__not__"}, not_of},
      {{"aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge"},
       compared_with_itself},
      {{"aten::Int", "aten::Float", "aten::Bool", "aten::Complex", "aten::str"},
       converted_to_itself},
      {{"aten::Int", "aten::Float", "aten::Bool"}, number_of_tensor_of_number},
  };
  return *rules;
}

}  // namespace uh::jit
