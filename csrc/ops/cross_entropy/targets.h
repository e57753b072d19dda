// Positions of the targets of ctc_loss: in rows of a matrix, or one sequence after another.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

// The start and stride of each sequence's targets.
struct Targets {
  std::vector<int64_t> starts;
  int64_t step = 1, longest = 0;
};

inline Targets lay_out(const Tensor& targets, const Dims& lengths, int64_t batch) {
  Targets result;
  int64_t sum = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    check(length >= 0, "ctc_loss: expected target_lengths to have value at least 0, but got value ",
          length, " at batch ", b);
    result.starts.push_back(targets.ndim() == 1 ? std::min(sum, targets.size(0)) * targets.stride(0)
                                                : b * targets.stride(0));
    result.longest = std::max(result.longest, length);
    if (__builtin_add_overflow(sum, length, &sum)) sum = INT64_MAX;
  }
  if (targets.ndim() == 1) {
    check(targets.size(0) == sum, "ctc_loss: expected targets to have ", sum,
          " elements, the sum of target_lengths, but got ", targets.size(0));
    result.step = targets.stride(0);
  } else {
    check(targets.ndim() == 2 && targets.size(0) == batch && targets.size(1) >= result.longest,
          "ctc_loss: expected targets of at least ", batch, " x ", result.longest, ", but got ",
          targets.sizes());
    result.step = targets.stride(1);
  }
  return result;
}

}  // namespace uh
