// Helpers of order statistics: copies of lines, and comparisons that sort NaN last.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "backend/cpu/reduce/reducer.h"
#include "backend/cpu/scan/lines.h"

namespace uh {

template <class T>
bool is_nan(T x) {
  return x != x;
}

// Sorts NaN after every number.
template <class T>
bool comes_before(T a, T b) {
  return (is_nan(b) && !is_nan(a)) || a < b;
}

// Calls f(T{}) with the comparison type: uint8, int32, int64, float32 or float64.
template <class F>
void visit_ordered(DType compute, const F& f) {
  switch (compute) {
    case DType::kUInt8: return f(uint8_t{});
    case DType::kInt32: return f(int32_t{});
    case DType::kInt64: return f(int64_t{});
    case DType::kFloat32: return f(float{});
    default: return f(double{});
  }
}

// Returns the first index of a value in x, with elements `stride` apart; NaN equals NaN.
template <class T>
int64_t first_of(const T* x, int64_t stride, T value) {
  for (int64_t i = 0;; ++i)
    if (x[i * stride] == value || (is_nan(value) && is_nan(x[i * stride]))) return i;
}

}  // namespace uh
