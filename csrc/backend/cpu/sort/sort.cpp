// The operators of sort.yaml: which lines there are; lines.h sorts one.
#include "generated/kernels/sort.h"
#include "backend/cpu/sort/lines.h"
#include "base/parallel.h"
#include "generated/ops/sort.h"
#include "ops/copy/copy.h"

namespace uh::kernels {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

// The elements with `dim` moved to the end, row-major: self itself when it lies so.
Tensor lines_of(const Tensor& self, int64_t dim) {
  if (self.ndim() == 0) return self;
  const auto d = static_cast<size_t>(dim);
  Dims sizes = self.sizes(), strides = self.strides();
  for (Dims* dims : {&sizes, &strides}) {
    const int64_t moved = (*dims)[d];
    dims->erase(d);
    dims->push_back(moved);
  }
  return as_contiguous(alias(self, Layout{sizes, strides, self.offset()}));
}

// `out` seen with `dim` at the end: what is written line by line.
Strided lines_in(const Tensor& out, int64_t dim) {
  Strided seen(out);
  if (out.ndim() == 0) return seen;
  const auto d = static_cast<size_t>(dim);
  for (Dims* dims : {&seen.sizes, &seen.strides}) {
    const int64_t moved = (*dims)[d];
    dims->erase(d);
    dims->push_back(moved);
  }
  return seen;
}

// Fills `values` (may be empty) and `indices`, both of `k` elements in each line of self along dim.
void order_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
                int64_t k, bool descending) {
  if (indices.numel() == 0) return;
  const int64_t n = self.ndim() ? self.size(dim) : 1, count = self.numel() / n;
  const Tensor lines = lines_of(self, dim);
  const bool direct = indices.is_contiguous() && dim == std::max<int64_t>(self.ndim(), 1) - 1 &&
                      (!values || values.is_contiguous());
  const Dims sizes{count, k};
  const Tensor positions = direct ? indices : empty(sizes, DType::kInt64);
  const Tensor result = direct || !values ? values : empty(sizes, self.dtype());
  const int64_t item = itemsize(self.dtype());
  parallel_for(0, count, std::max<int64_t>(1, 4096 / n), [&](int64_t lo, int64_t hi) {
    SortScratch scratch;
    for (int64_t i = lo; i < hi; ++i) {
      const std::byte* line = lines.data() + i * n * item;
      std::byte* to = result ? result.data() + i * k * item : nullptr;
      int64_t* at = positions.data_as<int64_t>() + i * k;
      if (k == n)
        sort_line(self.dtype(), to, at, line, n, descending, scratch);
      else
        select_line(self.dtype(), to, at, line, n, k, descending, scratch);
    }
  });
  const auto deliver = [&](const Tensor& out, const Tensor& result) {
    if (!out || direct) return;
    const Strided seen = lines_in(out, dim);
    copy_elements(
        seen, Strided(result.data(), result.dtype(), seen.sizes, contiguous_strides(seen.sizes)));
  };
  deliver(values, result);
  deliver(indices, positions);
}

int64_t checked_dim(const Tensor& self, int64_t dim, std::string_view op) {
  const int64_t d = wrap_dim(dim, self.ndim(), op);
  check(!is_complex(self.dtype()), op, ": Sort does not support complex dtypes on CPU");
  return d;
}

Tensor places_of(const Tensor& self, int64_t dim, bool descending) {
  const int64_t d = checked_dim(self, dim, "argsort");
  Tensor indices = empty_like(self, DType::kInt64);
  if (indices.is_meta()) return indices;
  order_into(Tensor(), indices, self, d, self.ndim() ? self.size(d) : 1, descending);
  record_write(indices);
  return indices;
}

}  // namespace

Pair sort(KeySet, const Tensor& self, int64_t dim, bool descending) {
  const int64_t d = checked_dim(self, dim, "sort");
  Tensor values = empty_like(self, self.dtype()), indices = empty_like(self, DType::kInt64);
  if (values.is_meta()) return {values, indices};
  order_into(values, indices, self, d, self.ndim() ? self.size(d) : 1, descending);
  record_write(values);
  record_write(indices);
  return {values, indices};
}

Pair sort_stable(KeySet keys, const Tensor& self, std::optional<bool>, int64_t dim,
                 bool descending) {
  return sort(keys, self, dim, descending);
}

Tensor argsort(KeySet, const Tensor& self, int64_t dim, bool descending) {
  return places_of(self, dim, descending);
}

Tensor argsort_stable(KeySet, const Tensor& self, bool, int64_t dim, bool descending) {
  return places_of(self, dim, descending);
}

Tensor msort(KeySet, const Tensor& self) { return std::get<0>(ops::sort(self, 0, false)); }

Pair topk(KeySet, const Tensor& self, int64_t k, int64_t dim, bool largest, bool) {
  const int64_t d = wrap_dim(dim, self.ndim(), "topk");
  check(!is_complex(self.dtype()) && self.dtype() != DType::kBool, "topk does not support ",
        name(self.dtype()), " dtypes on CPU");
  const int64_t n = self.ndim() ? self.size(d) : 1;
  check(k >= 0 && k <= n, "topk: selected index k out of range: ", k,
        " is not between 0 and the size ", n, " of dimension ", d);
  Dims sizes = self.sizes();
  if (self.ndim()) sizes[static_cast<size_t>(d)] = k;
  Tensor values = empty(sizes, self.dtype(), self.device());
  Tensor indices = empty(sizes, DType::kInt64, self.device());
  if (values.is_meta()) return {values, indices};
  // A 0-d tensor has one element, even when none is requested.
  order_into(values, indices, self, d, self.ndim() ? k : 1, largest);
  record_write(values);
  record_write(indices);
  return {values, indices};
}

}  // namespace uh::kernels
