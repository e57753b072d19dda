// Shape rules of scatter.yaml. `op` is the name in messages.
#pragma once

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace uh::shapes {

void scatter(std::string_view op, const Tensor& self, int64_t dim, const Tensor& index,
             const Tensor& src);
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
// The same, after a check of the reduction's name.
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    const std::string& reduce);
void scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index,
                          const Scalar& value, const std::string& reduce);
void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        const std::string& reduce);
Tensor segment_reduce(const Tensor& data, const std::string& reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis);
Tensor segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data,
                               const std::string& reduce, const Tensor& lengths,
                               const Tensor& offsets, int64_t axis);

}  // namespace uh::shapes
