// Operators that a library registers, for test_registered_operators.py: a kernel with a formula, one
// of PyTorch's names and macros, and composites with numbers, lists and several results.
#include <underhood/underhood_library.hpp>

#include <cmath>
#include <torch/library.h>

using uh::Tensor;

namespace {

Tensor swish(const Tensor& x, double beta) {
  const Tensor from = x.contiguous();
  Tensor result = torch::empty(from.sizes(), from.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "swish", [&] {
    const auto* source = from.data_ptr<scalar_t>();
    auto* target = result.data_ptr<scalar_t>();
    for (int64_t i = 0; i < from.numel(); ++i)
      target[i] = static_cast<scalar_t>(source[i] / (1 + std::exp(-beta * source[i])));
  });
  return result;
}
Tensor swish_meta(const Tensor& x, double) { return torch::empty(x.sizes(), x.options()); }

std::vector<Tensor> swish_backward(uh::AutogradContext& ctx, const std::vector<Tensor>& gradients) {
  const Tensor x = ctx.get_saved_variables()[0];
  const double beta = ctx.saved<double>("beta");
  const Tensor s = torch::sigmoid(x * beta);
  return {gradients[0] * (s + x * beta * s * (1 - s)), Tensor()};
}
void swish_setup(uh::AutogradContext& ctx, const std::vector<uh::Value>& inputs,
                 const std::vector<Tensor>&) {
  ctx.save("beta", inputs[1].as<double>());
  ctx.save_for_backward({inputs[0].as<Tensor>()});
}

Tensor muladd(const Tensor& a, const Tensor& b, const uh::Scalar& c) { return a * b + c; }
std::tuple<Tensor, Tensor> sum_and_max(const Tensor& x, int64_t dim) {
  return {x.sum(dim), x.amax(dim)};
}
Tensor weighted(const std::vector<Tensor>& tensors, const std::vector<double>& weights,
                const std::optional<Tensor>& bias) {
  TORCH_CHECK_VALUE(tensors.size() == weights.size(), "weighted: expected ", tensors.size(),
                    " weights, got ", weights.size());
  Tensor sum = bias.value_or(torch::zeros_like(tensors.at(0)));
  for (size_t i = 0; i < tensors.size(); ++i) sum = sum + tensors[i] * weights[i];
  return sum;
}

}  // namespace

TORCH_LIBRARY(test_registered, m) {
  m.def("swish(Tensor x, float beta=1.0) -> Tensor");
  m.def("muladd(Tensor a, Tensor b, Scalar c) -> Tensor", &muladd);
  m.def("sum_and_max(Tensor x, int dim=-1) -> (Tensor, Tensor)", &sum_and_max);
  m.def("weighted(Tensor[] tensors, float[] weights, Tensor? bias=None) -> Tensor", &weighted);
}
TORCH_LIBRARY_IMPL(test_registered, CPU, m) { m.impl("swish", &swish); }
TORCH_LIBRARY_IMPL(test_registered, Meta, m) { m.impl("swish", &swish_meta); }
UH_LIBRARY_IMPL(test_registered, Autograd, m) { m.autograd("swish", swish_backward, swish_setup); }
