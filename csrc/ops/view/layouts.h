// The layout of each view operator's result. Pure functions: no tensor is created here.
#pragma once

#include <array>
#include <optional>

#include "tensor/tensor.h"

namespace uh::layouts {

// Returns `size` with a -1 replaced by the remaining factor of `numel`.
Dims infer_size(IntSpan size, int64_t numel);

// Returns the strides under which `self`'s elements have the shape `sizes` without a copy, or
// nullopt. Works on blocks of dimensions that are contiguous with each other; no new dimension may
// span two blocks.
std::optional<Dims> view_strides(IntSpan old_sizes, IntSpan old_strides, IntSpan sizes);

Layout transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Layout t(const Tensor& self);
Layout squeeze(const Tensor& self, const std::optional<Dims>& dim);
Layout unsqueeze(const Tensor& self, int64_t dim);
Layout as_strided(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> offset);
Layout slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step);
Layout narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);

// Takes every step-th element of dimension d, by multiplying its stride. Only a step over the whole
// dimension can overflow 64 bits; such a stride is never used and stays unchanged.
void stretch(Layout& layout, size_t d, int64_t step);

// Throws if one call would split a dimension of `size` into more tensors than can be created in a
// few seconds, or into an absurd number of empty ones.
void check_pieces(int64_t count, int64_t size, std::string_view op);

}  // namespace uh::layouts
