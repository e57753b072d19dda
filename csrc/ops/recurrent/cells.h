// One step of a recurrent network: the next state from the projected input and the hidden state.
#pragma once

#include "tensor/tensor.h"

namespace uh {

enum class Cell { kTanh, kRelu, kLstm, kGru };

// Returns the number of blocks of the hidden size in a cell's weights.
inline int64_t gates_of(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

// The state that a step passes to the next; `c` is empty except for LSTM.
struct CellState {
  Tensor h, c;
};

// The weights of one layer and direction. Biases and the projection `w_hr` may be empty.
struct CellWeights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// Returns the part of a step that does not depend on the state: input @ w_ih.T plus the biases that
// can be added beforehand. `input` may hold the rows of several steps.
Tensor input_gates(Cell cell, const Tensor& input, const CellWeights& weights);

// Returns the next state from the gates of the input and the previous state. `w_hh_t` is w_hh.T.
CellState next_state(Cell cell, const Tensor& gates, const Tensor& w_hh_t,
                     const CellWeights& weights, const CellState& state);

// Returns w_hh.T for the products of `steps` steps: a view, or a contiguous copy if the products
// gain more by reading it than it costs.
Tensor transposed_weight(const Tensor& w_hh, int64_t steps);

// Returns a + b, or the one of them that is defined.
Tensor sum_of_defined(const Tensor& a, const Tensor& b);

}  // namespace uh
