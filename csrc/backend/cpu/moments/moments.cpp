// The operators of moments.yaml but for cov and corrcoef.
#include "generated/kernels/moments.h"

#include <cmath>

#include "backend/cpu/reduce/reducer.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/complex.h"
#include "generated/ops/moments.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

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

// The real (0) or the imaginary (1) parts of complex numbers.
Tensor part(const Tensor& self, int64_t which) {
  return ops::select(ops::view_as_real(self), -1, which);
}

struct OutputMask {
  const char* name;
  bool root, mean;
};

Pair moments(const Tensor& self, const std::optional<Dims>& dim, double correction, bool keepdim,
             const OutputMask& mask) {
  check(is_inexact(self.dtype()), mask.name,
        "(): only support floating point and complex dtypes, got ", info(self.dtype()).title);
  if (is_complex(self.dtype())) {  // the parts vary apart
    const auto [re, re_mean] =
        moments(part(self, 0), dim, correction, keepdim, {mask.name, false, mask.mean});
    const auto [im, im_mean] =
        moments(part(self, 1), dim, correction, keepdim, {mask.name, false, mask.mean});
    const Tensor both = ops::add(re, im, Scalar(1));
    return {mask.root ? ops::sqrt(both) : both,
            mask.mean ? ops::complex(re_mean, im_mean) : Tensor()};
  }
  const ReducedDims dims(self, dim, mask.name);
  const Dims sizes = dims.result_sizes(self, keepdim);
  Tensor out = empty(sizes, self.dtype(), self.device());
  Tensor mean = mask.mean ? empty(sizes, self.dtype(), self.device()) : Tensor();
  if (out.is_meta()) return {out, mean};
  const auto result = mask.root ? deviations : variances;
  const DType compute = sum_compute_dtype(self.dtype());
  if (mask.mean) {
    fold_into({{out, result, correction}, {mean, means}}, self, dims, FoldOp::kMoments,
              self.dtype(), compute);
    record_write(mean);
  } else {
    fold_into({{out, result, correction}}, self, dims, FoldOp::kMoments, self.dtype(), compute);
  }
  record_write(out);
  return {out, mean};
}

double lessened(const std::optional<Scalar>& correction) {
  return correction ? correction->to_double() : 1;
}

std::optional<Scalar> correction_of(bool unbiased) { return Scalar(unbiased ? 1 : 0); }

}  // namespace

Tensor var_correction(KeySet, const Tensor& self, const std::optional<Dims>& dim,
                      const std::optional<Scalar>& correction, bool keepdim) {
  return std::get<0>(moments(self, dim, lessened(correction), keepdim, {"var", false, false}));
}
Tensor std_correction(KeySet, const Tensor& self, const std::optional<Dims>& dim,
                      const std::optional<Scalar>& correction, bool keepdim) {
  return std::get<0>(moments(self, dim, lessened(correction), keepdim, {"std", true, false}));
}
Pair var_mean_correction(KeySet, const Tensor& self, const std::optional<Dims>& dim,
                         const std::optional<Scalar>& correction, bool keepdim) {
  return moments(self, dim, lessened(correction), keepdim, {"var_mean", false, true});
}
Pair std_mean_correction(KeySet, const Tensor& self, const std::optional<Dims>& dim,
                         const std::optional<Scalar>& correction, bool keepdim) {
  return moments(self, dim, lessened(correction), keepdim, {"std_mean", true, true});
}

Tensor var_all(KeySet, const Tensor& self, bool unbiased) {
  return ops::var_correction(self, std::nullopt, correction_of(unbiased), false);
}
Tensor std_all(KeySet, const Tensor& self, bool unbiased) {
  return ops::standard_deviation_correction(self, std::nullopt, correction_of(unbiased), false);
}
Pair var_mean(KeySet, const Tensor& self, bool unbiased) {
  return ops::var_mean_correction(self, std::nullopt, correction_of(unbiased), false);
}
Pair std_mean(KeySet, const Tensor& self, bool unbiased) {
  return ops::std_mean_correction(self, std::nullopt, correction_of(unbiased), false);
}

Tensor var_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
               bool keepdim) {
  return ops::var_correction(self, dim, correction_of(unbiased), keepdim);
}
Tensor std_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
               bool keepdim) {
  return ops::standard_deviation_correction(self, dim, correction_of(unbiased), keepdim);
}
Pair var_mean_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
                  bool keepdim) {
  return ops::var_mean_correction(self, dim, correction_of(unbiased), keepdim);
}
Pair std_mean_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
                  bool keepdim) {
  return ops::std_mean_correction(self, dim, correction_of(unbiased), keepdim);
}

}  // namespace uh::kernels
