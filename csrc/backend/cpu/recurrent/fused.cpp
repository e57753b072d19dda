// The pointwise part of a step of LSTM and GRU as one operator, and its gradient.
//
// Note [Gradients of cells]: the gates after their activation are a result, so that the gradient
// can be written in terms of results alone. Backward runs one loop; where its own gradient is
// required (create_graph) it is composed of operators.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/recurrent_loops.h"
#include "base/parallel.h"
#include "generated/kernels/recurrent.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/join.h"
#include "generated/ops/recurrent.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "tensor/thread_state.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 1 << 12;  // elements of a state that a thread should have at least

// The rows of a step, in the dtype that is computed in.
struct Rows {
  int64_t count, n;
  DType dtype, compute;

  Rows(std::string_view op, const Tensor& state, int64_t blocks,
       std::initializer_list<Tensor> gates) {
    check(state.ndim() == 2, op, ": expected a state of 2 dimensions, got sizes ", state.sizes());
    count = state.size(0);
    n = state.size(1);
    dtype = state.dtype();
    check(is_floating(dtype), op, ": expected floating tensors, got ", name(dtype));
    compute = is_reduced_floating(dtype) ? DType::kFloat32 : dtype;
    for (const Tensor& g : gates)
      check(g.dtype() == dtype && g.sizes() == Dims({count, blocks * n}), op,
            ": expected gates of ", name(dtype), " ", Dims({count, blocks * n}), ", got ",
            name(g.dtype()), " ", g.sizes());
  }

  void check_state(std::string_view op, const Tensor& t) const {
    check(!t || (t.dtype() == dtype && t.sizes() == Dims({count, n})), op, ": expected a state of ",
          name(dtype), " ", Dims({count, n}), ", got ", t ? name(t.dtype()) : "", " ",
          t ? t.sizes() : Dims());
  }

  Tensor in(const Tensor& t) const { return t && !t.is_meta() ? as_contiguous(t, compute) : t; }
  Tensor allocated(int64_t blocks, Device device) const {
    return empty(Dims({count, blocks * n}), compute, device);
  }
  Tensor out(const Tensor& t) const {
    if (t.is_meta()) return empty(t.sizes(), dtype, t.device());
    const Tensor result = as_contiguous(t, dtype);
    record_write(result);
    return result;
  }
  const RecurrentLoops& loops() const { return recurrent_loops().of[static_cast<int>(compute)]; }
  template <class Body>
  void walk(const Body& body) const {
    parallel_for(0, count, std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, n)), body);
  }
  // Where a row of `blocks` states begins.
  std::byte* at(const Tensor& t, int64_t row, int64_t blocks) const {
    return t ? t.data() + row * blocks * n * itemsize(compute) : nullptr;
  }
};

Tensor plus(const Tensor& a, const Tensor& b) {
  if (!a) return b;
  return b ? ops::add(a, b, Scalar(1)) : a;
}
Tensor times(const Tensor& a, const Tensor& b) { return a && b ? ops::mul(a, b) : Tensor(); }
Tensor one_minus(const Tensor& a) { return ops::sub(Scalar(1), a, Scalar(1)); }
// Through sigmoid and tanh, from their results.
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

std::tuple<Tensor, Tensor, Tensor> fused_lstm_cell(KeySet, const Tensor& input_gates,
                                                   const Tensor& hidden_gates, const Tensor& cx) {
  constexpr std::string_view kOp = "_fused_lstm_cell";
  const Rows rows(kOp, cx, 4, {input_gates, hidden_gates});
  const Tensor x = rows.in(input_gates), y = rows.in(hidden_gates), c = rows.in(cx);
  const Tensor hy = rows.allocated(1, cx.device()), cy = rows.allocated(1, cx.device());
  const Tensor gates = rows.allocated(4, cx.device());
  if (!cx.is_meta()) {
    rows.walk([&](int64_t lo, int64_t hi) {
      rows.loops().lstm(rows.at(hy, lo, 1), rows.at(cy, lo, 1), rows.at(gates, lo, 4),
                        rows.at(x, lo, 4), rows.at(y, lo, 4), rows.at(c, lo, 1), hi - lo, rows.n);
    });
  }
  return {rows.out(hy), rows.out(cy), rows.out(gates)};
}

std::tuple<Tensor, Tensor> fused_lstm_cell_backward(KeySet, const Tensor& grad_hy,
                                                    const Tensor& grad_cy, const Tensor& cx,
                                                    const Tensor& cy, const Tensor& gates) {
  constexpr std::string_view kOp = "_fused_lstm_cell_backward";
  const Rows rows(kOp, cx, 4, {gates});
  for (const Tensor& t : {grad_hy, grad_cy, cy}) rows.check_state(kOp, t);
  const Tensor gh = rows.in(grad_hy), gc = rows.in(grad_cy), before = rows.in(cx);
  const Tensor after = rows.in(cy), g = rows.in(gates);
  const Tensor sums = rows.allocated(4, cx.device()), grad_cx = rows.allocated(1, cx.device());
  if (!cx.is_meta()) {
    rows.walk([&](int64_t lo, int64_t hi) {
      rows.loops().lstm_backward(rows.at(sums, lo, 4), rows.at(grad_cx, lo, 1), rows.at(gh, lo, 1),
                                 rows.at(gc, lo, 1), rows.at(before, lo, 1), rows.at(after, lo, 1),
                                 rows.at(g, lo, 4), hi - lo, rows.n);
    });
  }
  return {rows.out(sums), rows.out(grad_cx)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_gradients(KeySet, const Tensor& grad_hy,
                                                       const Tensor& grad_cy,
                                                       const Tensor& grad_gates, const Tensor& cx,
                                                       const Tensor& cy, const Tensor& gates) {
  constexpr std::string_view kOp = "_lstm_cell_gradients";
  const Rows rows(kOp, cx, 4, {gates, grad_gates ? grad_gates : gates});
  for (const Tensor& t : {grad_hy, grad_cy, cy}) rows.check_state(kOp, t);
  if (!grad_enabled() && !grad_gates) {
    const auto [sums, grad_cx] = ops::_fused_lstm_cell_backward(grad_hy, grad_cy, cx, cy, gates);
    return {sums, sums, grad_cx};
  }
  const std::vector<Tensor> y = quarters(gates, rows.n), more = quarters(grad_gates, rows.n);
  const Tensor t = ops::tanh(cy);
  const Tensor of_c = plus(grad_cy, through_tanh(times(grad_hy, y[3]), t));
  const std::vector<Tensor> of_gates = {through_sigmoid(plus(times(of_c, y[2]), more[0]), y[0]),
                                        through_sigmoid(plus(times(of_c, cx), more[1]), y[1]),
                                        through_tanh(plus(times(of_c, y[0]), more[2]), y[2]),
                                        through_sigmoid(plus(times(grad_hy, t), more[3]), y[3])};
  std::vector<Tensor> defined;
  for (const Tensor& grad : of_gates) defined.push_back(or_zeros(grad, cx));
  const Tensor sums = ops::cat(defined, 1);
  return {sums, sums, or_zeros(times(of_c, y[1]), cx)};
}

std::tuple<Tensor, Tensor> fused_gru_cell(KeySet, const Tensor& input_gates,
                                          const Tensor& hidden_gates, const Tensor& hx) {
  const Rows rows("_fused_gru_cell", hx, 3, {input_gates, hidden_gates});
  const Tensor x = rows.in(input_gates), y = rows.in(hidden_gates), h = rows.in(hx);
  const Tensor hy = rows.allocated(1, hx.device()), gates = rows.allocated(4, hx.device());
  if (!hx.is_meta()) {
    rows.walk([&](int64_t lo, int64_t hi) {
      rows.loops().gru(rows.at(hy, lo, 1), rows.at(gates, lo, 4), rows.at(x, lo, 3),
                       rows.at(y, lo, 3), rows.at(h, lo, 1), hi - lo, rows.n);
    });
  }
  return {rows.out(hy), rows.out(gates)};
}

std::tuple<Tensor, Tensor, Tensor> fused_gru_cell_backward(KeySet, const Tensor& grad_hy,
                                                           const Tensor& hx, const Tensor& gates) {
  constexpr std::string_view kOp = "_fused_gru_cell_backward";
  const Rows rows(kOp, hx, 4, {gates});
  rows.check_state(kOp, grad_hy);
  const Tensor gh = rows.in(grad_hy), h = rows.in(hx), g = rows.in(gates);
  const Tensor of_input = rows.allocated(3, hx.device()),
               of_hidden = rows.allocated(3, hx.device());
  const Tensor grad_hx = rows.allocated(1, hx.device());
  if (!hx.is_meta()) {
    rows.walk([&](int64_t lo, int64_t hi) {
      rows.loops().gru_backward(rows.at(of_input, lo, 3), rows.at(of_hidden, lo, 3),
                                rows.at(grad_hx, lo, 1), rows.at(gh, lo, 1), rows.at(h, lo, 1),
                                rows.at(g, lo, 4), hi - lo, rows.n);
    });
  }
  return {rows.out(of_input), rows.out(of_hidden), rows.out(grad_hx)};
}

std::tuple<Tensor, Tensor, Tensor> gru_cell_gradients(KeySet, const Tensor& grad_hy,
                                                      const Tensor& grad_gates, const Tensor& hx,
                                                      const Tensor& gates) {
  constexpr std::string_view kOp = "_gru_cell_gradients";
  const Rows rows(kOp, hx, 4, {gates, grad_gates ? grad_gates : gates});
  rows.check_state(kOp, grad_hy);
  if (grad_hy && !grad_enabled() && !grad_gates)
    return ops::_fused_gru_cell_backward(grad_hy, hx, gates);
  const std::vector<Tensor> y = quarters(gates, rows.n), more = quarters(grad_gates, rows.n);
  const Tensor reset = y[0], update = y[1], candidate = y[2], hidden = y[3];
  const Tensor of_candidate =
      through_tanh(plus(times(grad_hy, one_minus(update)), more[2]), candidate);
  const Tensor step = ops::sub(hx, candidate, Scalar(1));
  const Tensor of_update = through_sigmoid(plus(times(grad_hy, step), more[1]), update);
  const Tensor of_reset = through_sigmoid(plus(times(of_candidate, hidden), more[0]), reset);
  const Tensor of_hidden = plus(times(of_candidate, reset), more[3]);
  const auto joined = [&](const Tensor& last) {
    return ops::cat({or_zeros(of_reset, hx), or_zeros(of_update, hx), or_zeros(last, hx)}, 1);
  };
  return {joined(of_candidate), joined(of_hidden), or_zeros(times(grad_hy, update), hx)};
}

}  // namespace uh::kernels
