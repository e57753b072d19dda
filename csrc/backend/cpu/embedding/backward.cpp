// The gradient of embedding: each gradient is added to the row it was read from.
#pragma GCC optimize("O3")

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/embedding/rows.h"
#include "base/parallel.h"
#include "generated/kernels/embedding.h"
#include "ops/operand_checks.h"

namespace uh::kernels {
namespace {

// Threads share the table: each adds the rows that are its own, in the order of the indices.
template <class T>
void add_rows(T* table, int64_t rows, const T* grad, const int64_t* index, int64_t n, int64_t width,
              int64_t padding, const std::vector<int64_t>& counts) {
  const int64_t work = std::max<int64_t>(1, n * width);
  const int64_t grain = std::max<int64_t>(1, rows * std::min<int64_t>(65536, work) / work);
  parallel_for(0, rows, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = index[i];
      if (row < lo || row >= hi || row == padding) continue;
      T* to = table + row * width;
      const T* from = grad + i * width;
      if (counts.empty()) {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) to[j] += from[j];
      } else {
        const T scale = T(1) / static_cast<T>(counts[static_cast<size_t>(row)]);
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) to[j] += from[j] * scale;
      }
    }
  });
}

}  // namespace

Tensor embedding_dense_backward(KeySet, const Tensor& grad_output, const Tensor& indices,
                                int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq) {
  check_together("embedding_dense_backward", grad_output, {&indices}, true);
  Dims expected = indices.sizes();
  if (grad_output.ndim() > 0) expected.push_back(grad_output.sizes().back());
  check(grad_output.ndim() > 0 && grad_output.sizes() == expected,
        "embedding_dense_backward: the gradient has sizes ", grad_output.sizes(), ", the indices ",
        indices.sizes());
  const int64_t width = expected.back(), n = indices.numel();
  check_kind(is_floating(grad_output.dtype()), ErrorKind::kNotImplemented,
             "\"embedding_backward\" not implemented for '", info(grad_output.dtype()).title, "'");
  Tensor out = empty(Dims{num_weights, width}, grad_output.dtype(), grad_output.device());
  if (out.is_meta()) return out;
  const Tensor numbers = row_numbers(indices, "embedding_backward");
  check_rows(numbers, out, "embedding_backward");
  const auto* index = numbers.data_as<int64_t>();
  std::vector<int64_t> counts;
  if (scale_grad_by_freq) {
    counts.resize(static_cast<size_t>(num_weights));
    for (int64_t i = 0; i < n; ++i) ++counts[static_cast<size_t>(index[i])];
  }
  const DType compute = is_reduced_floating(out.dtype()) ? DType::kFloat32 : out.dtype();
  const Tensor grad = as_contiguous(grad_output, compute);
  const Tensor result = compute == out.dtype() ? out : empty(out.sizes(), compute);
  fill_elements(result, ElementBytes{});
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    add_rows(result.data_as<T>(), num_weights, grad.data_as<T>(), index, n, width, padding_idx,
             counts);
  };
  compute == DType::kFloat32 ? run(float{}) : run(double{});
  if (compute != out.dtype()) copy_elements(out, result);
  record_write(out);
  return out;
}

}  // namespace uh::kernels
