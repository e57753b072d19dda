// The number and the sizes of segment_reduce's segments, which follow from shapes alone.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// data is read as (outer, n, inner); n is the size of the dimension that is reduced.
struct SegmentPlan {
  int64_t outer = 1, n = 0, inner = 1, segments = 0;
  Dims sizes;  // of the result
};

// Throws unless `lengths` or `offsets` (or both: offsets count) is defined and goes with `data`.
SegmentPlan plan_segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets,
                          int64_t axis);

}  // namespace uh
