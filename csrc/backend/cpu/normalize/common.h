// Shared by the normalisations: inputs and results as the loops want them.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// An input and its parameters as the loops want them: contiguous, in float32 or float64.
struct NormalizeInput {
  Tensor x, weight, bias;  // weight and bias may be undefined
  DType compute;
};
NormalizeInput prepare_normalize(const Tensor& input, const Tensor& weight, const Tensor& bias);

// The memory that loops write a result into: row-major, in their dtype. The result itself if it is that, else
// a buffer that `store` converts. An undefined result has no data.
class LoopOutput {
 public:
  LoopOutput(const Tensor& result, DType compute);
  std::byte* data() const { return buffer_ ? buffer_.data() : nullptr; }
  const Tensor& tensor() const { return buffer_; }
  void store() const;

 private:
  Tensor result_, buffer_;
};

}  // namespace uh
