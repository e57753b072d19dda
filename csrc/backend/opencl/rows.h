// Kernels that compute every element as elementwise.h does, and fold some of the results over the
// last dimensions before they reach memory: reductions at the end of a fused group.
//
// As in elementwise.h a caller passes OpenCL C that ends with `apply`; the loop around it keeps the
// state of a fold for each row of the last dimensions. An item of a CPU computes several rows, a
// group of a GPU one row. If there are few rows, each is folded in slices, and a second kernel
// merges the states of the slices.
// Read next: elementwise.h, jit/fused/on_opencl.cpp, which calls it.
#pragma once

#include "backend/cpu/reduce/reducer.h"
#include "backend/opencl/elementwise.h"

namespace uh::opencl {

struct RowResult {
  const Tensor& tensor;
  DType dtype;                         // of an element of `apply`
  const FoldOperator* fold = nullptr;  // of floats; null: it is stored
};

// The OpenCL C of `T folded_<name>(T self)`, the value that a fold takes for an element, if that
// is not the element itself; else empty. `doubles`: T is double.
std::string_view folded_element(const FoldOperator& fold, bool doubles);  // generated

struct RowsCall {
  const void* operation;  // as in ElementwiseCall
  MakeElementwise make;
  const void* context;
  const Dims& sizes;    // that the operands broadcast to
  size_t folded;        // how many of the last dimensions
  std::span<const RowResult> results;  // one of them at least is folded
  std::span<const Tensor> operands;
  std::span<const Number> numbers;
};

void run_rows(const RowsCall& call);

}  // namespace uh::opencl
