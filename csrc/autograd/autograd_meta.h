// The autograd metadata of a tensor: gradient, requires_grad, the Node that computed it.
//
// Note [Leaves]: a tensor that the user created and that requires a gradient has no grad_fn. Its
// gradient arrives at an AccumulateGrad Node, which is created when the first graph needs it and
// belongs to that graph; the tensor points to it while it lives.
// Note [Views and history]: writing a view in place changes its base. The base gets a CopySlices
// Node for the write. Every view of it gets a new Node, which selects the view's part of the base;
// it is created at the view's first use after the write, at the version
// TensorImpl::history_version.
#pragma once

#include <mutex>

#include "autograd/node.h"
#include "tensor/thread_state.h"

namespace uh::autograd {

// Any thread may read and change it at any time. Members of more than one word are accessed under
// the lock. A replaced value is released after the lock, because a release may call the host.
struct AutogradMeta final : AutogradSlot {
  ~AutogradMeta() override;
  bool needs_gradient() const override {
    return requires_grad.load(std::memory_order_relaxed) || has_grad_fn();
  }

  std::atomic<bool> requires_grad{false};  // of a leaf
  std::atomic<bool> retains_grad{false};

  // The Node that computed the tensor, and the index of its output.
  bool has_grad_fn() const { return has_grad_fn_.load(std::memory_order_relaxed); }
  Edge history() const {
    const std::lock_guard guard(lock);
    return {grad_fn_, output_};
  }
  // Returns the previous Node.
  Ref<Node> set_history(Ref<Node> node, uint32_t output) {
    const std::lock_guard guard(lock);
    std::swap(grad_fn_, node);
    output_ = output;
    has_grad_fn_.store(static_cast<bool>(grad_fn_), std::memory_order_relaxed);
    return node;
  }
  Tensor grad() const {
    const std::lock_guard guard(lock);
    return grad_;
  }
  // Returns the previous gradient.
  Tensor set_grad(Tensor grad) {
    const std::lock_guard guard(lock);
    std::swap(grad_, grad);
    return grad;
  }

  // The lock guards all members below.
  mutable SpinLock lock;
  Node* accumulator = nullptr;
  Ref<Hook> retain;           // of retain_grad(): moves to each new grad_fn
  HookList hooks;             // a leaf's, run before the gradient is accumulated
  HookList after_accumulate;  // register_post_accumulate_grad_hook
  // For callers that hold the lock.
  const Ref<Node>& grad_fn_within() const { return grad_fn_; }
  const Tensor& grad_within() const { return grad_; }

 private:
  Ref<Node> grad_fn_;
  uint32_t output_ = 0;
  std::atomic<bool> has_grad_fn_{false};
  Tensor grad_;
};

inline AutogradMeta* maybe_meta(const TensorImpl* impl) {
  return static_cast<AutogradMeta*>(impl->autograd());
}
AutogradMeta& meta(const Tensor& tensor);

inline bool requires_grad(const Tensor& t) {
  return t && t.keys().has(Key::kAutograd) && t.impl()->requires_grad();
}
inline bool requires_grad(const Operand& o) { return requires_grad(o.tensor); }
inline bool requires_grad(const std::vector<Tensor>& list) {
  for (const Tensor& t : list)
    if (requires_grad(t)) return true;
  return false;
}

// The Node that computed the tensor and the index of its output; null for leaves. A view gets a new
// Node if its base was written.
Edge history_of(const Tensor& tensor);
inline Ref<Node> grad_fn(const Tensor& tensor) { return history_of(tensor).node; }
// The edge for the tensor's gradient: to its Node, or to the AccumulateGrad of a leaf; null if it
// does not require one.
Edge gradient_edge(const Tensor& tensor);
Ref<Node> grad_accumulator(const Tensor& leaf);

// Makes each result the next output of `node`, which computed it.
void set_history(const Tensor& result, const Ref<Node>& node);
void set_history(const std::vector<Tensor>& results, const Ref<Node>& node);
// Called if `node`'s operator changed only `self`, not its base.
void extend_history(const Tensor& self, Ref<Node> node);
// Called if `node`'s operator wrote `self` in place.
void rebase_history(const Tensor& self, Ref<Node> node);
// Throws if PyTorch forbids writing `self` in place while gradients are recorded.
void check_inplace(const Tensor& self, bool any_requires_grad);

void set_requires_grad(const Tensor& tensor, bool requires_grad);
// detach_(): removes the tensor's history.
void detach_in_place(const Tensor& tensor);
bool is_leaf(const Tensor& tensor);
// True also for a view whose history has not been read since its base was written: as in PyTorch,
// flags and in-place writes of such a view take it for a leaf.
bool has_no_node(const Tensor& tensor);
void set_grad(const Tensor& tensor, const Tensor& grad);
void retain_grad(const Tensor& tensor, Ref<Hook> hook);

// Only floating and complex numbers have gradients.
inline bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

// Describes a tensor as PyTorch's messages do: "[torch.FloatTensor [4]]".
std::string type_text(const Tensor& tensor);

}  // namespace uh::autograd
