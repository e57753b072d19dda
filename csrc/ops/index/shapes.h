// Shape rules of index.yaml. `index` has none: how many elements a mask selects depends on its
// values.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace uh::shapes {

// With masks, the kernel checks whether the values broadcast: it counts what they select.
void index_put_inplace(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                       bool accumulate);
// Allocates a tensor with the strides of self.
Tensor index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                 bool accumulate);

}  // namespace uh::shapes
