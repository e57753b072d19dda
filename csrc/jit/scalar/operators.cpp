// Lowering of operators on numbers. An operator without an instruction, or one that may fail, calls
// the node's builtin on boxed values: same results, same errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "jit/builtins/builtin.h"
#include "jit/builtins/numbers.h"
#include "jit/scalar/lower.h"

namespace uh::jit {
namespace {

using Op = ScalarOp;
using Number = ScalarType;

struct Named1 {
  std::string_view name;
  Function1 function;
};
// The functions of builtins/math.cpp, called directly.
constexpr Named1 kFunctions1[] = {
    {"exp", static_cast<Function1>(::exp)},     {"log", static_cast<Function1>(::log)},
    {"log2", static_cast<Function1>(::log2)},   {"log10", static_cast<Function1>(::log10)},
    {"log1p", static_cast<Function1>(::log1p)}, {"expm1", static_cast<Function1>(::expm1)},
    {"sin", static_cast<Function1>(::sin)},     {"cos", static_cast<Function1>(::cos)},
    {"tan", static_cast<Function1>(::tan)},     {"asin", static_cast<Function1>(::asin)},
    {"acos", static_cast<Function1>(::acos)},   {"atan", static_cast<Function1>(::atan)},
    {"sinh", static_cast<Function1>(::sinh)},   {"cosh", static_cast<Function1>(::cosh)},
    {"tanh", static_cast<Function1>(::tanh)},   {"asinh", static_cast<Function1>(::asinh)},
    {"acosh", static_cast<Function1>(::acosh)}, {"atanh", static_cast<Function1>(::atanh)},
    {"erf", static_cast<Function1>(::erf)},     {"erfc", static_cast<Function1>(::erfc)},
};
struct Named2 {
  std::string_view name;
  Function2 function;
};
constexpr Named2 kFunctions2[] = {
    {"atan2", static_cast<Function2>(::atan2)},
    {"fmod", python::fast_fmod},
    {"hypot", static_cast<Function2>(::hypot)},
    {"copysign", static_cast<Function2>(::copysign)},
};

std::string_view short_name(const Node& node) {
  std::string_view kind = node.kind().text();
  return kind.substr(kind.find("::") + 2);
}

template <class T>
int32_t index_of(std::vector<T>& all, T element) {
  const auto it = std::find(all.begin(), all.end(), element);
  if (it != all.end()) return static_cast<int32_t>(it - all.begin());
  all.push_back(element);
  return static_cast<int32_t>(all.size() - 1);
}

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

bool is_cold(const Node& node) {
  std::vector<const Node*> tail{&node};
  std::unordered_set<const Node*> seen{&node};  // visits each node once: s + s is reached twice
  while (!tail.empty()) {
    const Node& at = *tail.back();
    tail.pop_back();
    const Builtin* builtin = as_builtin(at.op());
    if (!builtin || !builtin->is_pure() || at.outputs().size() != 1) return false;
    if (scalar_type(*at.output()->type())) return false;
    for (const Use& use : at.output()->uses()) {
      if (use.node->owner() != node.owner()) return false;
      if (!use.node->is("prim::RaiseException") && seen.insert(use.node).second)
        tail.push_back(use.node);
    }
  }
  return true;
}

void ScalarLowering::operation(const Node& node) {
  if (node.is("prim::unchecked_cast")) {
    slots_[node.output()] = slot(node.input(0));
    return;
  }
  const std::string_view name = short_name(node);
  const size_t n = node.inputs().size();
  const bool numbers = std::all_of(node.inputs().begin(), node.inputs().end(), [](const Value* v) {
    return scalar_type(*v->type()).has_value();
  });
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  Slot result_slot;
  if (!numbers) {
    result_slot = boxed(node);
  } else if (n == 2 && one_of({"add", "sub", "mul", "min", "max"})) {
    result_slot = arithmetic(node, name);
  } else if (n == 2 && one_of({"div", "floordiv", "remainder"})) {
    result_slot = division(node, name);
  } else if (comparison_of(node)) {
    result_slot = comparison(node);
  } else if (n == 2 && one_of({"__and__", "__or__", "__xor__", "__lshift__", "__rshift__"})) {
    result_slot = bits(node, name);
  } else if (n == 2 && name == "pow" && node.output()->type()->is(TypeKind::kFloat)) {
    result_slot = power(node);
  } else if (n == 1 && one_of({"Int", "Float", "Bool", "floor", "ceil", "trunc"})) {
    result_slot = conversion(node, name);
  } else if (n == 3 && name == "__derive_index") {
    const Slot step = slot(node.input(2));
    const Slot way = known(step) == 1 ? slot(node.input(0))
                                      : result(Op::kMulI, Number::kInt, slot(node.input(0)), step);
    result_slot = result(Op::kAddI, Number::kInt, way, slot(node.input(1)));
  } else if (n == 3 && name == "__range_length") {
    result_slot = range_length(node);
  } else {
    result_slot = function(node, name);
  }
  slots_[node.output()] = result_slot;
}

Slot ScalarLowering::arithmetic(const Node& node, std::string_view name) {
  Slot a = slot(node.input(0)), b = slot(node.input(1));
  const bool best = name == "min" || name == "max";
  if (type(a) == Number::kFloat || type(b) == Number::kFloat) {
    a = as_float(a);
    b = as_float(b);
    const Op op = name == "add"   ? Op::kAddF
                  : name == "sub" ? Op::kSubF
                  : name == "mul" ? Op::kMulF
                  : name == "min" ? Op::kMinF
                                  : Op::kMaxF;
    // Python's min(a, b) returns a unless b is less: minsd with operands b and a.
    return best ? result(op, Number::kFloat, b, a) : result(op, Number::kFloat, a, b);
  }
  const Op op = name == "add"   ? Op::kAddI
                : name == "sub" ? Op::kSubI
                : name == "mul" ? Op::kMulI
                : name == "min" ? Op::kMinI
                                : Op::kMaxI;
  return result(op, Number::kInt, a, b);
}

Slot ScalarLowering::division(const Node& node, std::string_view name) {
  Slot a = slot(node.input(0)), b = slot(node.input(1));
  const bool floats = type(a) == Number::kFloat || type(b) == Number::kFloat;
  if (name != "div" && !floats) return integer_division(node, name == "floordiv", a, b);
  a = as_float(a);
  b = as_float(b);
  if (!program_->is_constant[b] || std::bit_cast<double>(program_->initial[b]) == 0)
    trap_if_equal(Op::kIfEqF, b, real(0), node);
  if (name == "div") return result(Op::kDivF, Number::kFloat, a, b);
  constexpr Function2 floor_of = [](double x, double y) { return python::floordiv(x, y); };
  constexpr Function2 rest_of = [](double x, double y) { return python::mod(x, y); };
  const Function2 f = name == "floordiv" ? floor_of : rest_of;
  return result(Op::kCall2, Number::kFloat, a, b, index_of(program_->functions2, f));
}

Slot ScalarLowering::integer_division(const Node& node, bool quotient, Slot a, Slot b) {
  const auto by = known(b);
  if (by && is_power_of_two(*by)) {
    // Python rounds towards minus infinity, as shifts and masks do.
    if (quotient)
      return result(Op::kShrI, Number::kInt, a,
                    integer(__builtin_ctzll(static_cast<uint64_t>(*by))));
    return result(Op::kAndI, Number::kInt, a, integer(*by - 1));
  }
  if (!by || *by == 0) trap_if_equal(Op::kIfEqI, b, integer(0), node);
  return result(quotient ? Op::kFloorDivI : Op::kModI, Number::kInt, a, b);
}

Slot ScalarLowering::comparison(const Node& node) {
  const auto [comparison, floats, a, b] = compared(node);
  const Op op = comparison == Comparison::kEq   ? (floats ? Op::kEqF : Op::kEqI)
                : comparison == Comparison::kNe ? (floats ? Op::kNeF : Op::kNeI)
                : comparison == Comparison::kLt ? (floats ? Op::kLtF : Op::kLtI)
                                                : (floats ? Op::kLeF : Op::kLeI);
  return result(op, Number::kBool, a, b);
}

Slot ScalarLowering::bits(const Node& node, std::string_view name) {
  const Slot a = slot(node.input(0)), b = slot(node.input(1));
  const Number kind = *scalar_type(*node.output()->type());
  if (name == "__and__") return result(Op::kAndI, kind, a, b);
  if (name == "__or__") return result(Op::kOrI, kind, a, b);
  if (name == "__xor__") return result(Op::kXorI, kind, a, b);
  const Op op = name == "__lshift__" ? Op::kShlI : Op::kShrI;
  const auto by = known(b);
  if (by && *by >= 0 && *by < 64) return result(op, Number::kInt, a, b);
  const Slot dst = fresh(Number::kInt);
  const Label slow = label(), back = label();
  emit(Op::kIfLtI, 0, b, integer(0), slow);
  emit(Op::kIfLtI, 0, integer(63), b, slow);
  emit(op, dst, a, b);
  bind(back);
  cold(node, slow, dst, back);
  return dst;
}

// Calls the builtin instead if the instruction's result equals `b`.
Slot ScalarLowering::or_boxed(const Node& node, Slot result_slot, Slot a, Slot b) {
  const Label slow = label(), back = label();
  emit(Op::kIfEqI, 0, a, b, slow);
  bind(back);
  cold(node, slow, result_slot, back);
  return result_slot;
}
void ScalarLowering::cold(const Node& node, Label label, Slot dst, Label back) {
  traps_.push_back({label, site(node), dst, back});
}

Slot ScalarLowering::conversion(const Node& node, std::string_view name) {
  const Slot a = slot(node.input(0));
  const Number from = type(a);
  const Number to = *scalar_type(*node.output()->type());
  if (to == Number::kFloat) return as_float(a);
  if (to == Number::kBool) {
    if (from == Number::kBool) return a;
    return from == Number::kFloat ? result(Op::kNeF, Number::kBool, a, real(0))
                                  : result(Op::kNeI, Number::kBool, a, integer(0));
  }
  if (from != Number::kFloat) return a;
  const Slot rounded = name == "floor"  ? result(Op::kFloorF, Number::kFloat, a)
                       : name == "ceil" ? result(Op::kCeilF, Number::kFloat, a)
                                        : a;
  // A NaN or out-of-range float becomes INT64_MIN.
  const Slot result_slot = result(Op::kFloatToInt, Number::kInt, rounded);
  return or_boxed(node, result_slot, result_slot, integer(std::numeric_limits<int64_t>::min()));
}

Slot ScalarLowering::function(const Node& node, std::string_view name) {
  const Number kind = *scalar_type(*node.output()->type());
  if (node.inputs().size() == 1) {
    const Slot a = slot(node.input(0));
    if (name == "neg" || name == "abs") {
      const bool floats = type(a) == Number::kFloat;
      if (name == "neg") return result(floats ? Op::kNegF : Op::kNegI, kind, a);
      return result(floats ? Op::kAbsF : Op::kAbsI, kind, a);
    }
    if (name == "__not__" && type(a) == Number::kBool) return result(Op::kNotB, kind, a);
    if (name == "bitwise_not") return result(Op::kNotI, kind, a);
    if (name == "sqrt" && kind == Number::kFloat) return result(Op::kSqrtF, kind, as_float(a));
    if (name == "round" && kind == Number::kFloat) return result(Op::kRoundF, kind, as_float(a));
    if (name.starts_with("is") && kind == Number::kBool && type(a) == Number::kFloat) {
      const Slot infinity = real(std::numeric_limits<double>::infinity());
      if (name == "isnan") return result(Op::kNeF, kind, a, a);
      const Slot size = result(Op::kAbsF, Number::kFloat, a);
      if (name == "isinf") return result(Op::kEqF, kind, size, infinity);
      if (name == "isfinite") return result(Op::kLtF, kind, size, infinity);
    }
    if (name == "fabs" && kind == Number::kFloat) return result(Op::kAbsF, kind, as_float(a));
    for (const Named1& f : kFunctions1)
      if (f.name == name && kind == Number::kFloat)
        return result(Op::kCall1, kind, as_float(a), 0, index_of(program_->functions1, f.function));
  } else if (node.inputs().size() == 2 && name == "gcd" && kind == Number::kInt) {
    return result(Op::kCallI2, kind, slot(node.input(0)), slot(node.input(1)),
                  index_of(program_->int_functions2, IntFunction2{python::gcd}));
  } else if (node.inputs().size() == 2 && kind == Number::kFloat) {
    for (const Named2& f : kFunctions2) {
      if (f.name != name) continue;
      const Slot a = as_float(slot(node.input(0))), b = as_float(slot(node.input(1)));
      return result(Op::kCall2, kind, a, b, index_of(program_->functions2, f.function));
    }
  }
  return boxed(node);
}

Slot ScalarLowering::power(const Node& node) {
  const Slot a = as_float(slot(node.input(0))), b = as_float(slot(node.input(1)));
  const bool harmless =
      program_->is_constant[b] && std::bit_cast<double>(program_->initial[b]) >= 0;
  const Slot dst = fresh(Number::kFloat);
  const Label slow = label(), back = label();
  if (!harmless) emit(Op::kIfEqF, 0, a, real(0), slow);
  constexpr auto f = static_cast<Function2>(::pow);
  emit(Op::kCall2, dst, a, b, index_of(program_->functions2, Function2{f}));
  bind(back);
  if (!harmless) {
    cold(node, slow, dst, back);
  } else {
    bind(slow);  // without a jump to it
  }
  return dst;
}

Slot ScalarLowering::range_length(const Node& node) {
  const Slot low = slot(node.input(0)), high = slot(node.input(1));
  if (known(slot(node.input(2))) != 1) return boxed(node);
  const Slot dst = fresh(Number::kInt);
  const Label end = label();
  move(dst, integer(0));
  emit(Op::kIfLeI, 0, high, low, end);
  emit(Op::kSubI, dst, high, low);
  bind(end);
  return dst;
}

Slot ScalarLowering::boxed(const Node& node) {
  return result(Op::kBoxed, *scalar_type(*node.output()->type()), 0, 0, site(node));
}

}  // namespace uh::jit
