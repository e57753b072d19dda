#include "ops/resample/taps.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace uh {
namespace {

// Returns the number of inputs per output.
template <class T>
T step_of(int64_t in, int64_t out, std::optional<double> scale, bool align_corners) {
  if (align_corners) return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  if (scale && *scale > 0) return static_cast<T>(1.0 / *scale);
  return static_cast<T>(in) / static_cast<T>(out);
}

// Returns the position of output o among the inputs, whose centres are at integers.
template <class T>
T place_of(int64_t o, T step, bool align_corners) {
  if (align_corners) return step * static_cast<T>(o);
  return step * (static_cast<T>(o) + T(0.5)) - T(0.5);
}

int64_t nearest_integer(double x, int64_t in) {
  return static_cast<int64_t>(std::clamp(x, 0.0, static_cast<double>(in - 1)));
}

// Keys' cubic kernel with slope a at 1.
template <class T>
T cubic(T x, T a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

template <class T>
T triangle(T x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : T(0);
}

template <class T>
void nearest(Taps<T>& t, T step, bool exact) {
  const T shift = exact ? T(0.5) : T(0);
  for (int64_t o = 0; o < t.out; ++o)
    t.index[static_cast<size_t>(o)] =
        static_cast<int32_t>(nearest_integer(std::floor((static_cast<T>(o) + shift) * step), t.in));
}

template <class T>
void linear(Taps<T>& t, T step, bool align_corners) {
  for (int64_t o = 0; o < t.out; ++o) {
    const T position = std::max(place_of(o, step, align_corners), T(0));
    const int64_t first = nearest_integer(position, t.in);
    const T second = std::clamp(position - static_cast<T>(first), T(0), T(1));
    t.index[static_cast<size_t>(o)] = static_cast<int32_t>(first);
    t.index[static_cast<size_t>(t.out + o)] = static_cast<int32_t>(std::min(first + 1, t.in - 1));
    t.weight[static_cast<size_t>(o)] = 1 - second;
    t.weight[static_cast<size_t>(t.out + o)] = second;
  }
}

template <class T>
void bicubic(Taps<T>& t, T step, bool align_corners) {
  for (int64_t o = 0; o < t.out; ++o) {
    const T position = place_of(o, step, align_corners);
    const T floor = std::floor(position);
    const T remainder = std::clamp(position - floor, T(0), T(1));
    for (int64_t k = 0; k < 4; ++k) {
      const auto at = static_cast<size_t>(k * t.out + o);
      t.index[at] = static_cast<int32_t>(nearest_integer(floor + static_cast<T>(k - 1), t.in));
      t.weight[at] = cubic<T>(remainder - static_cast<T>(k - 1), T(-0.75));
    }
  }
}

// If the image shrinks, the kernel covers as many inputs as one output replaces.
template <class T>
void antialiased(Taps<T>& t, T step, bool is_cubic) {
  const T widened = std::max(step, T(1));
  const T support = (is_cubic ? T(2) : T(1)) * widened, inverse = T(1) / widened;
  t.taps = std::min<int64_t>(static_cast<int64_t>(std::ceil(support)) * 2 + 1, t.in);
  t.index.assign(static_cast<size_t>(t.taps * t.out), 0);
  t.weight.assign(static_cast<size_t>(t.taps * t.out), T(0));
  for (int64_t o = 0; o < t.out; ++o) {
    const T center = step * (static_cast<T>(o) + T(0.5));
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - support + T(0.5)), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(center + support + T(0.5)), t.in);
    const int64_t count = std::clamp<int64_t>(last - first, 0, t.taps);
    T total = 0;
    for (int64_t k = 0; k < t.taps; ++k) {
      const auto at = static_cast<size_t>(k * t.out + o);
      t.index[at] = static_cast<int32_t>(std::min(first + k, t.in - 1));
      if (k >= count) continue;
      const T x = (static_cast<T>(k + first) - center + T(0.5)) * inverse;
      t.weight[at] = is_cubic ? cubic<T>(x, T(-0.5)) : triangle<T>(x);
      total += t.weight[at];
    }
    if (total == 0) continue;
    for (int64_t k = 0; k < count; ++k) t.weight[static_cast<size_t>(k * t.out + o)] /= total;
  }
}

// Near the borders several taps read the same input: their weights are added to the first one's.
void merge_repeated(Taps<double>& t) {
  for (int64_t o = 0; o < t.out; ++o) {
    auto first = static_cast<size_t>(o);
    for (int64_t k = 1; k < t.taps; ++k) {
      const auto at = static_cast<size_t>(k * t.out + o);
      if (t.index[at] != t.index[first]) {
        first = at;
        continue;
      }
      t.weight[first] += t.weight[at];
      t.weight[at] = 0;
    }
  }
}

// Returns the largest number of bits that keeps every weight below 2^15.
int precision_of(const std::vector<double>& weights) {
  constexpr int kMaxPrecision = 22;
  double largest = 0;
  for (const double weight : weights) largest = std::max(largest, weight);
  int bits = 0;
  while (bits < kMaxPrecision && static_cast<int>(0.5 + std::ldexp(largest, bits + 1)) < 1 << 15)
    ++bits;
  return bits;
}

}  // namespace

template <class T>
Taps<T> make_taps(int64_t in, int64_t out, std::optional<double> scale, ResampleMode mode,
                  bool align_corners) {
  Taps<T> t;
  t.in = in;
  t.out = out;
  const bool exact = mode == ResampleMode::kNearestExact;
  t.is_copy = exact || mode == ResampleMode::kNearest;
  t.taps = t.is_copy ? 1 : mode == ResampleMode::kCubic ? 4 : 2;
  t.index.resize(static_cast<size_t>(t.taps * out));
  t.weight.assign(static_cast<size_t>(t.taps * out), T(1));
  const T step = step_of<T>(in, out, scale, align_corners);
  t.is_identity = in == out && (mode == ResampleMode::kLinear ||
                                (t.is_copy && (!scale || *scale <= 0 || *scale == 1)));
  switch (mode) {
    case ResampleMode::kNearest:
    case ResampleMode::kNearestExact: nearest(t, step, exact); break;
    case ResampleMode::kLinear: linear(t, step, align_corners); break;
    case ResampleMode::kCubic: bicubic(t, step, align_corners); break;
    case ResampleMode::kLinearAa: antialiased(t, step, false); break;
    case ResampleMode::kCubicAa: antialiased(t, step, true); break;
  }
  return t;
}

template <>
Taps<uint8_t> make_taps(int64_t in, int64_t out, std::optional<double> scale, ResampleMode mode,
                        bool align_corners) {
  Taps<uint8_t> t;
  t.in = in;
  t.out = out;
  if (mode == ResampleMode::kNearest || mode == ResampleMode::kNearestExact) {
    Taps<float> pixel_taps = make_taps<float>(in, out, scale, mode, align_corners);
    t.index = std::move(pixel_taps.index);
    t.is_identity = pixel_taps.is_identity;
    t.is_copy = true;
    return t;
  }
  Taps<double> filter = make_taps<double>(in, out, scale, mode, align_corners);
  merge_repeated(filter);
  t.taps = filter.taps;
  t.is_identity = in == out;
  t.precision = precision_of(filter.weight);
  for (const double weight : filter.weight)
    t.weight.push_back(static_cast<int32_t>(std::round(std::ldexp(weight, t.precision))));
  t.index = std::move(filter.index);
  return t;
}

template Taps<float> make_taps(int64_t, int64_t, std::optional<double>, ResampleMode, bool);
template Taps<double> make_taps(int64_t, int64_t, std::optional<double>, ResampleMode, bool);

}  // namespace uh
