// A launch of a FusedKernel on an OpenCL device: its steps as one kernel.
//
// Each step is a function in OpenCL C, printed from the same expression as the operator's own
// kernel; results stay in registers, and 16-bit floats are rounded at every step as in eager mode.
// Reductions at the end of a program are part of the kernel; those of a few long rows, which it
// folds in slices, are merged by a second one.
#pragma once

#include "jit/fused/iteration_space.h"

namespace uh::jit::fused {

// A program in OpenCL C, for one device.
struct OpenclText {
  std::string name;       // "fused_mul_add"
  std::string functions;  // the last one is `apply`
  std::string defines;
};

// One walk, whose outputs have been made and have the sizes `sizes` before they are reduced. Throws
// where the device has no kernel for a step, or takes fewer arguments.
void run_on_opencl(const FusedKernel& program, const Dims& sizes, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs, std::span<const Scalar> numbers);

}  // namespace uh::jit::fused
