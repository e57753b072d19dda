#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

// histc and histogram: the number of elements in each bin.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/statistics/selected.h"
#include "generated/kernels/statistics.h"
#include "generated/ops/statistics.h"

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

void check_bins(int64_t bins, std::string_view op) {
  check(bins > 0, op, "(): bins must be > 0, but got ", bins);
  check(bins < (int64_t{1} << 40), op, "(): too many bins: ", bins);
}

using Pair = std::tuple<Tensor, Tensor>;

void check_weight(const Tensor& self, const Tensor& weight) {
  check_kind(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
             ErrorKind::kNotImplemented, "\"histogramdd\" not implemented for '",
             info(self.dtype()).title, "'");
  if (!weight) return;
  check(weight.sizes() == self.sizes(), "histogram: if weight tensor is provided it should have ",
        "the same shape as the input tensor, but got ", self.sizes(), " and ", weight.sizes());
  check(weight.dtype() == self.dtype(),
        "histogram: if weight tensor is provided, input tensor and ",
        "weight tensor should have the same dtype, but got ", name(self.dtype()), " and ",
        name(weight.dtype()));
}

template <class T>
Pair histogram_over(const Tensor& self, const std::vector<T>& edges, const Tensor& weight,
                    bool density, bool evenly) {
  const auto bins = static_cast<int64_t>(edges.size()) - 1;
  Tensor hist = empty(Dims{bins}, self.dtype(), self.device());
  Tensor bounds = empty(Dims{bins + 1}, self.dtype(), self.device());
  std::copy(edges.begin(), edges.end(), bounds.data_as<T>());
  T* counts = hist.data_as<T>();
  std::fill_n(counts, bins, T(0));
  const Tensor x = as_contiguous(self);
  const Tensor w = weight ? as_contiguous(weight) : Tensor();
  if (bins > 0)
    count(counts, x.data_as<T>(), w ? w.data_as<T>() : nullptr, x.numel(), edges, evenly, true);
  if (density) {
    double total = 0;
    for (int64_t i = 0; i < bins; ++i) total += static_cast<double>(counts[i]);
    for (int64_t i = 0; i < bins; ++i) {
      const auto at = static_cast<size_t>(i);
      counts[i] = static_cast<T>(static_cast<double>(counts[i]) / total /
                                 static_cast<double>(edges[at + 1] - edges[at]));
    }
  }
  record_write(hist);
  record_write(bounds);
  return {hist, bounds};
}

Pair histogram_of(const Tensor& self, const std::optional<Range>& range, int64_t bins,
                  const Tensor& input, const Tensor& weight, bool density) {
  Pair result;
  visit_ordered(self.dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      if (range) {
        result = histogram_over(self, even_edges<T>(*range, bins), weight, density, true);
      } else {
        const Tensor dense = as_contiguous(input);
        const T* first = dense.data_as<T>();
        result = histogram_over(self, std::vector<T>(first, first + dense.numel()), weight, density,
                                false);
      }
    }
  });
  return result;
}

}  // namespace

Tensor histc(KeySet, const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented,
             "\"histogram_cpu\" not implemented for '", info(self.dtype()).title, "'");
  check_bins(bins, "histc");
  Tensor out = empty(Dims{bins}, self.dtype(), self.device());
  if (out.is_meta()) return out;
  const double given_low = min.to_double(), given_high = max.to_double();
  check(given_low <= given_high, "torch.histc: max must be larger than min, got ", min, " and ",
        max);
  Range range = range_of(self, given_low, given_high, "histc");
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
      cast_run(out.data(), out.dtype(), counts.data(), compute, bins);
    }
  });
  record_write(out);
  return out;
}

Pair histogram_bin_ct(KeySet, const Tensor& self, int64_t bins,
                      const std::optional<std::vector<double>>& range, const Tensor& weight,
                      bool density) {
  check_weight(self, weight);
  check_bins(bins, "histogram");
  check(!range || range->size() == 2, "histogram: range should have 2 elements, but got ",
        range ? range->size() : 0);
  if (self.is_meta()) {
    return {empty(Dims{bins}, self.dtype(), self.device()),
            empty(Dims{bins + 1}, self.dtype(), self.device())};
  }
  Range ends{0, 0};
  if (range) {
    ends = {(*range)[0], (*range)[1]};
    check(std::isfinite(ends.low) && std::isfinite(ends.high), "histogram: range [", ends.low, ", ",
          ends.high, "] is not finite");
    check(ends.low <= ends.high, "histogram: min should not exceed max, but got min ", ends.low,
          " max ", ends.high);
  } else if (self.numel() == 0) {
    ends = {0, 1};
  } else {
    ends = range_of(self, 0, 0, "histogram");
  }
  if (ends.low == ends.high) ends = {ends.low - 0.5, ends.high + 0.5};
  return histogram_of(self, ends, bins, Tensor(), weight, density);
}

Pair histogram_bins_tensor(KeySet, const Tensor& self, const Tensor& bins, const Tensor& weight,
                           bool density) {
  check_weight(self, weight);
  check(bins.ndim() == 1, "histogram: bins tensor should have one dimension, but got ", bins.ndim(),
        " dimensions");
  check(bins.numel() >= 1, "histogram: bins tensor should have at least 1 element, but got 0");
  check(bins.numel() >= 2, "histogram(): bins must be > 0, but got 0");
  check(bins.dtype() == self.dtype(), "histogram: input tensor and bins tensor should have the ",
        "same dtype, but got ", name(self.dtype()), " and ", name(bins.dtype()));
  if (self.is_meta()) {
    return {empty(Dims{bins.numel() - 1}, self.dtype(), self.device()),
            empty(Dims{bins.numel()}, self.dtype(), self.device())};
  }
  return histogram_of(self, std::nullopt, 0, bins, weight, density);
}

}  // namespace uh::kernels
