// segment_reduce: reductions of consecutive segments of a dimension, of any lengths.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/scatter.h"
#include "ops/scatter/reduction.h"
#include "ops/scatter/segments.h"

namespace uh::kernels {
namespace {

// Segment s of row o spans starts[o (segments + 1) + s] to the next entry.
struct Segments : SegmentPlan {
  std::vector<int64_t> starts;

  int64_t at(int64_t o, int64_t s) const {
    return starts[static_cast<size_t>(o * (segments + 1) + s)];
  }
};

Segments read_segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets,
                       int64_t axis, bool unsafe) {
  const std::string_view op = "segment_reduce";
  Segments result{plan_segments(data, lengths, offsets, axis), {}};
  const Tensor numbers = as_contiguous(offsets ? offsets : lengths, DType::kInt64);
  const int64_t* number = numbers.data_as<int64_t>();
  const int64_t per_row = result.segments + (offsets ? 1 : 0);
  for (int64_t o = 0; o < result.outer; ++o, number += per_row) {
    int64_t at = offsets ? number[0] : 0;
    result.starts.push_back(at);
    for (int64_t s = 0; s < result.segments; ++s) {
      const int64_t length = offsets ? number[s + 1] - number[s] : number[s];
      check(length >= 0, op,
            "(): ", offsets ? "offsets decrease" : "lengths contains negative value!", " at ", s,
            ": ", length);
      check(at >= 0 && length <= result.n - at, op,
            "(): Expected all rows of lengths along axis to ",
            "sum to data.size(lengths.dim()-1) when !unsafe, ", result.n, "; segment ", s,
            " ends at ", at + length);
      result.starts.push_back(at += length);
    }
    check(offsets || unsafe || at == result.n, op,
          "(): Expected all rows of lengths along axis to ",
          "sum to data.size(lengths.dim()-1) when !unsafe, ", result.n, ", not to ", at);
  }
  return result;
}

template <class T>
T start_of(Fused word) {
  switch (word) {
    case Fused::kMax: return -std::numeric_limits<T>::infinity();
    case Fused::kMin: return std::numeric_limits<T>::infinity();
    case Fused::kProd: return 1;
    default: return 0;
  }
}

// A NaN stays.
template <class T>
T join(Fused word, T a, T b) {
  switch (word) {
    case Fused::kMax: return std::isnan(a) || a > b ? a : b;
    case Fused::kMin: return std::isnan(a) || a < b ? a : b;
    case Fused::kProd: return a * b;
    default: return a + b;
  }
}

template <class T>
void reduce_segments(T* out, const T* data, const Segments& seg, Fused word, const T* initial) {
  const auto body = [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t o = i / seg.segments, s = i % seg.segments;
      const int64_t first = seg.at(o, s), last = seg.at(o, s + 1);
      T* to = out + i * seg.inner;
      std::fill_n(to, seg.inner, initial ? *initial : start_of<T>(word));
      const T* row = data + (o * seg.n + first) * seg.inner;
      for (int64_t r = first; r < last; ++r, row += seg.inner)
        for (int64_t k = 0; k < seg.inner; ++k) to[k] = join(word, to[k], row[k]);
      if (word != Fused::kMean || (first == last && initial)) continue;
      for (int64_t k = 0; k < seg.inner; ++k) to[k] /= static_cast<T>(last - first);
    }
  };
  parallel_for(0, seg.outer * seg.segments, 1 + 16384 / (seg.inner + 1), body);
}

// Computes the gradient of one column of a segment, with elements `step` apart.
template <class T>
void column_backward(T* to, const T* data, int64_t count, int64_t step, T grad, T result,
                     Fused word, const T* initial) {
  if (word == Fused::kSum || word == Fused::kMean) {
    const T share = word == Fused::kMean ? grad / static_cast<T>(count) : grad;
    for (int64_t r = 0; r < count; ++r) to[r * step] = share;
    return;
  }
  if (word == Fused::kProd) {  // multiplies the others: dividing the product by a zero would be NaN
    T before = initial ? *initial : T(1);
    for (int64_t r = 0; r < count; before *= data[r++ * step]) to[r * step] = grad * before;
    T after = 1;
    for (int64_t r = count; r-- > 0; after *= data[r * step]) to[r * step] *= after;
    return;
  }
  const auto is_it = [&](T v) { return v == result || (std::isnan(v) && std::isnan(result)); };
  int64_t ties = 0;
  for (int64_t r = 0; r < count; ++r) ties += is_it(data[r * step]);
  for (int64_t r = 0; r < count; ++r)
    to[r * step] = is_it(data[r * step]) ? grad / static_cast<T>(ties) : T(0);
}

DType compute_dtype(const Tensor& data) {
  return data.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// Calls f with a zero of the compute dtype.
template <class F>
void in_dtype(DType compute, const F& f) {
  if (compute == DType::kFloat64)
    f(double{});
  else
    f(float{});
}

}  // namespace

void segment_reduce(const Tensor& data, const std::string& reduce, const Tensor& lengths,
                    const Tensor&, const Tensor& offsets, int64_t axis, bool unsafe,
                    const std::optional<Scalar>& initial, const Tensor& out) {
  const Segments seg = read_segments(data, lengths, offsets, axis, unsafe);
  if (out.numel() == 0) return;
  const DType compute = compute_dtype(data);
  const Tensor result = compute == data.dtype() ? out : empty(seg.sizes, compute);
  const Tensor from = as_contiguous(data, compute);
  in_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    const T first = initial ? static_cast<T>(initial->to_double()) : T(0);
    reduce_segments(result.data_as<T>(), from.data_as<T>(), seg, segment_word(reduce),
                    initial ? &first : nullptr);
  });
  if (!result.is_same(out)) copy_elements(out, result);
}

void segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data,
                             const std::string& reduce, const Tensor& lengths,
                             const Tensor& offsets, int64_t axis,
                             const std::optional<Scalar>& initial, const Tensor& out) {
  const Segments seg = read_segments(data, lengths, offsets, axis, true);
  if (out.numel() == 0) return;
  const Fused word = segment_word(reduce);
  const DType compute = compute_dtype(data);
  const Tensor new_result = compute == data.dtype() ? out : empty(data.sizes(), compute);
  const Tensor from = as_contiguous(data, compute), result = as_contiguous(output, compute),
               slope = as_contiguous(grad, compute);
  in_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    const T first = initial ? static_cast<T>(initial->to_double()) : T(0);
    T* const to = new_result.data_as<T>();
    std::fill_n(to, new_result.numel(), T(0));  // elements in no segment
    for (int64_t o = 0; o < seg.outer; ++o) {
      for (int64_t i = 0; i < seg.segments * seg.inner; ++i) {
        const int64_t s = i / seg.inner, begin = seg.at(o, s);
        const int64_t at = (o * seg.n + begin) * seg.inner + i % seg.inner;
        const int64_t target = o * seg.segments * seg.inner + i;
        column_backward(to + at, from.data_as<T>() + at, seg.at(o, s + 1) - begin, seg.inner,
                        slope.data_as<T>()[target], result.data_as<T>()[target], word,
                        initial ? &first : nullptr);
      }
    }
  });
  if (!new_result.is_same(out)) copy_elements(out, new_result);
}

}  // namespace uh::kernels
