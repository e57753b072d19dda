// An LSTM-like unit without a forget gate, written with PyTorch's C++ names: test_cpp_extension.py
// builds it ahead of time and at first use.
#include <torch/extension.h>

#include <vector>

namespace {

torch::Tensor d_sigmoid(const torch::Tensor& z) {
  const auto s = torch::sigmoid(z);
  return (1 - s) * s;
}
torch::Tensor d_tanh(const torch::Tensor& z) { return 1 - z.tanh().pow(2); }
torch::Tensor d_elu(const torch::Tensor& z, torch::Scalar alpha = 1.0) {
  const auto e = z.exp();
  const auto negative = (alpha * (e - 1)) < 0;
  return (z > 0).type_as(z) + negative.type_as(z) * (alpha * e);
}

std::vector<torch::Tensor> forward(torch::Tensor input, torch::Tensor weights, torch::Tensor bias,
                                   torch::Tensor old_h, torch::Tensor old_cell) {
  TORCH_CHECK(input.dim() == 2, "forward: expected a matrix, got ", input.dim(), " dimensions");
  auto x = torch::cat({old_h, input}, /*dim=*/1);
  auto gate_weights = torch::addmm(bias, x, weights.transpose(0, 1));
  auto gates = gate_weights.chunk(3, /*dim=*/1);
  auto input_gate = torch::sigmoid(gates[0]);
  auto output_gate = torch::sigmoid(gates[1]);
  auto candidate = torch::elu(gates[2], /*alpha=*/1.0);
  auto cell = old_cell + candidate * input_gate;
  auto h = torch::tanh(cell) * output_gate;
  return {h, cell, input_gate, output_gate, candidate, x, gate_weights};
}

std::vector<torch::Tensor> backward(torch::Tensor grad_h, torch::Tensor grad_cell,
                                    torch::Tensor cell, torch::Tensor input_gate,
                                    torch::Tensor output_gate, torch::Tensor candidate,
                                    torch::Tensor x, torch::Tensor gate_weights,
                                    torch::Tensor weights) {
  auto d_cell = d_tanh(cell) * (output_gate * grad_h) + grad_cell;
  auto d_output_gate = torch::tanh(cell) * grad_h;
  auto d_candidate = input_gate * d_cell;
  auto d_input_gate = candidate * d_cell;
  auto gates = gate_weights.chunk(3, /*dim=*/1);
  d_input_gate *= d_sigmoid(gates[0]);
  d_output_gate *= d_sigmoid(gates[1]);
  d_candidate *= d_elu(gates[2]);
  auto d_gates = torch::cat({d_input_gate, d_output_gate, d_candidate}, /*dim=*/1);
  auto d_x = d_gates.mm(weights);
  const auto state_size = grad_h.size(1);
  return {d_x.slice(/*dim=*/1, state_size), d_gates.t().mm(x),
          d_gates.sum(/*dim=*/0, /*keepdim=*/true), d_x.slice(/*dim=*/1, 0, state_size), d_cell};
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "LLTM forward");
  m.def("backward", &backward, "LLTM backward");
}
