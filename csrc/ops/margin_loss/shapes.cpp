#include "ops/margin_loss/shapes.h"

#include "ops/loss/reduction.h"
#include "ops/operand_checks.h"

namespace uh {

ScoreRows::ScoreRows(const Tensor& self, const char* op) {
  const int64_t n = self.ndim();
  check(n <= 2 && (n == 0 || self.size(n - 1) != 0), op,
        ": expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
        self.sizes());
  if (n == 2) rows = self.size(0);
  if (n > 0) classes = self.size(n - 1);
}

}  // namespace uh

namespace uh::shapes {
namespace {

// As in PyTorch, the dtype matters only where there is something to compute.
void check_scores(const Tensor& self, const char* op) {
  const bool computes = self.numel() > 0;
  check_kind(!computes || self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
             ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '",
             info(self.dtype()).title, "'");
}

void check_classes(const Tensor& target, const char* op) {
  check(target.dtype() == DType::kInt64, op, ": expected scalar type Long but found ",
        info(target.dtype()).title);
}

// Returns a 0-d tensor without a batch or with a reduction, else one element per row.
Tensor empty_loss(const Tensor& self, bool batched, int64_t rows, int64_t reduction) {
  const bool unreduced = batched && reduction != kMeanLoss && reduction != kSumLoss;
  return empty(unreduced ? Dims{rows} : Dims{}, self.dtype(), self.device());
}

}  // namespace

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                         const Tensor& weight, int64_t reduction) {
  const char* op = "multi_margin_loss";
  const ScoreRows shape(self, op);
  check(p.to_double() == 1 || p.to_double() == 2, op, ": only p == 1 and p == 2 supported, got ",
        p);
  check(target.ndim() <= 1 && target.numel() == shape.rows, op,
        ": inconsistent target size, expected ", shape.rows, " but got ", target.sizes());
  check(!weight || (weight.ndim() <= 1 && weight.numel() == shape.classes), op,
        ": inconsistent weight size, expected ", shape.classes, " but got ",
        weight ? weight.sizes() : Dims{});
  check_classes(target, op);
  check(!weight || weight.dtype() == self.dtype(), op, ": expected scalar type ",
        info(self.dtype()).title, " but found ",
        info(weight ? weight.dtype() : DType::kInt64).title);
  check_scores(self, op);
  return empty_loss(self, target.ndim() == 1, shape.rows, reduction);
}

std::tuple<Tensor, Tensor> multilabel_margin_loss(const Tensor& self, const Tensor& target,
                                                  int64_t reduction) {
  const char* op = "multilabel_margin_loss";
  const ScoreRows shape(self, op);
  const bool fits = self.ndim() <= 1 ? target.ndim() <= 1 && target.numel() == shape.classes
                                     : target.ndim() == 2 && target.size(0) == shape.rows &&
                                           target.size(1) == shape.classes;
  check(fits, op, ": inconsistent target size: ", target.sizes(),
        " for input of size: ", self.sizes());
  check_classes(target, op);
  check_scores(self, op);
  return {empty_loss(self, target.ndim() > 1, shape.rows, reduction),
          empty(target.sizes(), self.dtype(), self.device())};
}

Tensor multilabel_margin_loss_backward(const Tensor& grad_output, const Tensor& self,
                                       const Tensor& target, const Tensor& is_target) {
  const char* op = "multilabel_margin_loss_backward";
  const ScoreRows shape(self, op);
  check_together(op, self, {&grad_output, &is_target});
  check_together(op, self, {&target}, true);
  check(target.dtype() == DType::kInt64 && target.numel() == self.numel() &&
            is_target.numel() == self.numel() &&
            (grad_output.numel() == 1 || grad_output.numel() == shape.rows),
        op, ": a gradient of sizes ", grad_output.sizes(), ", an input of ", self.sizes(),
        " and a target of ", target.sizes(), " do not belong together");
  check_scores(self, op);
  return empty(self.sizes(), self.dtype(), self.device());
}

}  // namespace uh::shapes
