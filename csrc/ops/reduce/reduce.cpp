// The operators of reduce.yaml.
#include "generated/kernels/reduce.h"
#include "ops/copy/copy.h"
#include "ops/reduce/reducer.h"

namespace uh::kernels {
namespace {

DType given(DType dtype, DType otherwise) { return dtype == DType::kUndefined ? otherwise : dtype; }

// What sum and prod give for an input: integers are counted in int64.
DType sum_dtype(DType dtype) { return is_inexact(dtype) ? dtype : DType::kInt64; }

Tensor folded(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, FoldOp op,
              DType dtype, std::string_view name, bool mean = false) {
  const ReducedDims dims(self, dim, name);
  Tensor out = empty(dims.result_sizes(self, keepdim), dtype, self.device());
  if (out.is_meta()) return out;
  const double divisor = mean ? static_cast<double>(dims.count(self)) : -1;
  fold_into(out, self, dims, op, dtype, sum_compute_dtype(dtype), divisor);
  record_write(out);
  return out;
}

Tensor extreme(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, FoldOp op,
               std::string_view name) {
  const ReducedDims dims(self, dim, name);
  dims.check_not_empty(self, name);
  Tensor out = empty(dims.result_sizes(self, keepdim), self.dtype(), self.device());
  if (out.is_meta()) return out;
  fold_into(out, self, dims, op, self.dtype(), extreme_compute_dtype(self.dtype()));
  record_write(out);
  return out;
}

// all is the minimum of truth values, any their maximum.
Tensor truth(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, FoldOp op,
             std::string_view name) {
  const ReducedDims dims(self, dim, name);
  const DType result = self.dtype() == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
  Tensor out = empty(dims.result_sizes(self, keepdim), result, self.device());
  if (out.is_meta()) return out;
  if (dims.count(self) == 0) {
    fill_elements(out, element_bytes(op == FoldOp::kMin ? 1 : 0, result));
  } else {
    fold_into(out, self, dims, op, DType::kBool, DType::kUInt8);
  }
  record_write(out);
  return out;
}

Tensor extreme_of_all(const Tensor& self, FoldOp op, std::string_view name) {
  check(self.numel() > 0, name,
        "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
        "reduction dim with the 'dim' argument.");
  return extreme(self, std::nullopt, false, op, name);
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
  check_kind(self.dtype() != DType::kBool, ErrorKind::kNotImplemented, "\"", name,
             "_cpu\" not implemented for 'Bool'");
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

Tensor max_all(KeySet, const Tensor& self) { return extreme_of_all(self, FoldOp::kMax, "max"); }
Tensor min_all(KeySet, const Tensor& self) { return extreme_of_all(self, FoldOp::kMin, "min"); }

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

void sum_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
             DType dtype, const Tensor& out) {
  write_out(out, sum(keys, self, dim, keepdim, dtype), "sum");
}
void prod_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              DType dtype, const Tensor& out) {
  write_out(out, prod(keys, self, dim, keepdim, dtype), "prod");
}
void mean_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              DType dtype, const Tensor& out) {
  write_out(out, mean(keys, self, dim, keepdim, dtype), "mean");
}
void amax_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              const Tensor& out) {
  write_out(out, amax(keys, self, dim, keepdim), "amax");
}
void amin_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
              const Tensor& out) {
  write_out(out, amin(keys, self, dim, keepdim), "amin");
}
void reduce_all_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                    const Tensor& out) {
  write_out(out, reduce_all(keys, self, dim, keepdim), "all");
}
void reduce_any_out(KeySet keys, const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                    const Tensor& out) {
  write_out(out, reduce_any(keys, self, dim, keepdim), "any");
}
void argmax_out(KeySet keys, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
                const Tensor& out) {
  write_out(out, argmax(keys, self, dim, keepdim), "argmax");
}
void argmin_out(KeySet keys, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
                const Tensor& out) {
  write_out(out, argmin(keys, self, dim, keepdim), "argmin");
}

}  // namespace uh::kernels
