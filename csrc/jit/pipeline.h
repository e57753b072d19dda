// The pipeline: the order of passes on a graph, including the user's.
//
// Phases of general code are valid for any input, those of specialised code for the dtypes and
// ranks in the types of the graph's inputs. A phase repeats until it changes nothing, at most a few
// times. The graph is recorded after every pass that changed something. Invariant: every pass runs
// through run_pass (pass.h), so the graph is valid between passes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/pass.h"

namespace uh::jit {

struct Phase {
  const char* name;  // "simplify"
  const char* doc;
  std::vector<const char*> passes;
  int max_iterations;
};
const std::vector<Phase>& phases(bool specialised);

// Runs the phases; returns the number of rewrites. `function`: the graph's function, for events.
int64_t optimise(Graph& graph, bool specialised, int64_t function);

// A pass of the user's. It runs after every run of the pass named `after`, or at the end of the
// phase of that name; it changes the graph inside of Rewrites.
struct UserPass {
  std::string name, doc, after;
  std::function<void(Graph&)> run;  // throws Error; a foreign exception is kForeign
};
// Throws if the name is in use, or `after` is neither a pass nor a phase.
void add_user_pass(UserPass pass);
void remove_user_pass(std::string_view name);  // throws for an unknown name
std::vector<UserPass> user_passes();

}  // namespace uh::jit
