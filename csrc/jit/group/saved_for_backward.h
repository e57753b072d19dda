// The values that eager calls save for their gradients.
//
// A backward pass fails if a saved tensor was written after the call. Passes that group calls (Note
// [Groups and writes]) or replace writes by new tensors check here which writes such a failure
// depends on. Invariant: true if unknown. If violated: compiled code computes a gradient for which
// eager mode raises an error.
#pragma once

#include <cstdint>
#include <span>

#include "jit/ir/graph.h"

namespace uh::jit {

struct SavedByOperator {
  const char* name;    // "mul.Tensor"
  uint32_t arguments;  // a bit for each
  bool result;
};
// Operators with gradient formulas, by name: generated from the yaml (codegen/saved.py).
std::span<const SavedByOperator> saved_table();

bool saves_input(const Node& node, size_t index);
bool saves_result(const Node& node);

// True if anything in the graph may require a gradient, according to the types.
bool may_want_gradients(const Graph& graph);

// True if `write` runs after the node: later in the block, or in a loop that contains both.
bool is_done_after(const Node& write, const Node& node);

}  // namespace uh::jit
