// Sums of terms, for composites of losses, and the reduction of element losses: none, mean or sum.
#pragma once

#include "generated/ops/arithmetic.h"
#include "generated/ops/reduce.h"

namespace uh {

inline Tensor plus(const Operand& a, const Operand& b) { return ops::add(a, b, Scalar(1)); }
inline Tensor minus(const Operand& a, const Operand& b) { return ops::sub(a, b, Scalar(1)); }

// PyTorch's codes; any other code means no reduction.
inline constexpr int64_t kMeanLoss = 1, kSumLoss = 2;

// Reduces through the dispatcher, for composites.
inline Tensor reduced_loss(const Tensor& losses, int64_t reduction) {
  if (reduction == kMeanLoss) return ops::mean(losses, std::nullopt, false, DType::kUndefined);
  if (reduction == kSumLoss) return ops::sum(losses, std::nullopt, false, DType::kUndefined);
  return losses;
}

}  // namespace uh
