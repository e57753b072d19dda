// The kernels of scan.yaml: cumulative sums, products and extremes.
#include "backend/cpu/scan_loops.h"

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/reduce/reducer.h"
#include "backend/cpu/scan/lines.h"
#include "generated/kernels/scan.h"

namespace uh::kernels {
namespace {

void scan(const Tensor& self, int64_t dim, ScanOp op, std::string_view name, const Tensor& result,
          bool reversed = false) {
  if ((self.ndim() == 0 || self.numel() == 0) && op != ScanOp::kLogSumExp)
    return copy_elements(result, self);  // the scan of a 0-d tensor is itself
  const DType dtype = result.dtype(), compute = sum_compute_dtype(dtype);
  // Elements are rounded to the result's dtype before they are added, as in PyTorch.
  const Tensor rounded = self.dtype() == dtype ? self : as_contiguous(self, dtype);
  const Tensor x = as_contiguous(rounded, compute);
  const Tensor computed = dtype == compute ? result : empty(self.sizes(), compute);
  const Scan& loop = reversed ? scan_loops().reversed_sum[static_cast<int>(compute)]
                              : scan_loops().scan[static_cast<int>(op)][static_cast<int>(compute)];
  check_kind(loop.rows != nullptr, ErrorKind::kNotImplemented, "\"", name,
             "_out_cpu\" not implemented for '", info(dtype).title, "'");
  const int64_t item = itemsize(compute);
  const Lines lines(x, wrap_dim(dim, self.ndim(), name));
  lines.for_groups([&](int64_t start, int64_t count) {
    std::byte* to = computed.data() + start * item;
    const std::byte* from = x.data() + start * item;
    if (lines.inner == 1)
      loop.rows(to, from, count, lines.n);
    else
      loop.columns(to, from, lines.inner, lines.n, count);
  });
  if (dtype != compute) copy_elements(result, computed);
}

void running_extreme(const Tensor& self, int64_t dim, bool max, const Tensor& values,
                     const Tensor& indices) {
  if (self.numel() == 0) return;
  if (self.ndim() == 0) {
    copy_elements(values, self);
    return fill_elements(indices, element_bytes(0, indices.dtype()));
  }
  const DType compute = extreme_compute_dtype(self.dtype());
  const bool direct = compute == self.dtype();
  const Tensor x = as_contiguous(self, compute);
  const Tensor computed = direct ? values : empty(self.sizes(), compute);
  const ScanBest best = scan_loops().best[max ? 1 : 0][static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  const Lines lines(x, wrap_dim(dim, self.ndim(), ""));
  lines.for_each([&](int64_t at) {
    best(computed.data() + at * item, indices.data_as<int64_t>() + at, x.data() + at * item,
         lines.inner, lines.n);
  });
  if (!direct) copy_elements(values, computed);
}

}  // namespace

void cumsum(const Tensor& self, int64_t dim, DType, const Tensor& result) {
  scan(self, dim, ScanOp::kSum, "cumsum", result);
}
void cumsum_reversed(const Tensor& self, int64_t dim, const Tensor& result) {
  scan(self, dim, ScanOp::kSum, "cumsum", result, true);
}
void cumprod(const Tensor& self, int64_t dim, DType, const Tensor& result) {
  scan(self, dim, ScanOp::kProd, "cumprod", result);
}
void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& result) {
  scan(self, dim, ScanOp::kLogSumExp, "logcumsumexp", result);
}

void cummax(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  running_extreme(self, dim, true, values, indices);
}
void cummin(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  running_extreme(self, dim, false, values, indices);
}

}  // namespace uh::kernels
