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

// Saturates: a diagonal far outside of the matrix is the same as one just outside.
int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}

// The columns [first, last) of n that row i retains: from the diagonal on if `upper`, else up to
// it.
struct Columns {
  int64_t first, last;
};
Columns columns_of_row(int64_t i, int64_t n, int64_t diagonal, bool upper) {
  if (upper) return {clamped(i + diagonal, 0, n), n};
  return {0, clamped(i + diagonal + 1, 0, n)};
}

void check_matrices(const Tensor& self, std::string_view op) {
  check(self.ndim() >= 2, op, ": input tensor must have at least 2 dimensions, got ", self.ndim());
}

Tensor triangle(const Tensor& self, int64_t diagonal, bool upper, std::string_view op) {
  check_matrices(self, op);
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
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
  record_write(out);
  return out;
}

// PyTorch writes into matrices that share memory where only the outermost dimension of a batch
// repeats.
void check_batch(const Tensor& self, std::string_view op) {
  if (self.ndim() <= 3 || !has_internal_overlap(self)) return;
  int64_t expected = self.size(self.ndim() - 1) * self.size(self.ndim() - 2);
  for (int64_t d = self.ndim() - 3; d >= 0; --d) {
    if (d == 0 && (self.stride(d) == 0 || self.size(d) == 1)) continue;
    if (self.stride(d) != expected) check_no_internal_overlap(self, op);
    expected *= self.size(d);
  }
}

// Writes zeros alone, so that elements may share memory: what any of them loses is 0.
void cut(const Tensor& self, int64_t diagonal, bool upper, std::string_view op) {
  check_matrices(self, op);
  check_batch(self, op);
  if (self.is_meta() || self.numel() == 0) return;
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
  record_write(self);
}

}  // namespace

void tril_into(KeySet, const Tensor& self, int64_t diagonal) {
  cut(self, diagonal, false, "tril_");
}
void triu_into(KeySet, const Tensor& self, int64_t diagonal) { cut(self, diagonal, true, "triu_"); }

Tensor tril(KeySet, const Tensor& self, int64_t diagonal) {
  return triangle(self, diagonal, false, "tril");
}
Tensor triu(KeySet, const Tensor& self, int64_t diagonal) {
  return triangle(self, diagonal, true, "triu");
}

Tensor diag_embed(KeySet, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.ndim() + 1;
  const int64_t a = wrap_dim(dim1, rank, "diag_embed"), b = wrap_dim(dim2, rank, "diag_embed");
  check(a != b, "diag_embed: diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  check_kind(self.ndim() > 0, ErrorKind::kIndex,
             "diag_embed: Dimension specified as -1 but tensor has no dimensions");
  const int64_t count = self.size(self.ndim() - 1);
  int64_t side = 0;
  check(offset != INT64_MIN && !__builtin_add_overflow(count, std::abs(offset), &side),
        "diag_embed: offset ", offset, " is too large");
  Dims sizes;
  for (int64_t d = 0, from = 0; d < rank; ++d)
    sizes.push_back(d == a || d == b ? side : self.size(from++));
  Tensor out = empty(sizes, self.dtype(), self.device());
  if (out.is_meta()) return out;
  fill_elements(out, element_bytes(Scalar(0), out.dtype()));
  Strided line(out);
  const int64_t down = out.stride(a), across = out.stride(b);
  line.sizes = self.sizes();
  line.strides = Dims();
  for (int64_t d = 0; d < rank; ++d)
    if (d != a && d != b) line.strides.push_back(out.stride(d));
  line.strides.push_back(down + across);
  line.advance(offset >= 0 ? offset * across : -offset * down);
  if (self.numel()) copy_elements(line, Strided(self));
  record_write(out);
  return out;
}

Tensor diag(KeySet, const Tensor& self, int64_t diagonal) {
  check(self.ndim() == 1 || self.ndim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
        self.ndim(), "D");
  if (self.ndim() == 1) return ops::diag_embed(self, diagonal, 0, 1);
  return ops::diagonal_copy(self, diagonal, 0, 1);
}

void diag_out(KeySet, const Tensor& self, int64_t diagonal, const Tensor& out) {
  check(self.ndim() == 1 || self.ndim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
        self.ndim(), "D");
  if (self.ndim() == 1)
    ops::diag_embed_out(self, diagonal, 0, 1, out);
  else
    ops::diagonal_copy_out(self, diagonal, 0, 1, out);
}

Tensor diagflat(KeySet, const Tensor& self, int64_t offset) {
  return ops::diag(ops::reshape(self, Dims{-1}), offset);
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
