// The kernels of join.yaml. Each copies its inputs into parts of the result.
#include "generated/kernels/join.h"
#include "backend/cpu/copy/elements.h"
#include "ops/join/shapes.h"

namespace uh::kernels {
namespace {

// Returns the part of `full` that starts at `start` along `dim` and has `sizes`.
Strided part_of(const Tensor& full, Dims sizes, size_t dim, int64_t start) {
  Strided part(full.data(), full.dtype(), std::move(sizes), full.strides());
  part.advance(start * full.strides()[dim]);
  return part;
}

// Rolls along one dimension.
void roll_dim(const Tensor& self, int64_t shift, size_t d, const Tensor& result) {
  const int64_t n = self.sizes()[d], split = (n - (shift % n + n) % n) % n;
  const auto move = [&](int64_t to, int64_t from, int64_t count) {
    Dims sizes = self.sizes();
    sizes[d] = count;
    copy_elements(part_of(result, sizes, d, to), part_of(self, sizes, d, from));
  };
  move(0, split, n - split);
  move(n - split, 0, split);
}

// Rolls the elements in row-major order.
void roll_row(const Tensor& self, int64_t shift, const Tensor& result) {
  const Tensor row = as_contiguous(self);
  const int64_t n = self.numel();
  const int64_t split = (n - (shift % n + n) % n) % n;  // the first element of the result
  const auto piece = [](const Tensor& t, int64_t start, int64_t count) {
    Strided part(t.data(), t.dtype(), Dims{count}, Dims{1});
    return part.advance(start);
  };
  copy_elements(piece(result, 0, n - split), piece(row, split, n - split));
  copy_elements(piece(result, n - split, split), piece(row, 0, split));
}

}  // namespace

void cat(const std::vector<Tensor>& tensors, int64_t dim, const Tensor& result) {
  if (result.numel() == 0) return;
  const auto d = static_cast<size_t>(wrap_dim(dim, result.ndim(), "cat"));
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    copy_elements(part_of(result, t.sizes(), d, start), Strided(t));
    start += t.sizes()[d];
  }
}

void stack(const std::vector<Tensor>& tensors, int64_t dim, const Tensor& result) {
  const auto d = static_cast<size_t>(wrap_dim(dim, result.ndim(), "stack"));
  Dims strides = result.strides();
  const int64_t step = strides[d];
  strides.erase(d);
  for (size_t i = 0; i < tensors.size(); ++i) {
    Strided part(result.data(), result.dtype(), tensors[i].sizes(), strides);
    copy_elements(part.advance(static_cast<int64_t>(i) * step), Strided(tensors[i]));
  }
}

void flip(const Tensor& self, const Dims& dims, const Tensor& result) {
  Strided source(self);
  for (int64_t dim : dims) {
    if (self.ndim() == 0) continue;
    const auto d = static_cast<size_t>(wrap_dim(dim, self.ndim(), "flip"));
    if (self.numel()) source.advance((self.sizes()[d] - 1) * self.strides()[d]);
    source.strides[d] = -source.strides[d];
  }
  copy_elements(Strided(result), source);
}

void roll(const Tensor& self, const Dims& shifts, const std::optional<Dims>& dims,
          const Tensor& result) {
  if (result.numel() == 0) return;
  if (!dims || dims->empty()) return roll_row(self, shifts[0], result);
  Tensor source = self;  // one dimension at a time
  for (size_t i = 0; i < shifts.size(); ++i) {
    const bool last = i + 1 == shifts.size();
    const Tensor target = last ? result : empty(self.sizes(), self.dtype());
    roll_dim(source, shifts[i], static_cast<size_t>(wrap_dim((*dims)[i], self.ndim(), "roll")),
             target);
    source = target;
  }
}

void repeat(const Tensor& self, const Dims& repeats, const Tensor& result) {
  if (result.numel() == 0) return;
  const auto [to, from] = repeated_views(self, repeats, result);
  copy_elements(to, from);
}

}  // namespace uh::kernels
