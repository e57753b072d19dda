// Overlap: whether the memory a kernel writes shares bytes with itself or with the memory it reads.
//
// Note [Overlap]: PyTorch compares the spans of dense tensors and rejects two that meet. It does
// not look at tensors with gaps: the write happens, and an element that is read after it was
// written is wrong. Here the comparison of spans rejects the same calls, and a second, exact
// comparison finds those whose result would be wrong: copies, masks and indices are read from a
// copy then, pointwise operators reject them. Kernels that compute the whole result before they
// write (the generated in-place and out= forms) are always right and need the first comparison
// only.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws when writing `self` would write some byte twice, as far as a stride of 0 shows it.
void check_no_internal_overlap(const Tensor& self, std::string_view op);

// Throws when both are dense and share bytes without being the same elements in the same order.
void check_no_partial_overlap(const Tensor& written, const Tensor& read, std::string_view op);

// Throws when both are dense and share any byte.
void check_no_overlap(const Tensor& written, const Tensor& read, std::string_view op);

// The same for an out= that is about to have `sizes`, and is refused where it has them and where it
// has them not yet: `any` for every byte shared, else as check_no_partial_overlap.
void check_out_overlap(const Tensor& out, const Dims& sizes, const Tensor& read, bool any,
                       std::string_view op);

// True if an element is written that is read at another index, exactly: for loops that read while
// they write. `read` broadcasts to the sizes of `written`.
bool reads_elsewhere(const Tensor& written, const Tensor& read);
// Throws where that is so; `layout` is what `written` is about to have.
void check_read_in_place(const Tensor& written, const Layout& layout, const Tensor& read,
                         std::string_view op);

// True if any byte is in both, exactly: for kernels that read at other indices than they write.
bool share_bytes(const Tensor& written, const Tensor& read);
// Throws where that is so.
void check_disjoint(const Tensor& written, const Tensor& read, std::string_view op);

}  // namespace uh
