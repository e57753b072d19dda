// Philox4x32-10 and the distributions of its words, in groups of 16 counters (64 words).
//
// Invariant: all instruction sets compute the same bits: no fused multiply-add, no library
// functions, only operations that IEEE 754 rounds uniquely. See Note [Reproducible random numbers].
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

struct RandomLoops {
  static constexpr int64_t kCounters = 16;          // per group
  static constexpr int64_t kWords = 4 * kCounters;  // 32-bit words per group

  // Writes `groups` groups from `counter` on: kWords words or floats, or kWords / 2 doubles, each.
  void (*words)(uint32_t* out, uint64_t seed, uint64_t counter, int64_t groups);
  void (*uniform_float)(float* out, uint64_t seed, uint64_t counter, int64_t groups, float lo,
                        float width);
  void (*uniform_double)(double* out, uint64_t seed, uint64_t counter, int64_t groups, double lo,
                         double width);
  void (*normal_float)(float* out, uint64_t seed, uint64_t counter, int64_t groups, float mean,
                       float std);
  void (*normal_double)(double* out, uint64_t seed, uint64_t counter, int64_t groups, double mean,
                        double std);
};

UH_PER_ISA(RandomLoops, random_loops)

}  // namespace uh
