#include "backend/cpu/index/advanced.h"

#include <algorithm>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/index/mask.h"
#include "base/parallel.h"

namespace uh {
namespace {

// Converts masks to index tensors; one entry per dimension of self, empty for kept ones.
std::vector<Tensor> index_per_dim(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> result;
  int64_t dims = 0;
  for (const Tensor& t : indices) dims += is_mask(t) ? t.ndim() : 1;
  check_kind(dims <= self.ndim(), ErrorKind::kIndex, "too many indices for tensor of dimension ",
             self.ndim(), ": got ", dims);
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor& t = indices[i];
    if (!t) {
      result.emplace_back();
      continue;
    }
    if (!is_mask(t)) {
      result.push_back(t);
      continue;
    }
    const size_t first = result.size();
    for (size_t d = 0; d < t.sizes().size(); ++d) {
      check_kind(t.sizes()[d] == self.sizes()[first + d], ErrorKind::kIndex,
                 "The shape of the mask ", t.sizes(), " at index ", d,
                 " does not match the shape of the indexed tensor ", self.sizes(), " at index ",
                 first + d);
    }
    for (Tensor& column : places_to_indices(set_places(truth_bytes(t)), t.sizes()))
      result.push_back(std::move(column));
  }
  result.resize(self.sizes().size());
  return result;
}

bool is_single_mask(const Tensor& t) { return is_mask(t) && t.ndim() == 0; }

// A 0-d mask adds a dimension to itself and to self.
Advanced resolve_singles(const Tensor& self, const std::vector<Tensor>& indices) {
  Layout layout{{}, {}, self.offset()};
  std::vector<Tensor> masks;
  size_t consumed = 0;  // dimensions of self
  const auto keep = [&](int64_t count) {
    for (; count > 0 && consumed < self.sizes().size(); --count, ++consumed) {
      layout.sizes.push_back(self.sizes()[consumed]);
      layout.strides.push_back(self.strides()[consumed]);
    }
  };
  for (const Tensor& t : indices) {
    masks.push_back(is_single_mask(t) ? alias(t, {{1}, {1}, t.offset()}) : t);
    if (is_single_mask(t)) {
      layout.sizes.push_back(1);
      layout.strides.push_back(1);
    } else {
      keep(is_mask(t) ? t.ndim() : 1);
    }
  }
  keep(self.ndim());
  return resolve_indices(alias(self, std::move(layout)), masks);
}

Tensor in_shape(const Tensor& index, const Dims& sizes) {
  if (index.sizes() == sizes) return as_contiguous(index, DType::kInt64);
  const Tensor full = empty(sizes, DType::kInt64);
  copy_elements(full, index);
  return full;
}

// positions += the offsets of the index, in elements of self.
void add_offsets(const Tensor& positions, const Tensor& index, int64_t size, int64_t stride) {
  const Tensor full = in_shape(index, positions.sizes());
  const auto* values = full.data_as<int64_t>();
  auto* position = positions.data_as<int64_t>();
  parallel_for(0, positions.numel(), 32768, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t v = values[i];
      position[i] += (v < 0 ? v + size : v) * stride;
    }
  });
}

void check_tensor(const Tensor& index, int64_t size, int64_t dim) {
  const Tensor values = as_contiguous(index, DType::kInt64);
  const auto* value = values.data_as<int64_t>();
  const int64_t bad = index_loops().outside(value, values.numel(), -size, size);
  if (bad == values.numel()) return;
  fail(ErrorKind::kIndex, "index ", value[bad], " is out of bounds for dimension ", dim,
       " with size ", size);
}

}  // namespace

IndexWalk Advanced::walk(IntSpan dense) const {
  IndexWalk walk;
  walk.index = positions;
  walk.sizes = result_sizes();
  walk.dense = dense;
  const Dims own = contiguous_strides(index_sizes);
  for (int64_t s : before_strides) walk.table.push_back(s);
  walk.index_strides.resize(before.size(), 0);
  for (int64_t s : own) {
    walk.table.push_back(0);
    walk.index_strides.push_back(s);
  }
  for (int64_t s : after_strides) walk.table.push_back(s);
  const size_t rank = std::max<size_t>(1, walk.sizes.size());
  for (Dims* dims : {&walk.table, &walk.index_strides, &walk.dense}) dims->resize(rank, 0);
  walk.sizes.resize(rank, 1);
  walk.dim = before.ndim();
  walk.span = std::max<int64_t>(1, index_sizes.ndim());
  walk.along = along;
  walk.size = INT64_MAX;  // checked already
  return walk;
}

Advanced resolve_indices(const Tensor& self, const std::vector<Tensor>& indices) {
  if (std::any_of(indices.begin(), indices.end(), is_single_mask))
    return resolve_singles(self, indices);
  const std::vector<Tensor> per_dim = index_per_dim(self, indices);
  Advanced a{plan_indices(self, per_dim), Tensor()};
  const size_t indexed = a.index_strides.size();
  // As in PyTorch, the indices of a result without elements are not checked.
  const bool any = checked_numel(a.result_sizes(), "index") > 0;
  for (size_t d = 0; d < per_dim.size(); ++d) {
    if (!per_dim[d]) continue;
    const int64_t size = self.sizes()[d], stride = self.strides()[d];
    if (any) check_tensor(per_dim[d], size, static_cast<int64_t>(d));
    if (indexed == 1) {  // without negative indices, positions are the index itself
      a.positions = in_shape(per_dim[d], a.index_sizes);
      const int64_t n = a.positions.numel();
      a.along = stride;
      if (index_loops().outside(a.positions.data_as<int64_t>(), n, 0, size) == n) continue;
      a.along = 1;
      a.positions = Tensor();
    }
    if (!a.positions) {
      a.positions = empty(a.index_sizes, DType::kInt64);
      fill_elements(a.positions, ElementBytes{});
    }
    add_offsets(a.positions, per_dim[d], size, stride);
  }
  if (!a.positions) {  // x[()]: one position, the first
    a.positions = empty(Dims(), DType::kInt64);
    fill_elements(a.positions, ElementBytes{});
  }
  return a;
}

}  // namespace uh
