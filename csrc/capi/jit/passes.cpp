// The C ABI of passes and rewrites: see underhood_jit.h.
#include <memory>
#include <unordered_map>

#include "base/json.h"
#include "base/per_thread.h"
#include "capi/jit/handles.h"
#include "capi/returned_string.h"
#include "jit/pass.h"
#include "jit/pipeline.h"

using namespace uh;       // NOLINT: this file is nothing but calls into uh
using namespace uh::jit;  // NOLINT

namespace {

// A graph's rewrite and pass that stay open across calls, at most one of each.
struct Open {
  GraphRef graph;  // destroyed last
  std::unique_ptr<PassRun> pass;
  std::unique_ptr<Rewrite> rewrite;
};
struct OpenChanges : std::unordered_map<Graph*, Open> {};

std::string json_of_rewrites(const std::vector<KeptRewrite>& rewrites) {
  JsonWriter w;
  w.begin_array();
  for (const KeptRewrite& r : rewrites) {
    w.begin_object().member("rule", r.rule).member("reason", r.reason).member("file", r.file);
    w.member("line", r.line).key("nodes").values(r.nodes);
    w.key("edits").raw(json_of(r.edits)).end_object();
  }
  w.end_array();
  return w.take();
}

const Pass& pass_of(const char* name) {
  const Pass* pass = find_pass(name);
  check_kind(pass != nullptr, ErrorKind::kValue, "there is no pass '", name, "'");
  return *pass;
}

}  // namespace

int64_t uh_pass_count(void) { return static_cast<int64_t>(all_passes().size()); }
const char* uh_pass_name(int64_t i) {
  return i >= 0 && i < uh_pass_count() ? all_passes()[static_cast<size_t>(i)]->name : "";
}
const char* uh_pass_doc(int64_t i) {
  return i >= 0 && i < uh_pass_count() ? all_passes()[static_cast<size_t>(i)]->doc : "";
}

int64_t uh_pass_run(uh_graph self, const char* name) {
  return guard(-1, [&] { return run_pass(pass_of(name), graph_of(self)); });
}
const char* uh_pass_run_recorded(uh_graph self, const char* name) {
  return text_of([&] {
    std::vector<KeptRewrite> rewrites;
    RewriteCount outer;
    outer.saved = &rewrites;
    RewriteCount* match = t_rewrites;
    t_rewrites = &outer;
    try {
      run_pass(pass_of(name), graph_of(self));
    } catch (...) {
      t_rewrites = match;
      throw;
    }
    t_rewrites = match;
    return json_of_rewrites(rewrites);
  });
}
const char* uh_pipeline(void) {
  return text_of([&] {
    JsonWriter w;
    w.begin_array();
    for (const bool specialised : {false, true}) {
      for (const Phase& phase : phases(specialised)) {
        w.begin_object().member("name", phase.name).member("doc", phase.doc);
        w.member("specialised", specialised).key("passes").values(phase.passes).end_object();
      }
    }
    w.end_array();
    return w.take();
  });
}
int uh_pass_register(const char* name, const char* doc, const char* after, uh_pass_fn run,
                     void* context) {
  return done([&] {
    add_user_pass({name, doc, after, [run, context](Graph& graph) {
                     const OutsideCalls host;
                     const int failed = run(context, reinterpret_cast<uh_graph>(&graph));
                     if (failed != 0) throw_last_error();
                   }});
  });
}
int uh_pass_unregister(const char* name) {
  return done([&] { remove_user_pass(name); });
}
int uh_rewrite_begin(uh_graph self, const char* rule, const char* reason, const char* file,
                     int line, const int64_t* nodes, int64_t n) {
  return done([&] {
    std::vector<const Node*> concerned;
    for (int64_t i = 0; i < n; ++i) concerned.push_back(node_of(self, nodes[i]));
    Graph& graph = graph_of(self);
    check(!graph.rewrite(), "rewrite '", rule, "': another rewrite of this graph is open");
    Open& open = per_thread<OpenChanges>()[&graph];
    open.graph = GraphRef::share(&graph);
    open.rewrite = std::make_unique<Rewrite>(graph, rule, concerned, file, line);
    open.rewrite->because(reason);
  });
}
int uh_rewrite_end(uh_graph self) {
  return done([&] {
    auto& changes = per_thread<OpenChanges>();
    const auto it = changes.find(&graph_of(self));
    check(it != changes.end() && it->second.rewrite, "rewrite: none is open on this graph");
    it->second.rewrite.reset();
    if (!it->second.pass) changes.erase(it);
  });
}
int uh_pass_begin(uh_graph self, const char* name) {
  return done([&] {
    Graph& graph = graph_of(self);
    auto& changes = per_thread<OpenChanges>();
    check(changes.count(&graph) == 0, "pass ", name, ": another pass of this graph is open");
    auto pass = std::make_unique<PassRun>(name, graph);
    changes[&graph] = {GraphRef::share(&graph), std::move(pass), nullptr};
  });
}
int64_t uh_pass_end(uh_graph self, const char* failed) {
  return guard(-1, [&] {
    auto& changes = per_thread<OpenChanges>();
    const auto it = changes.find(&graph_of(self));
    check(it != changes.end() && it->second.pass, "pass: none is open on this graph");
    Open open = std::move(it->second);
    changes.erase(it);
    open.rewrite.reset();
    return open.pass->end(failed);
  });
}
