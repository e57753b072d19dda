// The inner loops of resampling: weighted sums of a row's elements, and of whole rows.
#pragma once

#include <cstdint>

#include "ops/kernel/per_isa.h"

namespace uh {

template <class T>
struct ResampleLoops {
  // out[x] = sum_k weight[k * n + x] * in[index[k * n + x]] for k < taps
  void (*pick)(T* out, const T* in, const int32_t* index, const T* weight, int64_t taps, int64_t n);
  // out[x] = sum_k weight[k] * rows[k][x] for k < taps
  void (*blend)(T* out, const T* const* rows, const T* weight, int64_t taps, int64_t n);
};

using FloatResampleLoops = ResampleLoops<float>;
using DoubleResampleLoops = ResampleLoops<double>;

UH_PER_ISA(FloatResampleLoops, float_resample_loops)
UH_PER_ISA(DoubleResampleLoops, double_resample_loops)

}  // namespace uh
