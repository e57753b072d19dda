// Shape rules of normalize.yaml.
#pragma once

#include <tuple>

#include "tensor/tensor.h"

namespace uh {

// Returns the dtype for statistics and sums of elements of a floating dtype.
inline DType statistics_dtype(DType dtype) {
  return is_reduced_floating(dtype) ? DType::kFloat32 : dtype;
}

// The rows that the last dimensions of an input form, each normalised separately.
struct NormalizedRows {
  int64_t count = 1, n = 1;
  Dims statistics;  // the sizes of mean and rstd
};
// Throws unless the input's last sizes are `shape`, and each defined parameter has these sizes.
NormalizedRows normalized_rows(const Tensor& input, const Dims& shape, const Tensor& weight,
                               const Tensor& bias, std::string_view op);

void check_groups(int64_t channels, int64_t groups);

}  // namespace uh

namespace uh::shapes {

using Three = std::tuple<Tensor, Tensor, Tensor>;

Three native_layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                        const Tensor& bias);
std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& input, const Dims& normalized_shape,
                                          const Tensor& weight);
Three native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N,
                        int64_t C, int64_t HxW, int64_t group);
Three native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, bool training);

// Leaves the gradients that the mask excludes undefined.
Three native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                 const Dims& normalized_shape, const Tensor& rstd,
                                 const Tensor& weight, const Tensor& bias, const Dims& output_mask);
std::tuple<Tensor, Tensor> fused_rms_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                   const Dims& normalized_shape, const Tensor& rstd,
                                                   const Tensor& weight, const Dims& output_mask);
Three native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                 const Tensor& weight, int64_t N, int64_t C, int64_t HxW,
                                 int64_t group, const Dims& output_mask);
Three native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                                 const Tensor& running_mean, const Tensor& running_var,
                                 const Tensor& save_mean, const Tensor& save_invstd, bool train,
                                 const Dims& output_mask);

}  // namespace uh::shapes
