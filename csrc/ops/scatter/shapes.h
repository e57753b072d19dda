// Shape rules of scatter.yaml: what may be written where. `op` is the name in messages.
#pragma once

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace uh::shapes {

void scatter(std::string_view op, const Tensor& self, int64_t dim, const Tensor& index,
             const Tensor& src);
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
// The same after a check of the word that says how values are combined.
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    const std::string& reduce);
void scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index,
                          const Scalar& value, const std::string& reduce);
void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        const std::string& reduce);

}  // namespace uh::shapes
