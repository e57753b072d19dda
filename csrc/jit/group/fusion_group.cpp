#include "jit/group/fusion_group.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/autograd_meta.h"
#include "events/recorder.h"
#include "jit/group/fusible.h"
#include "jit/group/fusion_group_backward.h"

namespace uh::jit {

using fused::Builder;
using fused::Term;
using fused::TermKind;

namespace {

bool is_tensor(const Value* value) { return value->type()->is(TypeKind::kTensor); }

// The inputs that each output's gradient reaches: through floats, not through operators without
// derivatives.
std::vector<std::vector<bool>> dependencies(const Graph& graph) {
  std::unordered_map<const Value*, std::vector<bool>> from;
  const size_t n = graph.inputs().size();
  for (size_t i = 0; i < n; ++i) {
    const DType dtype = graph.inputs()[i]->type()->facts().dtype;
    std::vector<bool>& reached = from[graph.inputs()[i]];
    reached.resize(n);
    reached[i] = is_tensor(graph.inputs()[i]) &&
                 (dtype == DType::kUndefined || autograd::is_differentiable(dtype));
  }
  for (const Node* node : graph.block()->nodes()) {
    std::vector<bool> reached(n);
    const bool open = node->op() && node->op()->differentiation() != Differentiation::kNone;
    for (const Value* input : node->inputs())
      for (size_t i = 0; open && i < n; ++i) reached[i] = reached[i] || from[input][i];
    for (const Value* output : node->outputs()) {
      const DType dtype = output->type()->facts().dtype;
      const bool carries = dtype == DType::kUndefined || autograd::is_differentiable(dtype);
      from[output] = carries ? reached : std::vector<bool>(n);
    }
  }
  std::vector<std::vector<bool>> all;
  for (const Value* output : graph.outputs()) all.push_back(from[output]);
  return all;
}

}  // namespace

std::optional<std::vector<TermKind>> promised_kinds(const Graph& subgraph) {
  std::vector<TermKind> kinds;
  for (const Value* input : subgraph.inputs()) {
    if (!is_tensor(input)) continue;
    const auto kind = kind_of(*assumed(input->type()));
    if (!kind) return std::nullopt;
    kinds.push_back(*kind);
  }
  return kinds;
}

fused::ProgramRef compile_group(const Graph& subgraph, const std::vector<TermKind>& kinds) {
  std::unordered_map<const Value*, Term> terms;
  std::unordered_map<const Value*, const Node*> reductions;
  const size_t numbers_given = subgraph.inputs().size() - kinds.size();
  if (kinds.size() > kMaxGroupInputs || numbers_given > kMaxGroupInputs ||
      subgraph.outputs().size() > kMaxGroupOutputs)
    return nullptr;
  Builder builder;
  size_t tensors = 0;
  for (const Value* input : subgraph.inputs()) {
    const auto number = number_kind(*input->type());
    if (!number && !is_tensor(input)) return nullptr;
    terms[input] = number ? builder.number(*number) : builder.input(kinds[tensors++]);
  }
  for (const Node* node : subgraph.block()->nodes()) {
    if (!node->op()) continue;  // constants and lists of them
    if (as_reduction(*node, *node->input(0)->type())) {
      reductions[node->output()] = node;
      continue;
    }
    const auto arguments = step_arguments(*node, [&](Value* v) -> std::optional<Term> {
      const auto it = terms.find(v);
      return it == terms.end() ? std::nullopt : std::optional(it->second);
    });
    if (!arguments) return nullptr;
    const auto result = builder.step(node->op()->full_name(), *arguments);
    if (!result) return nullptr;
    terms[node->output()] = *result;
  }
  for (const Value* output : subgraph.outputs()) {
    if (const auto it = reductions.find(output); it != reductions.end()) {
      const Value* over = it->second->input(0);
      const auto reduction = as_reduction(*it->second, *over->type());
      const auto term = terms.find(over);
      if (!reduction || term == terms.end() ||
          !builder.reduce(reduction->op, term->second, reduction->dims, reduction->keepdim))
        return nullptr;
    } else {
      const auto term = terms.find(output);
      if (term == terms.end()) return nullptr;
      builder.output(term->second);
    }
  }
  return builder.build();
}

FusionGroup::FusionGroup(GraphRef subgraph)
    : subgraph_(std::move(subgraph)),
      code_(*subgraph_),
      id_(subgraph_->id()),
      depends_(dependencies(*subgraph_)),
      gradient_(make_ref<GroupGradient>(*this)) {
  for (const Value* output : subgraph_->outputs()) {
    const Node& node = *output->node();
    reduces_ = reduces_ || (node.op() && as_reduction(node, *node.input(0)->type()));
  }
}

FusionGroup::~FusionGroup() = default;

bool FusionGroup::may_fuse(const Stack& stack, size_t first) const {
  constexpr KeySet kPlain =
      KeySet(Key::kCPU) | Key::kOpenCL | Key::kAutograd | Key::kADInplaceOrView;
  Device device = Device::kUndefined;           // of all tensors
  if (!t_state.included.empty()) return false;  // a trace wants to see the operators
  const auto& inputs = subgraph_->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const IValue& value = stack[first + i];
    if (is_tensor(inputs[i])) {
      const Tensor* t = value.get_if<Tensor>();
      if (!t || !*t || !(t->keys() - kPlain).empty() || !fused::runs_on(t->device())) return false;
      if (device == Device::kUndefined) device = t->device();
      if (!(device == t->device())) return false;
      const auto& promised = inputs[i]->type()->facts().sizes;
      if (reduces_ && promised && promised->size() != t->sizes().size()) return false;
    } else {
      const auto number = number_of(value);
      if (!number || number->kind() != number_kind(*inputs[i]->type())) return false;
    }
  }
  return true;
}

FusionGroup::Compiled& FusionGroup::compiled_for(const std::vector<TermKind>& kinds) {
  const DType floats = default_dtype();
  const std::lock_guard guard(lock_);
  for (const auto& result : compiled_)
    if (result->default_dtype == floats && result->kinds == kinds) return *result;
  auto result = std::make_unique<Compiled>();
  result->kinds = kinds;
  result->default_dtype = floats;
  result->program = compile_group(*subgraph_, kinds);
  compiled_.push_back(std::move(result));
  return *compiled_.back();
}

std::string FusionGroup::describe() {
  const auto kinds = promised_kinds(*subgraph_);
  if (!kinds) return "";
  Compiled& compiled = compiled_for(*kinds);
  return compiled.program ? fused::describe(*compiled.program) : "";
}

void FusionGroup::record(Compiled& compiled, const fused::Launch& launch, int64_t frame) const {
  const uint32_t recording = events::g_generation.load(std::memory_order_relaxed);
  if (compiled.recorded.exchange(recording) != recording) {
    const std::string text = fused::describe(*compiled.program, &launch);
    int64_t steps = 0;
    for (const Node* node : subgraph_->block()->nodes()) steps += node->op() != nullptr;
    events::emit_blob(events::Kind::kFUSED_NEW, id_, subgraph_->id(), steps, launch.tile,
                      text.data(), text.size());
  }
  events::emit(events::Kind::kFUSED_RUN, id_, frame, launch.elements, launch.tiles, launch.threads);
}

void FusionGroup::run_program(Compiled& compiled, Stack& stack, int64_t frame) {
  const auto& inputs = subgraph_->inputs();
  const size_t first = stack.size() - inputs.size();
  std::vector<Tensor> tensors;
  std::vector<Scalar> numbers;
  bool gradients = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const Tensor* t = stack[first + i].get_if<Tensor>()) {
      gradients = gradients || autograd::requires_grad(*t);
      tensors.push_back(*t);
    } else {
      numbers.push_back(*number_of(stack[first + i]));
    }
  }
  std::vector<Tensor> outputs(subgraph_->outputs().size());
  const bool recorded = events::on();
  fused::Launch launch;
  fused::run(*compiled.program, tensors, outputs, numbers, recorded ? &launch : nullptr);
  if (recorded) {
    record(compiled, launch, frame);
    for (const Tensor& output : outputs) record_write(output);
  }
  if (gradients && grad_enabled()) {
    Stack arguments(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
    record_group(Ref<FusionGroup>::share(this), std::move(arguments), outputs);
  }
  stack.resize(first);
  for (Tensor& output : outputs) stack.emplace_back(std::move(output));
}

void FusionGroup::run(Stack& stack, int64_t frame) {
  const size_t first = stack.size() - subgraph_->inputs().size();
  if (!may_fuse(stack, first)) return run_nodes(stack);
  std::vector<TermKind> kinds;
  for (size_t i = first; i < stack.size(); ++i)
    if (const Tensor* t = stack[i].get_if<Tensor>()) kinds.push_back({t->dtype(), t->ndim() == 0});
  Compiled& compiled = compiled_for(kinds);
  if (!compiled.program) return run_nodes(stack);
  try {
    run_program(compiled, stack, frame);
  } catch (const Error&) {
    run_nodes(stack);  // sizes do not broadcast: the responsible operator throws the error
  }
}

Ref<FusionGroup> fusion_group_of(const Node& node) {
  // The cache is derived from the attribute, so writing it is not an edit of the graph.
  static std::mutex lock;
  const std::lock_guard guard(lock);
  auto* subgraph = const_cast<Attribute*>(node.attribute("Subgraph"));
  check_kind(subgraph && subgraph->graph, ErrorKind::kInternal,
             "fusion group: ", node.kind().text(), " has no Subgraph");
  if (!subgraph->object) {
    subgraph->graph->set_function(node.graph().function());
    subgraph->object = make_ref<FusionGroup>(subgraph->graph);
  }
  return Ref<FusionGroup>::share(static_cast<FusionGroup*>(subgraph->object.get()));
}

}  // namespace uh::jit
