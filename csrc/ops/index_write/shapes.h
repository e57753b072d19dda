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

}  // namespace uh::shapes
