// median, nanmedian, kthvalue and mode.
#include <numeric>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/statistics/selected.h"
#include "base/parallel.h"
#include "generated/kernels/statistics.h"

namespace uh::kernels {
namespace {

// Returns the element of `rank` (from 0) in ascending order; reorders the line.
template <class T>
T ranked(std::vector<T>& line, int64_t n, int64_t rank) {
  std::nth_element(line.begin(), line.begin() + rank, line.begin() + n, comes_before<T>);
  return line[static_cast<size_t>(rank)];
}

// Returns the median of n elements `stride` apart: the lower of the two in the middle. NaN if the
// line has one, unless NaNs are ignored.
template <class T>
T median_of(const T* x, int64_t stride, int64_t n, bool ignore_nan, std::vector<T>& line) {
  line.resize(static_cast<size_t>(n));
  int64_t retained = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T value = x[i * stride];
    if (is_nan(value)) {
      if (!ignore_nan) return value;
      continue;
    }
    line[static_cast<size_t>(retained++)] = value;
  }
  if (retained == 0) return x[0];  // all are NaN
  const auto middle = line.begin() + (retained - 1) / 2;
  std::nth_element(line.begin(), middle, line.begin() + retained);  // without NaN
  return *middle;
}

// The definitions do not say which of several equal elements is chosen; these choose the same as
// PyTorch, as programs can see it. Each returns the index of the element with `rank`, in a line in
// which its value occurs more than once.

// For median: the element that a stable sort puts at `rank`.
template <class T>
int64_t tied_median(const T* x, int64_t stride, int64_t n, int64_t rank, T value) {
  int64_t equals = rank;
  for (int64_t i = 0; i < n; ++i) equals -= x[i * stride] < value;
  for (int64_t i = 0;; ++i)
    if (x[i * stride] == value && equals-- == 0) return i;
}

// For kthvalue: Hoare's selection with the median of the first, middle and last element as pivot.
template <class T>
int64_t tied_kth(const T* x, int64_t stride, int64_t n, int64_t rank) {
  std::vector<int64_t> at(static_cast<size_t>(n));
  std::iota(at.begin(), at.end(), int64_t{0});
  const auto swap = [&](int64_t i, int64_t j) {
    std::swap(at[static_cast<size_t>(i)], at[static_cast<size_t>(j)]);
  };
  const auto value = [&](int64_t i) { return x[at[static_cast<size_t>(i)] * stride]; };
  const auto after = [](T a, T b) { return comes_before<T>(b, a); };
  int64_t low = 0, high = n - 1;
  while (high > low + 1) {
    swap(low + (high - low) / 2, low + 1);
    if (after(value(low + 1), value(high))) swap(low + 1, high);
    if (after(value(low), value(high))) swap(low, high);
    if (after(value(low + 1), value(low))) swap(low + 1, low);
    const T pivot = value(low);
    int64_t i = low + 1, j = high;
    for (;;) {
      do ++i;
      while (after(pivot, value(i)));
      do --j;
      while (after(value(j), pivot));
      if (j < i) break;
      swap(i, j);
    }
    swap(low, j);
    if (j <= rank) low = i;
    if (j >= rank) high = j - 1;
  }
  if (high == low + 1 && after(value(low), value(high))) swap(low, high);
  return at[static_cast<size_t>(rank)];
}

template <class T>
bool occurs_twice(const T* x, int64_t stride, int64_t n, T value) {
  int64_t equal = 0;
  for (int64_t i = 0; i < n; ++i) equal += x[i * stride] == value;
  return equal > 1;
}

// Writes value and index of one element per line: f(x, stride, n, buffer) returns the value, and
// tied(x, stride, n, value) the index if several elements have it, or if it is NaN.
template <class F, class G>
void pick(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices, const F& f,
          const G& tied) {
  if (self.numel() == 0) return;
  if (self.ndim() == 0) {
    copy_elements(values, self);
    return fill_elements(indices, ElementBytes{});
  }
  const DType compute = extreme_compute_dtype(self.dtype());
  const bool direct = compute == self.dtype();
  const Tensor result = direct ? values : empty(values.sizes(), compute, self.device());
  const Tensor dense = as_contiguous(self, compute);
  const Lines lines(dense, wrap_dim(dim, self.ndim(), ""));
  visit_ordered(compute, [&]<class T>(T) {
    parallel_for(0, lines.count(), std::max<int64_t>(1, 4096 / lines.n),
                 [&](int64_t lo, int64_t hi) {
                   std::vector<T> buffer;
                   for (int64_t i = lo; i < hi; ++i) {
                     const T* x = dense.data_as<T>() + lines.start(i);
                     const T value = f(x, lines.inner, lines.n, buffer);
                     result.data_as<T>()[i] = value;
                     indices.data_as<int64_t>()[i] =
                         is_nan(value) || occurs_twice(x, lines.inner, lines.n, value)
                             ? tied(x, lines.inner, lines.n, value)
                             : first_of(x, lines.inner, value);
                   }
                 });
  });
  if (!direct) copy_elements(values, result);
}

void median_of_all(const Tensor& self, bool ignore_nan, const Tensor& out) {
  if (self.numel() == 0) {  // NaN in the dtype
    const double nothing = std::nan("");
    return cast_run(out.data(), out.dtype(), &nothing, DType::kFloat64, 1);
  }
  const DType compute = extreme_compute_dtype(self.dtype());
  const Tensor dense = as_contiguous(self, compute);
  visit_ordered(compute, [&]<class T>(T) {
    std::vector<T> buffer;
    const T value = median_of(dense.data_as<T>(), 1, dense.numel(), ignore_nan, buffer);
    cast_run(out.data(), out.dtype(), &value, compute, 1);
  });
}

void median_along(const Tensor& self, int64_t dim, bool ignore_nan, const Tensor& values,
                  const Tensor& indices) {
  pick(
      self, dim, values, indices,
      [=](const auto* x, int64_t stride, int64_t n, auto& buffer) {
        return median_of(x, stride, n, ignore_nan, buffer);
      },
      []<class T>(const T* x, int64_t stride, int64_t n, T value) {
        if (is_nan(value)) return first_of(x, stride, value);
        int64_t numbers = 0;
        for (int64_t i = 0; i < n; ++i) numbers += !is_nan(x[i * stride]);
        return tied_median(x, stride, n, (numbers - 1) / 2, value);
      });
}

// Returns the most frequent element, the smallest of several; each NaN is distinct and sorts first.
template <class T>
T most_frequent(const T* x, int64_t stride, int64_t n, std::vector<T>& line) {
  line.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) line[static_cast<size_t>(i)] = x[i * stride];
  std::sort(std::partition(line.begin(), line.end(), is_nan<T>), line.end());
  T best = line[0];
  int64_t limit = 0, run = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    run = i > 0 && line[i] == line[i - 1] ? run + 1 : 1;
    if (run > limit) {
      limit = run;
      best = line[i];
    }
  }
  return best;
}

}  // namespace

void median(const Tensor& self, const Tensor& result) { median_of_all(self, false, result); }
void nanmedian(const Tensor& self, const Tensor& result) { median_of_all(self, true, result); }
void median_dim(const Tensor& self, int64_t dim, bool, const Tensor& values,
                const Tensor& indices) {
  median_along(self, dim, false, values, indices);
}
void nanmedian_dim(const Tensor& self, int64_t dim, bool, const Tensor& values,
                   const Tensor& indices) {
  median_along(self, dim, true, values, indices);
}

void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, const Tensor& values,
              const Tensor& indices) {
  pick(
      self, dim, values, indices,
      [=](const auto* x, int64_t stride, int64_t size, auto& line) {
        line.resize(static_cast<size_t>(size));
        for (int64_t i = 0; i < size; ++i) line[static_cast<size_t>(i)] = x[i * stride];
        return ranked(line, size, k - 1);
      },
      [=]<class T>(const T* x, int64_t stride, int64_t size, T) {
        return tied_kth(x, stride, size, k - 1);
      });
}

void mode(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  pick(
      self, dim, values, indices,
      [](const auto* x, int64_t stride, int64_t n, auto& line) {
        return most_frequent(x, stride, n, line);
      },
      []<class T>(const T* x, int64_t stride, int64_t n, T value) {  // the last one
        if (is_nan(value)) return first_of(x, stride, value);
        while (x[(n - 1) * stride] != value) --n;
        return n - 1;
      });
}

}  // namespace uh::kernels
