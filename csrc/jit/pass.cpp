#include "jit/pass.h"

#include <chrono>

#include "base/json.h"
#include "jit/ir/snapshot.h"
#include "jit/ir/verify.h"

namespace uh::jit {

// One line per file of passes/, written by CMake.
#define UH_PASS(name) extern const Pass pass_##name;
#include "generated/pass_list.inc"
#undef UH_PASS

const std::vector<const Pass*>& all_passes() {
  static const auto* passes = new std::vector<const Pass*>{
#define UH_PASS(name) &pass_##name,
#include "generated/pass_list.inc"
#undef UH_PASS
  };
  return *passes;
}

const Pass* find_pass(std::string_view name) {
  for (const Pass* pass : all_passes())
    if (name == pass->name) return pass;
  return nullptr;
}

namespace {
// The graph that this thread verified last: passes run one after the other on one graph.
struct Verified {
  int64_t graph = -1, version = -1;
};
thread_local Verified t_verified;

void verify_once(const Graph& graph) {
  if (t_verified.graph == graph.id() && t_verified.version == graph.version()) return;
  verify(graph);
  t_verified = {graph.id(), graph.version()};
}

// The version of the graph that this thread recorded last.
struct LastSnapshot {
  int64_t graph = 0, version = 0;
  uint32_t recording = 0;
  bool operator==(const LastSnapshot&) const = default;
};
thread_local LastSnapshot t_recorded;

LastSnapshot current_snapshot(const Graph& graph) {
  return {graph.id(), graph.version(), events::g_generation.load(std::memory_order_relaxed)};
}
}  // namespace

void record_graph(const Graph& graph, int64_t function, std::string_view phase) {
  if (!events::on()) return;
  t_recorded = current_snapshot(graph);
  const std::string text = snapshot(graph);
  events::emit_blob(events::Kind::kGRAPH, function, graph.id(), events::intern(phase),
                    static_cast<int64_t>(graph.node_count()), text.data(), text.size());
}

PassRun::PassRun(std::string_view name, Graph& graph, int64_t function, int64_t index)
    : name_(name), graph_(graph), outer_(t_rewrites), version_(graph.version()) {
  check(!graph.rewrite(), "pass ", name_, ": started inside a rewrite");
  verify_once(graph);
  if (outer_) count_.saved = outer_->saved;
  if (events::on()) {
    static std::atomic<int64_t> g_run{0};
    count_.run = ++g_run;
    if (function == 0) function = graph.function();
    // The following rewrites are edits of a recorded graph.
    if (t_recorded != current_snapshot(graph)) record_graph(graph, function, "as it came");
    events::emit(events::Kind::kPASS_BEGIN, count_.run, function, graph.id(), events::intern(name_),
                 index);
  }
  t_rewrites = &count_;
  began_ = std::chrono::steady_clock::now();
}

PassRun::~PassRun() {
  if (!over_) end("the pass was left");
}

int64_t PassRun::end(std::string_view failed) {
  over_ = true;
  t_rewrites = outer_;
  if (outer_) {
    outer_->rewrites += count_.rewrites;
    outer_->edits += count_.edits;
  }
  const auto took = std::chrono::steady_clock::now() - began_;
  std::string broken(failed);
  if (broken.empty() && graph_.version() - version_ != count_.edits) {
    broken = message("pass ", name_, ": ", graph_.version() - version_ - count_.edits,
                     " edits were made outside of any rewrite");
  }
  if (broken.empty() && count_.edits > 0) {
    try {
      verify_once(graph_);
    } catch (const Error& error) {
      broken = message("pass ", name_, " broke the graph: ", std::string(error.what()));
    }
  }
  if (count_.run != 0 && events::on()) {
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
    events::emit_blob(events::Kind::kPASS_END, count_.run, count_.rewrites, ns,
                      broken.empty() ? 0 : 1, broken.data(), broken.size());
  }
  check_kind(broken.empty() || !failed.empty(), ErrorKind::kInternal, broken);
  return count_.rewrites;
}

int64_t run_pass(const Pass& pass, Graph& graph, int64_t function, int64_t index) {
  PassRun run(pass.name, graph, function, index);
  try {
    pass.run(graph);
  } catch (const Error& error) {
    run.end(error.what());
    throw;
  }
  const int64_t changes = run.end();
  // Only for a pass outside of a pipeline, which records its own result.
  if (changes != 0 && function == 0) record_graph(graph, graph.function(), pass.name);
  return changes;
}

}  // namespace uh::jit
