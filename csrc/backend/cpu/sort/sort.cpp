// The kernels of sort.yaml: iteration over lines; lines.h sorts one.
#include "generated/kernels/sort.h"
#include "backend/cpu/copy/repeats.h"
#include "backend/cpu/sort/lines.h"
#include "base/parallel.h"

namespace uh::kernels {
namespace {

// Returns the elements row-major with `dim` last: self itself if it has that layout.
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

// Returns `out` with `dim` last, to be written line by line.
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

// The dimensions of results for those of self, as Repeats wants them: all but `dim`.
Dims positions_in_results(const Tensor& self, int64_t dim) {
  Dims positions;
  for (int64_t d = 0; d < self.ndim(); ++d) positions.push_back(d == dim ? -1 : d);
  return positions;
}

// Fills `values` (may be empty) and `indices` with what `order(values, indices, line, n, k,
// scratch)` writes for each line of self along `dim`; their sizes determine k.
template <class F>
void each_line(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
               const F& order) {
  if (indices.numel() == 0) return;
  dim = wrap_dim(dim, self.ndim(), "");
  if (const Repeats repeats(self, positions_in_results(self, dim)); repeats) {
    each_line(values ? repeats.first(values) : values, repeats.first(indices),
              repeats.operand(self), dim, order);
    if (values) repeats.fill(values);
    return repeats.fill(indices);
  }
  const int64_t n = self.ndim() ? self.size(dim) : 1, count = self.numel() / n;
  const int64_t k = indices.numel() / count;
  const Tensor lines = lines_of(self, dim);
  const bool direct = indices.is_contiguous() && dim == std::max<int64_t>(self.ndim(), 1) - 1 &&
                      (!values || values.is_contiguous());
  const Dims sizes{count, k};
  const Tensor positions = direct ? indices : empty(sizes, DType::kInt64);
  const Tensor elements = direct || !values ? values : empty(sizes, self.dtype());
  const int64_t item = itemsize(self.dtype());
  parallel_for(0, count, std::max<int64_t>(1, 4096 / n), [&](int64_t lo, int64_t hi) {
    SortScratch scratch;
    for (int64_t i = lo; i < hi; ++i) {
      const std::byte* line = lines.data() + i * n * item;
      std::byte* to = elements ? elements.data() + i * k * item : nullptr;
      int64_t* at = positions.data_as<int64_t>() + i * k;
      order(to, at, line, n, k, scratch);
    }
  });
  const auto deliver = [&](const Tensor& out, const Tensor& result) {
    if (!out || direct) return;
    const Strided seen = lines_in(out, dim);
    copy_elements(
        seen, Strided(result.data(), result.dtype(), seen.sizes, contiguous_strides(seen.sizes)));
  };
  deliver(values, elements);
  deliver(indices, positions);
}

void order_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
                bool descending) {
  each_line(values, indices, self, dim,
            [&](std::byte* to, int64_t* at, const std::byte* line, int64_t n, int64_t,
                SortScratch& scratch) {
              sort_line(self.dtype(), to, at, line, n, descending, scratch);
            });
}

}  // namespace

void sort_lines(const Tensor& self, int64_t dim, bool descending, const Tensor& values,
                const Tensor& indices) {
  order_into(values, indices, self, dim, descending);
}
void sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending,
                 const Tensor& values, const Tensor& indices) {
  order_into(values, indices, self, dim, descending);
}

void argsort(const Tensor& self, int64_t dim, bool descending, const Tensor& result) {
  order_into(Tensor(), result, self, dim, descending);
}
void argsort_stable(const Tensor& self, bool, int64_t dim, bool descending, const Tensor& result) {
  order_into(Tensor(), result, self, dim, descending);
}

void topk(const Tensor& self, int64_t, int64_t dim, bool largest, bool in_order,
          const Tensor& values, const Tensor& indices) {
  each_line(values, indices, self, dim,
            [&](std::byte* to, int64_t* at, const std::byte* line, int64_t n, int64_t k,
                SortScratch& scratch) {
              select_line(self.dtype(), to, at, line, n, k, largest, in_order, scratch);
            });
}

}  // namespace uh::kernels
