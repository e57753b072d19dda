// Pass: one optimisation or lowering; it preserves what the graph computes.
//
// A pass is one file, passes/<name>.cpp, that defines `const Pass pass_<name>`; the build finds it
// by its name and generates pass_list.inc. Its test is tests/ir/<name>.ir. Invariant: verify()
// holds after a pass. The manager checks before and after and names the pass that broke it;
// everything up to the failure is recorded.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/ir/rewrite.h"

namespace uh::jit {

struct Pass {
  const char* name;  // "peephole"
  const char* doc;   // one sentence
  void (*run)(Graph& graph);
};

const std::vector<const Pass*>& all_passes();  // by name
const Pass* find_pass(std::string_view name);  // null if unknown

// A running pass, built in or the user's: verified before and after, recorded, its rewrites
// counted. `function`: the graph's function (0: as stored in the graph); `index`: the position in
// the pipeline, for events, or 0.
class PassRun {
 public:
  PassRun(std::string_view name, Graph& graph, int64_t function = 0, int64_t index = 0);
  ~PassRun();
  PassRun(const PassRun&) = delete;
  PassRun& operator=(const PassRun&) = delete;

  // Returns the number of rewrites. Throws kInternal if the graph was changed outside of them or is
  // invalid; `failed`: the error that stopped the pass, or "".
  int64_t end(std::string_view failed = "");

 private:
  const std::string name_;
  Graph& graph_;
  RewriteCount* outer_;
  RewriteCount count_;
  int64_t version_;
  std::chrono::steady_clock::time_point began_;
  bool over_ = false;
};

int64_t run_pass(const Pass& pass, Graph& graph, int64_t function = 0, int64_t index = 0);

// Records a GRAPH event with the whole graph, while recording.
void record_graph(const Graph& graph, int64_t function, std::string_view phase);

}  // namespace uh::jit
