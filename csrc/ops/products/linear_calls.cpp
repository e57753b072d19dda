// linear when gradients are required: composed of operators that have gradients.
#include "generated/kernels/products.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/linalg.h"
#include "generated/ops/products.h"
#include "generated/ops/view.h"
#include "ops/products/shapes.h"

namespace uh::kernels {

Tensor linear_calls(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias);

Tensor linear_calls(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const int64_t inner = input.ndim() > 0 ? input.sizes().back() : -1;
  if (weight.ndim() != 2 || inner != weight.size(1))  // a vector, or sizes to reject
    return weight.ndim() == 1 && !bias && inner == weight.size(0)
               ? ops::matmul(input, weight)
               : shapes::linear(input, weight, bias);
  const Tensor columns = ops::t(weight);
  if (!bias) return ops::matmul(input, columns);
  if (input.ndim() == 2) return ops::addmm(bias, input, columns, Scalar(1), Scalar(1));
  if (!input.is_contiguous() || bias.ndim() > 1)
    return ops::add(ops::matmul(input, columns), bias, Scalar(1));
  Dims sizes(IntSpan(input.sizes().data(), input.sizes().size() - 1));
  const Tensor rows = ops::view(input, Dims{numel_of(sizes), inner});
  sizes.push_back(weight.size(0));
  return ops::view(ops::addmm(bias, rows, columns, Scalar(1), Scalar(1)), sizes);
}

}  // namespace uh::kernels
