// The pointwise part of a step of LSTM and GRU as one operator: its shape rules and gradient.
//
// Note [Gradients of cells]: the activated gates are a result, so that the gradient can be
// expressed in results alone. Backward runs one loop; when its own gradient is required
// (create_graph), it is composed of operators.
#include "generated/kernels/recurrent.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/join.h"
#include "generated/ops/recurrent.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "ops/recurrent/cells.h"
#include "ops/recurrent/shapes.h"
#include "tensor/thread_state.h"

namespace uh {
namespace {

// Throws unless `gates` have `blocks` columns for each column of the state.
void check_gates(std::string_view op, const Tensor& state, int64_t blocks,
                 std::initializer_list<Tensor> gates) {
  check(state.ndim() == 2, op, ": expected a state of 2 dimensions, got sizes ", state.sizes());
  const DType dtype = state.dtype();
  check(is_floating(dtype), op, ": expected floating tensors, got ", name(dtype));
  const Dims expected{state.size(0), blocks * state.size(1)};
  for (const Tensor& g : gates)
    check(g.dtype() == dtype && g.sizes() == expected, op, ": expected gates of ", name(dtype), " ",
          expected, ", got ", name(g.dtype()), " ", g.sizes());
}

void check_state(std::string_view op, const Tensor& state, const Tensor& t) {
  check(!t || (t.dtype() == state.dtype() && t.sizes() == state.sizes()), op,
        ": expected a state of ", name(state.dtype()), " ", state.sizes(), ", got ",
        t ? name(t.dtype()) : "", " ", t ? t.sizes() : Dims());
}

Tensor rows_of(const Tensor& state, int64_t blocks) {
  return empty(Dims{state.size(0), blocks * state.size(1)}, state.dtype(), state.device());
}

}  // namespace
}  // namespace uh

namespace uh::shapes {

std::tuple<Tensor, Tensor, Tensor> fused_lstm_cell(const Tensor& input_gates,
                                                   const Tensor& hidden_gates, const Tensor& cx) {
  check_gates("_fused_lstm_cell", cx, 4, {input_gates, hidden_gates});
  return {rows_of(cx, 1), rows_of(cx, 1), rows_of(cx, 4)};
}

std::tuple<Tensor, Tensor> fused_lstm_cell_backward(const Tensor& grad_hy, const Tensor& grad_cy,
                                                    const Tensor& cx, const Tensor& cy,
                                                    const Tensor& gates) {
  constexpr std::string_view kOp = "_fused_lstm_cell_backward";
  check_gates(kOp, cx, 4, {gates});
  for (const Tensor& t : {grad_hy, grad_cy, cy}) check_state(kOp, cx, t);
  return {rows_of(cx, 4), rows_of(cx, 1)};
}

std::tuple<Tensor, Tensor> fused_gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                          const Tensor& hx) {
  check_gates("_fused_gru_cell", hx, 3, {input_gates, hidden_gates});
  return {rows_of(hx, 1), rows_of(hx, 4)};
}

std::tuple<Tensor, Tensor, Tensor> fused_gru_cell_backward(const Tensor& grad_hy, const Tensor& hx,
                                                           const Tensor& gates) {
  constexpr std::string_view kOp = "_fused_gru_cell_backward";
  check_gates(kOp, hx, 4, {gates});
  check_state(kOp, hx, grad_hy);
  return {rows_of(hx, 3), rows_of(hx, 3), rows_of(hx, 1)};
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

Tensor times(const Tensor& a, const Tensor& b) { return a && b ? ops::mul(a, b) : Tensor(); }
Tensor one_minus(const Tensor& a) { return ops::sub(Scalar(1), a, Scalar(1)); }
// The gradients through sigmoid and tanh, from their results.
Tensor through_sigmoid(const Tensor& g, const Tensor& y) {
  return times(g, ops::mul(y, one_minus(y)));
}
Tensor through_tanh(const Tensor& g, const Tensor& y) {
  return times(g, one_minus(ops::mul(y, y)));
}
Tensor or_zeros(const Tensor& g, const Tensor& like) { return g ? g : ops::mul(like, Scalar(0)); }
std::vector<Tensor> quarters(const Tensor& t, int64_t n) {
  return t ? ops::split_with_sizes(t, {n, n, n, n}, 1) : std::vector<Tensor>(4);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_cell_gradients(KeySet, const Tensor& grad_hy,
                                                       const Tensor& grad_cy,
                                                       const Tensor& grad_gates, const Tensor& cx,
                                                       const Tensor& cy, const Tensor& gates) {
  constexpr std::string_view kOp = "_lstm_cell_gradients";
  check_gates(kOp, cx, 4, {gates, grad_gates ? grad_gates : gates});
  for (const Tensor& t : {grad_hy, grad_cy, cy}) check_state(kOp, cx, t);
  if (!grad_enabled() && !grad_gates) {
    const auto [sums, grad_cx] = ops::_fused_lstm_cell_backward(grad_hy, grad_cy, cx, cy, gates);
    return {sums, sums, grad_cx};
  }
  const std::vector<Tensor> y = quarters(gates, cx.size(1)),
                            more = quarters(grad_gates, cx.size(1));
  const Tensor t = ops::tanh(cy);
  const Tensor of_c = sum_of_defined(grad_cy, through_tanh(times(grad_hy, y[3]), t));
  const std::vector<Tensor> of_gates = {
      through_sigmoid(sum_of_defined(times(of_c, y[2]), more[0]), y[0]),
      through_sigmoid(sum_of_defined(times(of_c, cx), more[1]), y[1]),
      through_tanh(sum_of_defined(times(of_c, y[0]), more[2]), y[2]),
      through_sigmoid(sum_of_defined(times(grad_hy, t), more[3]), y[3])};
  std::vector<Tensor> defined;
  for (const Tensor& grad : of_gates) defined.push_back(or_zeros(grad, cx));
  const Tensor sums = ops::cat(defined, 1);
  return {sums, sums, or_zeros(times(of_c, y[1]), cx)};
}

std::tuple<Tensor, Tensor, Tensor> gru_cell_gradients(KeySet, const Tensor& grad_hy,
                                                      const Tensor& grad_gates, const Tensor& hx,
                                                      const Tensor& gates) {
  constexpr std::string_view kOp = "_gru_cell_gradients";
  check_gates(kOp, hx, 4, {gates, grad_gates ? grad_gates : gates});
  check_state(kOp, hx, grad_hy);
  if (grad_hy && !grad_enabled() && !grad_gates)
    return ops::_fused_gru_cell_backward(grad_hy, hx, gates);
  const std::vector<Tensor> y = quarters(gates, hx.size(1)),
                            more = quarters(grad_gates, hx.size(1));
  const Tensor reset = y[0], update = y[1], candidate = y[2], hidden = y[3];
  const Tensor of_candidate =
      through_tanh(sum_of_defined(times(grad_hy, one_minus(update)), more[2]), candidate);
  const Tensor step = ops::sub(hx, candidate, Scalar(1));
  const Tensor of_update = through_sigmoid(sum_of_defined(times(grad_hy, step), more[1]), update);
  const Tensor of_reset =
      through_sigmoid(sum_of_defined(times(of_candidate, hidden), more[0]), reset);
  const Tensor of_hidden = sum_of_defined(times(of_candidate, reset), more[3]);
  const auto joined = [&](const Tensor& last) {
    return ops::cat({or_zeros(of_reset, hx), or_zeros(of_update, hx), or_zeros(last, hx)}, 1);
  };
  return {joined(of_candidate), joined(of_hidden), or_zeros(times(grad_hy, update), hx)};
}

}  // namespace uh::kernels
