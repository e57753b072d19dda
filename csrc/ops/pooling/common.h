// The part of the input that each window of an average pooling covers.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "ops/pooling/windows.h"

namespace uh {

// The input that a window covers along one dimension, and its share of the divisor.
struct Part {
  int64_t first, last, count;  // count includes the padding on both sides
};

inline Part part_of_window(const Window& w, int64_t o) {
  const int64_t start = o * w.stride - w.padding;
  const int64_t end = std::min(start + w.kernel, w.in + w.padding);
  return {std::max<int64_t>(start, 0), std::min(end, w.in), end - start};
}

// The parts of all windows, for each of the three dimensions.
using Parts = std::array<std::vector<Part>, 3>;

// Returns the divisor of a window's sum; 0 if the window covers only padding.
inline int64_t divisor_of(const Part& z, const Part& y, const Part& x, bool counts_padding,
                          int64_t argument) {
  const auto inside = [](const Part& p) { return std::max<int64_t>(p.last - p.first, 0); };
  const int64_t elements = inside(z) * inside(y) * inside(x);
  if (elements == 0) return 0;
  return argument ? argument : counts_padding ? z.count * y.count * x.count : elements;
}

// Returns the windows of a sliding pooling.
inline Parts parts_of(const Windows& w) {
  Parts parts;
  for (size_t a = 0; a < 3; ++a)
    for (int64_t o = 0; o < w.axes[a].out; ++o) parts[a].push_back(part_of_window(w.axes[a], o));
  return parts;
}

// Returns the inputs [first, last) that output o of an adaptive pooling covers.
inline Part share(int64_t in, int64_t out, int64_t o) {
  const int64_t first = o / out * in + o % out * in / out;
  const int64_t last = first + ((o + 1) * in - first * out + out - 1) / out;
  return {first, last, last - first};
}

// Returns the windows of an adaptive pooling.
inline Parts shares(const Windows& w) {
  Parts parts;
  for (size_t a = 0; a < 3; ++a)
    for (int64_t o = 0; o < w.axes[a].out; ++o)
      parts[a].push_back(share(w.axes[a].in, w.axes[a].out, o));
  return parts;
}

}  // namespace uh
