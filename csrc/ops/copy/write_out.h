// The final write of out= and in-place forms, with its checks.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws unless `sizes` can be expanded to `target`.
void check_broadcasts_to(IntSpan sizes, IntSpan target, std::string_view op);

// Throws unless `out` has the dtype of the result, as PyTorch requires of some operators.
void check_out_dtype(const Tensor& out, DType result_dtype, std::string_view op);

// Resizes `out` to the sizes of `result` if they differ, then copies its elements.
void write_out(const Tensor& out, const Tensor& result, std::string_view op);

// The same, but throws unless `out` has the dtype of the result.
void write_exact_out(const Tensor& out, const Tensor& result, std::string_view op);

// True if both have the same elements of a Storage in the same order.
bool describes_same(const Tensor& a, const Tensor& b);

// Copies the elements of `result`, which must have self's sizes: the last step of in-place forms.
void write_self(const Tensor& self, const Tensor& result, std::string_view op);

}  // namespace uh
