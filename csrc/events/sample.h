// Samples of values that are too large to be recorded whole.
//
// Note [Sampled values]: a SampleHead, and then every step-th element of the span.
// engine/inspect/history/storage_contents.py reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "events/recorder.h"

namespace uh::events {

inline constexpr int64_t kSampleElements = 64;

struct SampleHead {
  int64_t dtype, numel, nans, infs;
  double low, high, mean;  // of the finite elements; of complex ones their absolute values
  int64_t step;            // every step-th element follows
};

std::vector<std::byte> sample(const ValueSource& source);

}  // namespace uh::events
