// The shape rule of arithmetic.yaml.
#pragma once

#include <tuple>

#include "tensor/tensor.h"

namespace uh::shapes {

// Mantissa and exponent.
std::tuple<Tensor, Tensor> frexp(const Tensor& self);

}  // namespace uh::shapes
