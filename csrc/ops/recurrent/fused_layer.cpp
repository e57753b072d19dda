// LSTM and GRU over all steps of one layer and direction as one operator, so that the gradient of
// the recurrent weight is one product over all steps instead of one per step.
//
// Backward is a loop over the steps that calls operators: under create_graph it is itself
// differentiable (Note [Gradients of cells] in fused_cell.cpp).
#include "generated/kernels/recurrent.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/linalg.h"
#include "generated/ops/products.h"
#include "generated/ops/recurrent.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/recurrent/cells.h"
#include "ops/recurrent/steps.h"

namespace uh::kernels {
namespace {

void check_weights(std::string_view op, int64_t blocks, const Tensor& gates, const Tensor& w_hh,
                   const Tensor& b_hh, const Tensor& hx, const Tensor& cx, int64_t batch) {
  check(hx.ndim() == 2 && hx.size(0) == batch, op, ": expected a state of ", batch,
        " sequences, got sizes ", hx.sizes());
  const int64_t n = hx.size(1), rows = blocks * n;
  check(gates.size(1) == rows && w_hh.sizes() == Dims({rows, n}), op, ": expected gates of ", rows,
        " columns and a weight of sizes ", Dims({rows, n}), ", got ", gates.sizes(), " and ",
        w_hh.sizes());
  check(!b_hh || b_hh.sizes() == Dims({rows}), op, ": expected a bias of ", rows, " elements");
  check(!cx || cx.sizes() == hx.sizes(), op, ": both states must have the same sizes, got ",
        hx.sizes(), " and ", cx ? cx.sizes() : Dims());
  for (const Tensor* t : {&gates, &w_hh, &b_hh, &cx})
    check(!*t || (*t).dtype() == hx.dtype(), op, ": expected one dtype, got ", name(hx.dtype()),
          " and ", *t ? name((*t).dtype()) : "");
}

// Returns the initial state of step t from that of the previous step: truncated to `size` rows, or
// extended by rows of `start`.
Tensor entering(const Tensor& state, const Tensor& start, int64_t size) {
  if (!state) return start.size(0) == size ? start : ops::narrow(start, 0, 0, size);
  const int64_t known = state.size(0);
  if (known == size) return state;
  if (known > size) return ops::narrow(state, 0, 0, size);
  return ops::cat({state, ops::narrow(start, 0, known, size - known)}, 0);
}

// The gradient of the state that one step passes to the next, as rows of that step. Rows of
// sequences that have no previous step are part of the gradient of the initial state.
class Carry {
 public:
  // Returns the carried gradient for the `size` rows of the previous step, plus `more`.
  Tensor into(const Tensor& more, int64_t size) {
    if (!rows_) return more;
    const int64_t known = rows_.size(0);
    if (known > size) {
      ended_.push_back(ops::narrow(rows_, 0, size, known - size));
      rows_ = ops::narrow(rows_, 0, 0, size);
    } else if (known < size) {
      const Dims missing{size - known, rows_.size(1)};
      rows_ = ops::cat({rows_, ops::zeros(missing, rows_.dtype(), rows_.device())}, 0);
    }
    return sum_of_defined(more, rows_);
  }
  void set(Tensor rows) { rows_ = std::move(rows); }
  // Returns the gradient of the initial state: the remaining rows, then the removed ones, latest
  // first.
  Tensor first() const {
    if (ended_.empty()) return rows_;
    std::vector<Tensor> parts{rows_};
    for (auto part = ended_.rbegin(); part != ended_.rend(); ++part) parts.push_back(*part);
    return ops::cat(parts, 0);
  }

 private:
  Tensor rows_;
  std::vector<Tensor> ended_;
};

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_layer(KeySet, const Tensor& gates, const Tensor& w_hh,
                                              const Tensor& hx, const Tensor& cx,
                                              const Dims& batch_sizes, bool reverse) {
  constexpr std::string_view kOp = "_lstm_layer";
  const Steps steps(kOp, batch_sizes, reverse, gates);
  check_weights(kOp, 4, gates, w_hh, Tensor(), hx, cx, steps.batch());
  const Tensor w_hh_t = transposed_weight(w_hh, steps.count());
  const std::vector<Tensor> inputs = steps.split(gates);
  std::vector<Tensor> outputs(inputs.size()), cells(inputs.size()), activations(inputs.size());
  Tensor h, c;
  for (int64_t i = 0; i < steps.count(); ++i) {
    const int64_t t = steps.at(i);
    h = entering(h, hx, steps.size(t));
    c = entering(c, cx, steps.size(t));
    const auto at = static_cast<size_t>(t);
    std::tie(h, c, activations[at]) = ops::_fused_lstm_cell(inputs[at], ops::mm(h, w_hh_t), c);
    outputs[at] = h;
    cells[at] = c;
  }
  return {ops::cat(outputs, 0), ops::cat(cells, 0), ops::cat(activations, 0)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_layer_gradients(
    KeySet, const Tensor& grad_output, const Tensor& grad_cells, const Tensor& grad_activations,
    const Tensor& w_hh, const Tensor& hx, const Tensor& cx, const Tensor& output,
    const Tensor& cells, const Tensor& activations, const Dims& batch_sizes, bool reverse) {
  constexpr std::string_view kOp = "_lstm_layer_gradients";
  const Steps steps(kOp, batch_sizes, reverse, output);
  check_weights(kOp, 4, activations, w_hh, Tensor(), hx, cx, steps.batch());
  for (const Tensor* t : {&cells, &grad_output, &grad_cells})
    check(!*t || (*t).sizes() == output.sizes(), kOp, ": rows of other sizes: ", output.sizes(),
          " and ", *t ? (*t).sizes() : Dims());
  check(!grad_activations || grad_activations.sizes() == activations.sizes(), kOp,
        ": gradient of other sizes");
  const std::vector<Tensor> of_output = steps.split(grad_output), of_cell = steps.split(grad_cells),
                            of_gates = steps.split(grad_activations), after = steps.split(cells),
                            before = steps.split(steps.before(cells, cx)),
                            gates = steps.split(activations);
  std::vector<Tensor> sums(gates.size());
  Carry h, c;
  for (int64_t i = steps.count() - 1; i >= 0; --i) {
    const int64_t t = steps.at(i);
    const auto at = static_cast<size_t>(t);
    Tensor grad_cx;
    std::tie(sums[at], std::ignore, grad_cx) = ops::_lstm_cell_gradients(
        h.into(of_output[at], steps.size(t)), c.into(of_cell[at], steps.size(t)), of_gates[at],
        before[at], after[at], gates[at]);
    h.set(ops::mm(sums[at], w_hh));
    c.set(grad_cx);
  }
  const Tensor grad_gates = ops::cat(sums, 0);
  return {grad_gates, ops::mm(ops::t(grad_gates), steps.before(output, hx)), h.first(), c.first()};
}

std::tuple<Tensor, Tensor> gru_layer(KeySet, const Tensor& gates, const Tensor& w_hh,
                                     const Tensor& b_hh, const Tensor& hx, const Dims& batch_sizes,
                                     bool reverse) {
  constexpr std::string_view kOp = "_gru_layer";
  const Steps steps(kOp, batch_sizes, reverse, gates);
  check_weights(kOp, 3, gates, w_hh, b_hh, hx, Tensor(), steps.batch());
  const Tensor w_hh_t = transposed_weight(w_hh, steps.count());
  const std::vector<Tensor> inputs = steps.split(gates);
  std::vector<Tensor> outputs(inputs.size()), activations(inputs.size());
  Tensor h;
  for (int64_t i = 0; i < steps.count(); ++i) {
    const int64_t t = steps.at(i);
    const auto at = static_cast<size_t>(t);
    h = entering(h, hx, steps.size(t));
    const Tensor hidden =
        b_hh ? ops::addmm(b_hh, h, w_hh_t, Scalar(1), Scalar(1)) : ops::mm(h, w_hh_t);
    std::tie(h, activations[at]) = ops::_fused_gru_cell(inputs[at], hidden, h);
    outputs[at] = h;
  }
  return {ops::cat(outputs, 0), ops::cat(activations, 0)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> gru_layer_gradients(
    KeySet, const Tensor& grad_output, const Tensor& grad_activations, const Tensor& w_hh,
    const Tensor& hx, const Tensor& output, const Tensor& activations, const Dims& batch_sizes,
    bool reverse) {
  constexpr std::string_view kOp = "_gru_layer_gradients";
  const Steps steps(kOp, batch_sizes, reverse, output);
  check(activations.ndim() == 2 && hx.ndim() == 2 && hx.size(0) == steps.batch() &&
            activations.sizes() == Dims({output.size(0), 4 * hx.size(1)}) &&
            w_hh.sizes() == Dims({3 * hx.size(1), hx.size(1)}),
        kOp, ": sizes do not go together: ", activations.sizes(), ", ", hx.sizes(), " and ",
        w_hh.sizes());
  check(!grad_output || grad_output.sizes() == output.sizes(), kOp, ": gradient of other sizes");
  check(!grad_activations || grad_activations.sizes() == activations.sizes(), kOp,
        ": gradient of other sizes");
  const Tensor states = steps.before(output, hx);
  const std::vector<Tensor> of_output = steps.split(grad_output),
                            of_gates = steps.split(grad_activations), before = steps.split(states),
                            gates = steps.split(activations);
  std::vector<Tensor> of_input(gates.size()), of_hidden(gates.size());
  Carry h;
  for (int64_t i = steps.count() - 1; i >= 0; --i) {
    const int64_t t = steps.at(i);
    const auto at = static_cast<size_t>(t);
    Tensor direct;
    std::tie(of_input[at], of_hidden[at], direct) = ops::_gru_cell_gradients(
        h.into(of_output[at], steps.size(t)), of_gates[at], before[at], gates[at]);
    h.set(ops::addmm(direct, of_hidden[at], w_hh, Scalar(1), Scalar(1)));
  }
  const Tensor hidden = ops::cat(of_hidden, 0);
  return {ops::cat(of_input, 0), ops::mm(ops::t(hidden), states),
          ops::sum(hidden, Dims{0}, false, DType::kUndefined), h.first()};
}

}  // namespace uh::kernels
