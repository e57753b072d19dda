// Shape rules of margin_loss.yaml.
#pragma once

#include <tuple>

#include "tensor/tensor.h"

namespace uh {

// Scores as rows of classes; a single row without a batch.
struct ScoreRows {
  int64_t rows = 1, classes = 1;

  ScoreRows(const Tensor& self, const char* op);
};

}  // namespace uh

namespace uh::shapes {

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                         const Tensor& weight, int64_t reduction);
// The loss, and which classes are targets.
std::tuple<Tensor, Tensor> multilabel_margin_loss(const Tensor& self, const Tensor& target,
                                                  int64_t reduction);
Tensor multilabel_margin_loss_backward(const Tensor& grad_output, const Tensor& self,
                                       const Tensor& target, const Tensor& is_target);

}  // namespace uh::shapes
