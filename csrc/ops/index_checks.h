// Checks of index tensors that look at no element.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws unless `index` is int32 or int64.
inline void check_index_dtype(const Tensor& index, std::string_view op) {
  check(index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32, op,
        "(): Expected dtype int32/int64 for index, got ", name(index.dtype()));
}

}  // namespace uh
