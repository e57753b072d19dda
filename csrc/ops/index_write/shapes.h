// Shape rules of index_write.yaml.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace uh::shapes {

void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha);
void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
void index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  const std::string& reduce);
void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value);
void put(const Tensor& self, const Tensor& index, const Tensor& source);
// Not in place: these allocate a tensor with the strides of self.
Tensor index_filled(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
Tensor index_filled(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value);
Tensor put_result(const Tensor& self, const Tensor& index, const Tensor& source);

}  // namespace uh::shapes
