// The inner loops of ctc_loss and its gradient: the states of one step of one sequence, in double
// precision.
//
// Counts of states and classes are multiples of kCtcPadding: whole registers, because what is left
// over would be computed by scalar exponentials, which take as long as a register's.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

inline constexpr int64_t kCtcPadding = 8;

struct CtcLoops {
  // to[s] = log(e^from[s] + e^from[s + side] + e^from[s + 2 side]) + score[s], without the third
  // exponential where skips[s] is 0. `side` is -1 forward and 1 backward.
  void (*step)(double* to, const double* from, const double* score, const double* skips,
               int64_t side, int64_t states);
  // to[i] = e^x[i], without an underflow.
  void (*exponentials)(double* to, const double* x, int64_t n);
};

UH_PER_ISA(CtcLoops, ctc_loops)

}  // namespace uh
