// Checks of the row indices that embeddings take.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws unless `indices` are int64 or int32.
inline void check_row_indices(const Tensor& indices, std::string_view op) {
  check(indices.dtype() == DType::kInt64 || indices.dtype() == DType::kInt32, op,
        ": Expected tensor for argument 'indices' to have one of the following scalar types: Long, "
        "Int; but got ",
        info(indices.dtype()).title);
}

}  // namespace uh
