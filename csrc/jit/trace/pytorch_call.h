// The form of a call in a trace: as PyTorch's Python would have written it.
//
// What: the engine's operators are not all PyTorch's: one stands for several overloads
// (schema_matching/overload.h), conv2d for a _convolution, det for linalg_det. A trace holds
// PyTorch's.
// Invariant: the written call computes what was called. If violated: a trace computes something
// else.
#pragma once

#include "dispatch/operator.h"

namespace uh::jit {

struct PyTorchCall {
  const OperatorInfo* op;
  Stack arguments;
};

PyTorchCall to_pytorch_call(const OperatorInfo& op, const Stack& arguments, const Stack& results);

}  // namespace uh::jit
