// histc and histogram: the number of elements in each bin.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/statistics/selected.h"
#include "generated/kernels/statistics.h"

namespace uh::kernels {
namespace {

struct Range {
  double low, high;
};

// Returns the minimum and maximum, both NaN if there is a NaN; in lanes, to avoid dependent steps.
template <class T>
Range extremes(const T* x, int64_t n) {
  constexpr int kLanes = 8;
  T low[kLanes], high[kLanes];
  std::fill_n(low, kLanes, x[0]);
  std::fill_n(high, kLanes, x[0]);
  int64_t nans = 0;
  const auto take = [&](int lane, T v) {
    low[lane] = v < low[lane] ? v : low[lane];
    high[lane] = v > high[lane] ? v : high[lane];
    nans += v != v;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) take(lane, x[i + lane]);
  for (; i < n; ++i) take(0, x[i]);
  if (nans > 0) return {std::nan(""), std::nan("")};
  return {static_cast<double>(*std::min_element(low, low + kLanes)),
          static_cast<double>(*std::max_element(high, high + kLanes))};
}

// Returns the given range, or the elements' if its ends are equal; never empty.
Range range_of(const Tensor& self, double low, double high, std::string_view op) {
  check(low <= high || low != low || high != high, op,
        ": max must be larger than min: min should not exceed max, but got min ", low, " max ",
        high);
  if (low == high && self.numel() > 0) {
    const DType compute = sum_compute_dtype(self.dtype());
    const Tensor dense = as_contiguous(self, compute);
    visit_ordered(compute, [&]<class T>(T) {
      const Range match = extremes(dense.data_as<T>(), dense.numel());
      low = match.low;
      high = match.high;
    });
  }
  check(std::isfinite(low) && std::isfinite(high), op, ": range of [", low, ", ", high,
        "] is not finite");
  return {low, high};
}

// Adds the weight of each element to its bin. `edges` corrects rounding at a bin's ends.
template <class T>
void count(T* hist, const T* x, const T* weights, int64_t n, const std::vector<T>& edges,
           bool evenly, bool exact) {
  const auto bins = static_cast<int64_t>(edges.size()) - 1;
  const T low = edges.front(), high = edges.back();
  for (int64_t i = 0; i < n; ++i) {
    if (!(x[i] >= low && x[i] <= high)) continue;  // NaN is in no bin
    int64_t bin = 0;
    if (evenly) {
      const T position = (x[i] - low) * static_cast<T>(bins) / (high - low);
      const bool inside = position < static_cast<T>(bins);
      bin = position > T(0) ? (inside ? static_cast<int64_t>(position) : bins - 1) : 0;
      while (exact && bin > 0 && x[i] < edges[static_cast<size_t>(bin)]) --bin;
      while (exact && bin < bins - 1 && x[i] >= edges[static_cast<size_t>(bin) + 1]) ++bin;
    } else {
      bin = std::upper_bound(edges.begin(), edges.end(), x[i]) - edges.begin() - 1;
      bin = std::min(bin, bins - 1);
    }
    if (bin >= 0) hist[bin] += weights ? weights[i] : T(1);
  }
}

// Counts the elements in each of `bins` bins of equal width. The bins of a block are computed
// first, without unpredictable branches, then counted in four tables in turn: neighbouring elements
// often share a bin, and would wait for each other.
template <class T>
void count_evenly(T* hist, const T* x, int64_t n, T low, T high, int64_t bins) {
  constexpr int64_t kBlock = 512, kTables = 4;
  const T all = static_cast<T>(bins), last = static_cast<T>(bins - 1);
  const int64_t width = bins + 1;  // the last entry counts elements in no bin
  std::vector<int64_t> counts(static_cast<size_t>(kTables * width));
  int32_t bin[kBlock];
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t size = std::min(kBlock, n - from);
    for (int64_t i = 0; i < size; ++i) {
      const T v = x[from + i];
      const T position = (v - low) * all / (high - low);
      const T within = position < last ? position : last;
      bin[i] = static_cast<int32_t>((v >= low) & (v <= high) ? within : all);
    }
    int64_t* const table = counts.data();
    for (int64_t i = 0; i < size; ++i) ++table[i % kTables * width + bin[i]];
  }
  for (int64_t b = 0; b < bins; ++b) {
    int64_t sum = 0;
    for (int64_t t = 0; t < kTables; ++t) sum += counts[static_cast<size_t>(t * width + b)];
    hist[b] += static_cast<T>(sum);
  }
}

template <class T>
std::vector<T> even_edges(Range range, int64_t bins) {
  std::vector<T> edges(static_cast<size_t>(bins) + 1);
  const T low = static_cast<T>(range.low), high = static_cast<T>(range.high);
  const T step = (high - low) / static_cast<T>(bins);
  for (int64_t i = 0; i <= bins; ++i)  // from both ends, so that both are exact
    edges[static_cast<size_t>(i)] =
        i <= bins / 2 ? low + step * static_cast<T>(i) : high - step * static_cast<T>(bins - i);
  return edges;
}

template <class T>
void histogram_over(const Tensor& self, const std::vector<T>& edges, const Tensor& weight,
                    bool density, bool evenly, const Tensor& hist, const Tensor& bounds) {
  const auto bins = static_cast<int64_t>(edges.size()) - 1;
  std::copy(edges.begin(), edges.end(), bounds.data_as<T>());
  T* counts = hist.data_as<T>();
  std::fill_n(counts, bins, T(0));
  const Tensor x = as_contiguous(self);
  const Tensor w = weight ? as_contiguous(weight) : Tensor();
  if (bins > 0)
    count(counts, x.data_as<T>(), w ? w.data_as<T>() : nullptr, x.numel(), edges, evenly, true);
  if (!density) return;
  double total = 0;
  for (int64_t i = 0; i < bins; ++i) total += static_cast<double>(counts[i]);
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<size_t>(i);
    counts[i] = static_cast<T>(static_cast<double>(counts[i]) / total /
                               static_cast<double>(edges[at + 1] - edges[at]));
  }
}

}  // namespace

void histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max,
           const Tensor& result) {
  Range range = range_of(self, min.to_double(), max.to_double(), "histc");
  if (range.low == range.high) range = {range.low - 1, range.high + 1};
  const DType compute = sum_compute_dtype(self.dtype());
  const Tensor x = as_contiguous(self, compute);
  visit_ordered(compute, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> counts(static_cast<size_t>(bins), T(0));
      constexpr int64_t kMaxBins = int64_t{1} << 16;  // four tables of these fit the cache
      if (bins <= kMaxBins)
        count_evenly(counts.data(), x.data_as<T>(), x.numel(), static_cast<T>(range.low),
                     static_cast<T>(range.high), bins);
      else
        count(counts.data(), x.data_as<T>(), static_cast<const T*>(nullptr), x.numel(),
              even_edges<T>(range, bins), true, false);
      cast_run(result.data(), result.dtype(), counts.data(), compute, bins);
    }
  });
}

void histogram_bin_ct(const Tensor& self, int64_t bins,
                      const std::optional<std::vector<double>>& range, const Tensor& weight,
                      bool density, const Tensor& hist, const Tensor& bin_edges) {
  Range ends{0, 1};
  if (range)
    ends = {(*range)[0], (*range)[1]};
  else if (self.numel() > 0)
    ends = range_of(self, 0, 0, "histogram");
  if (ends.low == ends.high) ends = {ends.low - 0.5, ends.high + 0.5};
  visit_ordered(self.dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      histogram_over(self, even_edges<T>(ends, bins), weight, density, true, hist, bin_edges);
  });
}

void histogram_bins_tensor(const Tensor& self, const Tensor& bins, const Tensor& weight,
                           bool density, const Tensor& hist, const Tensor& bin_edges) {
  const Tensor dense = as_contiguous(bins);
  visit_ordered(self.dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const T* first = dense.data_as<T>();
      const std::vector<T> edges(first, first + dense.numel());
      histogram_over(self, edges, weight, density, false, hist, bin_edges);
    }
  });
}

}  // namespace uh::kernels
