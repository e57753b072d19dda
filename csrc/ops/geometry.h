// Geometry: the common iteration space of N operands of one shape, row by row.
//
// Dimensions of size 1 are dropped, the others are sorted so that operand 0's smallest stride is
// innermost, and neighbours are merged where all operands allow it. A transposed copy and a plain
// one then look the same, and a contiguous tensor of any rank is a single row. Invariant: sizes is
// never empty, and iterating over all rows visits each index exactly once. Read next:
// copy/copy.cpp, the simplest user.
#pragma once

#include <array>
#include <cstdlib>

#include "base/shape.h"

namespace uh {

template <size_t N>
struct Geometry {
  Dims sizes;                   // outermost first; the last is the length of a row
  std::array<Dims, N> strides;  // elements

  int64_t row() const { return sizes.back(); }
  int64_t rows() const { return numel_of(IntSpan(sizes.data(), sizes.size() - 1)); }
  int64_t row_stride(size_t operand) const { return strides[operand].back(); }
};

namespace detail {

// Returns whether dimension `a` belongs outside `b`, by the first operand whose strides differ.
template <size_t N>
bool is_outer(const Geometry<N>& g, size_t a, size_t b) {
  for (const Dims& strides : g.strides) {
    if (strides[a] != strides[b] && strides[a] != 0 && strides[b] != 0)
      return strides[a] > strides[b];
  }
  return true;
}

template <size_t N>
void swap_dims(Geometry<N>& g, size_t a, size_t b) {
  std::swap(g.sizes[a], g.sizes[b]);
  for (Dims& strides : g.strides) std::swap(strides[a], strides[b]);
}

}  // namespace detail

// With `reorder` false, rows are in row-major order of the given sizes.
template <size_t N>
Geometry<N> make_geometry(IntSpan sizes, const std::array<IntSpan, N>& strides,
                          bool reorder = true) {
  Geometry<N> g;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    g.sizes.push_back(sizes[d]);
    for (size_t i = 0; i < N; ++i) g.strides[i].push_back(strides[i][d]);
  }
  if (g.sizes.empty()) {
    g.sizes.push_back(1);
    for (Dims& s : g.strides) s.push_back(1);
    return g;
  }
  if (reorder) {  // insertion sort: few dimensions, and it is stable
    for (size_t i = 1; i < g.sizes.size(); ++i) {
      for (size_t j = i; j > 0 && !detail::is_outer(g, j - 1, j); --j)
        detail::swap_dims(g, j - 1, j);
    }
  }
  size_t last = 0;
  for (size_t d = 1; d < g.sizes.size(); ++d) {
    bool merges = true;
    for (const Dims& s : g.strides) merges = merges && s[last] == s[d] * g.sizes[d];
    if (merges) {
      g.sizes[last] *= g.sizes[d];
    } else {
      g.sizes[++last] = g.sizes[d];
    }
    for (Dims& s : g.strides) s[last] = s[d];
  }
  g.sizes.resize(last + 1);
  for (Dims& s : g.strides) s.resize(last + 1);
  return g;
}

// Returns a tensor's strides in the shape it broadcasts to: 0 where it repeats.
inline Dims broadcast_strides(IntSpan sizes, IntSpan strides, size_t ndim) {
  Dims out(ndim, 0);
  const size_t shift = ndim - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) out[d + shift] = sizes[d] == 1 ? 0 : strides[d];
  return out;
}

// Steps through the indices of `sizes` in row-major order, updating N element offsets.
template <size_t N>
class Odometer {
 public:
  using Offsets = std::array<int64_t, N>;

  // Iterates over the first `ndim` dimensions of `g`, from the index with linear position `start`.
  Odometer(const Geometry<N>& g, size_t ndim, int64_t start) : g_(g), index_(ndim) {
    offsets_.fill(0);
    for (size_t d = ndim; d-- > 0 && start > 0;) {
      index_[d] = start % g.sizes[d];
      start /= g.sizes[d];
      for (size_t i = 0; i < N; ++i) offsets_[i] += index_[d] * g.strides[i][d];
    }
  }
  const Offsets& offsets() const { return offsets_; }
  void step() {
    for (size_t d = index_.size(); d-- > 0;) {
      for (size_t i = 0; i < N; ++i) offsets_[i] += g_.strides[i][d];
      if (++index_[d] < g_.sizes[d]) return;
      for (size_t i = 0; i < N; ++i) offsets_[i] -= g_.strides[i][d] * g_.sizes[d];
      index_[d] = 0;
    }
  }

 private:
  const Geometry<N>& g_;
  Dims index_;
  Offsets offsets_;
};

// Calls f(offsets) for rows lo..hi; offsets are the start of the row in each operand.
template <size_t N, class F>
void for_rows(const Geometry<N>& g, int64_t lo, int64_t hi, const F& f) {
  Odometer<N> at(g, g.sizes.size() - 1, lo);
  for (int64_t row = lo; row < hi; ++row, at.step()) f(at.offsets());
}

}  // namespace uh
