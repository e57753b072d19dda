#include "ops/index/advanced.h"

#include "base/parallel.h"
#include "ops/copy/copy.h"
#include "ops/index/mask.h"
#include "ops/kernel/reduce_loops.h"

namespace uh {
namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::kBool || t.dtype() == DType::kUInt8; }

// Masks become index tensors; one entry per dimension of self, empty where the dimension is kept.
std::vector<Tensor> index_per_dim(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> found;
  int64_t dims = 0;
  for (const Tensor& t : indices) dims += t && is_mask(t) ? t.ndim() : 1;
  check_kind(dims <= self.ndim(), ErrorKind::kIndex, "too many indices for tensor of dimension ",
             self.ndim(), ": got ", dims);
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor& t = indices[i];
    if (!t) {
      found.emplace_back();
      continue;
    }
    if (!is_mask(t)) {
      check_kind(t.dtype() == DType::kInt64 || t.dtype() == DType::kInt32, ErrorKind::kIndex,
                 "tensors used as indices must be long, int, byte or bool tensors, got ",
                 name(t.dtype()));
      found.push_back(t);
      continue;
    }
    const size_t first = found.size();
    for (size_t d = 0; d < t.sizes().size(); ++d) {
      check_kind(t.sizes()[d] == self.sizes()[first + d], ErrorKind::kIndex,
                 "The shape of the mask ", t.sizes(), " at index ", d,
                 " does not match the shape of the indexed tensor ", self.sizes(), " at index ",
                 first + d);
    }
    for (Tensor& column : places_to_indices(set_places(truth_bytes(t)), t.sizes()))
      found.push_back(std::move(column));
  }
  found.resize(self.sizes().size());
  return found;
}

Dims broadcast_indices(const std::vector<Tensor>& indices) {
  Dims sizes;
  try {
    for (const Tensor& t : indices) {
      if (t) sizes = broadcast_shapes(sizes, t.sizes());
    }
  } catch (const Error&) {
    std::string shapes;
    for (const Tensor& t : indices) {
      if (t) shapes += (shapes.empty() ? "" : ", ") + to_string(t.sizes());
    }
    fail(ErrorKind::kIndex,
         "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
  }
  return sizes;
}

void add_offsets(std::vector<int64_t>& offsets, const Tensor& index, const Dims& sizes,
                 int64_t size, int64_t stride) {
  Tensor full = index;
  if (!(index.sizes() == sizes) || index.dtype() != DType::kInt64 || !index.is_contiguous()) {
    full = empty(sizes, DType::kInt64);
    copy_elements(full, index);
  }
  const auto* values = full.data_as<int64_t>();
  parallel_for(0, static_cast<int64_t>(offsets.size()), 32768, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t v = values[i];
      offsets[static_cast<size_t>(i)] += (v < 0 ? v + size : v) * stride;
    }
  });
}

void check_tensor(const Tensor& index, int64_t lo, int64_t size, int64_t dim) {
  const Tensor values = as_contiguous(index, DType::kInt64);
  check_indices(values.data_as<int64_t>(), values.numel(), lo, size, dim, ErrorKind::kIndex);
}

}  // namespace

Dims Advanced::result_sizes() const {
  Dims sizes = before;
  for (int64_t s : index_sizes) sizes.push_back(s);
  for (int64_t s : after) sizes.push_back(s);
  return sizes;
}

void check_indices(const int64_t* index, int64_t n, int64_t lo, int64_t size, int64_t dim,
                   ErrorKind kind) {
  const auto fold = [&](FoldOp op) {
    const Fold& f = reduce_loops().fold[static_cast<int>(op)][static_cast<int>(DType::kInt64)];
    int64_t value;
    f.identity(&value, 1);
    f.run(&value, index, n);
    return value;
  };
  if (n == 0) return;
  if (fold(FoldOp::kMin) >= lo && fold(FoldOp::kMax) < size) return;
  for (int64_t i = 0; i < n; ++i) {
    check_kind(index[i] >= lo && index[i] < size, kind, "index ", index[i],
               " is out of bounds for dimension ", dim, " with size ", size);
  }
}

Advanced resolve_indices(const Tensor& self, const std::vector<Tensor>& indices) {
  const std::vector<Tensor> per_dim = index_per_dim(self, indices);
  Advanced a;
  a.index_sizes = broadcast_indices(per_dim);
  a.offsets.assign(static_cast<size_t>(numel_of(a.index_sizes)), 0);
  size_t first = per_dim.size(), last = 0, indexed = 0;
  for (size_t d = 0; d < per_dim.size(); ++d) {
    if (!per_dim[d]) continue;
    first = std::min(first, d);
    last = d;
    ++indexed;
  }
  const bool adjacent = indexed > 0 && last - first + 1 == indexed;
  for (size_t d = 0; d < per_dim.size(); ++d) {
    const int64_t size = self.sizes()[d], stride = self.strides()[d];
    if (per_dim[d]) {
      if (!a.offsets.empty()) check_tensor(per_dim[d], -size, size, static_cast<int64_t>(d));
      add_offsets(a.offsets, per_dim[d], a.index_sizes, size, stride);
    } else {
      const bool is_before = adjacent && d < first;
      (is_before ? a.before : a.after).push_back(size);
      (is_before ? a.before_strides : a.after_strides).push_back(stride);
    }
  }
  return a;
}

}  // namespace uh
