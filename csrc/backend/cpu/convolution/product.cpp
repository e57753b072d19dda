#include "backend/cpu/convolution/product.h"

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/gemm.h"

namespace uh {
namespace {

// Returns the first two dimensions of a tensor whose other dimensions have size 1.
Tensor matrix(const Tensor& t) {
  return alias(t, {{t.size(0), t.size(1)}, {t.stride(0), t.stride(1)}, t.offset()});
}
Tensor transposed_matrix(const Tensor& t) {
  return alias(t, {{t.size(1), t.size(0)}, {t.stride(1), t.stride(0)}, t.offset()});
}

}  // namespace

bool is_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                const ConvolutionOptions& options) {
  const auto of_one_pixel = [](const Tensor& t) { return t.numel() == t.size(0) * t.size(1); };
  return options.groups == 1 && options.padding == Spatial{0, 0, 0} && is_floating(out.dtype()) &&
         out.dtype() == input.dtype() && out.dtype() == weight.dtype() && of_one_pixel(out) &&
         of_one_pixel(input) && of_one_pixel(weight);
}

void convolve_by_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, bool transposed) {
  const Tensor result = matrix(out);
  if (bias) copy_elements(result, bias);
  const Scale added{Scalar(1), Scalar(1)};
  multiply(result, matrix(input), Reading::kMatrix,
           transposed ? matrix(weight) : transposed_matrix(weight), Reading::kMatrix, {},
           bias ? &added : nullptr);
}

void weight_by_product(const Tensor& out, const Tensor& rows, const Tensor& columns) {
  multiply(matrix(out), transposed_matrix(rows), Reading::kMatrix, matrix(columns),
           Reading::kMatrix, {});
}

}  // namespace uh
