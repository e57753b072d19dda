// The composites of activation.yaml.
#include "generated/kernels/activation.h"
#include "generated/ops/activation.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

// SELU's constants, for which mean 0 and variance 1 are a fixed point (Klambauer et al. 2017, eq.
// 14).
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

double inverse_alpha(const Scalar& alpha) {
  check(alpha.to_double() != 0, "celu: alpha cannot be 0, the input is divided by it");
  return 1 / alpha.to_double();
}

}  // namespace

Tensor selu(KeySet, const Tensor& self) {
  return ops::elu(self, Scalar(kSeluAlpha), Scalar(kSeluScale), Scalar(1));
}

void selu_inplace(KeySet, const Tensor& self) {
  ops::elu_(self, Scalar(kSeluAlpha), Scalar(kSeluScale), Scalar(1));
}

Tensor celu(KeySet, const Tensor& self, const Scalar& alpha) {
  return ops::elu(self, alpha, Scalar(1), Scalar(inverse_alpha(alpha)));
}

void celu_inplace(KeySet, const Tensor& self, const Scalar& alpha) {
  ops::elu_(self, alpha, Scalar(1), Scalar(inverse_alpha(alpha)));
}

Tensor gelu(KeySet, const Tensor& self, const std::string& approximate) {
  check(approximate == "none" || approximate == "tanh",
        "gelu: approximate must be either 'none' or 'tanh', got '", approximate, "'");
  return approximate == "none" ? ops::_gelu_none(self) : ops::_gelu_tanh(self);
}

Tensor glu(KeySet, const Tensor& self, int64_t dim) {
  check(self.ndim() > 0, "glu: does not support 0-dimensional tensors");
  const int64_t d = wrap_dim(dim, self.ndim(), "glu");
  const int64_t size = self.sizes()[static_cast<size_t>(d)];
  check(size % 2 == 0, "glu: halving dimension must be even, but dimension ", d, " is size ", size);
  return ops::mul(ops::narrow(self, d, 0, size / 2),
                  ops::sigmoid(ops::narrow(self, d, size / 2, size / 2)));
}

Tensor prelu(KeySet, const Tensor& self, const Tensor& weight) {
  check(self.dtype() == weight.dtype(), "prelu: expected input and weight of one dtype, got ",
        info(self.dtype()).title, " and ", info(weight.dtype()).title);
  check(weight.ndim() <= 1, "prelu: expected the weight to be a scalar or 1-d tensor, but got ",
        weight.ndim(), " dimensions");
  if (weight.numel() == 1) return ops::_prelu_kernel(self, ops::view(weight, Dims{}));
  check(self.ndim() > 0, "prelu: not allowed zero-dim input tensor with ", weight.numel(),
        " weights");
  const int64_t channels = self.ndim() > 1 ? self.sizes()[1] : 1;
  check(channels == weight.numel(),
        "prelu: mismatch of parameter numbers and input channel size: ", weight.numel(),
        " parameters, channel size ", channels);
  Dims shape(static_cast<size_t>(self.ndim()), 1);
  shape[1] = channels;
  return ops::_prelu_kernel(self, ops::view(weight, shape));
}

}  // namespace uh::kernels
