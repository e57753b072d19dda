// Row indices of a table, for embedding and embedding_bag.
#pragma once

#include "backend/cpu/index/along.h"

namespace uh {

// Returns the indices as contiguous int64. Throws unless they are int64 or int32.
Tensor row_numbers(const Tensor& indices, std::string_view op);

// Throws IndexError for an index that is not a row of weight.
void check_rows(const Tensor& numbers, const Tensor& weight, std::string_view op);

}  // namespace uh
