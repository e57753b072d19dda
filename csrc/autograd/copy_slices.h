// CopySlices: history of a tensor that was written through one of its views.
//
// What: the gradient of the base before the write is the gradient after it, except for the written
// part, which the write's own Node computes. Note [Views and history] in autograd_meta.h.
#pragma once

#include "autograd/node.h"

namespace uh::autograd {

class CopySlices final : public Node {
 public:
  // `write` computes the gradients of the write's inputs; its edge 0 leads to the view's old self.
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> write);
  std::string name() const override { return "CopySlices"; }
  Gradients apply(Gradients gradients) override;
  void each_saved(SavedVisitor& visitor) override { write_->each_saved(visitor); }
  // Events name the Node that saved a tensor, so that Node releases first.
  void release_saved() override {
    write_->release_saved();
    Node::release_saved();
  }

 private:
  Layout base_, view_;
  DType view_dtype_;
  Ref<Node> write_;
};

// A Node that is the history of `view` as a view of `base`. Its name is AsStridedBackward0, as
// PyTorch's, unless the last step from base to view is one that as_strided cannot do: reading
// complex numbers as real ones, or the other way round. `before`: the view's history so far.
Ref<Node> view_node(const Tensor& base, const Tensor& view, const Ref<Node>& before);

}  // namespace uh::autograd
