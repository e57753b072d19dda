// The kernels of softmax.yaml.
#include "generated/kernels/softmax.h"

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/reduce/reducer.h"
#include "backend/cpu/scan/lines.h"
#include "backend/cpu/softmax_loops.h"

namespace uh::kernels {
namespace {

void exponential_shares(const Tensor& self, int64_t dim, bool log, const Tensor& result) {
  if (result.numel() == 0) return;
  const DType compute = sum_compute_dtype(self.dtype());
  const bool direct = compute == self.dtype();
  const Tensor x = as_contiguous(self, compute);
  const Tensor computed = direct ? result : empty(self.sizes(), compute);
  const SoftmaxLoops& loops = softmax_loops();
  const auto rows = loops.rows[log ? 1 : 0][static_cast<int>(compute)];
  const auto columns = loops.columns[log ? 1 : 0][static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  const Lines lines(x, wrap_dim(dim, self.ndim(), ""));
  lines.for_groups([&](int64_t start, int64_t count) {
    std::byte* to = computed.data() + start * item;
    const std::byte* from = x.data() + start * item;
    if (lines.inner == 1)
      rows(to, from, count, lines.n);
    else
      columns(to, from, lines.inner, lines.n, count);
  });
  if (!direct) copy_elements(result, computed);
}

// Computes the gradient of x from that of the output, softmax(x) or log_softmax(x).
void shares_backward(const Tensor& grad, const Tensor& output, int64_t dim, bool log,
                     const Tensor& result) {
  if (result.numel() == 0) return;
  const DType compute = sum_compute_dtype(output.dtype());
  const bool direct = compute == result.dtype();
  const Tensor g = as_contiguous(grad, compute), y = as_contiguous(output, compute);
  const Tensor computed = direct ? result : empty(output.sizes(), compute);
  const SoftmaxLoops& loops = softmax_loops();
  const auto rows = loops.rows_backward[log ? 1 : 0][static_cast<int>(compute)];
  const auto columns = loops.columns_backward[log ? 1 : 0][static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  const Lines lines(y, wrap_dim(dim, output.ndim(), ""));
  lines.for_groups([&](int64_t start, int64_t count) {
    const int64_t at = start * item;
    if (lines.inner == 1)
      rows(computed.data() + at, g.data() + at, y.data() + at, count, lines.n);
    else
      columns(computed.data() + at, g.data() + at, y.data() + at, lines.inner, lines.n, count);
  });
  if (!direct) copy_elements(result, computed);
}

}  // namespace

void softmax_of(const Tensor& self, int64_t dim, bool, const Tensor& result) {
  exponential_shares(self, dim, false, result);
}
void log_softmax_of(const Tensor& self, int64_t dim, bool, const Tensor& result) {
  exponential_shares(self, dim, true, result);
}

void softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                           const Tensor& result) {
  shares_backward(grad_output, output, dim, false, result);
}
void log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                               const Tensor& result) {
  shares_backward(grad_output, output, dim, true, result);
}

}  // namespace uh::kernels
