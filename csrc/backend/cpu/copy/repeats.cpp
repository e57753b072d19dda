#include "backend/cpu/copy/repeats.h"

namespace uh {
namespace {

Tensor first_along(const Tensor& t, const Dims& dims) {
  Dims sizes = t.sizes();
  for (int64_t d : dims) sizes[static_cast<size_t>(d)] = 1;
  return alias(t, {sizes, t.strides(), t.offset()});
}

}  // namespace

Repeats::Repeats(const Tensor& self, IntSpan positions) {
  for (size_t d = 0; d < positions.size(); ++d) {
    if (positions[d] < 0 || self.strides()[d] != 0 || self.sizes()[d] <= 1) continue;
    dims_.push_back(static_cast<int64_t>(d));
    positions_.push_back(positions[d]);
  }
}

Tensor Repeats::operand(const Tensor& self) const { return first_along(self, dims_); }

Tensor Repeats::first(const Tensor& result) const { return first_along(result, positions_); }

void Repeats::fill(const Tensor& result) const {
  Tensor filled = first(result);
  for (int64_t position : positions_) {
    const auto d = static_cast<size_t>(position);
    Dims sizes = filled.sizes();
    sizes[d] = result.sizes()[d] - 1;
    const Tensor others =
        alias(result, {sizes, result.strides(), result.offset() + result.strides()[d]});
    copy_elements(others, filled);
    ++sizes[d];
    filled = alias(result, {sizes, result.strides(), result.offset()});
  }
}

}  // namespace uh
