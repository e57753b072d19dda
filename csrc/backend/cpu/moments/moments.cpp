// The kernels of moments.yaml.
#include "generated/kernels/moments.h"

#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/reduce/reducer.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/complex.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

void variances(void* values, const std::byte* acc, int64_t n, double correction) {
  const auto* parts = reinterpret_cast<const Moments*>(acc);
  for (int64_t i = 0; i < n; ++i) {
    const double freedom = std::max(0.0, parts[i].count - correction);
    static_cast<double*>(values)[i] = parts[i].squares / freedom;
  }
}

void deviations(void* values, const std::byte* acc, int64_t n, double correction) {
  variances(values, acc, n, correction);
  auto* roots = static_cast<double*>(values);
  for (int64_t i = 0; i < n; ++i) roots[i] = std::sqrt(roots[i]);
}

void means(void* values, const std::byte* acc, int64_t n, double) {
  const auto* parts = reinterpret_cast<const Moments*>(acc);
  for (int64_t i = 0; i < n; ++i)
    static_cast<double*>(values)[i] = parts[i].count > 0 ? parts[i].mean : std::nan("");
}

// Computes variances or standard deviations, and the means unless `mean` is empty.
void moments(const Tensor& self, const std::optional<Dims>& dim,
             const std::optional<Scalar>& correction, bool root, const Tensor& spread,
             const Tensor& mean = Tensor()) {
  if (is_complex(self.dtype())) {  // the variance is the sum of the parts'
    const auto part = [&](int64_t which) {
      const Tensor elements = ops::select(ops::view_as_real(self), -1, which);
      const Tensor part_spread = empty_like(spread, spread.dtype());
      const Tensor part_mean = mean ? empty_like(spread, spread.dtype()) : Tensor();
      moments(elements, dim, correction, false, part_spread, part_mean);
      return std::pair(part_spread, part_mean);
    };
    const auto [re, re_mean] = part(0);
    const auto [im, im_mean] = part(1);
    const Tensor both = ops::add(re, im, Scalar(1));
    copy_elements(spread, root ? ops::sqrt(both) : both);
    if (mean) copy_elements(mean, ops::complex(re_mean, im_mean));
    return;
  }
  const Folded first{spread, root ? deviations : variances,
                     correction ? correction->to_double() : 1};
  const ReducedDims dims(self, dim);
  const DType compute = sum_compute_dtype(self.dtype());
  if (mean)
    fold_into({first, {mean, means}}, self, dims, FoldOp::kMoments, self.dtype(), compute);
  else
    fold_into({first}, self, dims, FoldOp::kMoments, self.dtype(), compute);
}

}  // namespace

void var_correction(const Tensor& self, const std::optional<Dims>& dim,
                    const std::optional<Scalar>& correction, bool, const Tensor& result) {
  moments(self, dim, correction, false, result);
}
void std_correction(const Tensor& self, const std::optional<Dims>& dim,
                    const std::optional<Scalar>& correction, bool, const Tensor& result) {
  moments(self, dim, correction, true, result);
}
void var_mean_correction(const Tensor& self, const std::optional<Dims>& dim,
                         const std::optional<Scalar>& correction, bool, const Tensor& variance,
                         const Tensor& mean) {
  moments(self, dim, correction, false, variance, mean);
}
void std_mean_correction(const Tensor& self, const std::optional<Dims>& dim,
                         const std::optional<Scalar>& correction, bool, const Tensor& deviation,
                         const Tensor& mean) {
  moments(self, dim, correction, true, deviation, mean);
}

}  // namespace uh::kernels
