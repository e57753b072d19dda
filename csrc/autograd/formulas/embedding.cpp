#include "autograd/formulas/embedding.h"

#include "autograd/formulas/gather.h"
#include "autograd/formulas/sparse.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/embedding.h"
#include "generated/ops/gather.h"
#include "generated/ops/masked.h"
#include "generated/ops/reduce.h"
#include "generated/ops/scatter.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

// The number of occurrences of each index.
Tensor frequencies(const Tensor& indices, int64_t rows, DType dtype) {
  const Tensor ones = ops::ones(indices.sizes(), dtype, indices.device());
  const Tensor none = ops::zeros(Dims{rows}, dtype, indices.device());
  return ops::gather(ops::scatter_add(none, 0, indices, ones), 0, indices);
}

int64_t from_front(int64_t padding, int64_t rows) {
  return padding < -1 ? padding + rows : padding;
}

}  // namespace

Tensor embedding_twice(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                       bool by_frequency) {
  const Tensor flat = ops::reshape(indices, Dims{-1});
  Tensor read = ops::index_select(grad, 0, flat);
  if (padding >= 0) {
    const Tensor ignored = ops::unsqueeze(ops::eq(flat, Scalar(padding)), 1);
    read = ops::masked_fill_Scalar(read, ignored, Scalar(0));
  }
  if (by_frequency) read = read / ops::unsqueeze(frequencies(flat, rows, grad.dtype()), 1);
  Dims sizes = indices.sizes();
  sizes.push_back(grad.size(1));
  return ops::reshape(read, sizes);
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                          bool by_frequency, bool sparse) {
  if (!sparse) return ops::embedding_dense_backward(grad, indices, rows, padding, by_frequency);
  check(!by_frequency, "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  return rows_gradient(grad, indices, rows, padding);
}

Tensor bag_weight_backward(const Tensor& grad, const Tensor& indices, const Bags& bags,
                           const Tensor& scales, const Dims& sizes, bool by_frequency,
                           bool sparse) {
  const Tensor counted = ops::unsqueeze(bags.sizes, 1);
  if (bags.mode == 2) {  // the zeros of an empty bag have no source row
    const Tensor none = ops::eq(counted, Scalar(0));
    return gather_backward(ops::masked_fill_Scalar(grad, none, Scalar(0)), sizes, 0, bags.largest);
  }
  const Tensor each = bags.mode == 1 ? grad / ops::clamp_min(counted, Scalar(1)) : grad;
  Tensor read = ops::index_select(each, 0, bags.bag_of);
  if (scales) read = read * ops::unsqueeze(scales, 1);
  return embedding_backward(read, indices, sizes[0], from_front(bags.padding, sizes[0]),
                            by_frequency, sparse);
}

Tensor bag_scale_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                          const Bags& bags) {
  const Tensor read = ops::index_select(weight, 0, indices);
  const Tensor result = ops::sum(ops::index_select(grad, 0, bags.bag_of) * read, Dims{1}, false);
  if (bags.padding == -1) return result;
  const Tensor ignored = ops::eq(indices, Scalar(from_front(bags.padding, weight.size(0))));
  return ops::masked_fill_Scalar(result, ignored, Scalar(0));
}

}  // namespace uh::autograd
