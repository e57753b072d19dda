// Node: one function of the backward graph, recorded while the program runs.
//
// A Node computes the gradients of an operator's inputs from those of its outputs. It holds edges
// to the Nodes of its inputs and the values it needs. There is no list of all Nodes: a tensor holds
// the Node that computed it, a Node holds its predecessors, and a Node without a holder is freed at
// once. See Note [No tape] below. Invariant: edges point to older Nodes, so there are no cycles. If
// violated: a leak. Read next: saved_tensor.h, autograd_meta.h (a tensor's part in this), engine.h
// (backward passes).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/hook.h"
#include "base/small_vector.h"
#include "base/spin_lock.h"
#include "dispatch/ivalue.h"
#include "tensor/tensor.h"

namespace uh::autograd {

// Note [No tape]: a tape (Wengert list) would record all operations in order and be freed as a
// whole. Here each result refers to the Node that computed it. Independent graphs share nothing, so
// threads need no synchronisation, and releasing a result frees its part of the graph and the
// values it saved.

class Node;
class GraphTask;

// One gradient per output of a Node, or per edge; an undefined Tensor means zero.
using Gradients = SmallVector<Tensor, 3>;

struct Edge {
  Ref<Node> node;  // null: no gradient is needed
  uint32_t input = 0;
};

// The metadata that a gradient arriving at a Node must have: that of the Node's output.
struct InputInfo {
  Dims sizes;
  DType dtype;
  Device device;
};

class SavedTensor;
struct SavedOperand;

// Visits the saved values of a Node, with PyTorch's attribute names.
class SavedVisitor {
 public:
  virtual ~SavedVisitor() = default;
  virtual void tensor(std::string_view name, SavedTensor& saved) = 0;
  virtual void tensors(std::string_view name, std::vector<SavedTensor>& saved) = 0;
  virtual void value(std::string_view name, const IValue& value) = 0;
  // Visits a pointwise operand: by default its tensor or its number.
  virtual void operand(std::string_view name, SavedOperand& saved);
};

// False if this thread's pass leads to `next` and ignores its gradient.
bool is_computed(const Node& next);

class Node : public RefCounted {
 public:
  Node();
  ~Node() override;
  // Note [Deep graphs]: freeing a Node frees its edges and saved tensors, which may free Nodes
  // again; a chain of a million would need a million nested calls. A Node whose count reaches 0
  // while another is being freed is therefore queued, and freed by the outermost call.
  void release() {
    if (drop()) dispose();
  }

  virtual std::string name() const = 0;
  // Computes the gradients of the inputs, one per edge. `gradients` has one per output.
  virtual Gradients apply(Gradients gradients) = 0;
  virtual void each_saved(SavedVisitor&) {}
  // Releases saved values; apply() then throws.
  virtual void release_saved();
  // The hooks of AccumulateGrad's leaf.
  virtual HookList leaf_hooks() const { return {}; }
  // AccumulateGrad's leaf, for the explorer and Python's `variable`.
  virtual Tensor variable() const { return Tensor(); }

  int64_t id() const { return id_; }
  uint64_t sequence() const { return sequence_; }
  int64_t call() const { return call_; }

  const SmallVector<Edge, 2>& edges() const { return edges_; }
  size_t n_inputs() const { return inputs_.size(); }
  const InputInfo& input(size_t i) const { return inputs_[i]; }
  // Adds an output, whose gradient will be input `result` of this Node.
  uint32_t add_input(const Tensor& output);
  uint32_t add_undefined_input();
  void add_edge(Edge edge);
  void add_edge(const Tensor& input);
  // True if the gradient of an edge is used: there is a Node, and this thread's pass, if it computes
  // the gradients of some inputs only, goes there.
  bool needs(size_t edge) const {
    return edge < edges_.size() && edges_[edge].node && is_computed(*edges_[edge].node);
  }

  // Hooks are rare, so they are allocated separately. Threads add, remove and run them at the same
  // time: a pass runs copies.
  struct Hooks {
    OutputHookList tensor;    // of its outputs
    OutputHookList retained;  // retain_grad(), after the others
    HookList before, after;
  };
  bool has_hooks() const { return has_hooks_.load(std::memory_order_acquire); }
  Hooks copy_hooks() const;
  void add_hook(OutputHookList Hooks::*list, uint32_t output, Ref<Hook> hook) {
    append_hook(list, {output, std::move(hook)});
  }
  void add_hook(HookList Hooks::*list, Ref<Hook> hook) { append_hook(list, std::move(hook)); }
  void remove_hook(int64_t id);
  // Called under the lock; null if there never were any.
  const Hooks* hooks_within() const { return hooks_.get(); }
  void* metadata_within() const { return extra_ ? extra_->metadata.get() : nullptr; }

  const std::string& forward_traceback() const;
  Ref<Node> created_by() const;
  // A user object that lives as long as the Node.
  void* metadata() const;
  // Only the first call has an effect; guarded by the lock.
  void set_metadata(std::shared_ptr<void> metadata);
  SpinLock& lock() const { return lock_; }

  // The Python object of this Node, while it exists: see TensorImpl::object.
  void* object() const { return object_; }
  void set_object(void* object) { object_ = object; }

 protected:
  void announce(std::string_view name) const;
  // Sets the priority explicitly: AccumulateGrad always runs first.
  explicit Node(uint64_t sequence);

 private:
  friend class GraphTask;
  template <class List>
  void append_hook(List Hooks::*list, typename List::value_type hook) {
    const std::lock_guard guard(lock_);
    if (!hooks_) hooks_ = std::make_unique<Hooks>();
    ((*hooks_).*list).push_back(std::move(hook));
    has_hooks_.store(true, std::memory_order_release);
  }
  struct Extra {
    std::string traceback;  // anomaly mode
    Ref<Node> created_by;   // anomaly mode: the Node whose backward created this one
    std::shared_ptr<void> metadata;
  };
  void dispose();

  SmallVector<Edge, 2> edges_;
  SmallVector<InputInfo, 1> inputs_;
  std::unique_ptr<Hooks> hooks_;
  std::atomic<bool> has_hooks_{false};
  std::unique_ptr<Extra> extra_;
  void* object_ = nullptr;
  int64_t id_ = next_id(IdSpace::kNode);
  uint64_t sequence_;
  int64_t call_ = 0;
  // Note [Run slots]: the run that is executing this Node, and the Node's index in its tables. A
  // second run that reaches the Node at the same time uses its own map.
  std::atomic<const GraphTask*> run_{nullptr};
  uint32_t slot_ = 0;
  mutable SpinLock lock_;  // guards hooks, saved values and metadata
  mutable bool announced_ = false;
};

// "Mul" of "MulBackward0" and "Clamp1" of "ClampBackward1", as in PyTorch's error messages.
std::string short_name(const Node& node);

// Anomaly mode: Nodes record the traceback of their forward call, and gradients are checked for
// NaN.
struct AnomalyMode {
  bool enabled = false;
  bool check_nan = true;
};
AnomalyMode anomaly_mode();
// `traceback` returns the caller's stack as text, valid until the thread's next call of it.
void set_anomaly_mode(AnomalyMode mode, const char* (*traceback)());

// The Node that this thread is running in a backward pass, or null.
Node* running_node();

}  // namespace uh::autograd
