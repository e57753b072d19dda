// Pass: one optimisation or lowering; it changes a graph and never what the graph computes.
//
// A pass is one file, passes/<name>.cpp, that defines `const Pass pass_<name>`; the build finds it
// by its name, the generated pass_list.inc lists all. Its test is tests/ir/<name>.ir.
// Invariant: after a pass verify() holds. The manager checks before and after and says which pass
// broke it, with everything up to the failure recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/graph.h"
#include "jit/rewrite.h"

namespace uh::jit {

struct Pass {
  const char* name;  // "peephole"
  const char* doc;   // one sentence
  void (*run)(Graph& graph);
};

const std::vector<const Pass*>& all_passes();  // by name
const Pass* find_pass(std::string_view name);  // null when there is none

// Runs one pass, told to the recorder; returns how many rewrites it made.
int64_t run_pass(const Pass& pass, Graph& graph);

}  // namespace uh::jit
