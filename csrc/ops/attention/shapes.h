// Shape rules of attention.yaml.
#pragma once

#include <tuple>

#include "tensor/tensor.h"

namespace uh {

// The matrices of a tensor are its last two dimensions: a row for each query or key.
inline int64_t rows_of(const Tensor& t) { return t.size(t.ndim() - 2); }
inline int64_t width_of(const Tensor& t) { return t.size(t.ndim() - 1); }
inline Dims batch_of(const Tensor& t) {
  return Dims(IntSpan(t.sizes().data(), static_cast<size_t>(t.ndim() - 2)));
}

namespace shapes {

// Returns the result (..., L, Ev) and the logarithm of each query's sum of weights (..., L),
// float32 or wider.
std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                     double dropout_p, const Tensor& attn_mask);
// Returns the gradients of query, key and value with the batch dimensions of `out`: a formula sums
// those that an input was broadcast along.
std::tuple<Tensor, Tensor, Tensor> attention_backward(const Tensor& grad_out, const Tensor& query,
                                                      const Tensor& key, const Tensor& value,
                                                      const Tensor& out, const Tensor& logsumexp,
                                                      const Tensor& attn_mask);

}  // namespace shapes
}  // namespace uh
