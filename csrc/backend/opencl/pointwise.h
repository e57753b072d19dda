// Pointwise operators on an OpenCL device: their expressions as OpenCL C.
//
// The generator prints every expression once per category of elements (codegen/
// expression_opencl.py); run_pointwise applies the shape rule (ops/pointwise.h), and the kernel
// that elementwise.h makes of the expression fills the result. If there is no expression for a
// dtype, or the device does not have the dtype, the operator is computed on the CPU.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/opencl/elementwise.h"
#include "ops/pointwise.h"

namespace uh::opencl {

// One expression; null if the operator has none.
struct PointwiseText {
  const char* const* helpers = nullptr;  // functions that it calls, ended by null
  const char* apply = nullptr;
  bool doubles = false;        // it computes in double for all dtypes
  bool zero_division = false;  // it may divide integers by 0
};

struct PointwiseProgram {
  const PointwiseOp* op;
  const char* parameters;  // a letter each: T, R (the type of T's parts), l(ong), b(ool)
  bool widened;            // 16-bit floats are computed as floats
  std::array<PointwiseText, 5> expressions;  // of bool, integers, float, double, complex
};

// Generated, in the order of the yaml files.
std::span<const PointwiseProgram> pointwise_programs();

// An expression for elements of a dtype, as a device computes it.
struct DeviceExpression {
  const PointwiseProgram* program;
  const PointwiseText* text;
  DType dtype;

  // The types in its text: T, R, UT, and LARGEST, the largest finite number.
  std::map<std::string_view, std::string> types() const;
  // OpenCL C: what `apply` calls, and `apply`.
  std::vector<std::string_view> functions() const;
};
// Returns nullopt if the device does not compute it.
std::optional<DeviceExpression> expression_of(const PointwiseOp& op, DType dtype,
                                              const OpenclDevice& device);
// The arguments of `apply` after the elements: each parameter, and 1 if the call passes it.
void add_parameters(std::vector<Number>& numbers, const DeviceExpression& expression,
                    const Params& params);

Tensor run_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                     const Params& params, const Tensor& target);

}  // namespace uh::opencl
