#include "autograd/graph_task.h"

#include <algorithm>

#include "autograd/autograd_meta.h"
#include "base/call_section.h"
#include "events/recorder.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/reduce.h"
#include "generated/ops/reshaping.h"

namespace uh::autograd {
namespace {

thread_local GraphTask* t_run = nullptr;
thread_local Ref<Node> t_failed;

#define UH_BACKWARD_FLAG(constant, name, bit) constexpr int64_t constant = 1 << bit;
#include "events/codes.inc"

// The ids of gradients, for events.
std::vector<int64_t> ids(const Gradients& gradients) {
  std::vector<int64_t> result;
  for (const Tensor& gradient : gradients) result.push_back(gradient ? gradient.id() : 0);
  return result;
}

bool expandable(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t size = from[from.size() - 1 - i];
    if (size != 1 && size != to[to.size() - 1 - i]) return false;
  }
  return true;
}

// Adds two gradients of one input; in place if the first has no other holder.
Tensor sum(Tensor have, const Tensor& more) {
  if (have.is_sparse() && !more.is_sparse()) [[unlikely]]
    return ops::add(more, have, Scalar(1));
  if (!grad_enabled() && have.impl()->use_count() == 1 && have.storage()->use_count() == 1 &&
      have.dtype() == more.dtype() && have.sizes() == more.sizes() && have.is_contiguous() &&
      !have.impl()->is_inference()) {
    ops::add_(have, more, Scalar(1));
    return have;
  }
  return ops::add(have, more, Scalar(1));
}

}  // namespace

void fit(std::span<const Edge> edges, std::span<Tensor> gradients, const Node* node) {
  for (size_t i = 0; i < gradients.size() && i < edges.size(); ++i) {
    Tensor& gradient = gradients[i];
    if (!gradient || !edges[i].node) continue;
    const InputInfo& expected = edges[i].node->input(edges[i].input);
    if (expected.dtype == DType::kUndefined) continue;
    if (gradient.sizes() != expected.sizes) {
      if (!expandable(expected.sizes, gradient.sizes()))
        fail(ErrorKind::kRuntime, node ? message("Function ", node->name(), " returned an ") : "",
             "invalid gradient at index ", i, " - got ", gradient.sizes(),
             " but expected shape compatible with ", expected.sizes);
      gradient = ops::sum_to_size(gradient, expected.sizes);
    }
    if (gradient.dtype() == expected.dtype) continue;
    if (is_complex(gradient.dtype()) && !is_complex(expected.dtype))
      gradient = ops::real_view(gradient);
    if (gradient.dtype() != expected.dtype)
      gradient =
          ops::_to_copy(gradient, expected.dtype, Device::kUndefined, MemoryFormat::kUndefined);
  }
}

int64_t current_run() { return t_run ? t_run->id() : 0; }
Node* running_node() { return t_run ? t_run->running() : nullptr; }

bool GraphTask::will_run(const Node& node) const {
  const uint32_t slot = known_slot(&node);
  return slot != UINT32_MAX && (entries_[slot].needed || entries_[slot].captured);
}
bool will_run(const Node& node) { return t_run && t_run->will_run(node); }
bool GraphTask::is_computed(const Node& node) const {
  return !to_inputs_ || known_slot(&node) == UINT32_MAX || will_run(node);
}
bool is_computed(const Node& next) { return !t_run || t_run->is_computed(next); }
bool run_is_plain() { return !t_run || t_run->plain(); }
Ref<Node> failed_node() { return std::exchange(t_failed, nullptr); }

void queue_callback(void (*call)(void*), void* context) {
  check(t_run != nullptr, "Final callbacks can only be installed during backward pass.");
  GraphTask* run = t_run;
  run->callbacks_.emplace_back(call, context);
}

GraphTask::GraphTask(RunOptions options, bool to_inputs)
    : options_(options), to_inputs_(to_inputs), outer_(t_run) {
  t_run = this;
}

GraphTask::~GraphTask() {
  for (const Entry& entry : entries_) {
    if (entry.node && entry.node->run_.load(std::memory_order_relaxed) == this)
      entry.node->run_.store(nullptr, std::memory_order_release);
  }
  t_run = outer_;
}

uint32_t GraphTask::known_slot(const Node* node) const {
  if (node->run_.load(std::memory_order_acquire) == this) return node->slot_;
  const auto it = others_.find(node);
  return it == others_.end() ? UINT32_MAX : it->second;
}

uint32_t GraphTask::slot_of(Node* node) {
  const GraphTask* none = nullptr;
  if (node->run_.load(std::memory_order_acquire) == this) return node->slot_;
  const auto fresh = static_cast<uint32_t>(entries_.size());
  if (node->run_.compare_exchange_strong(none, this, std::memory_order_acq_rel)) {
    // others_ has the Node if another run owned its slot_ when it was first reached.
    const auto known = others_.find(node);
    node->slot_ = known == others_.end() ? fresh : known->second;
    if (known != others_.end()) return node->slot_;
  } else {
    const auto [known, is_new] = others_.emplace(node, fresh);
    if (!is_new) return known->second;
  }
  Entry& entry = entries_.emplace_back();
  entry.node = Ref<Node>::share(node);
  entry.buffer.resize(node->n_inputs());
  return fresh;
}

// Iterative depth-first search. order_ gets every Node after those that its edges lead to.
void GraphTask::count_dependencies(const std::vector<Edge>& roots) {
  struct Step {
    uint32_t slot;
    uint32_t edge;
  };
  std::vector<Step> path;
  const auto enter = [&](Node* node) {
    const size_t known = entries_.size();
    const uint32_t slot = slot_of(node);
    if (entries_.size() > known) path.push_back({slot, 0});
    return slot;
  };
  for (const Edge& root : roots) {
    enter(root.node.get());
    while (!path.empty()) {
      Step& step = path.back();
      const auto& edges = entries_[step.slot].node->edges();
      if (step.edge == edges.size()) {
        order_.push_back(step.slot);
        path.pop_back();
        continue;
      }
      Node* next = edges[step.edge++].node.get();
      if (next) ++entries_[enter(next)].missing;
    }
  }
}

void GraphTask::mark_needed(const std::vector<Edge>& inputs) {
  if (!to_inputs_) return;
  for (Entry& entry : entries_) entry.needed = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].node) continue;  // a view made under no_grad has no Node
    const uint32_t slot = known_slot(inputs[i].node.get());
    if (slot == UINT32_MAX) continue;
    if (options_.accumulate) {  // by the leaf's Node, or by a hook of a result that retains its
                                // gradient
      entries_[slot].needed = true;
      continue;
    }
    entries_[slot].captured = true;
    captures_.push_back({slot, inputs[i].input, i});
  }
  for (uint32_t slot : order_) {
    Entry& entry = entries_[slot];
    for (const Edge& edge : entry.node->edges()) {
      if (!edge.node) continue;
      const Entry& next = entries_[known_slot(edge.node.get())];
      if (next.needed || next.captured) entry.needed = true;
    }
  }
}

std::vector<Tensor> GraphTask::execute(std::vector<Edge> roots, std::vector<Tensor> gradients,
                                       const std::vector<Edge>& inputs) {
  const bool recorded = events::on();
  if (recorded) [[unlikely]] {
    std::vector<int64_t> fields;
    for (size_t i = 0; i < roots.size(); ++i)
      fields.insert(fields.end(),
                    {roots[i].node->id(), roots[i].input, gradients[i] ? gradients[i].id() : 0});
    const int64_t flags = (options_.keep_graph ? kKeepGraph : 0) |
                          (options_.create_graph ? kCreateGraph : 0) |
                          (options_.accumulate ? kAccumulate : 0);
    events::emit_blob(events::Kind::kBACKWARD_BEGIN, id_, outer_ ? outer_->id() : 0, flags,
                      static_cast<int64_t>(roots.size()), fields.data(), fields.size() * 8);
  }
  try {
    count_dependencies(roots);
    captured_.resize(inputs.size());
    mark_needed(inputs);
    if (recorded) [[unlikely]] {
      for (const Entry& entry : entries_)
        events::emit(events::Kind::kDEPENDENCY, id_, entry.node->id(), entry.missing,
                     entry.needed || entry.captured);
    }
    // A root also waits for all its gradients: the caller's and those of the graph.
    for (const Edge& root : roots) ++entries_[known_slot(root.node.get())].missing;
    for (size_t i = 0; i < roots.size(); ++i) {
      Tensor gradient = std::move(gradients[i]);
      arrive(known_slot(roots[i].node.get()), roots[i].input, std::move(gradient));
    }
    roots.clear();
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end());
      const uint32_t slot = ready_.back().slot;
      ready_.pop_back();
      calls::let_changes_in();
      run_node(slot);
    }
    finish();
  } catch (...) {
    if (anomaly_mode().enabled) t_failed = Ref<Node>::share(running_);
    running_ = nullptr;
    if (recorded) events::emit(events::Kind::kBACKWARD_END, id_, nodes_run_, 1);
    throw;
  }
  if (recorded) [[unlikely]]
    events::emit(events::Kind::kBACKWARD_END, id_, nodes_run_, 0);
  return std::move(captured_);
}

void GraphTask::arrive(uint32_t slot, uint32_t input, Tensor gradient) {
  Entry& entry = entries_[slot];
  const int64_t arrived = gradient ? gradient.id() : 0;
  if (gradient) {
    Tensor& have = entry.buffer[input];
    if (have && events::on()) [[unlikely]]
      events::emit(events::Kind::kTENSOR_RELEASE, have.id(),
                   static_cast<int64_t>(events::Holder::kBuffer), entry.node->id(),
                   have.impl()->use_count() - 1);
    if (have) {
      Tensor before = std::move(have);
      have = sum(std::move(before), gradient);
    } else {
      have = std::move(gradient);
    }
  }
  if (events::on()) [[unlikely]] {
    const Tensor& have = entry.buffer[input];
    events::emit(events::Kind::kARRIVE, id_, entry.node->id(), input, arrived,
                 have ? have.id() : 0);
    if (have && arrived)
      events::emit(events::Kind::kTENSOR_RETAIN, have.id(),
                   static_cast<int64_t>(events::Holder::kBuffer), entry.node->id(),
                   have.impl()->use_count());
  }
  if (--entry.missing == 0) push(slot);
}

void GraphTask::push(uint32_t slot) {
  const Node& node = *entries_[slot].node;
  ready_.push_back({node.sequence(), slot});
  std::push_heap(ready_.begin(), ready_.end());
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kREADY_PUSH, id_, node.id(), static_cast<int64_t>(node.sequence()));
}

void GraphTask::before_hooks(Node& node, Gradients& gradients) {
  for (const Ref<Hook>& hook : node.leaf_hooks()) {
    const Tensor before = gradients[0];
    hook->call(&gradients[0], 1, nullptr, 0);
    record_hook(HookKind::kTensor, node.variable().id(), before, gradients[0]);
  }
  if (!node.has_hooks()) return;
  const Node::Hooks hooks = node.copy_hooks();  // hooks may remove hooks
  const auto call_one = [&](const std::pair<uint32_t, Ref<Hook>>& entry) {
    const Tensor before = gradients[entry.first];
    entry.second->call(&gradients[entry.first], 1, nullptr, 0);
    record_hook(HookKind::kTensor, node.id(), before, gradients[entry.first]);
  };
  for (const auto& entry : hooks.tensor) call_one(entry);
  for (const auto& entry : hooks.retained) call_one(entry);
}

void GraphTask::run_node(uint32_t slot) {
  const Ref<Node> node = entries_[slot].node;
  Gradients gradients = std::move(entries_[slot].buffer);
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kREADY_POP, id_, node->id());
    for (const Tensor& gradient : gradients) {
      if (gradient)
        events::emit(events::Kind::kTENSOR_RELEASE, gradient.id(),
                     static_cast<int64_t>(events::Holder::kBuffer), node->id(),
                     gradient.impl()->use_count() - 1);
    }
  }
  running_ = node.get();
  // As in PyTorch: hooks see a returned gradient only if the pass ends at its Node.
  if (!entries_[slot].needed) before_hooks(*node, gradients);
  if (entries_[slot].captured) {
    for (const Capture& capture : captures_)
      if (capture.slot == slot) captured_[capture.output] = gradients[capture.input];
  }
  if (!entries_[slot].needed) {
    running_ = nullptr;
    return;
  }
  before_hooks(*node, gradients);
  ++nodes_run_;
  Gradients results = call(*node, std::move(gradients));
  running_ = nullptr;
  const size_t n = node->edges().size();
  for (size_t i = 0; i < n; ++i) {
    const Edge& edge = node->edges()[i];
    if (!edge.node) continue;
    const uint32_t next = known_slot(edge.node.get());
    const Entry& entry = entries_[next];
    if (!entry.needed && !entry.captured) continue;
    arrive(next, edge.input, i < results.size() ? std::move(results[i]) : Tensor());
  }
}

Gradients GraphTask::call(Node& node, Gradients gradients) {
  Node::Hooks hooks = node.has_hooks() ? node.copy_hooks() : Node::Hooks();
  for (const Ref<Hook>& hook : hooks.before) {
    hook->call(gradients.data(), gradients.size(), nullptr, 0);
    record_hook(HookKind::kBefore, node.id(), Tensor(), gradients.size() ? gradients[0] : Tensor());
  }
  if (events::on()) [[unlikely]] {
    const auto argument = ids(gradients);
    events::emit_blob(events::Kind::kNODE_ENTER, id_, node.id(),
                      static_cast<int64_t>(argument.size()), 0, argument.data(),
                      argument.size() * 8);
  }
  std::vector<Tensor> argument;
  const bool after = !hooks.after.empty();
  if (after) argument.assign(gradients.begin(), gradients.end());
  Gradients results = node.apply(std::move(gradients));
  const auto& edges = node.edges();
  check(results.size() <= edges.size() || edges.empty(), "Function ", node.name(),
        " returned an incorrect number of gradients (expected ", edges.size(), ", got ",
        results.size(), ")");
  fit(edges, results, &node);
  if (after) {
    hooks = node.copy_hooks();  // apply() may have changed the hooks
    for (const Ref<Hook>& hook : hooks.after) {
      hook->call(results.data(), results.size(), argument.data(), argument.size());
      record_hook(HookKind::kAfter, node.id(), Tensor(), results.size() ? results[0] : Tensor());
    }
  }
  if (!options_.keep_graph) node.release_saved();
  if (anomaly_mode().enabled) [[unlikely]]
    check_nan(node, results);
  if (events::on()) [[unlikely]] {
    const auto result = ids(results);
    events::emit_blob(events::Kind::kNODE_EXIT, id_, node.id(), static_cast<int64_t>(result.size()),
                      0, result.data(), result.size() * 8);
  }
  return results;
}

void GraphTask::check_nan(Node& node, const Gradients& results) {
  if (!anomaly_mode().check_nan) return;
  const GradMode quiet(false);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || results[i].is_meta()) continue;
    const Tensor result = ops::any(ops::isnan(results[i]), std::nullopt, false);
    check(!*result.data_as<bool>(), "Function '", node.name(), "' returned nan values in its ", i,
          "th output.");
  }
}

void GraphTask::finish() {
  check(options_.allow_unused || options_.accumulate ||
            std::all_of(captured_.begin(), captured_.end(),
                        [](const Tensor& t) { return static_cast<bool>(t); }),
        "One of the differentiated Tensors appears to not have been used in the graph. Set "
        "allow_unused=True if this is the desired behavior.");
  const auto calls = std::move(callbacks_);
  const OutsideCalls host;
  for (const auto& [call, context] : calls) call(context);
}

}  // namespace uh::autograd
