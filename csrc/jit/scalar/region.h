// Which parts of a graph become ScalarPrograms: outermost loops, and whole graphs, in which every
// Value is an int, a float or a bool (what only says why a program raises may be anything).
#pragma once

#include <optional>
#include <vector>

#include "jit/scalar/program.h"

namespace uh::jit {

struct ScalarRegion {
  const Node* node = nullptr;        // the prim::Loop; null: the whole graph
  std::vector<const Value*> inputs;  // what the program takes, in order
  Ref<ScalarProgram> program;
};

std::optional<ScalarRegion> scalar_region(const Node& loop);
std::optional<ScalarRegion> scalar_region(const Graph& graph);

// Merges what moves join, and drops the moves (liveness.cpp).
void merge_moves(ScalarProgram& program);

}  // namespace uh::jit
