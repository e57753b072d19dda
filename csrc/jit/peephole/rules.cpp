#include "jit/peephole/rules.h"

#include <algorithm>

#include "jit/builtins/builtin.h"
#include "jit/fused/step_operators.h"
#include "jit/ir/effects.h"
#include "jit/ir/rewrite.h"
#include "jit/ir/type_predicates.h"

namespace uh::jit {
namespace {

std::vector<const Node*> all_of(const Node* node, const std::vector<Node*>& concerned) {
  std::vector<const Node*> all{node};
  all.insert(all.end(), concerned.begin(), concerned.end());
  return all;
}

bool fits(const Value* with, const Value* output) {
  return is_subtype(*with->type(), *unshaped(output->type()));
}

}  // namespace

void Peephole::clean(Node* node, const std::vector<Node*>& concerned) {
  node->destroy();
  for (Node* other : concerned) {
    const bool used = std::any_of(other->outputs().begin(), other->outputs().end(),
                                  [](const Value* v) { return v->has_uses(); });
    if (!used && is_pure(*other)) other->destroy();
  }
}

// True if grad mode may differ between the nodes: x does not equal `x.t().t()` if that is computed
// under no_grad.
bool Peephole::may_be_recorded_otherwise(const Node* node) const {
  return alias_.switches_gradients() && is_mutable_type(*node->output()->type());
}

bool Peephole::same(Node* node, Value* with, const char* rule, std::vector<Node*> concerned,
                    std::string because, Location location) {
  const Value* output = node->output();
  if (may_be_recorded_otherwise(node)) return false;
  if (alias_.makes_memory(node)) {
    if (!alias_.may_become_one(with, output)) return false;
    // The intermediate tensor has its own memory, which is then not computed.
    for (const Node* between : concerned)
      for (const Value* part : between->outputs())
        if (alias_.has_writers(part)) return false;
  }
  return same_object(node, with, rule, std::move(concerned), std::move(because), location);
}

bool Peephole::same_object(Node* node, Value* with, const char* rule, std::vector<Node*> concerned,
                           std::string because, Location location) {
  Value* output = node->output();
  if (!fits(with, output)) return false;
  // Views share memory, but t_() of one does not transpose the other.
  if (!node->is("prim::unchecked_cast") && (alias_.is_reshaped(with) || alias_.is_reshaped(output)))
    return false;
  Rewrite r(graph_, rule, all_of(node, concerned), location);
  if (!because.empty()) r.because(std::move(because));
  alias_.became_one(with, output);
  with->add_origin(output->id());
  output->replace_uses_with(with);
  clean(node, concerned);
  return true;
}

bool Peephole::same_parts(Node* node, const std::vector<Value*>& with, const char* rule,
                          std::vector<Node*> concerned, std::string because, Location location) {
  const std::vector<Value*> parts = with;  // a copy: `with` may be the inputs of an erased node
  for (size_t i = 0; i < parts.size(); ++i)
    if (!fits(parts[i], node->output(i))) return false;
  Rewrite r(graph_, rule, all_of(node, concerned), location);
  if (!because.empty()) r.because(std::move(because));
  for (size_t i = 0; i < parts.size(); ++i) {
    alias_.became_one(parts[i], node->output(i));
    parts[i]->add_origin(node->output(i)->id());
    node->output(i)->replace_uses_with(parts[i]);
  }
  clean(node, concerned);
  return true;
}

bool Peephole::constant(Node* node, IValue value, const char* rule, std::vector<Node*> concerned,
                        std::string because, Location location) {
  Value* output = node->output();
  if (!is_instance(value, *output->type())) return false;
  if (!is_immutable(value) &&
      (!value.list() || alias_.has_writers(output) || alias_.escapes(output)))
    return false;
  Rewrite r(graph_, rule, all_of(node, concerned), location);
  if (!because.empty()) r.because(std::move(because));
  const bool is_list = value.list() != nullptr;
  Node* new_node = graph_.create_constant(std::move(value))->insert_before(node);
  if (is_list) new_node->output()->set_type(output->type());
  output->replace_uses_with(new_node->output());
  clean(node, concerned);
  return true;
}

bool Peephole::instead(Node* node, const char* rule, std::vector<Node*> concerned, const Make& make,
                       std::string because, Location location) {
  if (may_be_recorded_otherwise(node)) return false;
  Value* output = node->output();
  Rewrite r(graph_, rule, all_of(node, concerned), location);
  if (!because.empty()) r.because(std::move(because));
  graph_.set_insert_point(node);
  Value* new_value = make(graph_);
  graph_.set_insert_point(graph_.block());
  new_value->set_type(output->type());
  output->replace_uses_with(new_value);
  clean(node, concerned);
  return true;
}

bool Peephole::reach_through(Node* node, size_t i, Value* value, const char* rule,
                             std::vector<Node*> concerned, std::string because, Location location) {
  if (may_be_recorded_otherwise(node)) return false;
  for (const Node* between : concerned)
    for (const Value* output : between->outputs())
      if (alias_.is_reshaped(output)) return false;
  if (alias_.is_reshaped(value)) return false;
  Rewrite r(graph_, rule, all_of(node, concerned), location);
  if (!because.empty()) r.because(std::move(because));
  node->set_input(i, value);
  for (Node* between : concerned)
    if (!between->output()->has_uses() && is_pure(*between)) between->destroy();
  return true;
}

const std::vector<Value*>* Peephole::items(const Value* list) const {
  const Node* node = list->node();
  if (!node->is("prim::ListConstruct")) return nullptr;
  return alias_.is_list_written(list) ? nullptr : &node->inputs();
}

std::optional<std::vector<int64_t>> Peephole::ints(const Value* value) const {
  if (value->type()->is(TypeKind::kList) && alias_.is_list_written(value)) return std::nullopt;
  return constant_ints(value);
}

const TensorProperties* facts_of(const Value* value) {
  return value && value->type()->is(TypeKind::kTensor) ? &value->type()->facts() : nullptr;
}

std::optional<int64_t> known_rank(const Value* value) {
  const TensorProperties* facts = facts_of(value);
  if (!facts || !facts->sizes) return std::nullopt;
  return static_cast<int64_t>(facts->sizes->size());
}

namespace {
std::optional<std::vector<int64_t>> if_known(const std::optional<Dims>& dims) {
  if (!all_known(dims)) return std::nullopt;
  return std::vector<int64_t>(dims->begin(), dims->end());
}
}  // namespace

std::optional<std::vector<int64_t>> known_sizes(const Value* value) {
  const TensorProperties* facts = facts_of(value);
  return facts ? if_known(facts->sizes) : std::nullopt;
}

DType known_dtype(const Value* value) {
  const TensorProperties* facts = facts_of(value);
  return facts ? facts->dtype : DType::kUndefined;
}

bool is_dense(const Value* value) {
  const std::optional<std::vector<int64_t>> sizes = known_sizes(value);
  const TensorProperties* facts = facts_of(value);
  const auto strides = facts ? if_known(facts->strides) : std::nullopt;
  if (sizes && strides) {
    std::vector<std::pair<int64_t, int64_t>> dims;
    for (size_t i = 0; i < sizes->size(); ++i)
      if ((*sizes)[i] != 1) dims.emplace_back((*strides)[i], (*sizes)[i]);
    std::sort(dims.begin(), dims.end());
    int64_t expected = 1;
    for (const auto& [stride, size] : dims) {
      if (stride != expected) return false;
      expected *= size;
    }
    return true;
  }
  // A pointwise operator's result is dense, whatever its operands' layouts.
  const Node* node = value->node();
  if (!node->op() || as_builtin(node->op()) || node->op()->name_space() != "aten") return false;
  const auto pointwise = fused::step_operators();
  const std::string name = node->op()->full_name();
  const auto at =
      std::lower_bound(pointwise.begin(), pointwise.end(), name,
                       [](const fused::StepOperator& step, const std::string& requested) {
                         return step.name < requested;
                       });
  return at != pointwise.end() && at->name == name;
}

bool is_row_major(const Value* value) {
  const std::optional<std::vector<int64_t>> sizes = known_sizes(value);
  const TensorProperties* facts = facts_of(value);
  const auto strides = facts ? if_known(facts->strides) : std::nullopt;
  if (!sizes || !strides) return false;
  int64_t expected = 1;
  for (size_t i = sizes->size(); i-- > 0;) {
    if ((*sizes)[i] != 1 && (*strides)[i] != expected) return false;
    expected *= (*sizes)[i];
  }
  return true;
}

}  // namespace uh::jit
