// Inputs and results of the normalisation loops.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// An input and its parameters for the loops: contiguous, in float32 or float64.
struct NormalizeInput {
  Tensor x, weight, bias;  // weight and bias may be undefined
  DType compute;
};
NormalizeInput prepare_normalize(const Tensor& input, const Tensor& weight, const Tensor& bias);

// The memory that loops write a result to: the result itself if it is row-major in the loops'
// dtype, else a buffer that `store` converts. An undefined result has no data.
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
