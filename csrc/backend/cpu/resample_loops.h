// The inner loops of resampling: weighted sums of elements of a row, and of whole rows.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

template <class T>
struct ResampleLoops {
  // out[x] = sum_k weight[k * n + x] * in[index[k * n + x]] for k < taps
  void (*pick)(T* out, const T* in, const int32_t* index, const T* weight, int64_t taps, int64_t n);
  // out[x] = sum_k weight[k] * rows[k][x] for k < taps
  void (*blend)(T* out, const T* const* rows, const T* weight, int64_t taps, int64_t n);
};

// The sums are multiples of 2^-precision, rounded and clamped to bytes.
template <>
struct ResampleLoops<uint8_t> {
  void (*pick)(uint8_t* out, const uint8_t* in, const int32_t* index, const int32_t* weight,
               int64_t taps, int64_t n, int precision);
  void (*blend)(uint8_t* out, const uint8_t* const* rows, const int32_t* weight, int64_t taps,
                int64_t n, int precision);
};

using ByteResampleLoops = ResampleLoops<uint8_t>;
using FloatResampleLoops = ResampleLoops<float>;
using DoubleResampleLoops = ResampleLoops<double>;

UH_PER_ISA(ByteResampleLoops, byte_resample_loops)
UH_PER_ISA(FloatResampleLoops, float_resample_loops)
UH_PER_ISA(DoubleResampleLoops, double_resample_loops)

}  // namespace uh
