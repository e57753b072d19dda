// AccumulateGrad: the Node at the end of a graph, which adds gradients to `.grad` of a leaf.
#pragma once

#include "autograd/node.h"

namespace uh::autograd {

class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }
  Gradients apply(Gradients gradients) override;
  Tensor variable() const override { return leaf_; }
  HookList leaf_hooks() const override;

 private:
  void accumulate(Tensor incoming, int64_t arrived);

  Tensor leaf_;
};

}  // namespace uh::autograd
