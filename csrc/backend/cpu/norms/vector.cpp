// The kernel of norms.yaml: one reduction over the elements.
#include <cmath>

#include "backend/cpu/reduce/reducer.h"
#include "generated/kernels/norms.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "ops/copy/in_dtype.h"

namespace uh::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void square_root(void* values, const std::byte* acc, int64_t n, double) {
  const auto* sums = reinterpret_cast<const double*>(acc);
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(values)[i] = std::sqrt(sums[i]);
}

void power(void* values, const std::byte* acc, int64_t n, double exponent) {
  const auto* sums = reinterpret_cast<const double*>(acc);
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(values)[i] = std::pow(sums[i], exponent);
}

FoldOp fold_for(double ord) {
  if (ord == 2) return FoldOp::kSquareSum;
  if (ord == kInfinity) return FoldOp::kAbsMax;
  return ord == -kInfinity ? FoldOp::kAbsMin : FoldOp::kAbsSum;
}

}  // namespace

void linalg_vector_norm(const Tensor& self, const Scalar& ord_, const std::optional<Dims>& dim,
                        bool, DType dtype, const Tensor& result) {
  const double ord = ord_.to_double();
  const ReducedDims dims(self, dim);
  const DType real = result.dtype(), compute = sum_compute_dtype(real);
  const Tensor x =
      is_complex(self.dtype()) ? ops::abs(in_dtype(self, or_else(dtype, self.dtype()))) : self;
  if (ord != 0 && self.numel() == result.numel() && self.numel() > 0) {  // norms of one element
    fold_into({{result}}, x, dims, FoldOp::kAbsMax, real, compute);
  } else if (ord == 0) {
    fold_into({{result}}, ops::ne(x, Scalar(0)), dims, FoldOp::kSum, DType::kBool, DType::kUInt8);
  } else if (ord == 2) {
    fold_into({{result, square_root}}, x, dims, FoldOp::kSquareSum, real, compute);
  } else if (ord == 1 || std::isinf(ord)) {
    fold_into({{result}}, x, dims, fold_for(ord), real, compute);
  } else {
    const Tensor powers = ops::pow(ops::abs(in_dtype(x, compute)), Scalar(ord));
    fold_into({{result, power, 1 / ord}}, powers, dims, FoldOp::kSum, compute, compute);
  }
}

}  // namespace uh::kernels
