// The operators of unique.yaml: sort, compare neighbours, number the runs.
#include <algorithm>
#include <numeric>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/sort/lines.h"
#include "generated/kernels/unique.h"
#include "generated/ops/gather.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

void check_known(const Tensor& self, std::string_view op) {
  check_kind(!self.is_meta(), ErrorKind::kNotImplemented, op,
             ": the size of the result depends on the values of a tensor, "
             "which a meta tensor does not have");
}

// Returns the elements in row-major order. A bool may be any byte since `x.view(bool)`: C++ does not
// define how those that are neither 0 nor 1 compare, so they become 1.
Tensor dense_elements(const Tensor& self) {
  const Tensor dense = as_contiguous(self);
  if (dense.dtype() != DType::kBool) return dense;
  const Tensor result = empty(dense.sizes(), DType::kBool);
  const auto* const from = reinterpret_cast<const uint8_t*>(dense.data());
  auto* const to = reinterpret_cast<uint8_t*>(result.data());
  for (int64_t i = 0, n = dense.numel(); i < n; ++i) to[i] = from[i] != 0;
  return result;
}

// Runs of equal neighbours among n elements in the order `order` (null: in their own order).
struct Runs {
  Tensor first;            // index of each run's first member
  Tensor inverse, counts;  // empty unless requested

  template <class Differs>
  Runs(const int64_t* order, int64_t n, const Dims& inverse_sizes, bool with_inverse,
       bool with_counts, const Differs& differs)
      : inverse(empty(with_inverse ? inverse_sizes : Dims{0}, DType::kInt64)) {
    const auto index = [&](int64_t i) { return order ? order[i] : i; };
    // Every position is stored, but only that of a new run kept: no branch to mispredict.
    const Tensor positions = empty(Dims{n + 1}, DType::kInt64);
    auto* const begins = positions.data_as<int64_t>();
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      begins[count] = i;
      count += i == 0 || differs(index(i - 1), index(i));
    }
    begins[count] = n;
    int64_t* const run_of = with_inverse ? inverse.data_as<int64_t>() : nullptr;
    for (int64_t r = 0; run_of && r < count; ++r) {
      for (int64_t i = begins[r]; i < begins[r + 1]; ++i) run_of[index(i)] = r;
    }
    counts = empty(Dims{with_counts ? count : 0}, DType::kInt64);
    for (int64_t r = 0; with_counts && r < count; ++r)
      counts.data_as<int64_t>()[r] = begins[r + 1] - begins[r];
    for (int64_t r = 0; order && r < count; ++r) begins[r] = order[begins[r]];
    first = alias(positions, Layout{{count}, {1}, 0});
  }
};

// Returns the distinct elements of a contiguous tensor, in the order `order` (null: their own).
Three distinct(const Tensor& dense, const int64_t* order, bool with_inverse, bool with_counts) {
  return visit(dense.dtype(), [&](auto zero) -> Three {
    using T = decltype(zero);
    const T* x = dense.data_as<T>();
    const Runs runs(order, dense.numel(), dense.sizes(), with_inverse, with_counts,
                    [&](int64_t a, int64_t b) { return x[a] != x[b]; });
    const Tensor out = empty(runs.first.sizes(), dense.dtype());
    T* const to = out.data_as<T>();
    const auto* first = runs.first.data_as<int64_t>();
    for (int64_t i = 0; i < out.numel(); ++i) to[i] = x[first[i]];
    record_write(out);
    record_write(runs.inverse);
    record_write(runs.counts);
    return {out, runs.inverse, runs.counts};
  });
}

// Returns the first element of each run of equal neighbours. Each element is stored, but only that
// of a new run kept, so the memory has room for all.
Tensor without_repeats(const Tensor& dense) {
  const int64_t n = dense.numel();
  const Tensor room = empty(Dims{n}, dense.dtype());
  const int64_t count = visit(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const x = dense.data_as<T>();
    T* const to = room.data_as<T>();
    // Each element is loaded once: after a store the compiler would load it again.
    T element = n > 0 ? x[0] : T{};
    int64_t stored = 0;
    for (int64_t i = 1; i < n; ++i) {
      const T next = x[i];
      to[stored] = element;
      stored += element != next;
      element = next;
    }
    if (n > 0) to[stored++] = element;
    return stored;
  });
  const Tensor out = alias(room, Layout{{count}, {1}, 0});
  record_write(out);
  return out;
}

// The slices along dim as rows of a row-major matrix.
struct Slices {
  Tensor rows;   // dim first, contiguous
  int64_t n, m;  // rows, elements of a row

  Slices(const Tensor& self, int64_t dim, std::string_view op) {
    const auto d = static_cast<size_t>(dim);
    n = self.size(dim);
    Dims sizes = self.sizes(), strides = self.strides();
    for (Dims* dims : {&sizes, &strides}) {
      const int64_t moved = (*dims)[d];
      dims->erase(d);
      dims->insert(0, moved);
    }
    const bool empty_slices = n > 0 && self.numel() == 0;
    const bool empty_others = n == 0 && std::count(sizes.begin() + 1, sizes.end(), 0) > 0;
    check(!empty_slices && !empty_others, op,
          ": There are 0 sized dimensions, and they aren't selected, so unique cannot be applied: "
          "sizes ",
          self.sizes(), ", dim ", dim);
    rows = dense_elements(alias(self, Layout{sizes, strides, self.offset()}));
    m = n ? rows.numel() / n : 0;
  }

  // Returns the selected rows, with dim restored.
  Tensor take(const Tensor& selected, int64_t dim) const {
    const Tensor unique_rows = ops::index_select(rows, 0, selected);
    Dims sizes = unique_rows.sizes(), strides = unique_rows.strides();
    for (Dims* dims : {&sizes, &strides}) {
      const int64_t moved = (*dims)[0];
      dims->erase(0);
      dims->insert(static_cast<size_t>(dim), moved);
    }
    return alias(unique_rows, Layout{sizes, strides, unique_rows.offset()});
  }
};

Three distinct_slices(const Tensor& self, int64_t dim, bool in_order, bool with_inverse,
                      bool with_counts, std::string_view op) {
  check_kind(self.ndim() > 0, ErrorKind::kIndex, op, ": Dimension specified as ", dim,
             " but tensor has no dimensions");
  const int64_t d = wrap_dim(dim, self.ndim(), op);
  const Slices slices(self, d, op);
  std::vector<int64_t> positions(static_cast<size_t>(slices.n));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  return visit(self.dtype(), [&](auto zero) -> Three {
    using T = decltype(zero);
    const T* x = slices.rows.template data_as<T>();
    const int64_t m = slices.m;
    if (in_order) {
      std::stable_sort(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
        const T *left = x + a * m, *right = x + b * m;
        for (int64_t j = 0; j < m; ++j) {
          if (left[j] != right[j]) return left[j] < right[j];
        }
        return false;
      });
    }
    const Runs runs(
        positions.data(), slices.n, Dims{slices.n}, with_inverse, with_counts,
        [&](int64_t a, int64_t b) { return !std::equal(x + a * m, x + (a + 1) * m, x + b * m); });
    record_write(runs.inverse);
    record_write(runs.counts);
    return {slices.take(runs.first, d), runs.inverse, runs.counts};
  });
}

}  // namespace

Three unique_elements(KeySet, const Tensor& self, bool, bool return_inverse, bool return_counts) {
  check_known(self, "unique");
  const Tensor dense = dense_elements(self);
  std::vector<int64_t> positions(static_cast<size_t>(dense.numel()));
  SortScratch scratch;
  sort_line(dense.dtype(), nullptr, positions.data(), dense.data(), dense.numel(), false, scratch);
  return distinct(dense, positions.data(), return_inverse, return_counts);
}

Three unique_slices(KeySet, const Tensor& self, int64_t dim, bool, bool return_inverse,
                    bool return_counts) {
  check_known(self, "unique_dim");
  return distinct_slices(self, dim, true, return_inverse, return_counts, "unique_dim");
}

Three unique_neighbours(KeySet, const Tensor& self, bool return_inverse, bool return_counts,
                        std::optional<int64_t> dim) {
  check_known(self, "unique_consecutive");
  if (dim) {
    return distinct_slices(self, *dim, false, return_inverse, return_counts, "unique_consecutive");
  }
  const Tensor dense = dense_elements(self), nothing = empty(Dims{0}, DType::kInt64);
  if (!return_inverse && !return_counts) return {without_repeats(dense), nothing, nothing};
  return distinct(dense, nullptr, return_inverse, return_counts);
}

}  // namespace uh::kernels
