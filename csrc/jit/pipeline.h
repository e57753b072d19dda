// The pipeline: which passes run on a graph, in which order, and the users' among them.
//
// What: phases of general code hold for any input, those of specialised code for the dtypes and
// ranks that the types of the graph's inputs promise. A phase is run again until it changes
// nothing, a few times at most. After every pass that changed something the recorder is given the
// graph. Invariant: every pass runs through run_pass (pass.h), so a graph is valid between any two.
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
  int most_rounds;
};
const std::vector<Phase>& phases(bool specialised);

// Runs the phases; returns how many rewrites there were. `function`: whose graph it is, for events.
int64_t optimise(Graph& graph, bool specialised, int64_t function);

// A pass that is written elsewhere. It stands after every run of the pass that `after` names, or
// at the end of the phase of that name; it changes the graph inside of Rewrites.
struct UserPass {
  std::string name, doc, after;
  std::function<void(Graph&)> run;  // throws Error; a foreign exception is kForeign
};
// Throws where the name is taken already, or `after` is neither a pass nor a phase.
void add_user_pass(UserPass pass);
void remove_user_pass(std::string_view name);  // throws for an unknown name
std::vector<UserPass> user_passes();

}  // namespace uh::jit
