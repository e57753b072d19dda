// Rewrite: the scope of one change of a graph by a pass, according to one rule.
//
// `Rewrite r(graph, "x.t().t() -> x", {outer, inner});` contains the Edits made inside. Nodes
// created inside get the span of the first node concerned, and their Values have the outputs of
// the nodes concerned as origins (Note [Origins]). At its end it is recorded with its position
// in our C++ source, so that the explorer can show the rule. Invariant: within a pass every edit
// is part of a Rewrite; the pass manager rejects a pass that edits outside. Rewrites do not
// nest.
#pragma once

#include <initializer_list>
#include <source_location>
#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

class Rewrite {
 public:
  Rewrite(Graph& graph, std::string rule, const std::vector<const Node*>& concerned,
          std::source_location location = std::source_location::current());
  // For rules that are written in Python.
  Rewrite(Graph& graph, std::string rule, const std::vector<const Node*>& concerned,
          std::string file, int line);
  ~Rewrite();
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  // Sets the reason for the rewrite, which the explorer shows for an erased node.
  void because(std::string reason) { reason_ = std::move(reason); }

  const std::vector<int64_t>& origins() const { return origins_; }
  const Span& span() const { return span_; }
  bool keeps_edits() const { return keeps_edits_; }
  Edit* add(Edit edit);

 private:
  Graph& graph_;
  std::string rule_, reason_, file_;
  int line_;
  std::vector<int64_t> nodes_;    // concerned
  std::vector<int64_t> origins_;  // of the nodes created inside
  Span span_;
  std::vector<Edit> edits_;
  int64_t version_;
  bool keeps_edits_;
};

// A completed rewrite.
struct KeptRewrite {
  std::string rule, reason, file;
  int line;
  std::vector<int64_t> nodes;
  std::vector<Edit> edits;
};

// The state of a pass run, and its listener; set by the pass manager.
struct RewriteCount {
  int64_t run = 0;                            // id of the pass run in events; 0: not recorded
  int64_t rewrites = 0;                       // that changed something
  int64_t edits = 0;                          // inside of rewrites
  std::vector<KeptRewrite>* saved = nullptr;  // null: not saved
};
extern thread_local RewriteCount* t_rewrites;

// The Edits as JSON: the payload of REWRITE.
std::string json_of(const std::vector<Edit>& edits);

}  // namespace uh::jit
