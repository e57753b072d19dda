#include "ops/recurrent/cells.h"

#include "generated/kernels/recurrent.h"
#include "generated/ops/activation.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/linalg.h"
#include "generated/ops/products.h"
#include "generated/ops/recurrent.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh {
namespace {

// Returns rows + h @ w.T; a 1-d bias is added to every row.
Tensor with_hidden(const Tensor& rows, const Tensor& h, const Tensor& w_hh_t) {
  return ops::addmm(rows, h, w_hh_t, Scalar(1), Scalar(1));
}

}  // namespace

Tensor transposed_weight(const Tensor& w_hh, int64_t steps) {
  constexpr int64_t kManySteps = 8;
  const Tensor view = ops::t(w_hh);
  return steps < kManySteps ? view : ops::clone(view, MemoryFormat::kContiguous);
}

Tensor sum_of_defined(const Tensor& a, const Tensor& b) {
  if (!a) return b;
  return b ? ops::add(a, b, Scalar(1)) : a;
}

Tensor input_gates(Cell cell, const Tensor& input, const CellWeights& weights) {
  // GRU multiplies the hidden part and its bias by the reset gate, so that bias is added later.
  const bool both = weights.b_ih && weights.b_hh && cell != Cell::kGru;
  const Tensor bias = both ? sum_of_defined(weights.b_ih, weights.b_hh) : weights.b_ih;
  return ops::linear(input, weights.w_ih, bias);
}

CellState next_state(Cell cell, const Tensor& gates, const Tensor& w_hh_t,
                     const CellWeights& weights, const CellState& state) {
  switch (cell) {
    case Cell::kTanh: return {ops::tanh(with_hidden(gates, state.h, w_hh_t)), Tensor()};
    case Cell::kRelu: return {ops::relu(with_hidden(gates, state.h, w_hh_t)), Tensor()};
    case Cell::kGru: {
      const Tensor hidden =
          weights.b_hh ? with_hidden(weights.b_hh, state.h, w_hh_t) : ops::mm(state.h, w_hh_t);
      return {std::get<0>(ops::_fused_gru_cell(gates, hidden, state.h)), Tensor()};
    }
    default: {
      const auto result = ops::_fused_lstm_cell(gates, ops::mm(state.h, w_hh_t), state.c);
      CellState next{std::get<0>(result), std::get<1>(result)};
      if (weights.w_hr) next.h = ops::mm(next.h, ops::t(weights.w_hr));
      return next;
    }
  }
}

namespace kernels {
namespace {

void check_cell(std::string_view op, const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                const Tensor& w_hh) {
  check(input.ndim() == 2 && hx.ndim() == 2 && w_ih.ndim() == 2 && w_hh.ndim() == 2, op,
        ": expected 2D input, hidden and weights, got ", input.ndim(), "D, ", hx.ndim(), "D, ",
        w_ih.ndim(), "D and ", w_hh.ndim(), "D");
  check(input.size(1) == w_ih.size(1), op, ": input has inconsistent input_size: got ",
        input.size(1), " expected ", w_ih.size(1));
  check(hx.size(1) == w_hh.size(1), op, ": hidden has inconsistent hidden_size: got ", hx.size(1),
        ", expected ", w_hh.size(1));
  check(input.size(0) == hx.size(0), op, ": Input batch size ", input.size(0),
        " doesn't match hidden batch size ", hx.size(0));
}

CellState cell_step(std::string_view op, Cell cell, const Tensor& input, const CellState& state,
                    const CellWeights& weights) {
  check_cell(op, input, state.h, weights.w_ih, weights.w_hh);
  check(!weights.b_ih == !weights.b_hh, op, ": either both biases are given or none");
  check(weights.w_ih.size(0) == gates_of(cell) * weights.w_hh.size(1), op, ": weights of sizes ",
        weights.w_ih.sizes(), " do not make ", gates_of(cell), " gates of hidden_size ",
        weights.w_hh.size(1));
  return next_state(cell, input_gates(cell, input, weights), ops::t(weights.w_hh), weights, state);
}

}  // namespace

std::tuple<Tensor, Tensor> lstm_cell(KeySet, const Tensor& input, const std::vector<Tensor>& hx,
                                     const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                     const Tensor& b_hh) {
  check(hx.size() == 2, "lstm_cell: expects two hidden states, got ", hx.size());
  check(hx[0].sizes() == hx[1].sizes(),
        "lstm_cell: hx[0] and hx[1] differ in size: ", hx[0].sizes(), " and ", hx[1].sizes());
  const CellState next =
      cell_step("lstm_cell", Cell::kLstm, input, {hx[0], hx[1]}, {w_ih, w_hh, b_ih, b_hh, {}});
  return {next.h, next.c};
}

Tensor gru_cell(KeySet, const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return cell_step("gru_cell", Cell::kGru, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

Tensor rnn_tanh_cell(KeySet, const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return cell_step("rnn_tanh_cell", Cell::kTanh, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

Tensor rnn_relu_cell(KeySet, const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return cell_step("rnn_relu_cell", Cell::kRelu, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

}  // namespace kernels
}  // namespace uh
