// quantile and nanquantile.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/statistics/selected.h"
#include "base/parallel.h"
#include "generated/kernels/statistics.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/masked.h"
#include "generated/ops/reduce.h"
#include "generated/ops/rounding.h"
#include "generated/ops/sort.h"
#include "generated/ops/statistics.h"
#include "generated/ops/view.h"
#include "ops/statistics/shapes.h"

namespace uh::kernels {
namespace {

// Returns the value at a fractional rank of a sorted line.
template <class T>
T at_rank(const std::vector<T>& line, T rank, QuantileInterpolation between) {
  if (between == QuantileInterpolation::kLower) rank = std::floor(rank);
  if (between == QuantileInterpolation::kHigher) rank = std::ceil(rank);
  if (between == QuantileInterpolation::kNearest) rank = std::nearbyint(rank);
  const T below = std::floor(rank);
  const T low = line[static_cast<size_t>(below)];
  const T weight = between == QuantileInterpolation::kMidpoint ? T(0.5) : rank - below;
  if (between != QuantileInterpolation::kLinear && between != QuantileInterpolation::kMidpoint)
    return low;
  const T high = line[static_cast<size_t>(std::ceil(rank))];
  return weight < T(0.5) ? low + weight * (high - low) : high - (high - low) * (T(1) - weight);
}

// Computes the quantiles q of a line.
template <class T>
void quantiles_of(T* out, const T* x, int64_t stride, int64_t n, const std::vector<T>& q,
                  QuantileInterpolation between, bool ignore_nan, std::vector<T>& line) {
  line.clear();
  bool nan = false;
  for (int64_t i = 0; i < n; ++i) {
    if (!is_nan(x[i * stride]))
      line.push_back(x[i * stride]);
    else
      nan = true;
  }
  if (line.empty() || (nan && !ignore_nan)) {
    for (size_t k = 0; k < q.size(); ++k) out[k] = std::numeric_limits<T>::quiet_NaN();
    return;
  }
  const T last = static_cast<T>(line.size() - 1);
  if (q.size() == 1) {  // one rank and the next: no sort needed
    const auto below = line.begin() + static_cast<int64_t>(std::floor(q[0] * last));
    std::nth_element(line.begin(), below, line.end());
    if (below + 1 != line.end()) std::iter_swap(below + 1, std::min_element(below + 1, line.end()));
  } else {
    std::sort(line.begin(), line.end());
  }
  for (size_t k = 0; k < q.size(); ++k) out[k] = at_rank(line, q[k] * last, between);
}

// Writes the quantiles q of each line; those of a line are adjacent in memory.
void write_quantiles(const Tensor& self, const std::vector<double>& q, std::optional<int64_t> dim,
                     const std::string& interpolation, bool ignore_nan, const Tensor& out) {
  if (q.empty()) return;
  const QuantileInterpolation between = interpolation_of(interpolation);
  const auto wide = static_cast<int64_t>(q.size());
  const Tensor dense = as_contiguous(self);
  Lines lines(dense, dim ? wrap_dim(*dim, self.ndim(), "quantile") : 0);
  if (!dim) lines.outer = lines.inner = 1, lines.n = dense.numel();
  visit_ordered(self.dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> ranks(q.begin(), q.end());
      const int64_t grain = std::max<int64_t>(1, 4096 / lines.n);
      parallel_for(0, lines.count(), grain, [&](int64_t lo, int64_t hi) {
        std::vector<T> line;
        for (int64_t i = lo; i < hi; ++i) {
          quantiles_of(out.data_as<T>() + i * wide, dense.data_as<T>() + lines.start(i),
                       lines.inner, lines.n, ranks, between, ignore_nan, line);
        }
      });
    }
  });
}

// Returns the elements of `q`, none for a meta tensor; throws if one is not between 0 and 1.
std::vector<double> ranks_in(const Tensor& q) {
  if (q.is_meta()) return {};
  const Tensor dense = as_contiguous(q, DType::kFloat64);
  const auto* first = dense.data_as<double>();
  std::vector<double> ranks(first, first + q.numel());
  for (double rank : ranks)
    check(rank >= 0 && rank <= 1, "quantile() q values must be in the range [0, 1], got ", rank);
  return ranks;
}

// The same composed of operators, for gradients with respect to the elements and the ranks.
Tensor by_calls(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation, bool ignore_nan) {
  const QuantileInterpolation between = check_quantile(self, interpolation);
  const int64_t rank = self.ndim(), d = dim ? wrap_dim(*dim, rank, "quantile") : 0;
  Tensor lines = self;  // elements in the last dimension
  if (!dim || rank == 0)
    lines = ops::reshape(self, {self.numel()});
  else if (d != rank - 1)
    lines = ops::movedim(self, {d}, {-1});
  const Tensor sorted = std::get<0>(ops::sort(lines, -1, false));
  const Tensor nan = ops::isnan(sorted);
  const Scalar last(lines.size(lines.ndim() - 1) - 1);
  Tensor ranks = ops::reshape(q, {q.numel()});
  if (ignore_nan) {
    const Tensor numbers = ops::sum(ops::logical_not(nan), Dims{-1}, true);
    const Tensor last_number = ops::clamp_min(ops::sub(numbers, Scalar(1), Scalar(1)), Scalar(0));
    ranks = ops::mul(ranks, ops::_to_copy(last_number, self.dtype(), Device::kUndefined,
                                          MemoryFormat::kUndefined));
  } else {  // NaN sorts last, and makes its line NaN
    ranks = ops::masked_fill_Scalar(ops::mul(ranks, last), ops::any(nan, Dims{-1}, true), last);
  }
  if (between == QuantileInterpolation::kLower) ranks = ops::floor(ranks);
  if (between == QuantileInterpolation::kHigher) ranks = ops::ceil(ranks);
  if (between == QuantileInterpolation::kNearest) ranks = ops::round(ranks);
  const auto at = [&](const Tensor& positions) {
    return ops::gather(
        sorted, -1,
        ops::_to_copy(positions, DType::kInt64, Device::kUndefined, MemoryFormat::kUndefined));
  };
  const Tensor below = ops::floor(ranks);
  Tensor result = at(below);
  if (between == QuantileInterpolation::kMidpoint)
    result = ops::lerp_Scalar(result, at(ops::ceil(ranks)), Scalar(0.5));
  else if (between == QuantileInterpolation::kLinear)
    result = ops::lerp(result, at(ops::ceil(ranks)), ops::sub(ranks, below, Scalar(1)));
  result = q.ndim() == 0 ? ops::squeeze(result, Dims{-1}) : ops::movedim(result, {-1}, {0});
  if (!keepdim || rank == 0) return result;
  const int64_t first = q.ndim();  // the dimension of the ranks
  if (dim) return ops::unsqueeze(result, first + d);
  Dims sizes(static_cast<size_t>(rank), 1);
  if (first) sizes.insert(0, q.numel());
  return ops::reshape(result, sizes);
}

Tensor number(double q, const Tensor& like) {
  check_quantile(q);
  return ops::scalar_tensor(Scalar(q), like.dtype(), like.device());
}

}  // namespace

Tensor quantile_calls(KeySet, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                      bool keepdim, const std::string& interpolation);
Tensor nanquantile_calls(KeySet, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                         bool keepdim, const std::string& interpolation);
Tensor quantile_scalar_calls(KeySet, const Tensor& self, double q, std::optional<int64_t> dim,
                             bool keepdim, const std::string& interpolation);
Tensor nanquantile_scalar_calls(KeySet, const Tensor& self, double q, std::optional<int64_t> dim,
                                bool keepdim, const std::string& interpolation);

Tensor quantile_calls(KeySet, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                      bool keepdim, const std::string& interpolation) {
  check_quantile(self, q);
  ranks_in(q);
  return by_calls(self, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile_calls(KeySet, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                         bool keepdim, const std::string& interpolation) {
  check_quantile(self, q);
  ranks_in(q);
  return by_calls(self, q, dim, keepdim, interpolation, true);
}
Tensor quantile_scalar_calls(KeySet, const Tensor& self, double q, std::optional<int64_t> dim,
                             bool keepdim, const std::string& interpolation) {
  return by_calls(self, number(q, self), dim, keepdim, interpolation, false);
}
Tensor nanquantile_scalar_calls(KeySet, const Tensor& self, double q, std::optional<int64_t> dim,
                                bool keepdim, const std::string& interpolation) {
  return by_calls(self, number(q, self), dim, keepdim, interpolation, true);
}

void quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool,
              const std::string& interpolation, const Tensor& result) {
  write_quantiles(self, ranks_in(q), dim, interpolation, false, result);
}
void quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool,
                     const std::string& interpolation, const Tensor& result) {
  write_quantiles(self, {q}, dim, interpolation, false, result);
}
void nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool,
                 const std::string& interpolation, const Tensor& result) {
  write_quantiles(self, ranks_in(q), dim, interpolation, true, result);
}
void nanquantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool,
                        const std::string& interpolation, const Tensor& result) {
  write_quantiles(self, {q}, dim, interpolation, true, result);
}

}  // namespace uh::kernels
