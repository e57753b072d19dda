// Inputs and results of the normalisation loops.
#pragma once

#include <vector>

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

constexpr int64_t kNormalizeGrainSize = 1 << 14;  // minimum number of elements per thread

// One number for each channel, sample or group.
using Numbers = std::vector<double>;

// Returns the n numbers of t, or n times `otherwise` if t is undefined. Throws for another number
// of elements.
Numbers numbers_of(const Tensor& t, double otherwise, int64_t n);

// Writes the numbers to a row-major result; an undefined one is not computed.
void store_numbers(const Tensor& result, const Numbers& numbers);

// Returns the memory of t, or null if it is undefined.
inline const void* data_or_null(const Tensor& t) { return t ? t.data() : nullptr; }

}  // namespace uh
