// The gradient of embedding: each gradient is added to its row of the table.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/embedding/rows.h"
#include "base/parallel.h"
#include "generated/kernels/embedding.h"

namespace uh::kernels {
namespace {

// Threads divide the table: each adds to its rows only, in the order of the indices.
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

void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                              int64_t padding_idx, bool scale_grad_by_freq, const Tensor& out) {
  const int64_t width = out.size(1), n = indices.numel();
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
}

}  // namespace uh::kernels
