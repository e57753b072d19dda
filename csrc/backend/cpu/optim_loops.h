// The loops of fused optimizer steps: each element of a parameter, its gradient and its state is
// read and written once.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"
#include "ops/optim/steps.h"

namespace uh {

// Pointers are to n elements of one dtype; 16-bit floats are computed as float32.
struct OptimLoops {
  // `buffer` is null without momentum.
  void (*sgd)(void* p, const void* grad, void* buffer, int64_t n, const SgdStep& step);
  // `largest` is null without amsgrad; with it, the running maximum of v replaces v.
  void (*adam)(void* p, const void* grad, void* m, void* v, void* largest, int64_t n,
               const AdamStep& step);
  void (*adagrad)(void* p, const void* grad, void* sum, int64_t n, const AdagradStep& step);
};

struct OptimTable {
  OptimLoops of[kDTypeCount];  // null where the dtype is not floating
};

UH_PER_ISA(OptimTable, optim_loops)

}  // namespace uh
