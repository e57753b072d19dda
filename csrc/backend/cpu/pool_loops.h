// The inner loops of pooling: rows of windows, folded element by element.
//
// A row of results is computed from rows of the input. Loops run along the row, so that they
// vectorise; the caller passes the part that is inside the input.
// Invariant: a window's elements are folded in row-major order, and NaN is the maximum.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

template <class T>
struct PoolLoops {
  // best[x] = larger of best[x] and in[x]
  void (*max_row)(T* best, const T* in, int64_t n);
  // best[x] = larger of best[x] and in[x * step]
  void (*max_step)(T* best, const T* in, int64_t step, int64_t n);
  // The same, and index[x] = base + x * step where in[x * step] was larger, or NaN.
  void (*max_index)(T* best, int64_t* index, const T* in, int64_t step, int64_t n, int64_t base);
  // best[x] = the largest of in[x * step + offset[k]] for k < taps, and index[x] = base + its
  // offset: the first of several equal ones, the last NaN.
  void (*max_window)(T* best, int64_t* index, const T* in, const int64_t* offset, int64_t taps,
                     int64_t step, int64_t n, int64_t base);
  // sum[x] += in[x * step]
  void (*add_step)(T* sum, const T* in, int64_t step, int64_t n);
};

struct AllPoolLoops {
  PoolLoops<float> f32;
  PoolLoops<double> f64;
  PoolLoops<int64_t> i64;
};

UH_PER_ISA(AllPoolLoops, pool_loops)

template <class T>
const PoolLoops<T>& pool_loops_of() {
  if constexpr (std::is_same_v<T, float>)
    return pool_loops().f32;
  else if constexpr (std::is_same_v<T, double>)
    return pool_loops().f64;
  else
    return pool_loops().i64;
}

}  // namespace uh
