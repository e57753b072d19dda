// PyTorchCall: the form of a call in PyTorch's traces.
//
// Some of the engine's operators differ from PyTorch's: one combines several
// overloads (schema_matching/overload.h), conv2d is a _convolution, det is
// linalg_det. A trace contains PyTorch's. Invariant: the recorded call computes
// the same as the actual one. If violated: running the trace computes something
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
