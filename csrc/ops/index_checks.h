// Checks of index tensors that read no element.
#pragma once

#include <string_view>

#include "ops/overlap.h"

namespace uh {

// Throws unless `index` is int32 or int64.
inline void check_index_dtype(const Tensor& index, std::string_view op) {
  check(index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32, op,
        "(): Expected dtype int32/int64 for index, got ", name(index.dtype()));
}

// Throws if elements of `self` share memory with each other, with the index or with the source.
inline void check_index_overlap(const Tensor& self, const Tensor& index, const Tensor& source,
                                std::string_view op) {
  check_no_internal_overlap(self, op);
  check_no_overlap(self, index, op);
  check_no_overlap(self, source, op);
}

}  // namespace uh
