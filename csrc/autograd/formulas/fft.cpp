#include "autograd/formulas/fft.h"

#include "generated/ops/creation.h"
#include "generated/ops/fft.h"
#include "generated/ops/join.h"
#include "generated/ops/padding.h"
#include "generated/ops/view.h"

namespace uh::autograd {

Tensor r2c_gradient(const Tensor& grad, const Dims& dim, int64_t normalization, bool onesided,
                    int64_t size) {
  Tensor full = grad;
  if (onesided) {  // the other half is zero
    const int64_t last =
        dim[dim.size() - 1] < 0 ? dim[dim.size() - 1] + grad.ndim() : dim[dim.size() - 1];
    Dims pad(2 * static_cast<size_t>(grad.ndim() - last), 0);
    pad[pad.size() - 1] = size - grad.size(last);
    if (pad[pad.size() - 1] > 0) full = ops::constant_pad_nd(grad, pad, Scalar(0));
  }
  return ops::real_view(ops::_fft_c2c(full, dim, normalization, false));
}

Tensor c2r_gradient(const Tensor& grad, const Dims& dim, int64_t normalization, int64_t size) {
  const Tensor half = ops::_fft_r2c(grad, dim, normalization, true);
  const int64_t last =
      dim[dim.size() - 1] < 0 ? dim[dim.size() - 1] + grad.ndim() : dim[dim.size() - 1];
  // Inputs 1 ... size - n are used twice: as themselves and as their conjugates.
  const int64_t n = half.size(last), twice = size - n;
  if (twice <= 0) return half;
  Dims shape(half.sizes().size(), 1);
  shape[static_cast<size_t>(last)] = n;
  const DType real = grad.dtype();
  std::vector<Tensor> parts{ops::ones(Dims{1}, real, grad.device()),
                            ops::full(Dims{twice}, Scalar(2.0), real, grad.device())};
  if (n - 1 - twice > 0) parts.push_back(ops::ones(Dims{n - 1 - twice}, real, grad.device()));
  return half * ops::reshape(ops::cat(parts, 0), shape);
}

}  // namespace uh::autograd
