#include "backend/cpu/copy/elements.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/copy_loops.h"
#include "base/parallel.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "ops/geometry.h"

namespace uh {
namespace {

constexpr int64_t kGrainSize = 32768;  // minimum number of elements per thread
constexpr int64_t kChunk = 512;        // elements converted at a time, in stack buffers
constexpr int64_t kMaxItem = 16;

struct Elements {
  std::byte* data;
  DType dtype;
  int64_t item;
  std::byte* at(int64_t offset) const { return data + offset * item; }
};

Elements operand(const Strided& s) { return {s.data, s.dtype, itemsize(s.dtype)}; }

bool is_row_major(const Strided& s) {
  int64_t expected = 1;
  for (size_t d = s.sizes.size(); d-- > 0;) {
    if (s.sizes[d] != 1 && s.strides[d] != expected) return false;
    expected *= s.sizes[d];
  }
  return true;
}

// Converts one row with any strides.
void convert_row(const Elements& dst, std::byte* to, int64_t dst_stride, const Elements& src,
                 const std::byte* from, int64_t src_stride, int64_t n) {
  if (dst_stride == 1) return load_run(to, dst.dtype, from, src.dtype, src_stride, n);
  const auto move = copy_loops().move[size_class(dst.item)];
  alignas(64) std::byte buffer[kChunk * kMaxItem];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    load_run(buffer, dst.dtype, from + i * src_stride * src.item, src.dtype, src_stride, m);
    move(to + i * dst_stride * dst.item, dst_stride, buffer, 1, m);
  }
}

// Returns the dimension along which src is contiguous if the copy transposes (dst along the last
// dimension, src along another), else -1.
int64_t transposed_dim(const Geometry<2>& g) {
  if (g.row_stride(0) != 1 || g.row_stride(1) <= 1 || g.row() < 8) return -1;
  for (size_t d = 0; d + 1 < g.sizes.size(); ++d) {
    if (g.strides[1][d] == 1 && g.sizes[d] >= 8) return static_cast<int64_t>(d);
  }
  return -1;
}

// Moves `dim` next to the last, so that a transposed tile's dimensions are the two innermost.
void copy_transposed(const Elements& dst, const Elements& src, Geometry<2> g, size_t dim) {
  const size_t rank = g.sizes.size();
  for (size_t d = dim; d + 2 < rank; ++d) detail::swap_dims(g, d, d + 1);
  const auto transpose = copy_loops().transpose[size_class(dst.item)];
  const int64_t band = std::max<int64_t>(16, 64 / dst.item);  // lines of dst per step
  const int64_t columns = g.sizes[rank - 2];
  const int64_t bands = (columns + band - 1) / band;
  const int64_t outer = numel_of(IntSpan(g.sizes.data(), rank - 2));
  const int64_t grain = std::max<int64_t>(1, kGrainSize / (band * g.row()));
  parallel_for(0, outer * bands, grain, [&](int64_t lo, int64_t hi) {
    Odometer<2> at(g, rank - 2, lo / bands);
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t c = (i % bands) * band;
      transpose(dst.at(at.offsets()[0] + c * g.strides[0][rank - 2]), g.strides[0][rank - 2],
                src.at(at.offsets()[1] + c), g.strides[1][rank - 1], g.row(),
                std::min(band, columns - c));
      if (i % bands == bands - 1) at.step();
    }
  });
}

}  // namespace

void cast_run(void* dst, DType to, const void* src, DType from, int64_t n) {
  const CopyLoops& loops = copy_loops();
  const auto cast = [&](DType t, DType f) {
    return loops.cast[static_cast<int>(t)][static_cast<int>(f)];
  };
  if (to == from) {
    std::memcpy(dst, src, static_cast<size_t>(n * itemsize(to)));
  } else if (auto direct = cast(to, from)) {
    direct(dst, src, n);
  } else {  // a 16-bit float on one side: via float32
    alignas(64) float buffer[kChunk];
    const auto in = cast(DType::kFloat32, from), out = cast(to, DType::kFloat32);
    auto* d = static_cast<std::byte*>(dst);
    const auto* s = static_cast<const std::byte*>(src);
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t m = std::min(kChunk, n - i);
      in(buffer, s + i * itemsize(from), m);
      out(d + i * itemsize(to), buffer, m);
    }
  }
}

void load_run(void* dst, DType to, const std::byte* src, DType from, int64_t stride, int64_t n) {
  const auto move = copy_loops().move[size_class(itemsize(from))];
  if (to == from) return move(dst, 1, src, stride, n);
  if (stride == 1) return cast_run(dst, to, src, from, n);
  alignas(64) std::byte buffer[kChunk * kMaxItem];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    move(buffer, 1, src + i * stride * itemsize(from), stride, m);
    cast_run(static_cast<std::byte*>(dst) + i * itemsize(to), to, buffer, from, m);
  }
}

void copy_elements(const Tensor& dst, const Tensor& src) {
  const int64_t n = dst.numel();
  if (n > 0 && n <= kGrainSize && dst.dtype() == src.dtype() && dst.sizes() == src.sizes() &&
      dst.is_contiguous() && src.is_contiguous()) {
    std::memcpy(dst.data(), src.data(), static_cast<size_t>(n * itemsize(dst.dtype())));
    return;
  }
  copy_elements(Strided(dst), Strided(src));
}

void copy_elements(const Strided& to, const Strided& from) {
  const int64_t count = numel_of(to.sizes);
  if (count == 0) return;
  if (count <= kGrainSize && to.dtype == from.dtype && to.sizes == from.sizes && is_row_major(to) &&
      is_row_major(from)) {
    std::memcpy(to.data, from.data, static_cast<size_t>(count * itemsize(to.dtype)));
    return;
  }
  const Dims from_strides = broadcast_strides(from.sizes, from.strides, to.sizes.size());
  const Geometry<2> g = make_geometry<2>(to.sizes, {to.strides, from_strides});
  const Elements dst = operand(to), src = operand(from);
  const bool same = dst.dtype == src.dtype;
  if (same) {
    const int64_t dim = transposed_dim(g);
    if (dim >= 0) return copy_transposed(dst, src, g, static_cast<size_t>(dim));
  }
  const int64_t ds = g.row_stride(0), ss = g.row_stride(1), n = g.row(), rows = g.rows();
  if (rows == 1) {
    const auto move = copy_loops().move[size_class(dst.item)];
    return parallel_for(0, n, kGrainSize, [&](int64_t lo, int64_t hi) {
      if (same) return move(dst.at(lo * ds), ds, src.at(lo * ss), ss, hi - lo);
      convert_row(dst, dst.at(lo * ds), ds, src, src.at(lo * ss), ss, hi - lo);
    });
  }
  const int64_t grain = std::max<int64_t>(1, kGrainSize / n);
  if (!same) {
    return parallel_for(0, rows, grain, [&](int64_t lo, int64_t hi) {
      for_rows(g, lo, hi, [&](const auto& at) {
        convert_row(dst, dst.at(at[0]), ds, src, src.at(at[1]), ss, n);
      });
    });
  }
  const auto move_rows = copy_loops().move_rows[size_class(dst.item)];
  const size_t across = g.sizes.size() - 2;  // the dimension whose rows are moved together
  const int64_t dst_row = g.strides[0][across], src_row = g.strides[1][across];
  parallel_for(0, rows, grain, [&](int64_t lo, int64_t hi) {
    Odometer<2> at(g, across, lo / g.sizes[across]);
    for (int64_t r = lo; r < hi; at.step()) {
      const int64_t first = r % g.sizes[across], count = std::min(g.sizes[across] - first, hi - r);
      move_rows(dst.at(at.offsets()[0] + first * dst_row), dst_row, ds,
                src.at(at.offsets()[1] + first * src_row), src_row, ss, count, n);
      r += count;
    }
  });
}

void fill_elements(const Tensor& self, const ElementBytes& value) {
  if (self.numel() == 0) return;
  if (self.is_contiguous() && self.numel() <= kGrainSize) {
    return copy_loops().fill[size_class(itemsize(self.dtype()))](self.data(), 1, value.data(),
                                                                 self.numel());
  }
  const Geometry<1> g = make_geometry<1>(self.sizes(), {IntSpan(self.strides())});
  const Elements dst = operand(Strided(self));
  const auto fill = copy_loops().fill[size_class(dst.item)];
  const int64_t stride = g.row_stride(0), n = g.row(), rows = g.rows();
  if (rows == 1) {
    return parallel_for(0, n, kGrainSize, [&](int64_t lo, int64_t hi) {
      fill(dst.at(lo * stride), stride, value.data(), hi - lo);
    });
  }
  parallel_for(0, rows, std::max<int64_t>(1, kGrainSize / n), [&](int64_t lo, int64_t hi) {
    for_rows(g, lo, hi, [&](const auto& at) { fill(dst.at(at[0]), stride, value.data(), n); });
  });
}

Tensor as_contiguous(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype && self.is_contiguous()) return self;
  Tensor out = empty(self.sizes(), dtype, self.device());
  if (!self.is_meta()) copy_elements(out, self);
  return out;
}

}  // namespace uh
