// Overlap: whether the memory that a kernel writes shares bytes with itself or with memory it
// reads.
//
// Note [Overlap]: PyTorch rejects dense tensors whose byte ranges intersect. It does not check
// tensors with gaps: the write happens, and an element that is read after it was written is wrong.
// Here the check of byte ranges rejects the same calls, and a second, exact check finds the others
// whose result would be wrong: then copies, masks and indices are read from a temporary copy, and
// pointwise operators throw. Kernels that compute the whole result before they write it (the
// generated in-place and out= forms) need only the first check.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws if writing `self` would write a byte twice, as far as a stride of 0 shows it.
void check_no_internal_overlap(const Tensor& self, std::string_view op);

// Throws if both are dense and share bytes without being the same elements in the same order.
void check_no_partial_overlap(const Tensor& written, const Tensor& read, std::string_view op);

// Throws if both are dense and share any byte.
void check_no_overlap(const Tensor& written, const Tensor& read, std::string_view op);

// The same for an out= that will be resized to `sizes`, checked before and after the resize. With
// `any`, throws for any shared byte, else as check_no_partial_overlap.
void check_out_overlap(const Tensor& out, const Dims& sizes, const Tensor& read, bool any,
                       std::string_view op);

// Returns true if an element is written that is read at another index (exact): for loops that read
// while they write. `read` broadcasts to the sizes of `written`.
bool reads_elsewhere(const Tensor& written, const Tensor& read);
// Throws if that is so; `layout` is the one that `written` will have.
void check_read_in_place(const Tensor& written, const Layout& layout, const Tensor& read,
                         std::string_view op);

// Returns true if any byte belongs to both (exact): for kernels that read at other indices.
bool share_bytes(const Tensor& written, const Tensor& read);
// Throws if they share bytes.
void check_disjoint(const Tensor& written, const Tensor& read, std::string_view op);

}  // namespace uh
