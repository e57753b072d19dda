// The plan of a kernel, for the recorder: which loop, over which dimensions.
//
// What: a kernel that walks memory says its plan just before its loop, with one line:
//   if (events::on()) [[unlikely]] record_plan({.sizes = ..., .operands = ...});
// Invariant: recording changes nothing; when it is off the cost is that branch.
//
// Note [Recorded plan]: the blob of PLAN is a stream of int64: bytes of a vector register (0: the
// loop takes one element at a time), number of dimensions, number of operands, the sizes (outermost
// first, as the loop has them: merged and reordered), then per operand its itemsize and its strides
// in bytes. The operand that is written comes first.
#pragma once

#include <string_view>
#include <vector>

#include "base/shape.h"
#include "events/recorder.h"

namespace uh {

struct PlanOperand {
  int64_t itemsize = 0;  // 0: one number, the same for every element
  Dims strides;          // in bytes
};

struct Plan {
  std::string_view loop = {};  // empty: named after how the innermost dimension is walked
  Dims sizes;
  std::vector<PlanOperand> operands;
  int64_t threads = 1;
  bool vector = true;  // the loop's dense form uses vector registers
};

// Emits PLAN for the running call. Only to be called while recording.
void record_plan(const Plan& plan);

}  // namespace uh
