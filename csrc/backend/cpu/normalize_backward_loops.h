// The loops of the gradients of layer_norm, rms_norm, group_norm and batch_norm.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

// Pointers are to one compute dtype, float32 or float64, unless declared double.
struct NormalizeBackwardLoops {
  // `rows` rows of n elements, with xhat = (x - mean) * rstd and h = grad * weight[i]:
  //   dx = rstd * (h - mean(h) - xhat * mean(h * xhat)); without `mean` (rms_norm) no mean(h).
  // dweight[i] += grad * xhat, dbias[i] += grad. dx, dweight, dbias and weight may be null.
  void (*layer)(void* dx, void* dweight, void* dbias, const void* grad, const void* x,
                const void* mean, const void* rstd, const void* weight, int64_t rows, int64_t n);
  // Adds to `sum` the n gradients, and to `product` grad * (x - mean).
  void (*sums)(double* sum, double* product, const void* grad, const void* x, int64_t n,
               double mean);
  // dx = a * grad + b * (x - mean) + c
  void (*segment)(void* dx, const void* grad, const void* x, int64_t n, double a, double mean,
                  double b, double c);
  // The same two with separate numbers for each of n columns, over `rows` rows.
  void (*column_sums)(double* sum, double* product, const void* grad, const void* x,
                      const double* mean, int64_t rows, int64_t n);
  void (*columns)(void* dx, const void* grad, const void* x, const double* a, const double* mean,
                  const double* b, const double* c, int64_t rows, int64_t n);
};

struct NormalizeBackwardTable {
  NormalizeBackwardLoops of[kDTypeCount];  // [compute dtype]
};

UH_PER_ISA(NormalizeBackwardTable, normalize_backward_loops)

}  // namespace uh
