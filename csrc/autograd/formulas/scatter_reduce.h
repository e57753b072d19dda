// Gradients of scatter_reduce and index_reduce, which differ only in the positions that they write.
#pragma once

#include <tuple>

#include "autograd/formula.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/masked.h"

namespace uh::autograd {

// `positions` provides read(t): t at the positions; add(t, values) and fold(t, values): a copy of t
// combined with values there; clear(t): t with zeros there.
template <class Positions>
std::tuple<Tensor, Tensor> folded_backward(const Tensor& grad, const Tensor& self,
                                           const Tensor& src, const std::string& reduce,
                                           bool include_self, const Tensor& result,
                                           const Positions& positions) {
  const auto like = [&](const Tensor& t, double value) {
    return ops::full_like(t, Scalar(value), grad.dtype(), grad.device());
  };
  const auto as_numbers = [&](const Tensor& truths) { return truths * like(truths, 1); };
  Tensor grad_self, grad_src;
  if (reduce == "sum") {
    grad_self = grad;
    grad_src = positions.read(grad);
  } else if (reduce == "mean") {
    const Tensor count = positions.add(like(grad, include_self ? 1 : 0), like(src, 1));
    grad_self = grad / ops::masked_fill_Scalar(count, ops::eq(count, Scalar(0)), Scalar(1));
    grad_src = positions.read(grad_self);
  } else if (reduce == "prod") {
    // Product without zeros; a single zero among the sources is handled separately.
    const Tensor own = ops::masked_fill_Scalar(self, ops::eq(self, Scalar(0)), Scalar(1));
    grad_self = grad * positions.fold(own, src) / own;
    const Tensor zero = ops::eq(src, Scalar(0));
    const Tensor zeros = positions.read(positions.add(like(self, 0), as_numbers(zero)));
    const Tensor single = ops::logical_and(zero, ops::eq(zeros, Scalar(1)));
    const Tensor without = positions.fold(self, ops::masked_fill_Scalar(src, single, Scalar(1)));
    const Tensor divided =
        positions.read(grad * result) / ops::masked_fill_Scalar(src, zero, Scalar(1));
    grad_src = ops::where(single, positions.read(grad * without), divided);
  } else {  // amax, amin: equal elements share the gradient
    const Tensor self_equals = as_numbers(ops::eq(self, result));
    const Tensor src_equals = as_numbers(ops::eq(src, positions.read(result)));
    const Tensor share = grad / positions.add(self_equals, src_equals);
    grad_self = self_equals * share;
    grad_src = src_equals * positions.read(share);
  }
  if (!include_self) grad_self = positions.clear(grad_self);
  return {grad_self, grad_src};
}

}  // namespace uh::autograd
