// The operators of reduce.yaml.
#include "generated/kernels/reduce.h"

#include <cmath>

#include "backend/cpu/reduce/reducer.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/bits.h"
#include "generated/ops/comparison.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "ops/copy/copy.h"

namespace uh::kernels {
namespace {

DType given(DType dtype, DType otherwise) { return dtype == DType::kUndefined ? otherwise : dtype; }

// What sum and prod give for an input: integers are counted in int64.
DType sum_dtype(DType dtype) { return is_inexact(dtype) ? dtype : DType::kInt64; }

// Accumulators of floats and, as two doubles each, of complex numbers, divided by the count.
template <int kParts>
void divided(void* values, const std::byte* acc, int64_t n, double count) {
  const auto* sums = reinterpret_cast<const double*>(acc);
  for (int64_t i = 0; i < n * kParts; ++i) static_cast<double*>(values)[i] = sums[i] / count;
}

Tensor folded(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, FoldOp op,
              DType dtype, std::string_view name, bool mean = false) {
  const ReducedDims dims(self, dim, name);
  Tensor out = empty(dims.result_sizes(self, keepdim), dtype, self.device());
  if (out.is_meta()) return out;
  const bool counted = op == FoldOp::kSum && dtype == DType::kInt64 && self.dtype() == DType::kBool;
  const DType read_as = counted ? DType::kBool : dtype;
  const DType compute = counted ? DType::kUInt8 : sum_compute_dtype(dtype);
  if (mean) {
    const auto count = static_cast<double>(dims.count(self));
    fold_into({{out, is_complex(dtype) ? divided<2> : divided<1>, count}}, self, dims, op, read_as,
              compute);
  } else {
    fold_into({{out}}, self, dims, op, read_as, compute);
  }
  record_write(out);
  return out;
}

Tensor extreme(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, FoldOp op,
               std::string_view name) {
  const ReducedDims dims(self, dim, name);
  check(self.numel() > 0 || (dim && !dim->empty()), name,
        "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
        "reduction dim with the 'dim' argument.");
  dims.check_not_empty(self, name);
  Tensor out = empty(dims.result_sizes(self, keepdim), self.dtype(), self.device());
  if (out.is_meta()) return out;
  fold_into({{out}}, self, dims, op, self.dtype(), extreme_compute_dtype(self.dtype()));
  record_write(out);
  return out;
}

// all is the minimum of truth values, any their maximum.
Tensor truth(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, FoldOp op,
             std::string_view name) {
  const ReducedDims dims(self, dim, name);
  if (dim && dim->empty()) {  // here an empty list means no dimension
    const Tensor truths = ops::ne(self, Scalar(0));
    return self.dtype() != DType::kUInt8 ? truths : as_contiguous(truths, DType::kUInt8);
  }
  const DType result = self.dtype() == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
  Tensor out = empty(dims.result_sizes(self, keepdim), result, self.device());
  if (out.is_meta()) return out;
  if (dims.count(self) == 0) {
    fill_elements(out, element_bytes(op == FoldOp::kMin ? 1 : 0, result));
  } else {
    fold_into({{out}}, self, dims, op, DType::kBool, DType::kUInt8);
  }
  record_write(out);
  return out;
}

void check_truth(const Tensor& out, std::string_view name) {
  check(out.dtype() == DType::kBool || out.dtype() == DType::kUInt8, name,
        " only supports bool tensor for result, got: ", info(out.dtype()).title);
}

std::tuple<Tensor, Tensor> extreme_along(const Tensor& self, int64_t dim, bool keepdim, bool max) {
  const char* name = max ? "max" : "min";
  check(!is_complex(self.dtype()), name, "(): does not support complex input");
  const int64_t d = wrap_dim(dim, self.ndim(), name);
  const ReducedDims dims(self, Dims{d}, name);
  dims.check_not_empty(self, name);
  const Dims sizes = dims.result_sizes(self, keepdim);
  Tensor values = empty(sizes, self.dtype(), self.device());
  Tensor indices = empty(sizes, DType::kInt64, self.device());
  if (!self.is_meta()) {
    best_into(values, indices, self, d, max);
    record_write(values);
    record_write(indices);
  }
  return {values, indices};
}

Tensor index_of_extreme(const Tensor& self, std::optional<int64_t> dim, bool keepdim, bool max) {
  const char* name = max ? "argmax" : "argmin";
  check(!is_complex(self.dtype()), name, "(): does not support complex input");
  check(self.dtype() != DType::kBool, name, "(): does not support bool input");
  if (dim) {
    const int64_t d = wrap_dim(*dim, self.ndim(), name);
    const ReducedDims dims(self, Dims{d}, name);
    dims.check_not_empty(self, name);
    Tensor out = empty(dims.result_sizes(self, keepdim), DType::kInt64, self.device());
    if (out.is_meta()) return out;
    best_into(Tensor(), out, self, d, max);
    record_write(out);
    return out;
  }
  check_kind(self.numel() > 0, ErrorKind::kIndex, name,
             "(): Expected reduction dim to be specified for input.numel() "
             "== 0. Specify the reduction dim with the 'dim' argument.");
  Tensor out = empty(keepdim ? Dims(self.sizes().size(), 1) : Dims(), DType::kInt64, self.device());
  if (out.is_meta()) return out;
  // The index counts in row-major order: one row of all elements.
  const Tensor dense = as_contiguous(self);
  best_in_row(out, dense, max);
  record_write(out);
  return out;
}

}  // namespace

// Halves are folded onto each other until one slice is left.
Tensor hash_tensor(KeySet, const Tensor& self, const Dims& dim, bool keepdim, int64_t mode) {
  check(mode == 0, "Unknown hash_tensor mode: ", mode);
  const ReducedDims dims(self, dim, "hash_tensor");
  check(self.numel() > 0 || !dim.empty(),
        "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
        "reduction dim with the 'dim' argument.");
  dims.check_not_empty(self, "hash_tensor");
  check_kind(!is_complex(self.dtype()), ErrorKind::kNotImplemented,
             "\"xor_sum_cpu\" not implemented for '", info(self.dtype()).title, "'");
  const Dims sizes = dims.result_sizes(self, keepdim);
  if (self.is_meta() || self.numel() == 0) return empty(sizes, DType::kInt64, self.device());
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
  if (bits.storage() == self.storage()) bits = ops::clone(bits, MemoryFormat::kContiguous);
  return ops::reshape(bits, sizes);
}

Tensor sum(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  return folded(self, dim, keepdim, FoldOp::kSum, given(dtype, sum_dtype(self.dtype())), "sum");
}

Tensor prod(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  return folded(self, dim, keepdim, FoldOp::kProd, given(dtype, sum_dtype(self.dtype())), "prod");
}

Tensor mean(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  const DType target = given(dtype, self.dtype());
  check(is_inexact(target), "mean(): could not infer output dtype. ",
        dtype == DType::kUndefined ? "Input" : "Optional",
        " dtype must be either a floating point or complex dtype. Got: ", info(target).title);
  return folded(self, dim, keepdim, FoldOp::kSum, target, "mean", true);
}

Tensor amax(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return extreme(self, dim, keepdim, FoldOp::kMax, "amax");
}
Tensor amin(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return extreme(self, dim, keepdim, FoldOp::kMin, "amin");
}
Tensor reduce_all(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return truth(self, dim, keepdim, FoldOp::kMin, "all");
}
Tensor reduce_any(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return truth(self, dim, keepdim, FoldOp::kMax, "any");
}

Tensor max_all(KeySet, const Tensor& self) {
  return extreme(self, std::nullopt, false, FoldOp::kMax, "max");
}
Tensor min_all(KeySet, const Tensor& self) {
  return extreme(self, std::nullopt, false, FoldOp::kMin, "min");
}

std::tuple<Tensor, Tensor> max_dim(KeySet, const Tensor& self, int64_t dim, bool keepdim) {
  return extreme_along(self, dim, keepdim, true);
}
std::tuple<Tensor, Tensor> min_dim(KeySet, const Tensor& self, int64_t dim, bool keepdim) {
  return extreme_along(self, dim, keepdim, false);
}

Tensor argmax(KeySet, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return index_of_extreme(self, dim, keepdim, true);
}
Tensor argmin(KeySet, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return index_of_extreme(self, dim, keepdim, false);
}

Tensor max_other(KeySet, const Tensor& self, const Tensor& other) {
  return ops::maximum(self, other);
}
Tensor min_other(KeySet, const Tensor& self, const Tensor& other) {
  return ops::minimum(self, other);
}

std::tuple<Tensor, Tensor> aminmax(KeySet, const Tensor& self, std::optional<int64_t> dim,
                                   bool keepdim) {
  std::optional<Dims> dims;
  if (dim) dims = Dims{*dim};
  return {extreme(self, dims, keepdim, FoldOp::kMin, "aminmax"),
          extreme(self, dims, keepdim, FoldOp::kMax, "aminmax")};
}

Tensor count_nonzero_dims(KeySet, const Tensor& self, const Dims& dim) {
  const ReducedDims dims(self, dim, "count_nonzero");
  Tensor out = empty(dims.result_sizes(self, false), DType::kInt64, self.device());
  if (out.is_meta()) return out;
  fold_into({{out}}, self, dims, FoldOp::kSum, DType::kBool, DType::kUInt8);
  record_write(out);
  return out;
}
Tensor count_nonzero(KeySet keys, const Tensor& self, std::optional<int64_t> dim) {
  return count_nonzero_dims(keys, self, dim ? Dims{*dim} : Dims{});
}

Tensor nansum(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              DType dtype) {
  check(!is_complex(self.dtype()), "nansum does not support complex inputs");
  const DType target = given(dtype, self.dtype());
  check_kind(!is_complex(target), ErrorKind::kNotImplemented,
             "\"nansum_cpu\" not implemented for '", info(target).title, "'");
  const bool may_be_nan = is_floating(self.dtype()) && is_inexact(target);
  if (!may_be_nan) return sum(keys, self, dim, keepdim, dtype);
  return folded(self, dim, keepdim, FoldOp::kNanSum, given(dtype, self.dtype()), "nansum");
}

namespace {

// The dtype that nanmean computes in.
DType nanmean_dtype(const Tensor& self, DType dtype) {
  check(is_inexact(self.dtype()),
        "nanmean(): expected input to have floating point or complex dtype but got ",
        info(self.dtype()).title);
  check(!is_complex(self.dtype()), "nansum does not support complex inputs");
  const DType target = given(dtype, self.dtype());
  check(
      is_inexact(target),
      "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or "
      "complex dtype. Got: ",
      info(target).title);
  check(!is_complex(target), "nansum does not support complex inputs");
  return target;
}

}  // namespace

Tensor nanmean(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
               DType dtype) {
  const DType target = nanmean_dtype(self, dtype);
  const Tensor total = folded(self, dim, keepdim, FoldOp::kNanSum, target, "nanmean");
  return ops::div(total, folded(self, dim, keepdim, FoldOp::kNumbers, target, "nanmean"));
}

// The same where gradients are required, composed of operators.
Tensor nanmean_calls(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                     DType dtype);
Tensor nanmean_calls(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                     DType dtype) {
  nanmean_dtype(self, dtype);
  const Tensor numbers = ops::logical_not(ops::isnan(self));
  return ops::div(ops::nansum(self, dim, keepdim, dtype),
                  ops::sum(numbers, dim, keepdim, DType::kUndefined));
}

namespace {

// The largest real part is taken out before the exponentials.
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

Tensor logsumexp(KeySet, const Tensor& self, const Dims& dim, bool keepdim) {
  if (is_complex(self.dtype())) return complex_logsumexp(self, dim, keepdim);
  const DType dtype = is_floating(self.dtype()) ? self.dtype() : default_dtype();
  const ReducedDims dims(self, dim, "logsumexp");
  Tensor out = empty(dims.result_sizes(self, keepdim), dtype, self.device());
  if (out.is_meta()) return out;
  const auto result = [](void* values, const std::byte* acc, int64_t n, double) {
    const auto* parts = reinterpret_cast<const LogSumExp*>(acc);
    for (int64_t i = 0; i < n; ++i) {
      const double from = std::isfinite(parts[i].largest) ? parts[i].largest : 0;
      static_cast<double*>(values)[i] = from + std::log(parts[i].sum);
    }
  };
  fold_into({{out, result}}, self, dims, FoldOp::kLogSumExp, dtype, sum_compute_dtype(dtype));
  record_write(out);
  return out;
}
Tensor special_logsumexp(KeySet, const Tensor& self, const Dims& dim, bool keepdim) {
  return ops::logsumexp(self, dim, keepdim);
}

// Without a dtype `out` says what is computed in.
void sum_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
             DType dtype, const Tensor& out) {
  write_exact_out(out, sum(keys, self, dim, keepdim, given(dtype, out.dtype())), "sum");
}
void prod_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              DType dtype, const Tensor& out) {
  write_exact_out(out, prod(keys, self, dim, keepdim, given(dtype, out.dtype())), "prod");
}
void nansum_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                DType dtype, const Tensor& out) {
  check_kind(!is_floating(self.dtype()) || is_inexact(out.dtype()), ErrorKind::kNotImplemented,
             "\"nansum_cpu\" not implemented for '", info(out.dtype()).title, "'");
  write_exact_out(out, nansum(keys, self, dim, keepdim, given(dtype, out.dtype())), "nansum");
}
void nanmean_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                 DType dtype, const Tensor& out) {
  check_kind(is_inexact(out.dtype()), ErrorKind::kNotImplemented,
             "\"nansum_cpu\" not implemented for '", info(out.dtype()).title, "'");
  write_out(out, nanmean(keys, self, dim, keepdim, dtype), "nanmean");
}
void mean_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              DType dtype, const Tensor& out) {
  const Tensor result = mean(keys, self, dim, keepdim, dtype);
  return dtype == DType::kUndefined ? write_out(out, result, "mean")
                                    : write_exact_out(out, result, "mean");
}

namespace {

// The result of uint8 is uint8; `out` may be bool all the same.
void write_truth(const Tensor& out, const Tensor& result, std::string_view op) {
  check_truth(out, op);
  const bool converts = out.dtype() == DType::kBool && result.dtype() != DType::kBool;
  write_out(out, converts ? ops::ne(result, Scalar(0)) : result, op);
}

}  // namespace

void reduce_all_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                    const Tensor& out) {
  write_truth(out, reduce_all(keys, self, dim, keepdim), "all");
}
void reduce_any_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                    const Tensor& out) {
  write_truth(out, reduce_any(keys, self, dim, keepdim), "any");
}

}  // namespace uh::kernels
