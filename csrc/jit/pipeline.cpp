#include "jit/pipeline.h"

#include <algorithm>
#include <mutex>

namespace uh::jit {
namespace {

std::mutex g_lock;
std::vector<UserPass>& registered() {
  static auto* all = new std::vector<UserPass>;
  return *all;
}

// The first phase of both pipelines.
Phase inlined() {
  return {"inline",
          "calls become what they call",
          {"inline", "erase_shape_information", "forward_inplace_self"},
          1};
}
Phase simplified() {
  return {"simplify",
          "what is known before any input comes",
          {"lower_all_tuples", "constant_propagation", "fold_constant_branches", "peephole", "cse",
           "unroll_loops", "dce"},
          4};
}

const std::vector<Phase>& general() {
  static const auto* all = new std::vector<Phase>{
      inlined(),
      simplified(),
      {"tidy",
       "constants once, at the beginning",
       {"hoist_loop_invariants", "constant_pooling", "dce"},
       1},
  };
  return *all;
}

const std::vector<Phase>& specialised() {
  static const auto* all = new std::vector<Phase>{
      inlined(),
      simplified(),
      {"types",
       "what is known of these inputs",
       {"propagate_shapes", "peephole", "constant_propagation", "fold_constant_branches", "cse",
        "dce"},
       3},
      {"group",
       "fewer, larger steps",
       {"hoist_loop_invariants", "batch_mm", "remove_mutation", "decompose_ops", "propagate_shapes",
        "cse", "constant_pooling", "fuse", "dce"},
       1},
      {"canonicalise", "names and order as PyTorch has them", {"canonicalise"}, 1},
  };
  return *all;
}

class Run {
 public:
  Run(Graph& graph, int64_t function) : graph_(graph), function_(function), users_(user_passes()) {}

  int64_t phase(const Phase& phase) {
    int64_t all = 0;
    for (int i = 0; i < phase.max_iterations; ++i) {
      int64_t changes = 0;
      for (const char* name : phase.passes) {
        const Pass* pass = find_pass(name);
        check_kind(pass != nullptr, ErrorKind::kInternal, "pipeline: there is no pass ", name);
        changes += recorded(name, run_pass(*pass, graph_, function_, index_++));
        changes += users_after(name);
      }
      changes += users_after(phase.name);
      all += changes;
      if (changes == 0) break;
    }
    return all;
  }

 private:
  int64_t recorded(std::string_view pass, int64_t changes) {
    if (changes != 0) record_graph(graph_, function_, pass);
    return changes;
  }

  int64_t users_after(std::string_view phase_or_pass) {
    int64_t changes = 0;
    for (const UserPass& user : users_) {
      if (user.after != phase_or_pass) continue;
      PassRun run(user.name, graph_, function_, index_++);
      try {
        user.run(graph_);
      } catch (const Error& error) {
        run.end(error.what());
        throw;
      }
      changes += recorded(user.name, run.end());
    }
    return changes;
  }

  Graph& graph_;
  const int64_t function_;
  const std::vector<UserPass> users_;
  int64_t index_ = 1;
};

bool is_place(std::string_view name) {
  if (find_pass(name)) return true;
  for (const bool which : {false, true})
    for (const Phase& phase : phases(which))
      if (name == phase.name) return true;
  return false;
}

}  // namespace

const std::vector<Phase>& phases(bool of_specialised) {
  return of_specialised ? specialised() : general();
}

int64_t optimise(Graph& graph, bool specialised, int64_t function) {
  record_graph(graph, function, specialised ? "types of the inputs" : "as compiled");
  Run run(graph, function);
  int64_t changes = 0;
  for (const Phase& phase : phases(specialised)) changes += run.phase(phase);
  return changes;
}

void add_user_pass(UserPass pass) {
  check(!pass.name.empty() && !find_pass(pass.name), "register_pass: '", pass.name,
        "' is the name of a pass of the engine");
  check(is_place(pass.after), "register_pass: after='", pass.after,
        "' is neither a pass nor a phase");
  const std::lock_guard guard(g_lock);
  for (const UserPass& user_pass : registered())
    check(user_pass.name != pass.name, "register_pass: there is a pass '", pass.name, "' already");
  registered().push_back(std::move(pass));
}

void remove_user_pass(std::string_view name) {
  const std::lock_guard guard(g_lock);
  const size_t n =
      std::erase_if(registered(), [&](const UserPass& pass) { return pass.name == name; });
  check(n == 1, "register_pass: there is no pass '", std::string(name), "'");
}

std::vector<UserPass> user_passes() {
  const std::lock_guard guard(g_lock);
  return registered();
}

}  // namespace uh::jit
