// Every operator that can be a step: generated from the yaml (codegen/fused.py), sorted by name.
#pragma once

#include <span>

#include "ops/pointwise.h"

namespace uh::jit::fused {

struct StepOperator {
  const char* name;        // "add.Tensor"
  const PointwiseOp* op;   // its loops and how it chooses dtypes
  const char* roles;       // per argument of the schema: 'o' an operand, 'p' a parameter
  const char* expression;  // as people write it, for the explorer
  const char* postfix;  // the same in postfix if it is straight-line, else "": codegen/postfix.py
  const char* postfix_double;  // of float64
  bool refuses_zero;           // with integers it may meet a division by zero: not a step then
};

std::span<const StepOperator> step_operators();

}  // namespace uh::jit::fused
