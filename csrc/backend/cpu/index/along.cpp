#include "backend/cpu/index/along.h"

#include "backend/cpu/copy/elements.h"

namespace uh {
namespace {

Tensor as_places(const Tensor& index) {
  return index.dtype() == DType::kInt64 ? index : as_contiguous(index, DType::kInt64);
}

// Sets the table's fields for both kinds of iteration; a 0-d tensor counts as 1-d.
IndexWalk walk_of(const Tensor& self, int64_t dim, const Tensor& index) {
  IndexWalk walk;
  walk.index = as_places(index);
  walk.dim = dim;
  walk.along = self.ndim() ? self.stride(dim) : 0;
  walk.size = self.ndim() ? self.size(dim) : 1;
  walk.table = self.strides();
  if (self.ndim()) walk.table[static_cast<size_t>(dim)] = 0;
  return walk;
}

// Returns sizes with 1 where the index broadcasts, to visit every index once.
Dims distinct(const IndexWalk& walk) {
  Dims sizes = walk.sizes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (walk.index_strides[d] == 0) sizes[d] = std::min<int64_t>(sizes[d], 1);
  }
  return sizes;
}

// Copies rows in order if each index selects a whole row: n rows of `bytes` bytes.
bool gather_rows(std::byte* dst, const Tensor& self, const IndexWalk& walk, const Geometry<3>& g,
                 int64_t item) {
  const bool entire_rows = g.sizes.size() == 2 && g.row_stride(2) == 0 && g.row_stride(0) == 1 &&
                           g.row_stride(1) == 1 && g.strides[0][0] == g.row() &&
                           g.strides[2][0] == 1 && g.strides[1][0] == 0;
  if (!entire_rows) return false;
  const auto* index = walk.index.data_as<int64_t>();
  const int64_t bytes = g.row() * item;
  parallel_for(0, g.sizes[0], std::max<int64_t>(1, 32768 / g.row()), [&](int64_t lo, int64_t hi) {
    index_loops().rows(dst + lo * bytes, self.data(), walk.along * item, index + lo, hi - lo,
                       bytes);
  });
  return true;
}

}  // namespace

IndexWalk walk_places(const Tensor& self, int64_t dim, const Tensor& index, IntSpan dense) {
  IndexWalk walk = walk_of(self, dim, index);
  walk.sizes = index.sizes();
  walk.index_strides = walk.index.strides();
  walk.dense = dense;
  const size_t rank = std::max<size_t>({1, walk.sizes.size(), walk.table.size()});
  for (Dims* dims : {&walk.index_strides, &walk.dense, &walk.table}) dims->resize(rank, 0);
  walk.sizes.resize(rank, 1);
  return walk;
}

IndexWalk walk_slices(const Tensor& self, int64_t dim, const Tensor& index, IntSpan dense) {
  IndexWalk walk = walk_of(self, dim, index);
  const auto at = static_cast<size_t>(dim);
  walk.sizes = self.sizes();
  walk.dense = dense;
  const size_t rank = std::max<size_t>(1, walk.sizes.size());
  for (Dims* dims : {&walk.sizes, &walk.dense, &walk.table}) dims->resize(rank, 0);
  walk.index_strides = Dims(rank, 0);
  walk.index_strides[at] = walk.index.ndim() ? walk.index.strides()[0] : 0;
  walk.sizes[at] = walk.index.numel();
  return walk;
}

void fail_place(int64_t index, const IndexWalk& walk, std::string_view op, ErrorKind kind) {
  fail(kind, op, ": index ", index, " is out of bounds for dimension ", walk.dim, " with size ",
       walk.size);
}

void check_places(const IndexWalk& walk, std::string_view op, ErrorKind kind) {
  const Dims sizes = distinct(walk);
  if (numel_of(walk.sizes) == 0) return;
  const auto g = make_geometry<1>(sizes, {IntSpan(walk.index_strides)});
  const auto* index = walk.index.data_as<int64_t>();
  const int64_t step = g.row_stride(0), n = g.row();
  for_rows(g, 0, g.rows(), [&](const auto& at) {
    const int64_t* row = index + at[0];
    if (step == 1) {
      const int64_t bad = index_loops().outside(row, n, 0, walk.size);
      if (bad < n) fail_place(row[bad], walk, op, kind);
      return;
    }
    for (int64_t j = 0; j < n; ++j) {
      const int64_t position = row[j * step];
      if (position < 0 || position >= walk.size) fail_place(position, walk, op, kind);
    }
  });
}

void check_row(const IndexRow& row, const IndexWalk& walk) {
  if (row.index_step == 1) {
    const int64_t bad = index_loops().outside(row.index, row.n, 0, row.size);
    if (bad < row.n) fail_place(row.index[bad], walk, walk.unchecked, ErrorKind::kRuntime);
    return;
  }
  const int64_t n = row.index_step == 0 ? std::min<int64_t>(row.n, 1) : row.n;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t position = row.index[j * row.index_step];
    if (position < 0 || position >= row.size)
      fail_place(position, walk, walk.unchecked, ErrorKind::kRuntime);
  }
}

void gather_into(std::byte* dst, const Tensor& self, const IndexWalk& walk, std::string_view op,
                 ErrorKind kind) {
  if (numel_of(walk.sizes) == 0) return;
  const auto g = make_geometry<3>(
      walk.sizes, {IntSpan(walk.dense), IntSpan(walk.table), IntSpan(walk.index_strides)});
  const int64_t item = itemsize(self.dtype());
  const auto* index = walk.index.data_as<int64_t>();
  if (g.row_stride(2) == 0 && g.sizes.size() == 2) {  // one index per row: few indices
    check_places(walk, op, kind);
    if (gather_rows(dst, self, walk, g, item)) return;
  }
  const auto gather = index_loops().gather[size_class(item)];
  const auto run = [&](const auto& at, int64_t from, int64_t n) {
    IndexRow row{index + at[2] + from * g.row_stride(2), g.row_stride(2), walk.along, walk.size, n};
    const int64_t good =
        gather(dst + (at[0] + from * g.row_stride(0)) * item, g.row_stride(0),
               self.data() + (at[1] + from * g.row_stride(1)) * item, g.row_stride(1), row);
    if (good < n) fail_place(row.index[good * row.index_step], walk, op, kind);
  };
  constexpr int64_t kGrainSize = 32768;
  if (g.rows() == 1) {
    return parallel_for(0, g.row(), kGrainSize, [&](int64_t lo, int64_t hi) {
      run(std::array<int64_t, 3>{}, lo, hi - lo);
    });
  }
  parallel_for(0, g.rows(), std::max<int64_t>(1, kGrainSize / g.row()),
               [&](int64_t lo, int64_t hi) {
                 for_rows(g, lo, hi, [&](const auto& at) { run(at, 0, g.row()); });
               });
}

}  // namespace uh
