// Composites of reduce.yaml.
#include "generated/kernels/reduce.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/reduce.h"
#include "ops/copy/write_out.h"
#include "ops/reduce/shapes.h"

namespace uh::kernels {
namespace {

void check_truth_out(const Tensor& out, std::string_view op) {
  check(out.dtype() == DType::kBool || out.dtype() == DType::kUInt8, op,
        " only supports bool tensor for result, got: ", info(out.dtype()).title);
}
// The result of uint8 is uint8, but `out` may be bool.
void write_truth(const Tensor& out, const Tensor& result, std::string_view op) {
  const bool converts = out.dtype() == DType::kBool && result.dtype() != DType::kBool;
  write_out(out, converts ? ops::ne(result, Scalar(0)) : result, op);
}

}  // namespace

Tensor max_other(KeySet, const Tensor& self, const Tensor& other) {
  return ops::maximum(self, other);
}
Tensor min_other(KeySet, const Tensor& self, const Tensor& other) {
  return ops::minimum(self, other);
}

Tensor special_logsumexp(KeySet, const Tensor& self, const Dims& dim, bool keepdim) {
  return ops::logsumexp(self, dim, keepdim);
}

// nanmean when gradients are required.
Tensor nanmean_calls(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                     DType dtype);
Tensor nanmean_calls(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                     DType dtype) {
  shapes::nanmean_dtype(self, dtype);
  const Tensor numbers = ops::logical_not(ops::isnan(self));
  return ops::div(ops::nansum(self, dim, keepdim, dtype),
                  ops::sum(numbers, dim, keepdim, DType::kUndefined));
}

// Without a dtype argument, computes in the dtype of `out`.
void sum_out(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype,
             const Tensor& out) {
  write_exact_out(out, ops::sum(self, dim, keepdim, or_else(dtype, out.dtype())), "sum");
}
void prod_out(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype,
              const Tensor& out) {
  write_exact_out(out, ops::prod(self, dim, keepdim, or_else(dtype, out.dtype())), "prod");
}
void nansum_out(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                DType dtype, const Tensor& out) {
  check_kind(!is_floating(self.dtype()) || is_inexact(out.dtype()), ErrorKind::kNotImplemented,
             "\"nansum_cpu\" not implemented for '", info(out.dtype()).title, "'");
  write_exact_out(out, ops::nansum(self, dim, keepdim, or_else(dtype, out.dtype())), "nansum");
}
void nanmean_out(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                 DType dtype, const Tensor& out) {
  shapes::nanmean_dtype(self, dtype);
  if (dtype != DType::kUndefined) check_out_dtype(out, dtype, "nanmean");
  check_kind(is_floating(out.dtype()), ErrorKind::kNotImplemented,
             "\"nansum_cpu\" not implemented for '", info(out.dtype()).title, "'");
  write_out(out, ops::nanmean(self, dim, keepdim, out.dtype()), "nanmean");
}
// Sums in the dtype of `out`, so that a complex `self` and a real `out` give the mean of the real
// parts.
void mean_out(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype,
              const Tensor& out) {
  shapes::mean_dtype(self, dtype);
  if (dtype != DType::kUndefined) check_out_dtype(out, dtype, "mean");
  check(dim || is_complex(out.dtype()) || !is_complex(self.dtype()), "mean: input type ",
        info(self.dtype()).title, " can't be cast to the desired output type ",
        info(out.dtype()).title);
  const DType summed = is_reduced_floating(out.dtype()) ? DType::kFloat32 : out.dtype();
  const Tensor sum = ops::sum(self, dim, keepdim, summed);
  const auto count = static_cast<double>(ReducedDims(self, dim, "mean").count(self));
  write_out(out, ops::div(sum, Scalar(count)), "mean");
}

void reduce_all_out(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                    const Tensor& out) {
  check_truth_out(out, "all");
  write_truth(out, ops::all(self, dim, keepdim), "all");
}
void reduce_any_out(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                    const Tensor& out) {
  check_truth_out(out, "any");
  write_truth(out, ops::any(self, dim, keepdim), "any");
}

}  // namespace uh::kernels
