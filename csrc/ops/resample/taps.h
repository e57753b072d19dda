// Taps: the inputs of each output along one dimension, and their weights. The modes of resampling
// differ only in these.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "ops/resample/mode.h"

namespace uh {

// Output o is sum_k weight(k, o) * input[index(k, o)]; entry (k, o) is at k * out + o. As in
// PyTorch, bytes have fixed-point weights, multiples of 2^-precision, so that 32-bit sums are
// exact.
template <class T>
struct Taps {
  int64_t taps = 1, in = 1, out = 1;
  std::vector<int32_t> index;
  std::vector<std::conditional_t<std::is_same_v<T, uint8_t>, int32_t, T>> weight;
  int precision = 0;  // for bytes

  bool is_identity = false;  // output o is input o
  bool is_copy = false;      // each output copies one input
};

// Computes taps in the arithmetic of T, as PyTorch does; for bytes, indices of copies in float and
// weights in double. `scale` is the caller's factor, if any.
template <class T>
Taps<T> make_taps(int64_t in, int64_t out, std::optional<double> scale, ResampleMode mode,
                  bool align_corners);

}  // namespace uh
