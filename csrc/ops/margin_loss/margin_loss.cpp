// The composites of margin_loss.yaml.
#include "generated/kernels/margin_loss.h"

#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/distance.h"
#include "generated/ops/margin_loss.h"
#include "generated/ops/transcendental.h"
#include "ops/loss/reduction.h"

namespace uh::kernels {
namespace {

Tensor positive_part(const Tensor& x) { return ops::clamp_min(x, Scalar(0)); }

// Returns `yes` where the target equals `label`, else 0.
Tensor where_label(const Tensor& target, int label, const Tensor& yes) {
  return ops::where(ops::eq(target, Scalar(label)), yes, Scalar(0));
}

}  // namespace

Tensor hinge_embedding_loss(KeySet, const Tensor& self, const Tensor& target, double margin,
                            int64_t reduction) {
  // In the dtype of `self`, as in PyTorch: for integers the margin is truncated.
  const Tensor margins =
      ops::full_like(self, Scalar(margin), self.dtype(), self.device(), MemoryFormat::kPreserve);
  const Tensor lacking = positive_part(minus(margins, self));
  const Tensor apart = ops::where(ops::ne(target, Scalar(1)), lacking, Scalar(0));
  const Tensor alike = ops::where(ops::ne(target, Scalar(-1)), self, Scalar(0));
  return reduced_loss(plus(apart, alike), reduction);
}

Tensor margin_ranking_loss(KeySet, const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction) {
  const Tensor gap = ops::mul(ops::neg(target), minus(input1, input2));
  return reduced_loss(positive_part(plus(gap, Scalar(margin))), reduction);
}

Tensor cosine_embedding_loss(KeySet, const Tensor& input1, const Tensor& input2,
                             const Tensor& target, double margin, int64_t reduction) {
  const int64_t batched = target.ndim();
  check(batched <= 1,
        "cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported; got ",
        batched, "D");
  check(input1.ndim() == batched + 1 && input2.ndim() == batched + 1,
        "cosine_embedding_loss: ", batched, "D target tensor expects ", batched + 1,
        "D input tensors, but found sizes ", input1.sizes(), " and ", input2.sizes());
  const auto dot = [&](const Tensor& a, const Tensor& b) {
    return ops::sum(ops::mul(a, b), Dims{batched}, false, DType::kUndefined);
  };
  constexpr double kTiny = 1e-12;  // avoids division by zero
  const Tensor squares =
      ops::mul(plus(dot(input1, input1), Scalar(kTiny)), plus(dot(input2, input2), Scalar(kTiny)));
  const Tensor cosine = ops::div(dot(input1, input2), ops::sqrt(squares));
  const Tensor apart = positive_part(minus(cosine, Scalar(margin)));
  const Tensor losses =
      plus(where_label(target, 1, minus(Scalar(1), cosine)), where_label(target, -1, apart));
  return reduced_loss(losses, reduction);
}

Tensor triplet_margin_loss(KeySet, const Tensor& anchor, const Tensor& positive,
                           const Tensor& negative, double margin, double p, double eps, bool swap,
                           int64_t reduction) {
  check(anchor.ndim() == positive.ndim() && positive.ndim() == negative.ndim(),
        "triplet_margin_loss: the anchor, positive and negative tensors are expected to have the ",
        "same number of dimensions, but got: anchor ", anchor.ndim(), "D, positive ",
        positive.ndim(), "D, negative ", negative.ndim(), "D");
  const Tensor near = ops::pairwise_distance(anchor, positive, p, eps, false);
  Tensor far = ops::pairwise_distance(anchor, negative, p, eps, false);
  if (swap) far = ops::minimum(far, ops::pairwise_distance(positive, negative, p, eps, false));
  return reduced_loss(positive_part(minus(plus(near, Scalar(margin)), far)), reduction);
}

Tensor multilabel_margin_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction) {
  return std::get<0>(ops::multilabel_margin_loss_forward(self, target, reduction));
}

}  // namespace uh::kernels
