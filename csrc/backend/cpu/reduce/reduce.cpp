// The kernels of reduce.yaml.
#include "generated/kernels/reduce.h"

#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "generated/folds.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/bits.h"
#include "generated/ops/comparison.h"
#include "generated/ops/complex.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

void logarithms(void* values, const std::byte* acc, int64_t n, double) {
  const auto* parts = reinterpret_cast<const LogSumExp*>(acc);
  for (int64_t i = 0; i < n; ++i) {
    const double from = std::isfinite(parts[i].largest) ? parts[i].largest : 0;
    static_cast<double*>(values)[i] = from + std::log(parts[i].sum);
  }
}

void fold(const Tensor& self, const std::optional<Dims>& dim, FoldOp op, const Folded& result) {
  const DType dtype = result.out.dtype();
  fold_into({result}, self, ReducedDims(self, dim), op, dtype, sum_compute_dtype(dtype));
}

void fold_extreme(const Tensor& self, const std::optional<Dims>& dim, FoldOp op,
                  const Tensor& result) {
  if (result.numel() == 0) return;  // empty, so any dtype
  fold_into({{result}}, self, ReducedDims(self, dim), op, self.dtype(),
            extreme_fold_dtype(self.dtype()));
}

// all is the minimum of bools, any the maximum.
void fold_truth(const Tensor& self, const std::optional<Dims>& dim, FoldOp op,
                const Tensor& result) {
  const ReducedDims dims(self, dim);
  if (dim && dim->empty()) {
    copy_elements(result, ops::ne(self, Scalar(0)));
  } else if (dims.count(self) == 0) {
    fill_elements(result, element_bytes(op == FoldOp::kMin ? 1 : 0, result.dtype()));
  } else {
    fold_into({{result}}, self, dims, op, DType::kBool, DType::kUInt8);
  }
}

void index_of_extreme(const Tensor& self, std::optional<int64_t> dim, bool max,
                      const Tensor& result) {
  if (dim)
    best_into(Tensor(), result, self, wrap_dim(*dim, self.ndim(), ""), max);
  else  // the index is row-major: one row of all elements
    best_in_row(result, as_contiguous(self), max);
}

// Subtracts the largest real part before the exponentials.
Tensor complex_logsumexp(const Tensor& self, const Dims& dim, bool keepdim) {
  if (self.numel() == 0) return ops::log(ops::sum(ops::exp(self), dim, keepdim, DType::kUndefined));
  const Tensor real = ops::select(ops::view_as_real(self), -1, 0);
  Tensor from = ops::amax(real, dim, true);
  from = ops::where(ops::isfinite(from), from, Scalar(0.0));
  const Tensor shares = ops::exp(ops::sub(self, from, Scalar(1)));
  const Tensor total = ops::sum(shares, dim, keepdim, DType::kUndefined);
  return ops::add(ops::log(total), ops::reshape(from, total.sizes()), Scalar(1));
}

}  // namespace

// Folds one half onto the other until a single slice remains.
void hash_tensor(const Tensor& self, const Dims& dim, bool, int64_t, const Tensor& result) {
  if (self.numel() == 0) return;
  const ReducedDims dims(self, dim);
  Dims order;
  for (const bool reduced : {true, false}) {
    for (size_t d = 0; d < self.sizes().size(); ++d) {
      if (dims.has(d) == reduced) order.push_back(static_cast<int64_t>(d));
    }
  }
  Tensor bits = ops::permute(self, order);
  bits = is_inexact(self.dtype())
             ? ops::view_dtype(as_contiguous(bits, DType::kFloat64), DType::kInt64)
             : as_contiguous(bits, DType::kInt64);
  bits = ops::reshape(bits, Dims{dims.count(self), -1});
  while (bits.size(0) > 1) {
    const int64_t n = bits.size(0), half = n / 2;
    Tensor folded =
        ops::bitwise_xor(ops::narrow(bits, 0, 0, half), ops::narrow(bits, 0, half, half));
    if (n % 2 != 0) {
      const Tensor first = ops::narrow(folded, 0, 0, 1);
      ops::bitwise_xor_(first, ops::narrow(bits, 0, n - 1, 1));
    }
    bits = folded;
  }
  copy_elements(result, ops::reshape(bits, result.sizes()));
}

void aminmax(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& min,
             const Tensor& max) {
  fold_extreme(self, as_dims(dim), FoldOp::kMin, min);
  fold_extreme(self, as_dims(dim), FoldOp::kMax, max);
}
void max_all(const Tensor& self, const Tensor& result) {
  fold_extreme(self, std::nullopt, FoldOp::kMax, result);
}
void min_all(const Tensor& self, const Tensor& result) {
  fold_extreme(self, std::nullopt, FoldOp::kMin, result);
}

void reduce_all(const Tensor& self, const std::optional<Dims>& dim, bool, const Tensor& result) {
  fold_truth(self, dim, FoldOp::kMin, result);
}
void reduce_any(const Tensor& self, const std::optional<Dims>& dim, bool, const Tensor& result) {
  fold_truth(self, dim, FoldOp::kMax, result);
}

void max_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  best_into(values, indices, self, wrap_dim(dim, self.ndim(), "max"), true);
}
void min_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  best_into(values, indices, self, wrap_dim(dim, self.ndim(), "min"), false);
}
void argmax(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& result) {
  index_of_extreme(self, dim, true, result);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& result) {
  index_of_extreme(self, dim, false, result);
}

void count_nonzero_dims(const Tensor& self, const Dims& dim, const Tensor& result) {
  fold_into({{result}}, self, ReducedDims(self, dim), FoldOp::kSum, DType::kBool, DType::kUInt8);
}
void count_nonzero(const Tensor& self, std::optional<int64_t> dim, const Tensor& result) {
  count_nonzero_dims(self, dim ? Dims{*dim} : Dims{}, result);
}

void nanmean(const Tensor& self, const std::optional<Dims>& dim, bool, DType,
             const Tensor& result) {
  const Tensor count = empty_like(result, result.dtype());
  run_fold(fold_nansum, self, dim, result);
  fold(self, dim, FoldOp::kNumbers, {count});
  copy_elements(result, ops::div(result, count));
}

void logsumexp(const Tensor& self, const Dims& dim, bool keepdim, const Tensor& result) {
  if (is_complex(self.dtype()))
    copy_elements(result, complex_logsumexp(self, dim, keepdim));
  else
    fold(self, dim, FoldOp::kLogSumExp, {result, logarithms});
}

}  // namespace uh::kernels
