// One step of a recurrent network: from the products of input and hidden state to the next state.
#pragma once

#include "tensor/tensor.h"

namespace uh {

enum class Cell { kTanh, kRelu, kLstm, kGru };

// The number of blocks of the hidden size in a cell's weights.
inline int64_t gates_of(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

// The state that a step passes to the next; `c` is empty except for LSTM.
struct CellState {
  Tensor h, c;
};

// The weights of one layer and direction. Biases and the projection `w_hr` may be empty.
struct CellWeights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// The part of a step that does not depend on the state: input @ w_ih.T with the biases that can be
// added beforehand. Rows of any number of steps at once.
Tensor input_gates(Cell cell, const Tensor& input, const CellWeights& weights);

// The next state from the gates of the input and the state before. `w_hh_t` is w_hh.T.
CellState next_state(Cell cell, const Tensor& gates, const Tensor& w_hh_t,
                     const CellWeights& weights, const CellState& state);

}  // namespace uh
