// The end of out= and in-place forms: checks of the tensor that is written, and the write.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws when `sizes` cannot be expanded to `target`.
void check_broadcasts_to(IntSpan sizes, IntSpan target, std::string_view op);

// Throws unless `out` has the dtype of the result: what PyTorch's out= asks of some operators.
void check_out_dtype(const Tensor& out, DType result_dtype, std::string_view op);

// The last step of out=: `out` takes the sizes of `result` if they differ, then its elements.
void write_out(const Tensor& out, const Tensor& result, std::string_view op);

// The same for an out= that has the dtype of the result, or is refused.
void write_exact_out(const Tensor& out, const Tensor& result, std::string_view op);

// The last step of an in-place form: `self` takes the elements of `result`, which must have its
// sizes.
void write_self(const Tensor& self, const Tensor& result, std::string_view op);

}  // namespace uh
