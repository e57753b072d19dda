// Shape rules of pooling.yaml. Results have the memory format of the input, channels_last included.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "tensor/tensor.h"

namespace uh::shapes {

// `op` is the operator in PyTorch's messages: max_pool2d for max_pool2d_with_indices as well.
Tensor max_pool(std::string_view op, const Tensor& self, int64_t dims, const Dims& kernel_size,
                const Dims& stride, const Dims& padding, const Dims& dilation, bool ceil_mode);
std::tuple<Tensor, Tensor> max_pool_with_indices(std::string_view op, const Tensor& self,
                                                 int64_t dims, const Dims& kernel_size,
                                                 const Dims& stride, const Dims& padding,
                                                 const Dims& dilation, bool ceil_mode);
Tensor avg_pool(std::string_view op, const Tensor& self, int64_t dims, const Dims& kernel_size,
                const Dims& stride, const Dims& padding, bool ceil_mode,
                std::optional<int64_t> divisor_override);
Tensor adaptive_avg_pool(std::string_view op, const Tensor& self, int64_t dims,
                         const Dims& output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool(std::string_view op, const Tensor& self, int64_t dims,
                                             const Dims& output_size);
Tensor max_unpool(std::string_view op, const Tensor& self, const Tensor& indices, int64_t dims,
                  const Dims& output_size);
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, const Dims& output_size,
                    const Dims& stride, const Dims& padding);

Tensor max_pool_backward(const Tensor& grad_output, const Tensor& indices, const Dims& input_sizes,
                         int64_t dims);
Tensor avg_pool_backward(std::string_view op, const Tensor& grad_output, const Dims& input_sizes,
                         int64_t dims, const Dims& kernel_size, const Dims& stride,
                         const Dims& padding, bool ceil_mode);
Tensor adaptive_avg_pool_backward(const Tensor& grad_output, const Dims& input_sizes, int64_t dims);

}  // namespace uh::shapes
