// CopySlices: the Node of a tensor that was written through one of its views.
//
// The gradient of the base before the write is the gradient after it, except for the written part,
// which the write's own Node computes. Note [Views and history] in autograd_meta.h.
#pragma once

#include <atomic>

#include "autograd/node.h"

namespace uh::autograd {

class CopySlices final : public Node {
 public:
  // `write` computes the gradients of the write's inputs; its edge 0 leads to the view's previous
  // Node.
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> write);
  std::string name() const override { return "CopySlices"; }
  Gradients apply(Gradients gradients) override;
  void each_saved(SavedVisitor& visitor) override { write_->each_saved(visitor); }
  // Releases `write_` first: events attribute saved tensors to the Node that saved them.
  void release_saved() override {
    write_->release_saved();
    Node::release_saved();
    released_ = true;
  }

 private:
  Layout base_, view_;
  DType view_dtype_;
  Ref<Node> write_;
  std::atomic<bool> released_ = false;  // as in PyTorch it runs once, even if it has saved nothing
};

// Makes the Node of `view` as a view of `base`. It is an AsStridedBackward0, as in PyTorch, unless
// the last step from base to view is not expressible by as_strided: view_as_real or
// view_as_complex. `before`: the view's previous Node.
Ref<Node> view_node(const Tensor& base, const Tensor& view, const Ref<Node>& before);

}  // namespace uh::autograd
