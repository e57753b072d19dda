// The operations of attention on a block of scores, between its two matrix products.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

// Rows of scores: a row per query, a column per key. `largest` and `sum` of a row cover all keys so
// far; `out` accumulates `width` columns, not yet divided by the sum.
template <class T>
struct ScoreBlock {
  T* scores;
  int64_t rows, keys;
  T* largest;
  T* sum;
  T* out;
  int64_t width;
};

template <class T>
struct AttentionLoops {
  // scores[i] = mask[i] ? scores[i] : -inf, and scores[i] += mask[i]; n per row, `step` is 0 or 1.
  void (*keep)(T* scores, const bool* mask, int64_t step, int64_t n);
  void (*add)(T* scores, const T* mask, int64_t step, int64_t n);
  // Replaces scores by exp(score - largest), and rescales `sum` and `out` if `largest` has grown.
  void (*absorb)(const ScoreBlock<T>& block);
  // out /= sum; a row without keys is 0.
  void (*finish)(const ScoreBlock<T>& block);
  // Backward for n scores of one query: replaces scores by weights, exp(score - logsumexp), and the
  // weights' gradients by the scores', weight * (gradient - mean).
  void (*slopes)(T* scores, T* gradients, T logsumexp, T mean, int64_t n);
  T (*dot)(const T* a, const T* b, int64_t n);
};

using FloatAttention = AttentionLoops<float>;
using DoubleAttention = AttentionLoops<double>;
UH_PER_ISA(FloatAttention, float_attention_loops)
UH_PER_ISA(DoubleAttention, double_attention_loops)

}  // namespace uh
