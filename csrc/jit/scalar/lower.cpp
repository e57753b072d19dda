// Lowering of control flow. A condition whose only use is the next If or Loop is never stored as a
// bool: the comparison itself jumps. `a and b`, which is an If with a result in scripted programs,
// becomes two jumps.
#include "jit/scalar/lower.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

#include "jit/builtins/builtin.h"
#include "jit/scalar/region.h"

namespace uh::jit {
namespace {

constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

// Visits the inputs of the node, and of all nodes and blocks within.
template <class F>
void each_input(const Node& node, const F& f) {
  for (const Value* input : node.inputs()) f(input);
  for (const Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) each_input(*inner, f);
    for (const Value* value : block->returns()) f(value);
  }
}

}  // namespace

std::optional<ScalarType> scalar_type(const Type& type) {
  if (type.is(TypeKind::kInt)) return ScalarType::kInt;
  if (type.is(TypeKind::kFloat)) return ScalarType::kFloat;
  if (type.is(TypeKind::kBool)) return ScalarType::kBool;
  return std::nullopt;
}

std::optional<Comparison> comparison_of(const Node& node) {
  using enum Comparison;
  static constexpr std::pair<std::string_view, Comparison> kNames[] = {
      {"aten::eq", kEq}, {"aten::ne", kNe}, {"aten::lt", kLt},
      {"aten::le", kLe}, {"aten::gt", kGt}, {"aten::ge", kGe}};
  if (!node.op() || node.inputs().size() != 2) return std::nullopt;
  if (!scalar_type(*node.input(0)->type()) || !scalar_type(*node.input(1)->type()))
    return std::nullopt;
  for (const auto& [name, comparison] : kNames)
    if (node.kind().text() == name) return comparison;
  return std::nullopt;
}

ScalarLowering::ScalarLowering() : program_(make_ref<ScalarProgram>()) {}

// ---- slots

Slot ScalarLowering::fresh(ScalarType type) {
  check(program_->types.size() < 60'000, "compile: a loop of more than 60000 numbers");
  program_->types.push_back(type);
  program_->initial.push_back(0);
  program_->is_constant.push_back(false);
  return static_cast<Slot>(program_->types.size() - 1);
}

Slot ScalarLowering::constant(ScalarType type, int64_t bits) {
  for (size_t s = 0; s < program_->types.size(); ++s)
    if (program_->is_constant[s] && program_->types[s] == type && program_->initial[s] == bits)
      return static_cast<Slot>(s);
  const Slot s = fresh(type);
  program_->initial[s] = bits;
  program_->is_constant[s] = true;
  return s;
}
Slot ScalarLowering::real(double value) {
  return constant(ScalarType::kFloat, std::bit_cast<int64_t>(value));
}

std::optional<int64_t> ScalarLowering::known(Slot s) const {
  if (!program_->is_constant[s] || type(s) == ScalarType::kFloat) return std::nullopt;
  return program_->initial[s];
}

Slot ScalarLowering::slot(const Value* value) {
  if (const auto it = slots_.find(value); it != slots_.end()) return it->second;
  const ScalarType type = *scalar_type(*value->type());
  if (value->node()->is("prim::Constant") || value->node()->is("prim::Uninitialized")) {
    const IValue* constant_value = value->constant();
    if (!constant_value || constant_value->is_none()) return constant(type, 0);
    if (type == ScalarType::kFloat) return real(from_value<double>(*constant_value));
    return constant(type, from_value<int64_t>(*constant_value));
  }
  return slots_[value] = fresh(type);
}

Slot ScalarLowering::as_float(Slot s) {
  if (type(s) == ScalarType::kFloat) return s;
  if (const auto value = known(s)) return real(static_cast<double>(*value));
  return result(ScalarOp::kIntToFloat, ScalarType::kFloat, s);
}

// ---- instructions

ScalarLowering::Label ScalarLowering::label() {
  labels_.push_back(-1);
  return static_cast<Label>(labels_.size() - 1);
}
void ScalarLowering::bind(Label label) {
  labels_[static_cast<size_t>(label)] = static_cast<int32_t>(program_->instructions.size());
}
void ScalarLowering::emit(ScalarOp op, Slot dst, Slot a, Slot b, int32_t x) {
  program_->instructions.push_back({op, dst, a, b, x});
}
Slot ScalarLowering::result(ScalarOp op, ScalarType type, Slot a, Slot b, int32_t x) {
  const Slot dst = fresh(type);
  emit(op, dst, a, b, x);
  return dst;
}
void ScalarLowering::move(Slot to, Slot from) {
  if (to != from) emit(ScalarOp::kMove, to, from);
}

int32_t ScalarLowering::site(const Node& node) {
  ScalarSite result{&node, {}};
  std::unordered_set<const Value*> seen;
  const auto capture = [&](const Node& at, const auto& self) -> void {
    for (const Value* value : at.inputs()) {
      if (value->node()->is("prim::Constant") || !seen.insert(value).second) continue;
      if (scalar_type(*value->type())) {
        result.captured.emplace_back(value, slot(value));
      } else {
        self(*value->node(), self);
      }
    }
  };
  capture(node, capture);
  program_->sites.push_back(std::move(result));
  return static_cast<int32_t>(program_->sites.size() - 1);
}

void ScalarLowering::trap_if_equal(ScalarOp compare, Slot a, Slot b, const Node& node) {
  const Label out = label();
  emit(compare, 0, a, b, out);
  traps_.push_back({out, site(node), 0, -1});
}

// ---- blocks

void ScalarLowering::input(const Value* value) {
  const Slot s = slot(value);
  program_->inputs.push_back({s, type(s)});
}

void ScalarLowering::body(const Block& at) { block(at); }

void ScalarLowering::block(const Block& at) {
  for (const Node* node = at.first(); node != at.return_node(); node = node->next()) {
    if (node->is("prim::Constant") || node->is("prim::Uninitialized") || is_cold(*node)) continue;
    if (defers(*node)) continue;
    if (node->is("prim::If")) {
      branches(*node);
    } else if (node->is("prim::Loop")) {
      loop(*node);
    } else if (node->is("prim::RaiseException")) {
      const Label out = label();
      jump(out);
      traps_.push_back({out, site(*node), 0, -1});
    } else {
      operation(*node);
    }
  }
}

void ScalarLowering::branches(const Node& node) {
  const Label yes = label(), no = label(), end = label();
  branch(node.input(0), yes, no, true);
  for (size_t i = 0; i < 2; ++i) {
    bind(i == 0 ? yes : no);
    block(*node.block(i));
    for (size_t k = 0; k < node.outputs().size(); ++k)
      if (node.output(k)->has_uses()) move(slot(node.output(k)), slot(node.block(i)->returns()[k]));
    if (i == 0) jump(end);
  }
  bind(end);
}

// True if the condition depends on a carried value of the previous iteration, which is overwritten
// when the next iteration's values are moved into their slots.
bool ScalarLowering::uses_changed(const Value* condition, const Node& loop) {
  const Block& inner = *loop.block(0);
  // Compares slots: a cast of a carried value has the same slot.
  const auto changed = [&](const Value* value) {
    const auto constant_value = slots_.find(value);
    if (constant_value == slots_.end()) return false;
    for (size_t i = 0; i < inner.params().size(); ++i) {
      const auto param = slots_.find(inner.params()[i]);
      if (param == slots_.end() || param->second != constant_value->second) continue;
      if (i == 0 || slot(inner.returns()[i]) != constant_value->second) return true;
    }
    return false;
  };
  const auto look = [&](const Value* value, const auto& self) -> bool {
    if (changed(value)) return true;
    const Node& new_node = *value->node();
    const auto it = deferred_.find(&new_node);
    if (it == deferred_.end() || !it->second) return false;
    bool any = false;
    each_input(new_node, [&](const Value* input) { any |= self(input, self); });
    return any;
  };
  return look(condition, look);
}

// Moves the initial values into the carried slots, which have the outputs at the end.
std::vector<Slot> ScalarLowering::begin_carrying(const Node& loop) {
  const auto& params = loop.block(0)->params();
  std::vector<Slot> carried;
  for (size_t k = 1; k < params.size(); ++k) {
    carried.push_back(slot(params[k]));
    move(carried.back(), slot(loop.input(k + 1)));
    slots_[loop.output(k - 1)] = carried.back();
  }
  return carried;
}

// Moves the values that an iteration returns into the carried slots, as one parallel move: a
// carried slot that is read later is saved first. The next condition reads the new values. Returns
// the previous slot of each value.
ScalarLowering::Slots ScalarLowering::carry_on(const Block& body,
                                               const std::vector<Slot>& carried) {
  std::vector<std::pair<Slot, Slot>> moves;
  for (size_t k = 0; k < carried.size(); ++k) {
    Slot from = slot(body.returns()[k + 1]);
    const bool other =
        from != carried[k] && std::find(carried.begin(), carried.end(), from) != carried.end();
    if (other) {
      const Slot aside = fresh(type(from));
      move(aside, from);
      from = aside;
    }
    moves.emplace_back(carried[k], from);
  }
  for (const auto& [to, from] : moves) move(to, from);
  Slots before;
  for (size_t k = 0; k < carried.size(); ++k) {
    const Value* value = body.returns()[k + 1];
    if (value->node()->is("prim::Constant")) continue;
    const auto it = slots_.find(value);
    if (it == slots_.end() || before.count(value)) continue;
    before[value] = it->second;
    it->second = carried[k];
  }
  return before;
}

// Stores a condition as a bool in a new slot.
Slot ScalarLowering::truth_of(const Value* condition) {
  const Slot result_slot = fresh(ScalarType::kBool);
  const Label yes = label(), no = label(), both = label();
  branch(condition, yes, no, true);
  bind(yes);
  move(result_slot, constant(ScalarType::kBool, 1));
  jump(both);
  bind(no);
  move(result_slot, constant(ScalarType::kBool, 0));
  bind(both);
  return result_slot;
}

// The condition is tested before the first iteration and after each: one jump per iteration.
void ScalarLowering::loop(const Node& node) {
  const Block& inner = *node.block(0);
  const auto& params = inner.params();
  const Label again = label(), end = label();
  const Slot limit = slot(node.input(0));
  const bool counted = known(limit) != kEndless;
  const bool counts = counted || params[0]->has_uses();

  const std::vector<Slot> carried = begin_carrying(node);
  const Slot index = counts ? slot(params[0]) : 0;
  if (counts) move(index, integer(0));
  // Evaluating a condition may fail: it is always evaluated, and the count is tested after it.
  const IValue* first = node.input(1)->constant();
  if (!first || !from_value<bool>(*first)) {
    const Label count = label();
    branch(node.input(1), count, end, true);
    bind(count);
  }
  if (counted && !(known(limit) && *known(limit) > 0))
    emit(ScalarOp::kIfLeI, 0, limit, integer(0), end);

  bind(again);
  block(inner);
  const Value* condition = inner.returns()[0];
  const IValue* always = condition->constant();
  const bool endless = always && from_value<bool>(*always);
  const bool early = !endless && uses_changed(condition, node);
  const Slot result_slot = early ? truth_of(condition) : 0;
  const Slots before = carry_on(inner, carried);
  emit(ScalarOp::kPoll, 0);
  if (counts) emit(ScalarOp::kAddI, index, index, integer(1));
  if (counted) {
    if (early) {
      emit(ScalarOp::kIfEqI, 0, result_slot, constant(ScalarType::kBool, 0), end);
    } else if (!endless) {
      const Label count = label();
      branch(condition, count, end, true);
      bind(count);
    }
    emit(ScalarOp::kIfLtI, 0, index, limit, again);
  } else if (early) {
    emit(ScalarOp::kIfNeI, 0, result_slot, constant(ScalarType::kBool, 0), again);
  } else {
    branch(condition, again, end, false);
  }
  bind(end);
  for (const auto& [value, old] : before) slots_[value] = old;
}

// ---- conditions

// True for a bool that is not needed as a value: its only use is the next If or Loop, or another
// deferred condition.
bool ScalarLowering::defers(const Node& node) {
  if (const auto it = deferred_.find(&node); it != deferred_.end()) return it->second;
  bool& known = deferred_[&node];
  known = false;
  if (node.outputs().size() != 1 || node.output()->uses().size() != 1) return false;
  const bool pure = comparison_of(node) || node.is("aten::__not__");
  if (!pure && !node.is("prim::If")) return false;
  if (!node.output()->type()->is(TypeKind::kBool)) return false;
  const Use use = node.output()->uses()[0];
  const Node& user = *use.node;
  if (user.owner() != node.owner()) return false;
  if (!pure) {
    // Deferring would reorder it after the nodes in between.
    for (const Node* at = node.next(); at != &user; at = at->next())
      if (!at->is("prim::Constant") && !(comparison_of(*at) && defers(*at))) return false;
  }
  if (user.is("prim::If") || (user.is("prim::Loop") && use.index == 1)) {
    known = true;
  } else if (user.is("prim::Return") && user.owner()->owner()) {
    const Node& around = *user.owner()->owner();
    known = around.is("prim::Loop") ? use.index == 0 : defers(around);
  } else if (user.is("aten::__not__")) {
    known = defers(user);
  }
  const bool answer = known;
  deferred_[&node] = answer;
  return answer;
}

void ScalarLowering::branch(const Value* condition, Label yes, Label no, bool yes_is_next) {
  if (const IValue* constant_value = condition->constant()) {
    const bool truth = from_value<bool>(*constant_value);
    if (truth != yes_is_next) jump(truth ? yes : no);
    return;
  }
  const Node& node = *condition->node();
  // A value from outside of the program is already computed.
  if (slots_.count(condition) == 0 && defers(node)) {
    if (node.is("aten::__not__")) {
      branch(node.input(0), no, yes, !yes_is_next);
      return;
    }
    if (node.is("prim::If")) {
      const Label then = label(), other = label();
      branch(node.input(0), then, other, true);
      bind(then);
      block(*node.block(0));
      branch(node.block(0)->returns()[0], yes, no, false);
      // Neither target is the next instruction: jump to the other one.
      jump(no);
      bind(other);
      block(*node.block(1));
      branch(node.block(1)->returns()[0], yes, no, yes_is_next);
      return;
    }
    compare(node, yes, no, yes_is_next);
    return;
  }
  const Slot value = slot(condition), zero = constant(ScalarType::kBool, 0);
  if (yes_is_next) {
    emit(ScalarOp::kIfEqI, 0, value, zero, no);
  } else {
    emit(ScalarOp::kIfNeI, 0, value, zero, yes);
  }
}

ScalarLowering::Compared ScalarLowering::compared(const Node& node) {
  using enum Comparison;
  Comparison comparison = *comparison_of(node);
  Slot a = slot(node.input(0)), b = slot(node.input(1));
  const bool floats = type(a) == ScalarType::kFloat || type(b) == ScalarType::kFloat;
  if (floats) {
    a = as_float(a);
    b = as_float(b);
  }
  if (comparison == kGt || comparison == kGe) {
    std::swap(a, b);
    comparison = comparison == kGt ? kLt : kLe;
  }
  return {comparison, floats, a, b};
}

void ScalarLowering::compare(const Node& node, Label yes, Label no, bool yes_is_next) {
  const auto [comparison, floats, a, b] = compared(node);
  const bool is_lt = comparison == Comparison::kLt;
  using Op = ScalarOp;
  if (comparison == Comparison::kEq || comparison == Comparison::kNe) {
    const bool equal = (comparison == Comparison::kEq) != yes_is_next;
    const Op op = floats ? (equal ? Op::kIfEqF : Op::kIfNeF) : (equal ? Op::kIfEqI : Op::kIfNeI);
    emit(op, 0, a, b, yes_is_next ? no : yes);
  } else if (!yes_is_next) {
    emit(floats ? (is_lt ? Op::kIfLtF : Op::kIfLeF) : (is_lt ? Op::kIfLtI : Op::kIfLeI), 0, a, b,
         yes);
  } else if (floats) {
    // Jumps to `no` on the negation; for floats !(a < b) is not b <= a.
    emit(is_lt ? Op::kIfNotLtF : Op::kIfNotLeF, 0, a, b, no);
  } else {
    emit(is_lt ? Op::kIfLeI : Op::kIfLtI, 0, b, a, no);
  }
}

void ScalarLowering::finish(const std::vector<const Value*>& outputs) {
  for (const Value* value : outputs) {
    // A new slot, as an output may be a constant or another output.
    const Slot from = slot(value);
    const Slot to = fresh(type(from));
    move(to, from);
    program_->outputs.push_back({to, type(to)});
  }
  emit(ScalarOp::kReturn, 0);
  for (const Trap& trap : traps_) {
    bind(trap.label);
    emit(trap.back < 0 ? ScalarOp::kTrap : ScalarOp::kBoxed, trap.dst, 0, 0, trap.site);
    if (trap.back >= 0) jump(trap.back);
  }
  for (auto& i : program_->instructions)
    if (jumps(i.op)) i.x = labels_[static_cast<size_t>(i.x)];
}

}  // namespace uh::jit
