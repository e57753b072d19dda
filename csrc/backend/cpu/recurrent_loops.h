// The pointwise part of one step of LSTM and GRU, forward and backward, in one pass.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

// Pointers are to contiguous rows of one compute dtype, float32 or float64: gates have 4 H (GRU: 3
// H) elements per row, states H. Missing gradients are null.
struct RecurrentLoops {
  // Stores the activated gates i f g o in `gates`.
  void (*lstm)(void* hy, void* cy, void* gates, const void* input, const void* hidden,
               const void* cx, int64_t rows, int64_t n);
  void (*lstm_backward)(void* grad_sums, void* grad_cx, const void* grad_hy, const void* grad_cy,
                        const void* cx, const void* cy, const void* gates, int64_t rows, int64_t n);
  // Stores r, z, n and the hidden part of n in `gates`: 4 H elements per row.
  void (*gru)(void* hy, void* gates, const void* input, const void* hidden, const void* hx,
              int64_t rows, int64_t n);
  void (*gru_backward)(void* grad_input, void* grad_hidden, void* grad_hx, const void* grad_hy,
                       const void* hx, const void* gates, int64_t rows, int64_t n);
};

struct RecurrentTable {
  RecurrentLoops of[kDTypeCount];  // [compute dtype]
};

UH_PER_ISA(RecurrentTable, recurrent_loops)

}  // namespace uh
