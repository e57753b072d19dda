// Properties of tensors for builtins.
#pragma once

#include "dispatch/ivalue.h"
#include "tensor/tensor.h"

namespace uh::jit {

// Tensor.item(): throws unless there is exactly one element, with bytes.
Scalar number_in(const Tensor& t);
// The same as a bool, int, float or complex value.
IValue number_value(const Tensor& t);
// bool(tensor): throws unless there is exactly one element.
bool truth_of(const Tensor& t);

}  // namespace uh::jit
