// The operators that can be steps: generated from the yaml (codegen/fused.py), sorted by name.
#pragma once

#include <span>

#include "ops/pointwise.h"

namespace uh::jit::fused {

struct StepOperator {
  const char* name;        // "add.Tensor"
  const PointwiseOp* op;   // its loops and dtype promotion
  const char* roles;       // per argument of the schema: 'o' an operand, 'p' a parameter
  const char* expression;  // in infix form, for the explorer
  const char* postfix;  // the same in postfix if it is straight-line, else "": codegen/postfix.py
  const char* postfix_double;  // for float64
  bool refuses_zero;           // may divide integers by zero: then it cannot be a step
};

std::span<const StepOperator> step_operators();

}  // namespace uh::jit::fused
