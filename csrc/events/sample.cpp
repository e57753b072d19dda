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

constexpr int64_t kBlock = 4096;

template <class T, int kBytes>
struct Vector {
  using Type [[gnu::vector_size(kBytes)]] = T;
};

// A block whose elements are all finite; false, and nothing, for another. kBytes: of a vector of
// the processor. Two sets of accumulators, as an addition takes longer than the rest of a step.
template <int kBytes, class T>
[[gnu::always_inline]] inline bool add_finite(const T* at, Statistics& s) {
  using Lanes = typename Vector<T, kBytes>::Type;
  using Sums = typename Vector<double, kBytes>::Type;
  constexpr int kSets = 2, kLanes = kBytes / sizeof(T), kSummed = kBytes / sizeof(double);
  constexpr int kParts = kLanes / kSummed;  // of a vector: doubles are wider than floats
  using Part = typename Vector<T, kSummed * sizeof(T)>::Type;
  Lanes low[kSets], high[kSets];
  Sums sums[kSets][kParts] = {};
  for (int set = 0; set < kSets; ++set) {
    std::memcpy(&low[set], at + set * kLanes, sizeof(Lanes));
    high[set] = low[set];
  }
  for (int64_t i = 0; i < kBlock; i += kSets * kLanes) {
#pragma GCC unroll 2
    for (int set = 0; set < kSets; ++set) {
      const T* from = at + i + set * kLanes;
      Lanes v;
      std::memcpy(&v, from, sizeof v);
      low[set] = v < low[set] ? v : low[set];
      high[set] = v > high[set] ? v : high[set];
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part) {
        Part p;
        std::memcpy(&p, from + part * kSummed, sizeof p);
        sums[set][part] += __builtin_convertvector(p, Sums);
      }
    }
  }
  double sum = 0;
  for (const auto& set : sums) {
    for (const Sums& part : set) {
      for (int lane = 0; lane < kSummed; ++lane) sum += part[lane];
    }
  }
  if (!std::isfinite(sum)) return false;  // NaN and infinities stay; so do sums that overflow
  for (int set = 0; set < kSets; ++set) {
    for (int lane = 0; lane < kLanes; ++lane) {
      s.low = std::min(s.low, static_cast<double>(low[set][lane]));
      s.high = std::max(s.high, static_cast<double>(high[set][lane]));
    }
  }
  s.sum += sum;
  return true;
}

template <class T>
bool add_finite_baseline(const T* at, Statistics& s) {
  return add_finite<16>(at, s);
}
#ifdef __x86_64__
template <class T>
[[gnu::target("avx2")]] bool add_finite_avx2(const T* at, Statistics& s) {
  return add_finite<32>(at, s);
}
template <class T>
[[gnu::target("avx512f")]] bool add_finite_avx512(const T* at, Statistics& s) {
  return add_finite<64>(at, s);
}
#endif

// The loop for the processor at hand.
template <class T>
auto finite_adder() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return add_finite_avx512<T>;
  if (__builtin_cpu_supports("avx2")) return add_finite_avx2<T>;
#endif
  return add_finite_baseline<T>;
}

template <class T>
Statistics statistics(const T* at, int64_t n) {
  Statistics s;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      static const auto add_block = finite_adder<T>();
      if (count == kBlock && add_block(at + i, s)) continue;
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
