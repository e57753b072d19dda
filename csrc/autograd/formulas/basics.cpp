#include "autograd/formulas/basics.h"

#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::autograd {

Tensor with_dims(const Tensor& grad, const Dims& sizes, const std::optional<Dims>& dim,
                 bool keepdim) {
  if (keepdim || sizes.empty()) return grad;
  Dims new_sizes = sizes;
  if (!dim || dim->empty()) {
    for (int64_t& size : new_sizes) size = 1;
  } else {
    for (int64_t d : *dim) new_sizes[static_cast<size_t>(d < 0 ? d + sizes.ndim() : d)] = 1;
  }
  return ops::reshape(grad, new_sizes);
}

Tensor sum_backward(const Tensor& grad, const Dims& sizes, const std::optional<Dims>& dim,
                    bool keepdim) {
  // A full reduction expands every dimension, including those of size 1: their strides are 0.
  if (!dim || dim->empty()) return ops::expand(grad, sizes, false);
  return ops::expand(with_dims(grad, sizes, dim, keepdim), sizes, false);
}

int64_t reduced(const Dims& sizes, const std::optional<Dims>& dim) {
  if (!dim || dim->empty()) return numel_of(sizes);
  int64_t count = 1;
  if (sizes.empty()) return count;
  for (int64_t d : *dim) count *= sizes[static_cast<size_t>(d < 0 ? d + sizes.ndim() : d)];
  return count;
}

Tensor as_tensor(const Operand& operand) {
  if (!operand.is_number()) return operand.tensor;
  return ops::scalar_tensor(operand.number, DType::kUndefined, Device::kUndefined);
}

Tensor zero_gradient(const Tensor& grad) {
  return ops::zeros_like(grad, DType::kUndefined, Device::kUndefined, MemoryFormat::kUndefined);
}

Tensor converted_gradient(const Tensor& grad, DType dtype, Device device) {
  if (grad.dtype() == dtype && grad.device() == device) return grad;
  return ops::_to_copy(grad, dtype, device, MemoryFormat::kUndefined);
}

Tensor pow_backward_self(const Tensor& grad, const Operand& self, const Operand& exponent) {
  if (exponent.is_number()) {
    const Scalar n = exponent.number;
    if (!n.is_complex() && n.to_double() == 0) return zero_gradient(grad);
    if (!n.is_complex() && n.to_double() == 2) return grad * conj(ops::mul(self, n));
    const Scalar less = n.is_complex() ? Scalar(Complex128(n.to_complex().re - 1, n.imag()))
                        : n.is_float() ? Scalar(n.to_double() - 1)
                                       : Scalar(n.to_int() - 1);
    return grad * conj(ops::mul(ops::pow(self, less), n));
  }
  const Tensor slope = ops::mul(exponent, ops::pow(self, ops::sub(exponent, Scalar(1), Scalar(1))));
  const Tensor zero = ops::eq(as_tensor(exponent), Scalar(0));
  return ops::where(zero, Scalar(0), grad * conj(slope));
}

Tensor pow_backward_exponent(const Tensor& grad, const Operand& self, const Operand& exponent,
                             const Tensor& result) {
  const Tensor slope = grad * conj(result * ops::log(as_tensor(self)));
  const bool is_real = exponent.is_number() || !is_complex(exponent.tensor.dtype());
  // 0 ** x is 0 for x > 0 and 1 for x = 0: avoids NaN from the logarithm of 0.
  if (!is_real) return ops::where(ops::eq(as_tensor(self), Scalar(0)), Scalar(0), slope);
  const Tensor flat = ops::logical_and(ops::eq(as_tensor(self), Scalar(0)),
                                       ops::ge(as_tensor(exponent), Scalar(0)));
  return ops::where(flat, Scalar(0), slope);
}

Tensor underivable(const char* op) {
  fail(ErrorKind::kNotImplemented, "the derivative for '", op, "' is not implemented.");
}

Scalar negated(const Scalar& number) {
  if (number.is_complex()) return Complex128(-number.to_complex().re, -number.imag());
  if (number.is_float()) return -number.to_double();
  return -number.to_int();
}

Tensor scaled(const Tensor& grad, const Scalar& factor) {
  const bool one = !factor.is_complex() && factor.to_double() == 1;
  return one ? grad : grad * conj(factor);
}

Tensor softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim, DType dtype) {
  const Tensor scaled = grad * result;
  const Tensor output =
      scaled - result * ops::sum(scaled, std::optional<Dims>(Dims{dim}), true, DType::kUndefined);
  return output.dtype() == dtype
             ? output
             : ops::_to_copy(output, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}
Tensor log_softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim, DType dtype) {
  const Tensor output = grad - ops::exp(result) * ops::sum(grad, std::optional<Dims>(Dims{dim}),
                                                           true, DType::kUndefined);
  return output.dtype() == dtype
             ? output
             : ops::_to_copy(output, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

Dims inverse(const Dims& dims) {
  Dims back(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    back[static_cast<size_t>(dims[i] < 0 ? dims[i] + dims.ndim() : dims[i])] =
        static_cast<int64_t>(i);
  return back;
}

std::vector<Tensor> or_zeros(const Node& node, const Gradients& grads) {
  std::vector<Tensor> all;
  for (size_t i = 0; i < grads.size(); ++i) {
    const InputInfo& info = node.input(i);
    all.push_back(grads[i] ? grads[i] : ops::zeros(info.sizes, info.dtype, info.device));
  }
  return all;
}

}  // namespace uh::autograd
