// Selection of the loops of a graph that become ScalarPrograms: outermost ones in which every Value
// is an int, a float or a bool (a value used only in an error message may have any type).
#pragma once

#include <optional>
#include <vector>

#include "jit/scalar/program.h"

namespace uh::jit {

struct ScalarRegion {
  const Node* node = nullptr;        // the prim::Loop
  std::vector<const Value*> inputs;  // what the program takes, in order
  Ref<ScalarProgram> program;
};

std::optional<ScalarRegion> scalar_region(const Node& loop);

// Merges what moves join, and drops the moves (liveness.cpp).
void merge_moves(ScalarProgram& program);

}  // namespace uh::jit
