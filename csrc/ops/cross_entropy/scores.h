// The scores of all classes at each pixel: position i = (n, h, w), class c.
#pragma once

#include "ops/loss/reduction.h"

namespace uh {

struct Scores {
  int64_t n = 1, h = 1, w = 1, classes = 1;
  int64_t by_n = 0, by_h = 0, by_w = 0, by_class = 0;  // strides in elements

  int64_t positions() const { return n * h * w; }
};

inline Scores read_rows(const Tensor& self) {
  const int64_t last = self.ndim() - 1;
  Scores s{.classes = self.size(last), .by_class = self.stride(last)};
  if (last == 1) s.w = self.size(0), s.by_w = self.stride(0);
  return s;
}

inline Scores read_pictures(const Tensor& self) {
  return {.n = self.size(0),
          .h = self.size(2),
          .w = self.size(3),
          .classes = self.size(1),
          .by_n = self.stride(0),
          .by_h = self.stride(2),
          .by_w = self.stride(3),
          .by_class = self.stride(1)};
}

// Returns true if the result has one loss per position: a batch without reduction.
inline bool keeps_losses(const Tensor& self, int64_t reduction) {
  return reduction != kMeanLoss && reduction != kSumLoss && self.ndim() > 1;
}

}  // namespace uh
