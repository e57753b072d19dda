// cross_entropy_loss: log_softmax, then nll_loss or the loss of class probabilities.
#include <limits>

#include "generated/kernels/cross_entropy.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/cross_entropy.h"
#include "generated/ops/gather.h"
#include "generated/ops/masked.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"
#include "ops/loss/reduction.h"

namespace uh::kernels {
namespace {

// Reshapes the weight of each class to broadcast along the class dimension.
Tensor along_classes(const Tensor& weight, int64_t rank, int64_t class_dim) {
  Dims sizes(static_cast<size_t>(rank), 1);
  sizes[static_cast<size_t>(class_dim)] = weight.size(0);
  return ops::view(weight, sizes);
}

Tensor of_shares(const Tensor& self, const Tensor& input, const Tensor& weight, int64_t reduction,
                 double smoothing, int64_t class_dim) {
  const int64_t classes = self.size(class_dim);
  check(
      !weight || (weight.ndim() == 1 && weight.numel() == classes),
      "cross_entropy: weight tensor should be defined either for all ", classes,
      " classes or no classes but got weight tensor of shape: ", weight ? weight.sizes() : Dims{});
  const Tensor logs = ops::log_softmax(self, class_dim, DType::kUndefined);
  Tensor shares = input;
  if (smoothing > 0) {
    const double even = smoothing / static_cast<double>(classes);
    shares = ops::add(ops::mul(input, Scalar(1 - smoothing)), Scalar(even), Scalar(1));
  }
  Tensor each = ops::mul(logs, shares);
  if (weight) each = ops::mul(each, along_classes(weight, self.ndim(), class_dim));
  if (reduction == kSumLoss) return ops::neg(ops::sum(each));
  if (reduction != kMeanLoss) return ops::neg(ops::sum(each, Dims{class_dim}));
  const double rows =
      self.numel() == 0 ? 0 : static_cast<double>(self.numel() / std::max<int64_t>(classes, 1));
  return ops::div(ops::neg(ops::sum(each)), Scalar(rows));
}

// Returns the loss of the uniform part of a smoothed target, the same for all classes.
Tensor of_even_target(const Tensor& logs, const Tensor& target, const Tensor& weight,
                      int64_t reduction, int64_t ignore_index, int64_t class_dim) {
  const Tensor weighed =
      weight ? ops::mul(logs, along_classes(weight, logs.ndim(), class_dim)) : logs;
  const Tensor ignored = ops::eq(target, Scalar(ignore_index));
  const Tensor each =
      ops::masked_fill_Scalar(ops::neg(ops::sum(weighed, Dims{class_dim})), ignored, Scalar(0));
  if (reduction == kSumLoss) return ops::sum(each);
  if (reduction != kMeanLoss) return each;
  const Tensor counted = ops::logical_not(ignored);
  if (!weight) return ops::div(ops::sum(each), ops::sum(counted));
  const Tensor selected = ops::masked_select(target, counted);
  return ops::div(ops::sum(each), ops::sum(ops::gather(weight, 0, selected, false)));
}

}  // namespace

Tensor cross_entropy_loss(KeySet, const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, int64_t ignore_index, double label_smoothing) {
  check(label_smoothing <= 1,
        "cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  const int64_t class_dim = self.ndim() == 1 ? 0 : 1;
  if (self.sizes() == target.sizes() && self.ndim() > 0) {
    check(is_floating(target.dtype()),
          "cross_entropy: expected floating point type for target with class probabilities, got ",
          info(target.dtype()).title);
    check(ignore_index < 0,
          "cross_entropy: ignore_index is not supported for floating point target, got ",
          ignore_index);
    return of_shares(self, target, weight, reduction, label_smoothing, class_dim);
  }
  const Tensor logs = ops::log_softmax(self, class_dim, DType::kUndefined);
  const Tensor loss = ops::nll_loss_nd(logs, target, weight, reduction, ignore_index);
  if (!(label_smoothing > 0)) return loss;
  const Tensor even = of_even_target(logs, target, weight, reduction, ignore_index, class_dim);
  const double share = label_smoothing / static_cast<double>(self.size(class_dim));
  return ops::add(ops::mul(loss, Scalar(1 - label_smoothing)), ops::mul(even, Scalar(share)),
                  Scalar(1));
}

}  // namespace uh::kernels
