// The forward and backward pass of lltm.py as operators, with the C++ names of PyTorch: it compiles
// there too. Built twice, ahead of time and at first use, under the name of the build.
#include <torch/all.h>
#include <torch/library.h>

#include <vector>

#define OPERATORS_OF(name, m) TORCH_LIBRARY(name, m)
#define KERNELS_OF(name, m) TORCH_LIBRARY_IMPL(name, CPU, m)

namespace {

using Tensors = std::vector<at::Tensor>;

// Returns h, cell, and what backward needs: the three gates and the input of the product.
Tensors forward(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& bias,
                const at::Tensor& h, const at::Tensor& cell) {
  TORCH_CHECK(x.dim() == 2, "lltm: x must be a matrix, got ", x.dim(), " dimensions");
  const at::Tensor joined = torch::cat({h, x}, 1);
  const auto parts = torch::addmm(bias, joined, weights.t()).chunk(3, 1);
  const at::Tensor in = torch::sigmoid(parts[0]);
  const at::Tensor out = torch::sigmoid(parts[1]);
  const at::Tensor candidate = torch::elu(parts[2]);
  const at::Tensor new_cell = torch::addcmul(cell, candidate, in);
  return {torch::tanh(new_cell) * out, new_cell, in, out, candidate, joined};
}

// The gradients of x, weights, bias, h and cell. Each derivative is written with the value of its
// function: s' = s (1 - s), tanh' = 1 - tanh^2, elu' = elu + 1 below zero.
Tensors backward(const at::Tensor& grad_h, const at::Tensor& grad_cell, const at::Tensor& cell,
                 const at::Tensor& in, const at::Tensor& out, const at::Tensor& candidate,
                 const at::Tensor& joined, const at::Tensor& weights) {
  const at::Tensor t = torch::tanh(cell);
  const at::Tensor d_cell = grad_cell + grad_h * out * (1 - t * t);
  const at::Tensor d_in = d_cell * candidate * in * (1 - in);
  const at::Tensor d_out = grad_h * t * out * (1 - out);
  const at::Tensor d_candidate = d_cell * in * (candidate.clamp_max(0) + 1);
  const at::Tensor d_parts = torch::cat({d_in, d_out, d_candidate}, 1);
  const at::Tensor d_joined = d_parts.mm(weights);
  const int64_t state = cell.size(1);
  return {d_joined.narrow(1, state, d_joined.size(1) - state), d_parts.t().mm(joined),
          d_parts.sum(0, true), d_joined.narrow(1, 0, state), d_cell};
}

// Both as one Function, which needs nothing of Python in the backward pass either.
struct Step : torch::autograd::Function<Step> {
  static Tensors forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                         const at::Tensor& weights, const at::Tensor& bias, const at::Tensor& h,
                         const at::Tensor& cell) {
    const Tensors all = ::forward(x, weights, bias, h, cell);
    ctx->save_for_backward({all[1], all[2], all[3], all[4], all[5], weights});
    return {all[0], all[1]};
  }
  static Tensors backward(torch::autograd::AutogradContext* ctx, Tensors grads) {
    const Tensors saved = ctx->get_saved_variables();
    return ::backward(grads[0], grads[1], saved[0], saved[1], saved[2], saved[3], saved[4],
                      saved[5]);
  }
};
Tensors step(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& bias,
             const at::Tensor& h, const at::Tensor& cell) {
  return Step::apply(x, weights, bias, h, cell);
}

}  // namespace

OPERATORS_OF(TORCH_EXTENSION_NAME, m) {
  m.def("forward(Tensor x, Tensor weights, Tensor bias, Tensor h, Tensor cell) -> Tensor[]");
  m.def(
      "backward(Tensor grad_h, Tensor grad_cell, Tensor cell, Tensor in_gate, Tensor out_gate, "
      "Tensor candidate, Tensor joined, Tensor weights) -> Tensor[]");
  m.def("step(Tensor x, Tensor weights, Tensor bias, Tensor h, Tensor cell) -> Tensor[]", &step);
}
KERNELS_OF(TORCH_EXTENSION_NAME, m) {
  m.impl("forward", &forward);
  m.impl("backward", &backward);
}
