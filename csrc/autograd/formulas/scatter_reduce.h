// Gradients of scatter_reduce and index_reduce, which differ in how they find places only.
#pragma once

#include <tuple>

#include "autograd/formula.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/masked.h"

namespace uh::autograd {

// `places` has read(t): t at the places; add(t, values) and fold(t, values): both into a copy of t;
// clear(t): zeros at the places.
template <class Places>
std::tuple<Tensor, Tensor> folded_backward(const Tensor& grad, const Tensor& self,
                                           const Tensor& src, const std::string& reduce,
                                           bool include_self, const Tensor& result,
                                           const Places& places) {
  const auto like = [&](const Tensor& t, double value) {
    return ops::full_like(t, Scalar(value), grad.dtype(), grad.device());
  };
  const auto as_numbers = [&](const Tensor& truths) { return truths * like(truths, 1); };
  Tensor grad_self, grad_src;
  if (reduce == "sum") {
    grad_self = grad;
    grad_src = places.read(grad);
  } else if (reduce == "mean") {
    const Tensor count = places.add(like(grad, include_self ? 1 : 0), like(src, 1));
    grad_self = grad / ops::masked_fill_Scalar(count, ops::eq(count, Scalar(0)), Scalar(1));
    grad_src = places.read(grad_self);
  } else if (reduce == "prod") {
    // Products without the zeros; a single zero among the sources is set aside by itself.
    const Tensor own = ops::masked_fill_Scalar(self, ops::eq(self, Scalar(0)), Scalar(1));
    grad_self = grad * places.fold(own, src) / own;
    const Tensor zero = ops::eq(src, Scalar(0));
    const Tensor zeros = places.read(places.add(like(self, 0), as_numbers(zero)));
    const Tensor single = ops::logical_and(zero, ops::eq(zeros, Scalar(1)));
    const Tensor without = places.fold(self, ops::masked_fill_Scalar(src, single, Scalar(1)));
    const Tensor divided =
        places.read(grad * result) / ops::masked_fill_Scalar(src, zero, Scalar(1));
    grad_src = ops::where(single, places.read(grad * without), divided);
  } else {  // amax, amin: equals share it
    const Tensor own = as_numbers(ops::eq(self, result));
    const Tensor theirs = as_numbers(ops::eq(src, places.read(result)));
    const Tensor share = grad / places.add(own, theirs);
    grad_self = own * share;
    grad_src = theirs * places.read(share);
  }
  if (!include_self) grad_self = places.clear(grad_self);
  return {grad_self, grad_src};
}

}  // namespace uh::autograd
