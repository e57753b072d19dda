// Selection of the parts of a graph that become ScalarPrograms: outermost loops, and complete
// graphs, in which every Value is an int, a float or a bool (a value used only in an error message
// may have any type). A complete graph gains 1.18 at 32 operators; the random search of
// tests/native/jit_numbers_test.cpp reaches all instructions through it.
#pragma once

#include <optional>
#include <vector>

#include "jit/scalar/program.h"

namespace uh::jit {

struct ScalarRegion {
  const Node* node = nullptr;        // the prim::Loop; null: the complete graph
  std::vector<const Value*> inputs;  // what the program takes, in order
  Ref<ScalarProgram> program;
};

std::optional<ScalarRegion> scalar_region(const Node& loop);
std::optional<ScalarRegion> scalar_region(const Graph& graph);

// Merges the slots that moves connect, and removes the moves (liveness.cpp).
void merge_moves(ScalarProgram& program);

}  // namespace uh::jit
