// The loops of layer_norm, group_norm, batch_norm and rms_norm.
#pragma once

#include "backend/cpu/per_isa.h"
#include "backend/cpu/reduce_loops.h"
#include "base/dtype.h"

namespace uh {

// Pointers are to elements of one compute dtype, float32 or float64.
struct NormalizeLoops {
  // For each of `rows` rows of n elements: out = (x - mean) * rstd * weight[i] + bias[i]. weight
  // and bias may be null; mean and rstd get one element per row.
  void (*layer)(void* out, void* mean, void* rstd, const void* x, const void* weight,
                const void* bias, int64_t rows, int64_t n, double eps);
  // Without a mean: out = x / sqrt(mean(x * x) + eps) * weight[i].
  void (*rms)(void* out, void* rstd, const void* x, const void* weight, int64_t rows, int64_t n,
              double eps);
  // Adds n elements to the moments.
  void (*moments)(Moments* acc, const void* x, int64_t n);
  // out[i] = (x[i] - mean) * scale + shift
  void (*segment)(void* out, const void* x, int64_t n, double mean, double scale, double shift);
  // The same with separate mean, scale and shift for each i, over `rows` rows of n elements.
  void (*columns)(void* out, const void* x, const void* mean, const void* scale, const void* shift,
                  int64_t rows, int64_t n);
};

struct NormalizeTable {
  NormalizeLoops of[kDTypeCount];  // [compute dtype]
};

UH_PER_ISA(NormalizeTable, normalize_loops)

}  // namespace uh
