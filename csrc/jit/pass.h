// Pass: one optimisation or lowering; it changes a graph and never what the graph computes.
//
// A pass is one file, passes/<name>.cpp, that defines `const Pass pass_<name>`; the build finds it
// by its name, the generated pass_list.inc lists all. Its test is tests/ir/<name>.ir.
// Invariant: after a pass verify() holds. The manager checks before and after and says which pass
// broke it, with everything up to the failure recorded.
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
const Pass* find_pass(std::string_view name);  // null when there is none

// A pass while it runs, also one that is written elsewhere: verified before and after, reported to
// the recorder, its rewrites counted. `function` is whose graph it is (0: as the graph says) and
// `index` is the position in the pipeline, for events; 0 outside a pipeline.
class PassRun {
 public:
  PassRun(std::string_view name, Graph& graph, int64_t function = 0, int64_t index = 0);
  ~PassRun();
  PassRun(const PassRun&) = delete;
  PassRun& operator=(const PassRun&) = delete;

  // Returns the number of rewrites. Throws kInternal when the graph was changed outside of them or
  // is not valid any more; `failed`: why the pass could not finish, "" when it did.
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

// A GRAPH event with the whole graph, when a recording is on.
void record_graph(const Graph& graph, int64_t function, std::string_view phase);

}  // namespace uh::jit
