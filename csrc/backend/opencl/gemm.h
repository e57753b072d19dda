// Products of matrices on an OpenCL device: linalg.yaml and products.yaml.
#pragma once

#include "backend/opencl/platform.h"
#include "base/scalar.h"
#include "tensor/tensor.h"

namespace uh::opencl {

// A batch of matrices in memory.
struct Matrices {
  Tensor tensor;
  int64_t row = 0, column = 0, batch = 0;  // strides
};

// alpha a @ b + beta sum.
struct Product {
  const char* name;  // of the operator
  int64_t batch, rows, columns, depth;
  Matrices a, b, sum;  // `sum` may be empty
  Scalar alpha = 1, beta = 1;

  bool has_sum() const { return sum.tensor && beta.to_double() != 0; }
};

void register_products();

}  // namespace uh::opencl
