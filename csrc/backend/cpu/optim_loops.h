// The loops of the fused optimizer steps: every element of a parameter, its gradient and its state
// is read and written once.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

// g = sign * grad + decay * p;  buffer = first ? g : momentum * buffer + (1 - dampening) * g;
// p = p - lr * (nesterov ? g + momentum * buffer : buffer)
struct SgdStep {
  double lr, decay, momentum, dampening;
  double sign;  // -1 to maximize
  bool nesterov, first;
};

// g = sign * grad + decay * p;  m = m + rate1 * (g - m);  v = beta2 * v + rate2 * g * g;
// p = shrink * p - step_size * m / (scale * sqrt(v) + eps)
struct AdamStep {
  double rate1, rate2, beta2;  // 1 - beta1, 1 - beta2, beta2
  double decay, shrink;        // of L2, of decoupled weight decay
  double step_size, scale, eps;
  double sign;
};

// g = sign * grad + decay * p;  sum = sum + g * g;  p = p - rate * g / (sqrt(sum) + eps)
struct AdagradStep {
  double rate, decay, eps;
  double sign;
};

// Pointers are to n elements of one dtype; 16-bit floats are computed as float32.
struct OptimLoops {
  // `buffer` is null without momentum.
  void (*sgd)(void* p, const void* grad, void* buffer, int64_t n, const SgdStep& step);
  // `largest` is null without amsgrad; with it, v's largest value so far takes v's place.
  void (*adam)(void* p, const void* grad, void* m, void* v, void* largest, int64_t n,
               const AdamStep& step);
  void (*adagrad)(void* p, const void* grad, void* sum, int64_t n, const AdagradStep& step);
};

struct OptimTable {
  OptimLoops of[kDTypeCount];  // null where the dtype is not floating
};

UH_PER_ISA(OptimTable, optim_loops)

}  // namespace uh
