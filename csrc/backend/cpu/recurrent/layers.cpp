// Recurrent networks of several layers and directions: the input products of all steps are one
// matrix product, followed by the steps.
//
// Note [Packed rows]: sequences of different lengths are stored step by step, longest first: step t
// has batch_sizes[t] rows. Lengths do not increase, so a step's rows are the first ones of the
// previous step: the state is truncated where sequences end (and extended in the reverse
// direction). Padded input is the case of equal batch sizes.
// input is the same with equal batch sizes.
#include <algorithm>

#include "backend/cpu/copy/elements.h"
#include "generated/kernels/recurrent.h"
#include "generated/ops/copy.h"
#include "generated/ops/join.h"
#include "generated/ops/random.h"
#include "generated/ops/recurrent.h"
#include "generated/ops/view.h"
#include "ops/recurrent/cells.h"
#include "ops/recurrent/steps.h"
#include "tensor/thread_state.h"

namespace uh::kernels {
namespace {

using Tensors = std::vector<Tensor>;

struct Options {
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train, bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
};

struct Outputs {
  Tensor rows;   // (all rows, directions * hidden size)
  Tensors h, c;  // for each layer and direction
};

struct Pass {
  Tensor rows;
  CellState last;
};

Tensor first_rows(const Tensor& t, int64_t n) {
  return !t || t.size(0) == n ? t : ops::narrow(t, 0, 0, n);
}

CellState first_rows(const CellState& s, int64_t n) {
  return {first_rows(s.h, n), first_rows(s.c, n)};
}

Tensor rows_between(const Tensor& t, int64_t from, int64_t to) {
  return t ? ops::narrow(t, 0, from, to - from) : t;
}

Tensor joined(const Tensors& parts) {
  if (!parts.front()) return Tensor();
  return parts.size() == 1 ? parts.front() : ops::cat(parts, 0);
}

// Splits the gates into steps. Equal batch sizes allow one view, whose gradient is one stack.
Tensors steps_of(const Tensor& gates, const Dims& batch_sizes) {
  const auto steps = static_cast<int64_t>(batch_sizes.size());
  if (batch_sizes[0] == batch_sizes.back())
    return ops::unbind(ops::unflatten(gates, 0, {steps, batch_sizes[0]}), 0);
  return ops::split_with_sizes(gates, batch_sizes, 0);
}

// Runs one layer in one direction over all steps.
Pass run(Cell cell, const Tensor& input, const Dims& batch_sizes, const CellState& start,
         const CellWeights& weights, bool reverse) {
  const Tensors gates = steps_of(input_gates(cell, input, weights), batch_sizes);
  const size_t steps = gates.size();
  // A product whose gradient is recorded saves the weight: a view shares its version.
  const Tensor w_hh_t = grad_enabled()
                            ? ops::t(weights.w_hh)
                            : transposed_weight(weights.w_hh, static_cast<int64_t>(steps));
  Tensors outputs(steps), ended_h, ended_c;
  CellState state = reverse ? first_rows(start, batch_sizes.back()) : start;
  for (size_t i = 0; i < steps; ++i) {
    const size_t t = reverse ? steps - 1 - i : i;
    const int64_t rows = batch_sizes[t], before = state.h.size(0);
    if (rows < before) {
      ended_h.push_back(rows_between(state.h, rows, before));
      ended_c.push_back(rows_between(state.c, rows, before));
      state = first_rows(state, rows);
    } else if (rows > before) {
      state.h = ops::cat({state.h, rows_between(start.h, before, rows)}, 0);
      if (state.c) state.c = ops::cat({state.c, rows_between(start.c, before, rows)}, 0);
    }
    state = next_state(cell, gates[t], w_hh_t, weights, state);
    outputs[t] = state.h;
  }
  ended_h.push_back(state.h);
  ended_c.push_back(state.c);
  std::reverse(ended_h.begin(), ended_h.end());
  std::reverse(ended_c.begin(), ended_c.end());
  return {ops::cat(outputs, 0), {joined(ended_h), joined(ended_c)}};
}

// LSTM and GRU have operators over all steps (fused_layer.cpp), which save what backward needs.
// Projected states, and all layers when no gradient is recorded, run step by step here.
Pass run_side(std::string_view op, Cell cell, const Tensor& input, const Dims& batch_sizes,
              const CellState& start, const CellWeights& weights, bool reverse) {
  const bool fused = cell == Cell::kGru || (cell == Cell::kLstm && !weights.w_hr);
  if (!fused || !grad_enabled()) return run(cell, input, batch_sizes, start, weights, reverse);
  const Tensor gates = input_gates(cell, input, weights);
  const Steps steps(op, batch_sizes, reverse, gates);
  if (cell == Cell::kGru) {
    const Tensor rows = std::get<0>(
        ops::_gru_layer(gates, weights.w_hh, weights.b_hh, start.h, batch_sizes, reverse));
    return {rows, {steps.last(rows), Tensor()}};
  }
  const auto result = ops::_lstm_layer(gates, weights.w_hh, start.h, start.c, batch_sizes, reverse);
  return {std::get<0>(result), {steps.last(std::get<0>(result)), steps.last(std::get<1>(result))}};
}

// Returns the weights of each layer and direction, in the order of the modules' parameters.
std::vector<CellWeights> weights_of(std::string_view op, const Tensors& params,
                                    const Options& options, bool projected) {
  const auto cells =
      static_cast<size_t>(options.num_layers) * static_cast<size_t>(options.directions());
  const size_t each = (options.has_biases ? 4 : 2) + (projected ? 1 : 0);
  check(options.num_layers > 0 && options.num_layers < INT32_MAX && params.size() == cells * each,
        op, ": expected ", cells * each, " weights for ", options.num_layers, " layers, got ",
        params.size());
  std::vector<CellWeights> result;
  for (size_t i = 0; i < params.size(); i += each) {
    CellWeights cell_weights{params[i], params[i + 1], {}, {}, {}};
    if (options.has_biases) {
      cell_weights.b_ih = params[i + 2];
      cell_weights.b_hh = params[i + 3];
    }
    if (projected) cell_weights.w_hr = params[i + each - 1];
    check(cell_weights.w_ih.ndim() == 2 && cell_weights.w_hh.ndim() == 2, op,
          ": weights must be matrices, got ", cell_weights.w_ih.sizes(), " and ",
          cell_weights.w_hh.sizes());
    result.push_back(cell_weights);
  }
  return result;
}

Outputs run_layers(std::string_view op, Cell cell, Tensor rows, const Dims& batch_sizes,
                   const Tensor& h0, const Tensor& c0, const Tensors& params,
                   const Options& options) {
  check(options.num_layers > 0 && options.num_layers < INT32_MAX, op, ": num_layers is ",
        options.num_layers);
  const int64_t directions = options.directions(), cells = options.num_layers * directions;
  check(!batch_sizes.empty(), op, ": Expected sequence length to be larger than 0 in RNN");
  for (const Tensor* hidden : {&h0, &c0}) {
    check(!*hidden || (hidden->ndim() == 3 && hidden->size(0) == cells), op,
          ": expected a hidden state of ", cells, " layers and directions, got sizes ",
          *hidden ? hidden->sizes() : Dims());
    check(!*hidden || hidden->size(1) == batch_sizes[0], op,
          ": expected a hidden state of batch size ", batch_sizes[0], ", got ",
          *hidden ? hidden->size(1) : 0);
  }
  const bool projected = c0 && h0.size(2) != c0.size(2);
  const std::vector<CellWeights> weights = weights_of(op, params, options, projected);
  const Tensors h = ops::unbind(h0, 0);
  const Tensors c = c0 ? ops::unbind(c0, 0) : Tensors(h.size());
  Outputs out;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    if (layer > 0 && options.train && options.dropout > 0)
      rows = ops::dropout(rows, options.dropout, true);
    Tensors sides;
    for (int64_t d = 0; d < directions; ++d) {
      const auto i = static_cast<size_t>(layer * directions + d);
      const Pass pass = run_side(op, cell, rows, batch_sizes, {h[i], c[i]}, weights[i], d == 1);
      sides.push_back(pass.rows);
      out.h.push_back(pass.last.h);
      out.c.push_back(pass.last.c);
    }
    rows = directions == 1 ? sides[0] : ops::cat(sides, -1);
  }
  out.rows = rows;
  return out;
}

// Takes (steps, batch, size) or (batch, steps, size), and returns the same order.
Outputs run_padded(std::string_view op, Cell cell, const Tensor& input, const Tensor& h0,
                   const Tensor& c0, const Tensors& params, const Options& options,
                   bool batch_first) {
  check(input.ndim() == 3, op, ": expected an input of 3 dimensions, got sizes ", input.sizes());
  const Tensor by_step = batch_first ? ops::transpose(input, 0, 1) : input;
  const int64_t steps = by_step.size(0), batch = by_step.size(1);
  check(steps > 0, op, ": Expected sequence length to be larger than 0 in RNN");
  const Tensor rows = ops::reshape(by_step, {steps * batch, by_step.size(2)});
  const Dims batch_sizes(static_cast<size_t>(steps), batch);
  Outputs out = run_layers(op, cell, rows, batch_sizes, h0, c0, params, options);
  out.rows = ops::unflatten(out.rows, 0, {steps, batch});
  if (batch_first) out.rows = ops::transpose(out.rows, 0, 1);
  return out;
}

// Takes rows as in Note [Packed rows].
Outputs run_packed(std::string_view op, Cell cell, const Tensor& data, const Tensor& batch_sizes,
                   const Tensor& h0, const Tensor& c0, const Tensors& params,
                   const Options& options) {
  check(data.ndim() == 2, op, ": expected packed data of 2 dimensions, got sizes ", data.sizes());
  check(batch_sizes.ndim() == 1 && batch_sizes.dtype() == DType::kInt64 && !batch_sizes.is_meta(),
        op, ": batch_sizes must be an int64 vector on the CPU");
  const Tensor flat = as_contiguous(batch_sizes);
  const auto* n = flat.data_as<int64_t>();
  Dims sizes;
  int64_t total = 0;
  for (int64_t t = 0; t < flat.numel(); ++t) {
    check(n[t] > 0 && (t == 0 || n[t] <= n[t - 1]), op,
          ": batch_sizes must be positive and must not grow, got ", n[t], " at step ", t);
    sizes.push_back(n[t]);
    total += n[t];
  }
  check(total == data.size(0), op, ": batch_sizes add up to ", total, ", but data has ",
        data.size(0), " rows");
  return run_layers(op, cell, data, sizes, h0, c0, params, options);
}

const Tensor& part(std::string_view op, const Tensors& hx, size_t i) {
  check(hx.size() == 2, op, ": expects two hidden states, got ", hx.size());
  return hx[i];
}

std::tuple<Tensor, Tensor> one_state(const Outputs& out) {
  return {out.rows, ops::stack(out.h, 0)};
}

std::tuple<Tensor, Tensor, Tensor> two_states(const Outputs& out) {
  return {out.rows, ops::stack(out.h, 0), ops::stack(out.c, 0)};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_input(KeySet, const Tensor& input, const Tensors& hx,
                                              const Tensors& params, bool has_biases,
                                              int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first) {
  return two_states(run_padded("lstm", Cell::kLstm, input, part("lstm", hx, 0), part("lstm", hx, 1),
                               params, {has_biases, num_layers, dropout, train, bidirectional},
                               batch_first));
}

std::tuple<Tensor, Tensor, Tensor> lstm_data(KeySet, const Tensor& data, const Tensor& batch_sizes,
                                             const Tensors& hx, const Tensors& params,
                                             bool has_biases, int64_t num_layers, double dropout,
                                             bool train, bool bidirectional) {
  return two_states(run_packed("lstm", Cell::kLstm, data, batch_sizes, part("lstm", hx, 0),
                               part("lstm", hx, 1), params,
                               {has_biases, num_layers, dropout, train, bidirectional}));
}

#define UH_ONE_STATE(name, cell)                                                                   \
  std::tuple<Tensor, Tensor> name##_input(                                                         \
      KeySet, const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,       \
      int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {      \
    return one_state(run_padded(#name, cell, input, hx, Tensor(), params,                          \
                                {has_biases, num_layers, dropout, train, bidirectional},           \
                                batch_first));                                                     \
  }                                                                                                \
  std::tuple<Tensor, Tensor> name##_data(KeySet, const Tensor& data, const Tensor& batch_sizes,    \
                                         const Tensor& hx, const Tensors& params, bool has_biases, \
                                         int64_t num_layers, double dropout, bool train,           \
                                         bool bidirectional) {                                     \
    return one_state(run_packed(#name, cell, data, batch_sizes, hx, Tensor(), params,              \
                                {has_biases, num_layers, dropout, train, bidirectional}));         \
  }

UH_ONE_STATE(gru, Cell::kGru)
UH_ONE_STATE(rnn_tanh, Cell::kTanh)
UH_ONE_STATE(rnn_relu, Cell::kRelu)
#undef UH_ONE_STATE

}  // namespace uh::kernels
