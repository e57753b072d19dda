#include "jit/group/fusion_group_backward.h"

#include <algorithm>

#include "autograd/autograd_meta.h"
#include "autograd/engine.h"
#include "generated/ops/view.h"
#include "jit/group/fusible.h"
#include "jit/pipeline.h"
#include "jit/trace/tracing_state.h"

namespace uh::jit {
namespace {

// For more sets of sizes than this, a group's gradient is computed operator by operator.
constexpr size_t kMaxTraced = 16;

class GroupNode final : public autograd::Node {
 public:
  GroupNode(Ref<FusionGroup> group, Stack inputs)
      : group_(std::move(group)), inputs_(std::move(inputs)) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].get_if<Tensor>()) edge_of_.push_back(i);
    saved_.resize(edge_of_.size());
    for (size_t k = 0; k < edge_of_.size(); ++k) {
      const Tensor t = *std::exchange(inputs_[edge_of_[k]], IValue()).get_if<Tensor>();
      saved_[k].save(*this, t);
      add_edge(t);
    }
  }

  std::string name() const override { return "FusionGroupBackward"; }

  autograd::Gradients apply(autograd::Gradients gradients) override {
    Stack inputs = inputs_;
    std::vector<bool> needed(inputs.size());
    for (size_t k = 0; k < edge_of_.size(); ++k) {
      inputs[edge_of_[k]] = saved_[k].unpack(*this);
      needed[edge_of_[k]] = needs(k);
    }
    std::vector<Tensor> arguments(group_->subgraph().outputs().size());
    for (size_t k = 0; k < outputs_.size(); ++k) arguments[outputs_[k]] = gradients[k];
    const std::vector<Tensor> result =
        group_->gradient().backward(std::move(inputs), arguments, needed);
    autograd::Gradients out(edge_of_.size());
    for (size_t k = 0; k < edge_of_.size(); ++k) out[k] = result[edge_of_[k]];
    return out;
  }

  void each_saved(autograd::SavedVisitor& visitor) override {
    visitor.tensors("_saved_inputs", saved_);
  }

  std::vector<size_t> outputs_;  // outputs of the group that are this Node's

 private:
  const Ref<FusionGroup> group_;
  Stack inputs_;  // numbers; None in place of tensors
  std::vector<autograd::SavedTensor> saved_;
  std::vector<size_t> edge_of_;  // input index of each edge and saved tensor
};

bool same_place(const Tensor& a, const Tensor& b) {
  const Layout &x = a.impl()->layout(), &y = b.impl()->layout();
  return a.storage() == b.storage() && x.offset == y.offset && x.strides == y.strides &&
         x.sizes == y.sizes;
}

// Key of a traced gradient: everything that the formulas depend on. Dtypes, sizes, defined and
// requested gradients, and numbers, which a trace treats as constants. Also which tensors are
// identical: a trace identifies tensors by address, so it is valid for the same pattern only.
std::string key_of(const Stack& inputs, const std::vector<Tensor>& gradients,
                   const std::vector<bool>& expected) {
  std::string key;
  std::vector<const Tensor*> seen;
  const auto add = [&](const auto& number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto add_tensor = [&](const Tensor& t) {
    if (!t) return add('-');
    add(t.dtype());
    add(t.ndim());
    add(t.is_contiguous());
    for (const int64_t n : t.sizes()) add(n);
    const auto first = std::find_if(seen.begin(), seen.end(),
                                    [&](const Tensor* other) { return same_place(t, *other); });
    add(first - seen.begin());
    seen.push_back(&t);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    add(expected[i] ? '*' : ' ');
    if (const Tensor* t = inputs[i].get_if<Tensor>()) {
      add_tensor(*t);
    } else {
      const Complex128 z = number_of(inputs[i])->to_complex();
      add(z.re);
      add(z.im);
    }
  }
  for (const Tensor& gradient : gradients) add_tensor(gradient);
  add(default_dtype());
  return key;
}

// True if the graph is valid for other values: no tensor became a constant, no number was read from
// a tensor, and nothing was random or written.
bool holds_for_other_values(const Graph& graph) {
  bool holds = true;
  graph.each_node([&](Node* node) {
    const IValue* constant = node->outputs().empty() ? nullptr : node->output(0)->constant();
    if (constant && constant->get_if<Tensor>()) holds = false;
    if (!node->op()) return;
    if (node->writes() || node->has_side_effects()) holds = false;
    for (const Value* output : node->outputs()) {
      const Type& type = *output->type();
      const bool list = type.is(TypeKind::kList) && type.element()->is(TypeKind::kTensor);
      if (!type.is(TypeKind::kTensor) && !list) holds = false;
    }
  });
  return holds;
}

// Returns the tuple's gradients as separate outputs. Removes requires_grad from types, which only
// held during the trace, and strides, which the key does not contain.
void finish(Graph& graph) {
  Node* tuple = graph.outputs()[0]->node();
  const std::vector<Value*> gradients = tuple->inputs();
  graph.block()->drop_return(0);
  for (Value* gradient : gradients) graph.add_output(gradient);
  tuple->destroy();
  const auto plain = [](Value* value) {
    if (!value->type()->is(TypeKind::kTensor)) return;
    TensorProperties facts = value->type()->facts();
    facts.requires_grad = false;
    facts.strides.reset();
    value->set_type(tensor_type(std::move(facts)));
  };
  for (Value* input : graph.inputs()) plain(input);
  graph.each_node([&](Node* node) {
    for (Value* output : node->outputs()) plain(output);
  });
}

}  // namespace

std::vector<Tensor> GroupGradient::through_operators(const Stack& inputs,
                                                     const std::vector<Tensor>& gradients,
                                                     const std::vector<bool>& expected,
                                                     bool create_graph) const {
  const GradMode on(true);
  Stack stack = inputs;
  std::vector<Tensor> result(inputs.size()), leaves, roots, incoming;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* t = inputs[i].get_if<Tensor>();
    if (!t) continue;
    // A separate alias for every input, even if two are the same tensor: each has its gradient.
    // With create_graph, gradients continue to the input's history; otherwise they end at the
    // alias.
    Tensor own = create_graph && expected[i] ? ops::alias(*t) : alias(*t, t->impl()->layout());
    if (expected[i] && !create_graph) autograd::set_requires_grad(own, true);
    if (expected[i]) leaves.push_back(own);
    stack[i] = own;
  }
  group_.run_nodes(stack);
  for (size_t k = 0; k < gradients.size(); ++k) {
    const Tensor& output = *stack[k].get_if<Tensor>();
    if (!gradients[k] || !autograd::requires_grad(output)) continue;
    roots.push_back(output);
    incoming.push_back(gradients[k]);
  }
  if (roots.empty() || leaves.empty()) return result;
  autograd::RunOptions options;
  options.keep_graph = options.create_graph = create_graph;
  options.accumulate = false;
  std::vector<Tensor> matches = autograd::run_backward(roots, incoming, leaves, options);
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (expected[i]) result[i] = std::move(matches[next++]);
  return result;
}

// As through_operators, and traces the calls into a graph; null if that would be valid for these
// values only.
GraphRef GroupGradient::trace(const Stack& inputs, const std::vector<Tensor>& gradients,
                              const std::vector<bool>& expected,
                              std::vector<Tensor>& result) const {
  TracingState::begin("backward");
  GraphRef graph;
  try {
    // Aliases that the operators will see are created here, so that the trace identifies them.
    TracingState& tracing = TracingState::current();
    for (size_t i = 0; i < inputs.size(); ++i) tracing.add_input("", inputs[i]);
    for (const Tensor& gradient : gradients)
      if (gradient) tracing.add_input("", gradient);
    result = through_operators(inputs, gradients, expected, false);
    std::vector<IValue> results;
    for (const Tensor& t : result) results.push_back(to_value(t));
    graph = TracingState::current().end(make_container<Tuple>(std::move(results)));
  } catch (...) {
    if (TracingState::on()) TracingState::abort();
    throw;
  }
  if (!graph->outputs()[0]->node()->is("prim::TupleConstruct") || !holds_for_other_values(*graph))
    return nullptr;
  finish(*graph);
  graph->set_function(group_.subgraph().function());
  optimise(*graph, true, graph->function());
  return graph;
}

std::vector<Tensor> GroupGradient::backward(Stack inputs, const std::vector<Tensor>& gradients,
                                            const std::vector<bool>& expected) {
  if (grad_enabled()) return through_operators(inputs, gradients, expected, true);
  const bool watched = !t_state.included.empty();
  const std::string key = watched ? "" : key_of(inputs, gradients, expected);
  const Traced* match = nullptr;
  bool full = true;
  {
    const std::lock_guard guard(lock_);
    for (const auto& traced : traced_)
      if (traced->key == key) match = traced.get();
    full = traced_.size() >= kMaxTraced;
  }
  if (match && match->code) {
    for (const Tensor& gradient : gradients)
      if (gradient) inputs.emplace_back(gradient);
    match->code->run(inputs);
    std::vector<Tensor> result;
    for (const IValue& value : inputs)
      result.push_back(value.is_none() ? Tensor() : *value.get_if<Tensor>());
    return result;
  }
  if (match || full || watched) return through_operators(inputs, gradients, expected, false);
  std::vector<Tensor> result;
  auto traced = std::make_unique<Traced>();
  traced->key = key;
  traced->graph = trace(inputs, gradients, expected, result);
  if (traced->graph) traced->code = std::make_unique<StraightLineCode>(*traced->graph);
  const std::lock_guard guard(lock_);
  traced_.push_back(std::move(traced));
  return result;
}

std::vector<GraphRef> GroupGradient::graphs() {
  const std::lock_guard guard(lock_);
  std::vector<GraphRef> all;
  for (const auto& traced : traced_)
    if (traced->graph) all.push_back(traced->graph);
  return all;
}

void record_group(Ref<FusionGroup> group, Stack inputs, const std::vector<Tensor>& outputs) {
  std::vector<bool> needed;
  for (const IValue& input : inputs) {
    const Tensor* t = input.get_if<Tensor>();
    needed.push_back(t && autograd::requires_grad(*t));
  }
  std::vector<size_t> joined;
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!autograd::is_differentiable(outputs[k].dtype())) continue;
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i] || !group->depends(k, i)) continue;
      joined.push_back(k);
      break;
    }
  }
  if (joined.empty()) return;
  const auto node = make_ref<GroupNode>(std::move(group), std::move(inputs));
  node->outputs_ = joined;
  for (const size_t k : joined) autograd::set_history(outputs[k], node);
}

}  // namespace uh::jit
