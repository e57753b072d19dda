#include "jit/ir/alias_analysis.h"

#include <algorithm>
#include <string_view>

#include "generated/tags.h"
#include "jit/builtins/builtin.h"
#include "jit/ir/effects.h"

namespace uh::jit {
namespace {

using Set = std::vector<int32_t>;

// Merges two sets; returns true if `into` grew.
bool merge(Set& into, const Set& from) {
  if (std::includes(into.begin(), into.end(), from.begin(), from.end())) return false;
  Set all;
  all.reserve(into.size() + from.size());
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(all));
  into = std::move(all);
  return true;
}

bool meet(const Set& a, const Set& b) {
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    if (*i == *k) return true;
    *i < *k ? ++i : ++k;
  }
  return false;
}

// One bit for each of AliasDb's kinds.
constexpr unsigned kTensorBit = 1, kListBit = 2, kDictBit = 4, kObjectBit = 8, kPlainBit = 16;
constexpr unsigned kAllBits = 31;

unsigned bits_of(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kTensor: return kTensorBit;
    case TypeKind::kList:
    case TypeKind::kDict: {
      const auto holds = [](const TypeRef& t) { return bits_of(*t) != 0; };
      if (std::none_of(type.inner().begin(), type.inner().end(), holds)) return kPlainBit;
      return type.is(TypeKind::kList) ? kListBit : kDictBit;
    }
    case TypeKind::kFuture:
    case TypeKind::kClass: return kObjectBit;
    case TypeKind::kAny: return kAllBits;
    case TypeKind::kOptional:
    case TypeKind::kUnion:
    case TypeKind::kTuple: {
      unsigned bits = 0;
      for (const TypeRef& inner : type.inner()) bits |= bits_of(*inner);
      return bits;
    }
    default: return 0;
  }
}

const Set kOutside = {0, 1, 2, 3, 4};
const Set kGradientSwitch = {5};

bool switches(const Node& node) {
  return node.op() && node.op()->has_tag(Tag::kSetsGradMode);
}

bool computes(const Node& node) {
  switch (role_of(node)) {
    case Role::kFresh:
    case Role::kOperator:
    case Role::kBuiltin:
    case Role::kCall: return true;
    default: return false;
  }
}

}  // namespace

bool is_mutable_type(const Type& type) { return bits_of(type) != 0; }

bool is_only_read(const Value* value) {
  for (const Use& use : value->uses()) {
    const Node& node = *use.node;
    if (role_of(node) != Role::kOperator || may_return_argument(*node.op())) return false;
    if (node.op()->schema().is_view() || !written_inputs(node).empty()) return false;
  }
  return true;
}

AliasDb::AliasDb(const Graph& graph) {
  for (int kind = 0; kind < kKinds; ++kind)
    memory_.push_back(
        {static_cast<Kind>(kind), kind == kTensor || kind == kPlain ? Locations{} : kOutside});
  memory_.push_back({kSwitch, {}});
  graph.each_node([&](const Node* node) { switches_gradients_ |= switches(*node); });
  for (const Value* input : graph.inputs()) point(input, kOutside);
  // Locations are only added: with loops, and containers filled late, repeat until nothing changes.
  do {
    changed_ = false;
    visit(*graph.block());
  } while (changed_);
  complete_ = true;
  mark(graph);
}

AliasDb::Location AliasDb::make(const Value* value, int part, Kind kind) {
  const auto [it, added] =
      created_[part].try_emplace(value->id(), static_cast<Location>(memory_.size()));
  if (added) memory_.push_back({kind, {}});
  return it->second;
}

AliasDb::Locations AliasDb::of_kinds(const Locations& locations, unsigned bits) const {
  Locations fitting;
  for (const Location p : locations)
    if (bits >> memory_[static_cast<size_t>(p)].kind & 1U) fitting.push_back(p);
  return fitting;
}

void AliasDb::point(const Value* value, const Locations& to) {
  const unsigned bits = bits_of(*value->type());
  if (bits == 0) return;
  changed_ |= merge(points_[value->id()], of_kinds(to, bits));
}

void AliasDb::put(const Locations& containers, const Locations& content) {
  for (const Location p : containers) {
    Memory& memory = memory_[static_cast<size_t>(p)];
    if (memory.kind != kTensor && memory.kind != kPlain) changed_ |= merge(memory.content, content);
  }
}

AliasDb::Locations AliasDb::locations(const Value* value) const {
  if (const auto it = points_.find(value->id()); it != points_.end()) return it->second;
  Locations anything;
  if (!complete_) return anything;  // a Value carried around a loop, before its first iteration
  const unsigned bits = bits_of(*value->type());
  for (size_t p = 0; bits != 0 && p < memory_.size(); ++p)
    if (bits >> memory_[p].kind & 1U) anything.push_back(static_cast<Location>(p));
  return anything;
}

AliasDb::Locations AliasDb::locations(const std::vector<Value*>& values) const {
  Locations all;
  for (const Value* value : values) merge(all, locations(value));
  return all;
}

AliasDb::Locations AliasDb::content(const Locations& containers) const {
  Locations all;
  for (const Location p : containers) merge(all, memory_[static_cast<size_t>(p)].content);
  return all;
}

AliasDb::Locations AliasDb::reachable(Locations from) const {
  while (merge(from, content(from))) {
  }
  return from;
}

void AliasDb::visit(const Block& block) {
  for (const Node* node = block.first(); node != block.return_node(); node = node->next())
    visit(*node);
}

void AliasDb::visit(const Node& node) {
  for (const Value* output : node.outputs()) points_.try_emplace(output->id());
  switch (role_of(node)) {
    case Role::kConstant:
    case Role::kNothing:
      for (const Value* output : node.outputs()) point(output, kOutside);
      return;
    case Role::kList:
    case Role::kDict:
    case Role::kObject: {
      const unsigned bits = bits_of(*node.output()->type());
      const Kind kind = bits == kPlainBit  ? kPlain
                        : bits == kListBit ? kList
                        : bits == kDictBit ? kDict
                                           : kObject;
      const Location own = make(node.output(), 0, kind);
      point(node.output(), {own});
      put({own}, locations(node.inputs()));
      return;
    }
    case Role::kSame:
      for (const Value* output : node.outputs()) point(output, locations(node.inputs()));
      return;
    case Role::kTakeOut:
      for (const Value* output : node.outputs()) point(output, content(locations(node.inputs())));
      return;
    case Role::kSetAttr: put(locations(node.input(0)), locations(node.input(1))); return;
    case Role::kBlocks: visit_blocks(node); return;
    case Role::kFresh:
      for (const Value* output : node.outputs()) point(output, {make(output, 0, kTensor)});
      return;
    case Role::kOperator: visit_operator(node); return;
    case Role::kBuiltin: visit_builtin(node); return;
    case Role::kCall: visit_call(node); return;
  }
}

// An If's outputs are what either block returns. A Loop's body receives the initial values and
// those of the previous iteration; its outputs may be either, as there may be no iteration.
void AliasDb::visit_blocks(const Node& node) {
  const bool loop = node.is("prim::Loop");
  for (const Block* block : node.blocks()) {
    for (size_t i = 0; i < block->params().size(); ++i) {
      const Value* param = block->params()[i];
      points_.try_emplace(param->id());
      if (!loop || i == 0) continue;
      point(param, locations(node.input(i + 1)));
      if (i < block->returns().size()) point(param, locations(block->returns()[i]));
    }
    visit(*block);
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (loop) point(node.output(i), locations(node.input(i + 2)));
    for (const Block* block : node.blocks())
      point(node.output(i), locations(block->returns()[loop ? i + 1 : i]));
  }
}

void AliasDb::visit_operator(const Node& node) {
  const FunctionSchema& schema = node.op()->schema();
  Locations viewed;
  for (size_t i = 0; i < schema.arguments.size() && i < node.inputs().size(); ++i) {
    const Argument& a = schema.arguments[i];
    if (a.is_view() || a.is_write()) merge(viewed, locations(node.input(i)));
  }
  // A composite (reshape) may return its argument, which its schema does not declare.
  const Locations quiet =
      may_return_argument(*node.op()) ? reachable(locations(node.inputs())) : Locations();
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* output = node.output(i);
    // Our schemas of in-place forms return nothing; the output in graphs is the written argument.
    const bool view = i < schema.returns.size()
                          ? schema.returns[i].is_view() || schema.returns[i].is_write()
                          : schema.is_mutable();
    if (output->type()->is(TypeKind::kList)) {
      const bool plain = bits_of(*output->type()) == kPlainBit;
      const Location list = make(output, 0, plain ? kPlain : kList);
      point(output, {list});
      put({list}, view ? viewed : quiet);
      if (!view && !plain) put({list}, {make(output, 1, kTensor)});
      continue;
    }
    point(output, view ? viewed : quiet);
    if (!view && output->type()->is(TypeKind::kTensor)) point(output, {make(output, 0, kTensor)});
  }
}

// For builtins of lists and dictionaries: a result may be new, an argument, or an item of one.
void AliasDb::visit_builtin(const Node& node) {
  const Locations from = reachable(locations(node.inputs()));
  for (const Value* output : node.outputs()) {
    const unsigned bits = bits_of(*output->type());
    if (bits == 0) continue;
    point(output, from);
    for (int kind = 0, part = 0; kind < kKinds && part < 2; ++kind) {
      if ((bits >> kind & 1U) == 0) continue;
      const Location own = make(output, part++, static_cast<Kind>(kind));
      point(output, {own});
      put({own}, from);
    }
  }
  for (const Value* written : written_inputs(node))
    put(locations(written), locations(node.inputs()));
}

// The callee's effects are unknown: it may store and alias everything that it can reach.
void AliasDb::visit_call(const Node& node) {
  Locations all = locations(node.inputs());
  merge(all, kOutside);
  all = reachable(std::move(all));
  put(all, all);
  for (const Value* output : node.outputs()) point(output, all);
}

const AliasDb::Access& AliasDb::access(const Node& node) const {
  if (const auto it = access_.find(node.id()); it != access_.end()) return it->second;
  Access access;
  access.read = reachable(locations(node.inputs()));
  if (role_of(node) == Role::kCall) {
    merge(access.read, kOutside);
    access.written = access.read = reachable(std::move(access.read));
  }
  if (switches_gradients_ && switches(node)) merge(access.written, kGradientSwitch);
  if (switches_gradients_ && computes(node)) merge(access.read, kGradientSwitch);
  // A write to a list changes the list, not its items; a list of parameters is the exception.
  for (const Value* value : written_inputs(node))
    merge(access.written, writes_items(node) ? reachable(locations(value)) : locations(value));
  for (const Block* block : node.blocks()) {
    for (const Node* inner = block->first(); inner != block->return_node(); inner = inner->next()) {
      const Access& more = this->access(*inner);
      merge(access.read, more.read);
      merge(access.written, more.written);
    }
  }
  return access_[node.id()] = std::move(access);
}

void AliasDb::mark(const Graph& graph) {
  graph.each_node([&](const Node* node) {
    for (const Location p : access(*node).written) {
      memory_[static_cast<size_t>(p)].written = true;
      if (changes_shape(*node)) memory_[static_cast<size_t>(p)].reshaped = true;
    }
  });
  Locations seen = kOutside;
  merge(seen, locations(graph.outputs()));
  for (const Location p : reachable(std::move(seen)))
    memory_[static_cast<size_t>(p)].escapes = true;
}

bool AliasDb::any(const Locations& locations, bool Memory::*property) const {
  return std::any_of(locations.begin(), locations.end(),
                     [&](Location p) { return memory_[static_cast<size_t>(p)].*property; });
}

bool AliasDb::may_alias(const Value* a, const Value* b) const {
  return meet(locations(a), locations(b));
}

bool AliasDb::may_contain_alias(const Value* a, const Value* b) const {
  return meet(reachable(locations(a)), reachable(locations(b)));
}

bool AliasDb::writes_to(const Node* node, const Value* value) const {
  return meet(access(*node).written, reachable(locations(value)));
}

bool AliasDb::has_writers(const Value* value) const {
  return any(reachable(locations(value)), &Memory::written);
}

bool AliasDb::is_reshaped(const Value* value) const {
  return any(locations(value), &Memory::reshaped);
}

bool AliasDb::reads_written(const Node* node) const {
  return any(access(*node).read, &Memory::written);
}

bool AliasDb::escapes(const Value* value) const {
  return any(reachable(locations(value)), &Memory::escapes);
}

bool AliasDb::makes_memory(const Node* node) const {
  for (const Value* output : node->outputs()) {
    if (!is_mutable_type(*output->type())) continue;
    if (points_.count(output->id()) == 0 || created_[0].count(output->id()) != 0) return true;
  }
  return false;
}

bool AliasDb::may_become_one(const Value* a, const Value* b) const {
  if (!is_mutable_type(*a->type()) && !is_mutable_type(*b->type())) return true;
  if (has_writers(a) || has_writers(b) || switches_gradients_) return false;
  return !(escapes(a) && escapes(b)) || is_only_read(b);
}

void AliasDb::became_one(const Value* a, const Value* b) {
  if (!is_mutable_type(*a->type())) return;
  if (escapes(b))
    for (const Location p : reachable(locations(a))) memory_[static_cast<size_t>(p)].escapes = true;
  if (escapes(a))
    for (const Location p : reachable(locations(b))) memory_[static_cast<size_t>(p)].escapes = true;
}

bool AliasDb::may_swap(const Node* a, const Node* b) const {
  const Access first = access(*a);
  const Access& second = access(*b);
  const bool a_seen = a->has_side_effects(), b_seen = b->has_side_effects();
  if (a_seen && (b_seen || !second.written.empty())) return false;
  if (b_seen && !first.written.empty()) return false;
  return !meet(first.written, second.read) && !meet(first.written, second.written) &&
         !meet(first.read, second.written);
}

bool AliasDb::may_move_up_to(const Node* node, const Node* earlier) const {
  for (const Node* at = node;;) {
    for (const Node* before = at->prev(); before != earlier; before = before->prev()) {
      if (before == before->owner()->param_node()) break;
      if (!may_swap(node, before)) return false;
    }
    if (at->owner() == earlier->owner()) return true;
    at = at->owner()->owner();
    if (!at) return false;
    if (at->is("prim::Loop") && !may_swap(node, at)) return false;
  }
}

const Tensor* fixed_tensor(const Value* value, const AliasDb& info) {
  const IValue* constant = value->constant();
  const Tensor* t = constant ? constant->get_if<Tensor>() : nullptr;
  return t && *t && !t->keys().has(Key::kAutograd) && !info.has_writers(value) ? t : nullptr;
}

}  // namespace uh::jit
