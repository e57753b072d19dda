// Gather, GEMM, scatter-add: the products of a rulebook.
#pragma once

#include <underhood/underhood.hpp>

namespace sparse_conv {

// For each offset k and each of its pairs (i, o), adds features[i] @ weight[k] to row o of the
// result, which has n_out rows. Offsets are processed in order: the result does not depend on
// threads.
uh::Tensor gather_gemm_scatter(const uh::Tensor& features, const uh::Tensor& weight,
                               const uh::Tensor& in_rows, const uh::Tensor& out_rows,
                               const uh::Tensor& starts, int64_t n_out);
uh::Tensor gather_gemm_scatter_meta(const uh::Tensor& features, const uh::Tensor& weight,
                                    const uh::Tensor& in_rows, const uh::Tensor& out_rows,
                                    const uh::Tensor& starts, int64_t n_out);

// Returns the gradient of the weight: per offset, the sum over its pairs of features[i]^T grad[o].
uh::Tensor weight_gradient(const uh::Tensor& features, const uh::Tensor& grad,
                           const uh::Tensor& in_rows, const uh::Tensor& out_rows,
                           const uh::Tensor& starts);
uh::Tensor weight_gradient_meta(const uh::Tensor& features, const uh::Tensor& grad,
                                const uh::Tensor& in_rows, const uh::Tensor& out_rows,
                                const uh::Tensor& starts);

// For each output row and channel, returns the input row with the largest feature, from the first
// offset if several are equal. NaN is larger than any number.
uh::Tensor max_pool_rows(const uh::Tensor& features, const uh::Tensor& in_rows,
                         const uh::Tensor& out_rows, const uh::Tensor& starts, int64_t n_out);

}  // namespace sparse_conv
