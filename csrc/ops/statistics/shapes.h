// Shape rules of statistics.yaml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

// The value of a quantile between two elements.
enum class QuantileInterpolation { kLinear, kLower, kHigher, kMidpoint, kNearest };
QuantileInterpolation interpolation_of(const std::string& name);

// Checks what the shape rules of quantiles check, except `dim`.
QuantileInterpolation check_quantile(const Tensor& self, const std::string& interpolation);
void check_quantile(const Tensor& self, const Tensor& q);
void check_quantile(double q);

}  // namespace uh

namespace uh::shapes {

Tensor median(std::string_view op, const Tensor& self);
// Values and indices.
std::tuple<Tensor, Tensor> median(const Tensor& self, int64_t dim, bool keepdim);
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim);
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim);

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation);
Tensor quantile(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation);

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max);
// Counts and edges.
std::tuple<Tensor, Tensor> histogram(const Tensor& self, const Tensor& bins, const Tensor& weight);
std::tuple<Tensor, Tensor> histogram(const Tensor& self, int64_t bins,
                                     const std::optional<std::vector<double>>& range,
                                     const Tensor& weight);

}  // namespace uh::shapes
