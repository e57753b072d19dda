#include "backend/cpu/normalize/common.h"

#include <algorithm>

#include "backend/cpu/copy/elements.h"
#include "ops/normalize/shapes.h"

namespace uh {

NormalizeInput prepare_normalize(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  NormalizeInput in;
  in.compute = statistics_dtype(input.dtype());
  in.x = as_contiguous(input, in.compute);
  if (weight) in.weight = as_contiguous(weight, in.compute);
  if (bias) in.bias = as_contiguous(bias, in.compute);
  return in;
}

LoopOutput::LoopOutput(const Tensor& result, DType compute) : result_(result) {
  if (!result) return;
  const bool is_direct = result.dtype() == compute && result.is_contiguous();
  buffer_ = is_direct ? result : empty(result.sizes(), compute);
}

void LoopOutput::store() const {
  if (result_ && result_.data() != buffer_.data()) copy_elements(result_, buffer_);
}

Numbers numbers_of(const Tensor& t, double otherwise, int64_t n) {
  Numbers out(static_cast<size_t>(n), otherwise);
  if (!t) return out;
  check(t.numel() == n, "normalisation: expected ", n, " numbers, got sizes ", t.sizes());
  const Tensor dense = as_contiguous(t, DType::kFloat64);
  std::copy_n(dense.data_as<double>(), n, out.begin());
  return out;
}

void store_numbers(const Tensor& result, const Numbers& numbers) {
  if (result)
    cast_run(result.data(), result.dtype(), numbers.data(), DType::kFloat64, result.numel());
}

}  // namespace uh
