// median, nanmedian, kthvalue and mode.
#include <numeric>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/statistics/selected.h"
#include "base/parallel.h"
#include "generated/kernels/statistics.h"

namespace uh::kernels {
namespace {

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

// The definitions do not say which of several equal elements is selected; these choose the same as
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

// An element of a line and where it is.
template <class T>
struct Placed {
  T value;
  int64_t index;
};

// For kthvalue: Hoare's selection with the median of the first, middle and last element as pivot.
template <class T>
Placed<T> selected_of(const T* x, int64_t stride, int64_t n, int64_t rank,
                      std::vector<Placed<T>>& line) {
  line.resize(static_cast<size_t>(n));
  Placed<T>* const at = line.data();
  for (int64_t i = 0; i < n; ++i) at[i] = {x[i * stride], i};
  const auto after = [](const Placed<T>& a, const Placed<T>& b) {
    return comes_before<T>(b.value, a.value);
  };
  int64_t low = 0, high = n - 1;
  while (high > low + 1) {
    std::swap(at[low + (high - low) / 2], at[low + 1]);
    if (after(at[low + 1], at[high])) std::swap(at[low + 1], at[high]);
    if (after(at[low], at[high])) std::swap(at[low], at[high]);
    if (after(at[low + 1], at[low])) std::swap(at[low + 1], at[low]);
    const Placed<T> pivot = at[low];
    int64_t i = low + 1, j = high;
    for (;;) {
      do ++i;
      while (after(pivot, at[i]));
      do --j;
      while (after(at[j], pivot));
      if (j < i) break;
      std::swap(at[i], at[j]);
    }
    std::swap(at[low], at[j]);
    if (j <= rank) low = i;
    if (j >= rank) high = j - 1;
  }
  if (high == low + 1 && after(at[low], at[high])) std::swap(at[low], at[high]);
  return at[rank];
}

template <class T>
bool occurs_twice(const T* x, int64_t stride, int64_t n, T value) {
  int64_t equal = 0;
  for (int64_t i = 0; i < n; ++i) equal += x[i * stride] == value;
  return equal > 1;
}

// Returns a value of a line and its index: tied(x, stride, n, value) if several elements have it,
// or if it is NaN.
template <class T, class G>
Placed<T> placed(const T* x, int64_t stride, int64_t n, T value, const G& tied) {
  const bool several = is_nan(value) || occurs_twice(x, stride, n, value);
  return {value, several ? tied(x, stride, n, value) : first_of(x, stride, value)};
}

// Memory of a thread, reused for every line.
template <class T>
struct LineRoom {
  std::vector<T> values;
  std::vector<Placed<T>> indexed;
};

// Writes value and index of one element per line: f(x, stride, n, room) returns them.
template <class F>
void pick(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices,
          const F& f) {
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
                   LineRoom<T> room;
                   for (int64_t i = lo; i < hi; ++i) {
                     const T* x = dense.data_as<T>() + lines.start(i);
                     const Placed<T> selected = f(x, lines.inner, lines.n, room);
                     result.data_as<T>()[i] = selected.value;
                     indices.data_as<int64_t>()[i] = selected.index;
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
  pick(self, dim, values, indices,
       [=]<class T>(const T* x, int64_t stride, int64_t n, LineRoom<T>& room) {
         const T value = median_of(x, stride, n, ignore_nan, room.values);
         return placed(x, stride, n, value,
                       [](const T* line, int64_t step, int64_t size, T median) {
                         if (is_nan(median)) return first_of(line, step, median);
                         int64_t numbers = 0;
                         for (int64_t i = 0; i < size; ++i) numbers += !is_nan(line[i * step]);
                         return tied_median(line, step, size, (numbers - 1) / 2, median);
                       });
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
  pick(self, dim, values, indices,
       [=]<class T>(const T* x, int64_t stride, int64_t n, LineRoom<T>& room) {
         return selected_of(x, stride, n, k - 1, room.indexed);
       });
}

void mode(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  pick(self, dim, values, indices,
       []<class T>(const T* x, int64_t stride, int64_t n, LineRoom<T>& room) {
         const T value = most_frequent(x, stride, n, room.values);
         return placed(x, stride, n, value,
                       [](const T* line, int64_t step, int64_t size, T mode_value) {
                         if (is_nan(mode_value)) return first_of(line, step, mode_value);
                         while (line[(size - 1) * step] != mode_value) --size;  // the last one
                         return size - 1;
                       });
       });
}

}  // namespace uh::kernels
