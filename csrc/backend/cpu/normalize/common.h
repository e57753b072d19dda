// Shared by the normalisations: the dtypes of their parameters, and results in the input's layout.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// An input and its parameters as the loops want them: contiguous, in float32 or float64.
struct NormalizeInput {
  Tensor x, weight, bias;  // weight and bias may be empty
  DType compute;
  DType statistics;  // of mean and rstd: float32 when parameters of 16-bit inputs are, else the
                     // input's
};

// Throws for integers, and for a parameter whose dtype is neither the input's nor float32 with a
// 16-bit input.
void check_parameter_dtypes(const Tensor& input, std::initializer_list<Tensor> parameters,
                            std::string_view op);
NormalizeInput prepare_normalize(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                 std::string_view op);

// `made` (contiguous, in the compute dtype) as a tensor like `input`: its dtype, and its order of
// dimensions where that is one of the channels-last formats.
Tensor like_input(const Tensor& result, const Tensor& input);

// A new tensor for the loops to write into.
inline Tensor contiguous_like(const Tensor& input, DType dtype) {
  return empty(input.sizes(), dtype, input.device());
}

// `self` itself, or its elements in another dtype.
Tensor in_dtype(const Tensor& self, DType dtype);

}  // namespace uh
