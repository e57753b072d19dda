// Triangles and diagonals.
#include <algorithm>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/arrange.h"
#include "generated/ops/arrange.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/view.h"
#include "generated/ops/view_copy.h"
#include "ops/geometry.h"
#include "ops/overlap.h"

namespace uh::kernels {
namespace {

// Clamps: a diagonal far outside the matrix is equivalent to one just outside.
int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}

// The columns [first, last) of n that row i keeps: from the diagonal if `upper`, else up to it.
struct Columns {
  int64_t first, last;
};
Columns columns_of_row(int64_t i, int64_t n, int64_t diagonal, bool upper) {
  if (upper) return {clamped(i + diagonal, 0, n), n};
  return {0, clamped(i + diagonal + 1, 0, n)};
}

void triangle(const Tensor& self, int64_t diagonal, bool upper, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor source = as_contiguous(self);
  const int64_t m = self.size(self.ndim() - 2), n = self.size(self.ndim() - 1);
  const int64_t item = itemsize(self.dtype());
  diagonal = clamped(diagonal, -m - 1, n + 1);
  parallel_for(0, out.numel() / n, std::max<int64_t>(1, 65536 / n), [&](int64_t lo, int64_t hi) {
    for (int64_t row = lo; row < hi; ++row) {
      const auto [first, last] = columns_of_row(row % m, n, diagonal, upper);
      std::byte* to = out.data() + row * n * item;
      const std::byte* from = source.data() + row * n * item;
      std::memset(to, 0, static_cast<size_t>(first * item));
      std::memcpy(to + first * item, from + first * item,
                  static_cast<size_t>((last - first) * item));
      std::memset(to + last * item, 0, static_cast<size_t>((n - last) * item));
    }
  });
}

// Writes only zeros, so elements may share memory.
void cut(const Tensor& self, int64_t diagonal, bool upper) {
  if (self.numel() == 0) return;
  const int64_t m = self.size(self.ndim() - 2), n = self.size(self.ndim() - 1);
  const int64_t item = itemsize(self.dtype()), step = self.stride(self.ndim() - 1) * item;
  diagonal = clamped(diagonal, -m - 1, n + 1);
  const auto zero = [&](std::byte* row, int64_t from, int64_t to) {
    if (step == item) {
      std::memset(row + from * item, 0, static_cast<size_t>((to - from) * item));
      return;
    }
    for (int64_t j = from; j < to; ++j) std::memset(row + j * step, 0, static_cast<size_t>(item));
  };
  Geometry<1> rows{self.sizes(), {self.strides()}};
  const size_t outer = rows.sizes.size() - 1;
  parallel_for(0, self.numel() / n, std::max<int64_t>(1, 65536 / n), [&](int64_t lo, int64_t hi) {
    Odometer<1> at(rows, outer, lo);
    for (int64_t row = lo; row < hi; ++row, at.step()) {
      const auto [first, last] = columns_of_row(row % m, n, diagonal, upper);
      std::byte* to = self.data() + at.offsets()[0] * item;
      zero(to, 0, first);
      zero(to, last, n);
    }
  });
}

}  // namespace

void tril_into(const Tensor& self, int64_t diagonal) { cut(self, diagonal, false); }
void triu_into(const Tensor& self, int64_t diagonal) { cut(self, diagonal, true); }

void tril(const Tensor& self, int64_t diagonal, const Tensor& result) {
  triangle(self, diagonal, false, result);
}
void triu(const Tensor& self, int64_t diagonal, const Tensor& result) {
  triangle(self, diagonal, true, result);
}

Tensor block_diag(KeySet, const std::vector<Tensor>& tensors) {
  DType dtype = DType::kUndefined;
  int64_t rows = 0, columns = 0;
  std::vector<Tensor> blocks;
  for (const Tensor& t : tensors) {
    check(t.ndim() <= 2, "block_diag: Input tensors must have 2 or fewer dimensions. Input has ",
          t.ndim(), " dimensions");
    dtype = promote(dtype, t.dtype());
    blocks.push_back(ops::atleast_2d(t));
    rows += blocks.back().size(0);
    columns += blocks.back().size(1);
  }
  if (tensors.empty()) return empty(Dims{1, 0}, default_dtype());
  Tensor out = empty(Dims{rows, columns}, dtype, tensors[0].device());
  if (out.is_meta()) return out;
  fill_elements(out, element_bytes(Scalar(0), dtype));
  int64_t row = 0, column = 0;
  for (const Tensor& block : blocks) {
    Strided part(out.data(), dtype, block.sizes(), out.strides());
    if (block.numel()) copy_elements(part.advance(row * columns + column), Strided(block));
    row += block.size(0);
    column += block.size(1);
  }
  record_write(out);
  return out;
}

}  // namespace uh::kernels
