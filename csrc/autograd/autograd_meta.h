// What autograd keeps with a tensor: gradient, requires_grad, the Node that made it.
//
// Note [Leaves]: a tensor that the user made and that requires a gradient has no grad_fn; the
// gradient arrives at an AccumulateGrad Node, which is made when the first graph needs it and
// belongs to that graph: the tensor only knows it as long as it lives.
// Note [Views and history]: writing a view in place changes its base. The base gets a CopySlices
// Node that stands for the write, and every view of it a new Node, made when it is asked for,
// that takes the view's part out of the base again (TensorImpl::history_version tells whether that
// has happened).
#pragma once

#include <mutex>

#include "autograd/node.h"
#include "tensor/thread_state.h"

namespace uh::autograd {

// Any thread may ask and change at any time: what is more than one word is read and written under
// the lock, and what that lets go of is released when it is open again, for a release may call
// the host.
struct AutogradMeta final : AutogradSlot {
  ~AutogradMeta() override;
  bool needs_gradient() const override {
    return requires_grad.load(std::memory_order_relaxed) || has_grad_fn();
  }

  std::atomic<bool> requires_grad{false};  // of a leaf
  std::atomic<bool> retains_grad{false};

  // The Node that made the tensor, and which of its outputs it is.
  bool has_grad_fn() const { return has_grad_fn_.load(std::memory_order_relaxed); }
  Edge history() const {
    const std::lock_guard guard(lock);
    return {grad_fn_, output_};
  }
  // Returns the Node that was.
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
  // Returns what was.
  Tensor set_grad(Tensor grad) {
    const std::lock_guard guard(lock);
    std::swap(grad_, grad);
    return grad;
  }

  // What follows is the lock's.
  mutable SpinLock lock;
  Node* accumulator = nullptr;
  Ref<Hook> retain;           // of retain_grad: goes along when history changes
  HookList hooks;             // a leaf's, run before the gradient is accumulated
  HookList after_accumulate;  // register_post_accumulate_grad_hook
  // For who holds the lock already.
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

// The Node that made it, made anew for a view whose base was written, and which of its outputs it
// is. Null for leaves.
Edge history_of(const Tensor& tensor);
inline Ref<Node> grad_fn(const Tensor& tensor) { return history_of(tensor).node; }
// Where a gradient for it goes: its Node, or the AccumulateGrad of a leaf; none if it needs none.
Edge gradient_edge(const Tensor& tensor);
Ref<Node> grad_accumulator(const Tensor& leaf);

// `result` was made by `node`: it is the Node's next output.
void set_history(const Tensor& result, const Ref<Node>& node);
void set_history(const std::vector<Tensor>& results, const Ref<Node>& node);
// `self` itself was changed by the operator whose Node is `node`: a base that it views was not.
void extend_history(const Tensor& self, Ref<Node> node);
// `self` was written in place by the operator whose Node is `node`.
void rebase_history(const Tensor& self, Ref<Node> node);
// Throws where PyTorch forbids writing `self` in place while gradients are recorded.
void check_inplace(const Tensor& self, bool any_requires_grad);

void set_requires_grad(const Tensor& tensor, bool requires_grad);
// detach_(): the tensor forgets how it was made.
void detach_in_place(const Tensor& tensor);
bool is_leaf(const Tensor& tensor);
void set_grad(const Tensor& tensor, const Tensor& grad);
void retain_grad(const Tensor& tensor, Ref<Hook> hook);

// Gradients exist for floating and complex numbers only.
inline bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

// "[torch.FloatTensor [4]]": how PyTorch's messages name a tensor.
std::string type_text(const Tensor& tensor);

}  // namespace uh::autograd
