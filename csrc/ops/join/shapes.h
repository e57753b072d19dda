// Shape rules of join.yaml.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

// Returns true for an empty 1-d tensor, which PyTorch's cat skips whatever the others' rank.
inline bool is_skipped(const Tensor& t) { return t.ndim() == 1 && t.size(0) == 0; }

// Returns views of the result of `repeat` and of its source with the same sizes, so that copying
// one to the other repeats the source.
std::pair<Tensor, Tensor> repeated_views(const Tensor& self, const Dims& repeats,
                                         const Tensor& result);

}  // namespace uh

namespace uh::shapes {

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
Tensor flip(const Tensor& self, const Dims& dims);
Tensor roll(const Tensor& self, const Dims& shifts, const std::optional<Dims>& dims);
Tensor repeat(const Tensor& self, const Dims& repeats);

}  // namespace uh::shapes
