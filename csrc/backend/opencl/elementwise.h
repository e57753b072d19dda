// Kernels that compute every element of a tensor from the elements at the same index of others.
//
// A caller passes OpenCL C that ends with a function `apply`, of one element per operand and the
// numbers. This file adds the loop around it, which depends on dtypes, the traversal of the
// operands, and on whether a work item is a thread of a CPU (it takes a run of elements) or a lane
// of a GPU (it takes every n-th). Operands broadcast to the results, with any strides. In OpenCL C
// the types of operands are A0, A1..., that of the result is O, those of several O0, O1...
// Read next: pointwise.cpp and copy.cpp, which call it.
#pragma once

#include <array>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "backend/opencl/launch.h"

namespace uh::opencl {

// A number that `apply` takes besides the elements.
struct Number {
  const char* type;  // of OpenCL C: "float", "long", "int"...
  std::array<std::byte, 16> value{};
  size_t size = 0;

  template <class T>
  static Number of(const char* type, const T& value) {
    Number number{type, {}, sizeof value};
    std::memcpy(number.value.data(), &value, sizeof value);
    return number;
  }
};

// A number in the compute type of a dtype: float for 16-bit floats, int for bool.
Number number_of(DType dtype, const Scalar& value);

struct Elementwise {
  const char* name;                   // of the operator; outlives the process
  std::string functions;              // OpenCL C: `apply` and what it calls
  std::string defines;                // lines before it, such as T
  bool counts_zero_division = false;  // `apply` has a last parameter, global int *zero_division
};

// Prints the OpenCL C of an operator; called only if its kernel is not compiled yet.
using MakeElementwise = Elementwise (*)(const void* context);

// The maximum number of tensors in a call, including results.
inline constexpr size_t kMaxOperands = 36;

struct ElementwiseCall {
  const void* operation;  // identifies the expression: one address for each text
  DType compute;          // the compute type; `operation` and this determine the text
  MakeElementwise make;
  const void* context;
  std::span<const Tensor> results;   // of one shape. `apply` returns the element of a single one,
                                     // or writes those of several to its last parameters
  std::span<const Tensor> operands;  // on the device of the results
  std::span<const Number> numbers;
  std::string_view order;  // of the first arguments of `apply`: 'a' an operand, 'n' a number; then
                           // the other operands, then the other numbers
  bool may_divide_by_zero = true;  // false: the count of `apply` is ignored
};

// The same for an expression that is written in a kernel's file: `text` is a literal, the
// definition of `apply` in terms of O, A0, A1... (its operands' types) and what it calls.
void map(const char* name, const char* text, const Tensor& out,
         std::initializer_list<Tensor> operands, std::initializer_list<Number> numbers = {});

// Fills the results. If integers may be divided by 0, waits for the kernel and returns true if one
// was.
bool run_elementwise(const ElementwiseCall& call);

}  // namespace uh::opencl
