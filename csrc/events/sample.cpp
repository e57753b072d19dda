#include "events/sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/dtype.h"

namespace uh::events {
namespace {

struct Statistics {
  int64_t nans = 0, infs = 0;
  double low = INFINITY, high = -INFINITY, sum = 0;
};

template <class T>
double as_double(T value) {
  if constexpr (is_complex_v<T>)
    return std::hypot(static_cast<double>(value.re), static_cast<double>(value.im));
  else
    return static_cast<double>(value);
}

template <class T>
void add_each(const T* at, int64_t n, Statistics& s) {
  for (int64_t i = 0; i < n; ++i) {
    const double v = as_double(at[i]);
    if (std::isnan(v)) {
      ++s.nans;
    } else if (std::isinf(v)) {
      ++s.infs;
    } else {
      s.low = v < s.low ? v : s.low;
      s.high = v > s.high ? v : s.high;
      s.sum += v;
    }
  }
}

constexpr int64_t kBlock = 1024;

using Floats [[gnu::vector_size(64)]] = float;
using Doubles [[gnu::vector_size(64)]] = double;
using DoublesOfFloats [[gnu::vector_size(128)]] = double;

// A block whose elements are all finite; false, and nothing, for another.
template <class Lanes, class Sums, class T>
[[gnu::always_inline]] inline bool add_finite(const T* at, Statistics& s) {
  constexpr int64_t kLanes = sizeof(Lanes) / sizeof(T);
  Lanes low, high, rest{};
  Sums sums{};
  std::memcpy(&low, at, sizeof low);
  high = low;
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    Lanes v;
    std::memcpy(&v, at + i, sizeof v);
    rest += v - v;  // NaN from the first element on that is not finite
    low = v < low ? v : low;
    high = v > high ? v : high;
    sums += __builtin_convertvector(v, Sums);
  }
  double sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    if (rest[lane] != 0) return false;
    sum += sums[lane];
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    s.low = std::min(s.low, static_cast<double>(low[lane]));
    s.high = std::max(s.high, static_cast<double>(high[lane]));
  }
  s.sum += sum;
  return true;
}

// The loop over large float tensors, for the processor at hand. A sanitizer would run
// in what chooses it, before it is ready itself.
#if defined(__x86_64__) && defined(__ELF__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define UH_CLONED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define UH_CLONED
#endif
UH_CLONED bool add_finite_floats(const float* at, Statistics& s) {
  return add_finite<Floats, DoublesOfFloats>(at, s);
}
UH_CLONED bool add_finite_doubles(const double* at, Statistics& s) {
  return add_finite<Doubles, Doubles>(at, s);
}
#undef UH_CLONED

template <class T>
Statistics statistics(const T* at, int64_t n) {
  Statistics s;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    if constexpr (std::is_same_v<T, float>) {
      if (count == kBlock && add_finite_floats(at + i, s)) continue;
    } else if constexpr (std::is_same_v<T, double>) {
      if (count == kBlock && add_finite_doubles(at + i, s)) continue;
    }
    add_each(at + i, count, s);
  }
  return s;
}

template <class T>
std::vector<std::byte> sample_of(const ValueSource& source) {
  const auto* at = reinterpret_cast<const T*>(source.base + source.lo);
  const int64_t n = (source.hi - source.lo) / static_cast<int64_t>(sizeof(T));
  const int64_t step = n > kSampleElements ? (n + kSampleElements - 1) / kSampleElements : 1;
  const Statistics s = statistics(at, n);
  const int64_t finite = n - s.nans - s.infs;
  const double mean = finite ? s.sum / static_cast<double>(finite) : NAN;
  const SampleHead head{source.dtype, n, s.nans, s.infs, s.low, s.high, mean, step};
  const auto count = static_cast<size_t>((n + step - 1) / step);
  std::vector<std::byte> out(sizeof head + count * sizeof(T));
  std::memcpy(out.data(), &head, sizeof head);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(out.data() + sizeof head + i * sizeof(T), at + static_cast<int64_t>(i) * step,
                sizeof(T));
  }
  return out;
}

}  // namespace

std::vector<std::byte> sample(const ValueSource& source) {
  return visit_any(static_cast<DType>(source.dtype),
                   [&](auto zero) { return sample_of<decltype(zero)>(source); });
}

}  // namespace uh::events
