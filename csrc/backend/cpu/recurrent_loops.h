// The pointwise part of one step of LSTM and GRU, forwards and backwards, in one pass.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

// Pointers are to rows of one compute dtype, float32 or float64, that follow one another: gates
// have 4 H (GRU's 3 H) elements in a row, states H. Gradients that are not there are null.
struct RecurrentLoops {
  // The gates after their activation go to `gates`: i f g o.
  void (*lstm)(void* hy, void* cy, void* gates, const void* input, const void* hidden,
               const void* cx, int64_t rows, int64_t n);
  void (*lstm_backward)(void* grad_sums, void* grad_cx, const void* grad_hy, const void* grad_cy,
                        const void* cx, const void* cy, const void* gates, int64_t rows, int64_t n);
  // `gates` takes r z n and the hidden part of n: 4 H elements in a row.
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
