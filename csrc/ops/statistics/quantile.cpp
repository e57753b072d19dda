// quantile and nanquantile.
#include "base/parallel.h"
#include "generated/kernels/statistics.h"
#include "generated/ops/statistics.h"
#include "ops/statistics/selected.h"

namespace uh::kernels {
namespace {

enum class Between { kLinear, kLower, kHigher, kMidpoint, kNearest };

Between between_of(const std::string& name) {
  constexpr std::string_view kNames[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  for (int i = 0; i < 5; ++i)
    if (name == kNames[i]) return static_cast<Between>(i);
  fail(ErrorKind::kRuntime, "quantile() interpolation must be one of linear, lower, higher, ",
       "midpoint or nearest, but got ", name);
}

// The value at a fractional rank of a sorted line.
template <class T>
T at_rank(const std::vector<T>& line, T rank, Between between) {
  if (between == Between::kLower) rank = std::floor(rank);
  if (between == Between::kHigher) rank = std::ceil(rank);
  if (between == Between::kNearest) rank = std::nearbyint(rank);
  const T below = std::floor(rank);
  const T low = line[static_cast<size_t>(below)];
  const T weight = between == Between::kMidpoint ? T(0.5) : rank - below;
  if (between != Between::kLinear && between != Between::kMidpoint) return low;
  const T high = line[static_cast<size_t>(std::ceil(rank))];
  return weight < T(0.5) ? low + weight * (high - low) : high - (high - low) * (T(1) - weight);
}

// The quantiles q of a line.
template <class T>
void quantiles_of(T* out, const T* x, int64_t stride, int64_t n, const std::vector<T>& q,
                  Between between, bool ignore_nan, std::vector<T>& line) {
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
  if (q.size() == 1) {  // one rank and the next: no need to sort
    const auto below = line.begin() + static_cast<int64_t>(std::floor(q[0] * last));
    std::nth_element(line.begin(), below, line.end());
    if (below + 1 != line.end()) std::iter_swap(below + 1, std::min_element(below + 1, line.end()));
  } else {
    std::sort(line.begin(), line.end());
  }
  for (size_t k = 0; k < q.size(); ++k) out[k] = at_rank(line, q[k] * last, between);
}

Tensor quantiles(const Tensor& self, const std::vector<double>& q, bool several,
                 std::optional<int64_t> dim, bool keepdim, const std::string& interpolation,
                 bool ignore_nan) {
  check(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
        "quantile() input tensor must be either float or double dtype, got ",
        info(self.dtype()).title);
  check(self.numel() > 0, "quantile() input tensor must be non-empty, got sizes ", self.sizes());
  const Between between = between_of(interpolation);
  std::optional<Dims> dims;
  if (dim) dims = Dims{wrap_dim(*dim, self.ndim(), "quantile")};
  Dims sizes = ReducedDims(self, dims, "quantile").result_sizes(self, keepdim);
  // The quantiles of a line lie side by side, though their dimension comes first.
  const auto wide = several ? static_cast<int64_t>(q.size()) : 1;
  Dims strides = contiguous_strides(sizes);
  for (int64_t& stride : strides) stride *= std::max<int64_t>(wide, 1);
  if (several) {
    sizes.insert(0, wide);
    strides.insert(0, 1);
  }
  Tensor out = empty_strided(sizes, strides, self.dtype(), self.device());
  if (out.is_meta() || q.empty()) return out;
  const Tensor dense = as_contiguous(self);
  Lines lines(dense, dim ? (*dims)[0] : 0);
  if (!dim) lines.outer = lines.inner = 1, lines.n = dense.numel();
  visit_ordered(self.dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> wanted(q.begin(), q.end());
      const int64_t grain = std::max<int64_t>(1, 4096 / lines.n);
      parallel_for(0, lines.count(), grain, [&](int64_t lo, int64_t hi) {
        std::vector<T> line;
        for (int64_t i = lo; i < hi; ++i) {
          quantiles_of(out.data_as<T>() + i * wide, dense.data_as<T>() + lines.start(i),
                       lines.inner, lines.n, wanted, between, ignore_nan, line);
        }
      });
    }
  });
  record_write(out);
  return out;
}

Tensor of_tensor(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                 const std::string& interpolation, bool ignore_nan) {
  check(q.ndim() <= 1, "quantile() q must be a scalar or 1D tensor, got sizes ", q.sizes());
  check(is_floating(self.dtype()),
        "quantile() input tensor must be either float or double dtype, got ",
        info(self.dtype()).title);
  check(q.dtype() == self.dtype(),
        "quantile() q tensor must be same dtype as the input tensor, got ", name(q.dtype()),
        " and ", name(self.dtype()));
  std::vector<double> wanted(static_cast<size_t>(q.numel()));
  if (!q.is_meta()) {
    const Tensor dense = as_contiguous(q, DType::kFloat64);
    std::copy_n(dense.data_as<double>(), q.numel(), wanted.begin());
  }
  for (double one : wanted)
    check(one >= 0 && one <= 1, "quantile() q values must be in the range [0, 1], got ", one);
  return quantiles(self, wanted, q.ndim() == 1, dim, keepdim, interpolation, ignore_nan);
}

Tensor of_number(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                 const std::string& interpolation, bool ignore_nan) {
  check(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
  return quantiles(self, {q}, false, dim, keepdim, interpolation, ignore_nan);
}

}  // namespace

Tensor quantile(KeySet, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                bool keepdim, const std::string& interpolation) {
  return of_tensor(self, q, dim, keepdim, interpolation, false);
}
Tensor quantile_scalar(KeySet, const Tensor& self, double q, std::optional<int64_t> dim,
                       bool keepdim, const std::string& interpolation) {
  return of_number(self, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(KeySet, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                   bool keepdim, const std::string& interpolation) {
  return of_tensor(self, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile_scalar(KeySet, const Tensor& self, double q, std::optional<int64_t> dim,
                          bool keepdim, const std::string& interpolation) {
  return of_number(self, q, dim, keepdim, interpolation, true);
}

}  // namespace uh::kernels
