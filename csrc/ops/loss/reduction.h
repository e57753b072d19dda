// The reduction of element losses: none, mean or sum.
#pragma once

#include "generated/ops/reduce.h"

namespace uh {

// PyTorch's codes; any other code means no reduction.
inline constexpr int64_t kMeanLoss = 1, kSumLoss = 2;

// Reduces through the dispatcher, for composites.
inline Tensor reduced_loss(const Tensor& losses, int64_t reduction) {
  if (reduction == kMeanLoss) return ops::mean(losses, std::nullopt, false, DType::kUndefined);
  if (reduction == kSumLoss) return ops::sum(losses, std::nullopt, false, DType::kUndefined);
  return losses;
}

}  // namespace uh
