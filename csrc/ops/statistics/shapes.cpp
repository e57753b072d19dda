#include "ops/statistics/shapes.h"

#include <cmath>

#include "ops/reduce/shapes.h"

namespace uh {

QuantileInterpolation interpolation_of(const std::string& name) {
  constexpr std::string_view kNames[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  for (int i = 0; i < 5; ++i)
    if (name == kNames[i]) return static_cast<QuantileInterpolation>(i);
  fail(ErrorKind::kRuntime, "quantile() interpolation must be one of linear, lower, higher, ",
       "midpoint or nearest, but got ", name);
}

QuantileInterpolation check_quantile(const Tensor& self, const std::string& interpolation) {
  check(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
        "quantile() input tensor must be either float or double dtype, got ",
        info(self.dtype()).title);
  check(self.numel() > 0, "quantile() input tensor must be non-empty, got sizes ", self.sizes());
  return interpolation_of(interpolation);
}

void check_quantile(const Tensor& self, const Tensor& q) {
  check(q.ndim() <= 1, "quantile() q must be a scalar or 1D tensor, got sizes ", q.sizes());
  check(is_floating(self.dtype()),
        "quantile() input tensor must be either float or double dtype, got ",
        info(self.dtype()).title);
  check(q.dtype() == self.dtype(),
        "quantile() q tensor must be same dtype as the input tensor, got ", name(q.dtype()),
        " and ", name(self.dtype()));
}

void check_quantile(double q) {
  check(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
}

}  // namespace uh

namespace uh::shapes {
namespace {

void check_comparable(const Tensor& self, std::string_view op, bool accepts_bool = false) {
  check_kind(!is_complex(self.dtype()) && (accepts_bool || self.dtype() != DType::kBool),
             ErrorKind::kNotImplemented, "\"", op, "_cpu\" not implemented for '",
             info(self.dtype()).title, "'");
}

std::tuple<Tensor, Tensor> element_along(std::string_view op, const Tensor& self, int64_t dim,
                                         bool keepdim) {
  const ReducedDims dims(self, Dims{wrap_dim(dim, self.ndim(), op)}, op);
  dims.check_not_empty(self, op);
  const Dims sizes = dims.result_sizes(self, keepdim);
  return {empty(sizes, self.dtype(), self.device()), empty(sizes, DType::kInt64, self.device())};
}

// `several`: the quantiles become the first dimension, of size `count`.
Tensor quantiles(const Tensor& self, bool several, int64_t count, std::optional<int64_t> dim,
                 bool keepdim, const std::string& interpolation) {
  check_quantile(self, interpolation);
  std::optional<Dims> dims;
  if (dim) dims = Dims{wrap_dim(*dim, self.ndim(), "quantile")};
  Dims sizes = ReducedDims(self, dims, "quantile").result_sizes(self, keepdim);
  // The quantiles of a line are adjacent in memory, though their dimension comes first.
  Dims strides = contiguous_strides(sizes);
  for (int64_t& stride : strides) stride *= std::max<int64_t>(count, 1);
  if (several) {
    sizes.insert(0, count);
    strides.insert(0, 1);
  }
  return empty_strided(sizes, strides, self.dtype(), self.device());
}

void check_bins(int64_t bins, std::string_view op) {
  check(bins > 0, op, "(): bins must be > 0, but got ", bins);
  check(bins < (int64_t{1} << 40), op, "(): too many bins: ", bins);
}

void check_weight(const Tensor& self, const Tensor& weight) {
  check_kind(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
             ErrorKind::kNotImplemented, "\"histogramdd\" not implemented for '",
             info(self.dtype()).title, "'");
  if (!weight) return;
  check(weight.sizes() == self.sizes(),
        "histogram: if weight tensor is provided it should have the same shape as the input "
        "tensor, but got ",
        self.sizes(), " and ", weight.sizes());
  check(weight.dtype() == self.dtype(),
        "histogram: if weight tensor is provided, input tensor and weight tensor should have the "
        "same dtype, but got ",
        name(self.dtype()), " and ", name(weight.dtype()));
}

std::tuple<Tensor, Tensor> counts_and_edges(const Tensor& self, int64_t bins) {
  return {empty(Dims{bins}, self.dtype(), self.device()),
          empty(Dims{bins + 1}, self.dtype(), self.device())};
}

}  // namespace

Tensor median(std::string_view op, const Tensor& self) {
  if (self.numel() > 0) check_comparable(self, op);
  return empty({}, self.dtype(), self.device());
}

std::tuple<Tensor, Tensor> median(const Tensor& self, int64_t dim, bool keepdim) {
  auto result = element_along("median", self, dim, keepdim);
  check_comparable(self, "median");
  return result;
}

// A number is its own mode and k-th value, of any dtype.
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, self.ndim(), "kthvalue");
  const int64_t n = self.ndim() ? self.size(d) : 1;
  ReducedDims(self, Dims{d}, "kthvalue").check_not_empty(self, "kthvalue");
  check(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", d,
        ": k = ", k, ", size ", n);
  if (self.ndim() > 0) check_comparable(self, "kthvalue");
  return element_along("kthvalue", self, d, keepdim);
}

std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim) {
  auto result = element_along("mode", self, dim, keepdim);
  if (self.ndim() > 0 && self.numel() > 0) check_comparable(self, "mode", true);
  return result;
}

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation) {
  check_quantile(self, q);
  return quantiles(self, q.ndim() == 1, q.numel(), dim, keepdim, interpolation);
}

Tensor quantile(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation) {
  check_quantile(q);
  return quantiles(self, false, 1, dim, keepdim, interpolation);
}

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented,
             "\"histogram_cpu\" not implemented for '", info(self.dtype()).title, "'");
  check_bins(bins, "histc");
  check(min.to_double() <= max.to_double(), "torch.histc: max must be larger than min, got ", min,
        " and ", max);
  return empty(Dims{bins}, self.dtype(), self.device());
}

std::tuple<Tensor, Tensor> histogram(const Tensor& self, const Tensor& bins, const Tensor& weight) {
  check_weight(self, weight);
  check(bins.ndim() == 1, "histogram: bins tensor should have one dimension, but got ", bins.ndim(),
        " dimensions");
  check(bins.numel() >= 1, "histogram: bins tensor should have at least 1 element, but got 0");
  check(bins.numel() >= 2, "histogram(): bins must be > 0, but got 0");
  check(bins.dtype() == self.dtype(),
        "histogram: input tensor and bins tensor should have the same dtype, but got ",
        name(self.dtype()), " and ", name(bins.dtype()));
  return counts_and_edges(self, bins.numel() - 1);
}

std::tuple<Tensor, Tensor> histogram(const Tensor& self, int64_t bins,
                                     const std::optional<std::vector<double>>& range,
                                     const Tensor& weight) {
  check_weight(self, weight);
  check_bins(bins, "histogram");
  check(!range || range->size() == 2, "histogram: range should have 2 elements, but got ",
        range ? range->size() : 0);
  if (range) {
    const double low = (*range)[0], high = (*range)[1];
    check(std::isfinite(low) && std::isfinite(high), "histogram: range [", low, ", ", high,
          "] is not finite");
    check(low <= high, "histogram: min should not exceed max, but got min ", low, " max ", high);
  }
  return counts_and_edges(self, bins);
}

}  // namespace uh::shapes
