// Running sums, products and extremes.
#include "backend/cpu/scan_loops.h"

#include "backend/cpu/reduce/reducer.h"
#include "backend/cpu/scan/lines.h"
#include "base/parallel.h"
#include "generated/kernels/scan.h"
#include "ops/copy/copy.h"

namespace uh::kernels {
namespace {

Tensor scanned(const Tensor& self, int64_t dim, DType dtype, ScanOp op, std::string_view name,
               bool reversed = false) {
  const int64_t d = wrap_dim(dim, self.ndim(), name);
  if ((self.ndim() == 0 || self.numel() == 0) && op != ScanOp::kLogSumExp) {
    Tensor out = empty(self.sizes(), dtype, self.device());  // a number is its own sum
    if (!out.is_meta()) copy_elements(out, self);
    return out;
  }
  check_kind(dtype != DType::kBool, ErrorKind::kNotImplemented, "\"", name,
             "_out_cpu\" not implemented for 'Bool'");
  Tensor out = empty(self.sizes(), dtype, self.device());
  if (out.is_meta()) return out;
  const DType compute = sum_compute_dtype(dtype);
  const Tensor x = as_contiguous(self, dtype == compute ? dtype : compute);
  Tensor result = dtype == compute ? out : empty(self.sizes(), compute, self.device());
  const Scan& scan = reversed ? scan_loops().reversed_sum[static_cast<int>(compute)]
                              : scan_loops().scan[static_cast<int>(op)][static_cast<int>(compute)];
  check_kind(scan.rows != nullptr, ErrorKind::kNotImplemented, "\"", name,
             "_out_cpu\" not implemented for '", info(dtype).title, "'");
  const int64_t item = itemsize(compute);
  const Lines lines(x, d);
  lines.for_groups([&](int64_t start, int64_t count) {
    std::byte* to = result.data() + start * item;
    const std::byte* from = x.data() + start * item;
    if (lines.inner == 1)
      scan.rows(to, from, count, lines.n);
    else
      scan.columns(to, from, lines.inner, lines.n, count);
  });
  if (result.dtype() != dtype) copy_elements(out, result);
  record_write(out);
  return out;
}

DType given(DType dtype, DType otherwise) { return dtype == DType::kUndefined ? otherwise : dtype; }
DType counted(DType dtype) { return is_inexact(dtype) ? dtype : DType::kInt64; }

std::tuple<Tensor, Tensor> running_best(const Tensor& self, int64_t dim, bool max) {
  const char* name = max ? "cummax" : "cummin";
  const int64_t d = wrap_dim(dim, self.ndim(), name);
  check_kind(!is_complex(self.dtype()), ErrorKind::kNotImplemented, "\"", name,
             "_cpu\" not implemented for '", info(self.dtype()).title, "'");
  Tensor values = empty(self.sizes(), self.dtype(), self.device());
  Tensor indices = empty(self.sizes(), DType::kInt64, self.device());
  if (values.is_meta()) return {values, indices};
  const DType compute = extreme_compute_dtype(self.dtype());
  const bool direct = compute == self.dtype();
  const Tensor x = as_contiguous(self, compute);
  Tensor result = direct ? values : empty(self.sizes(), compute, self.device());
  const ScanBest best = scan_loops().best[max ? 1 : 0][static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  const Lines lines(x, d);
  lines.for_each([&](int64_t at) {
    best(result.data() + at * item, indices.data_as<int64_t>() + at, x.data() + at * item,
         lines.inner, lines.n);
  });
  if (!direct) copy_elements(values, result);
  record_write(values);
  record_write(indices);
  return {values, indices};
}

}  // namespace

Tensor cumsum(KeySet, const Tensor& self, int64_t dim, DType dtype) {
  return scanned(self, dim, given(dtype, counted(self.dtype())), ScanOp::kSum, "cumsum");
}
Tensor cumsum_reversed(KeySet, const Tensor& self, int64_t dim) {
  return scanned(self, dim, counted(self.dtype()), ScanOp::kSum, "cumsum", true);
}
Tensor cumprod(KeySet, const Tensor& self, int64_t dim, DType dtype) {
  return scanned(self, dim, given(dtype, counted(self.dtype())), ScanOp::kProd, "cumprod");
}

void cumsum_out(KeySet, const Tensor& self, int64_t dim, DType dtype, const Tensor& out) {
  check_out_overlap(out, self.sizes(), self, false, "cumsum");
  write_exact_out(out, scanned(self, dim, given(dtype, out.dtype()), ScanOp::kSum, "cumsum"),
                  "cumsum");
}
void cumprod_out(KeySet, const Tensor& self, int64_t dim, DType dtype, const Tensor& out) {
  check_out_overlap(out, self.sizes(), self, false, "cumprod");
  write_exact_out(out, scanned(self, dim, given(dtype, out.dtype()), ScanOp::kProd, "cumprod"),
                  "cumprod");
}

void cumsum_inplace(KeySet keys, const Tensor& self, int64_t dim, DType dtype) {
  cumsum_out(keys, self, dim, dtype, self);
}
void cumprod_inplace(KeySet keys, const Tensor& self, int64_t dim, DType dtype) {
  cumprod_out(keys, self, dim, dtype, self);
}

std::tuple<Tensor, Tensor> cummax(KeySet, const Tensor& self, int64_t dim) {
  return running_best(self, dim, true);
}
std::tuple<Tensor, Tensor> cummin(KeySet, const Tensor& self, int64_t dim) {
  return running_best(self, dim, false);
}

Tensor logcumsumexp(KeySet, const Tensor& self, int64_t dim) {
  check_kind(is_inexact(self.dtype()), ErrorKind::kNotImplemented,
             "\"logcumsumexp_out_cpu\" not implemented for '", info(self.dtype()).title, "'");
  return scanned(self, dim, self.dtype(), ScanOp::kLogSumExp, "logcumsumexp");
}

}  // namespace uh::kernels
