// The plan of a kernel, for the recorder: which loop runs, over which dimensions.
//
// A kernel that loops over memory records its plan just before the loop, with one line:
//   if (events::on()) [[unlikely]] record_plan({.sizes = ..., .operands = ...});
// Invariant: recording has no effect on results; when it is off, the cost is that branch.
//
// Note [Recorded plan]: the blob of PLAN is a stream of int64: bytes of a vector register (0 if
// the loop is scalar), number of dimensions, number of operands, the loop's sizes (outermost first,
// merged and reordered), then itemsize and strides in bytes for each operand. The written operand
// is first.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "events/recorder.h"

namespace uh {

struct PlanOperand {
  int64_t itemsize = 0;  // 0: a single number for all elements
  Dims strides;          // in bytes
};

struct Plan {
  std::string_view loop = {};  // empty: named after the access pattern of the innermost dimension
  Dims sizes;
  std::vector<PlanOperand> operands;
  int64_t threads = 1;
  bool vector = true;  // its dense form uses vector registers
};

// Emits PLAN for the running call. Call only while recording.
void record_plan(const Plan& plan);

// The same for one row of n elements; an operand's stride is its itemsize, or 0 for a number.
void record_row(std::span<const int64_t> strides, int64_t n);

}  // namespace uh
