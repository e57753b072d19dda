// Graphs across the C ABI: see underhood_jit.h.
#include "base/json.h"
#include "capi/answer.h"
#include "capi/convert.h"
#include "capi/underhood_jit.h"
#include "jit/ir/snapshot.h"
#include "jit/ir/verify.h"
#include "jit/pass.h"
#include "jit/pipeline.h"
#include "jit/resolve/resolve.h"
#include "jit/text/parse.h"
#include "jit/text/print.h"

using namespace uh;       // NOLINT: this file is nothing but calls into uh
using namespace uh::jit;  // NOLINT

namespace {

Graph& graph_of(uh_graph handle) {
  check(handle != 0, "graph: the handle is 0");
  return *reinterpret_cast<Graph*>(handle);
}
uh_graph give_graph(GraphRef graph) { return reinterpret_cast<uh_graph>(graph.leak()); }

Node* node_of(uh_graph handle, int64_t id) {
  Node* node = graph_of(handle).node(id);
  check(node != nullptr, "graph: node ", id, " is not there (any more)");
  return node;
}
Value* value_of(uh_graph handle, int64_t id) {
  Value* value = graph_of(handle).value(id);
  check(value != nullptr, "graph: value ", id, " is not there (any more)");
  return value;
}
Block* block_of(uh_graph handle, int64_t id) {
  Block* block = graph_of(handle).find_block(id);
  check(block != nullptr, "graph: block ", id, " is not there (any more)");
  return block;
}
std::vector<Value*> values_of(uh_graph handle, const int64_t* ids, int64_t n) {
  std::vector<Value*> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(value_of(handle, ids[i]));
  return values;
}
size_t index_of(int64_t i, size_t n, const char* what) {
  check_kind(i >= 0 && static_cast<size_t>(i) < n, ErrorKind::kIndex, "graph: ", what, " ", i,
             " of ", n);
  return static_cast<size_t>(i);
}

// Rewrites and passes that are open across calls, by graph: one each.
struct Open {
  std::unique_ptr<PassRun> pass;
  std::unique_ptr<Rewrite> rewrite;
};
thread_local std::unordered_map<Graph*, Open> t_open;

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

}  // namespace

uh_graph uh_graph_new(const char* name) {
  return guard(0, [&] {
    initialise();
    GraphRef graph = make_ref<Graph>();
    graph->set_name(name);
    graph->reserve_function();
    return give_graph(std::move(graph));
  });
}
uh_graph uh_graph_retain(uh_graph self) {
  return guard(0, [&] { return give_graph(GraphRef::share(&graph_of(self))); });
}
void uh_graph_release(uh_graph self) {
  if (self) GraphRef::adopt(reinterpret_cast<Graph*>(self));
}
uh_graph uh_graph_copy(uh_graph self) {
  return guard(0, [&] { return give_graph(graph_of(self).copy()); });
}
uh_graph uh_graph_parse(const char* text) {
  return guard(0, [&] {
    initialise();
    return give_graph(parse(text));
  });
}
const char* uh_graph_text(uh_graph self, int with_source) {
  thread_local std::string kept;
  return text_of(kept, [&] { return graph_of(self).text(with_source != 0); });
}
const char* uh_graph_snapshot(uh_graph self) {
  thread_local std::string kept;
  return text_of(kept, [&] { return snapshot(graph_of(self)); });
}
int uh_graph_verify(uh_graph self) {
  return done([&] { verify(graph_of(self)); });
}
const char* uh_graph_lint(uh_graph self) {
  thread_local std::string kept;
  return text_of(kept, [&] { return lint_origins(graph_of(self)); });
}
int64_t uh_graph_id(uh_graph self) {
  return guard(-1, [&] { return graph_of(self).id(); });
}
int64_t uh_graph_version(uh_graph self) {
  return guard(-1, [&] { return graph_of(self).version(); });
}
int64_t uh_graph_block(uh_graph self) {
  return guard(-1, [&] { return graph_of(self).block()->id(); });
}
int64_t uh_graph_add_input(uh_graph self, const char* name, const char* type) {
  return guard(-1, [&] { return graph_of(self).add_input(name, parse_type(type))->id(); });
}
int uh_graph_add_output(uh_graph self, int64_t value) {
  return done([&] { graph_of(self).add_output(value_of(self, value)); });
}
const char* uh_type_normal(const char* type) {
  thread_local std::string kept;
  return text_of(kept, [&] { return parse_type(type)->text(); });
}
const char* uh_type_plain(const char* type) {
  thread_local std::string kept;
  return text_of(kept, [&] { return without_facts(parse_type(type))->text(); });
}
const char* uh_type_annotation(const char* type) {
  thread_local std::string kept;
  return text_of(kept, [&] { return parse_type(type)->annotation(); });
}
int uh_type_is_subtype(const char* type, const char* wanted) {
  return guard(-1, [&] { return is_subtype(*parse_type(type), *parse_type(wanted)) ? 1 : 0; });
}
const char* uh_type_unify(const char* a, const char* b) {
  thread_local std::string kept;
  return text_of(kept, [&] {
    const TypeRef both = unify(parse_type(a), parse_type(b));
    return both ? both->text() : std::string();
  });
}

int uh_graph_insert_at_end(uh_graph self, int64_t block) {
  return done([&] { graph_of(self).set_insert_point(block_of(self, block)); });
}
int uh_graph_insert_before(uh_graph self, int64_t node) {
  return done([&] { graph_of(self).set_insert_point(node_of(self, node)); });
}
uh_source uh_source_new(const char* file, int first_line, const char* text) {
  return guard(0, [&] {
    Ref<Source> source = make_ref<Source>();
    source->file = file;
    source->first_line = first_line;
    source->text = text;
    return reinterpret_cast<uh_source>(source.leak());
  });
}
void uh_source_release(uh_source self) {
  if (self) Ref<Source>::adopt(reinterpret_cast<Source*>(self));
}
int uh_graph_set_span(uh_graph self, uh_source source, int line, int column, int end_line,
                      int end_column) {
  return done([&] {
    Span span;
    span.source = Ref<Source>::share(reinterpret_cast<Source*>(source));
    span.line = line;
    span.column = column;
    span.end_line = end_line;
    span.end_column = end_column;
    graph_of(self).set_span(std::move(span));
  });
}

int64_t uh_graph_node(uh_graph self, const char* kind, const int64_t* inputs, int64_t n,
                      int64_t n_outputs) {
  return guard(-1, [&] {
    Graph& graph = graph_of(self);
    check_kind(n_outputs >= 0 && n_outputs < 100000, ErrorKind::kValue, "graph: ", n_outputs,
               " outputs");
    Node* node = graph.create(kind, values_of(self, inputs, n), static_cast<size_t>(n_outputs));
    return graph.insert(node)->id();
  });
}
int64_t uh_graph_constant(uh_graph self, const uh_value* value) {
  return guard(-1, [&] { return graph_of(self).insert_constant(read_value(*value))->id(); });
}
int64_t uh_graph_call(uh_graph self, const char* name, const int64_t* args, int64_t n,
                      const char* const* kw_names, const int64_t* kw_values, int64_t n_kw) {
  return guard(-1, [&] {
    std::vector<NamedValue> keywords;
    for (int64_t i = 0; i < n_kw; ++i)
      keywords.push_back({kw_names[i], value_of(self, kw_values[i])});
    return emit_call(graph_of(self), name, values_of(self, args, n), keywords)->id();
  });
}
int64_t uh_graph_call_result(uh_graph self, const char* name, const int64_t* args, int64_t n,
                             const char* const* kw_names, const int64_t* kw_values, int64_t n_kw) {
  return guard(-1, [&]() -> int64_t {
    std::vector<NamedValue> keywords;
    for (int64_t i = 0; i < n_kw; ++i)
      keywords.push_back({kw_names[i], value_of(self, kw_values[i])});
    const Value* result = emit_value(graph_of(self), name, values_of(self, args, n), keywords);
    return result ? result->id() : 0;
  });
}

int uh_node_move(uh_graph self, int64_t node, int64_t before) {
  return done([&] { node_of(self, node)->move_before(node_of(self, before)); });
}
int uh_node_destroy(uh_graph self, int64_t node) {
  return done([&] {
    Node* gone = node_of(self, node);
    for (const Value* output : gone->outputs()) {
      check(!output->has_uses(), "graph: %", output->name(), " of ", print(*gone),
            " is still used; replace its uses first");
    }
    check(gone->owner() && gone != gone->owner()->param_node() &&
              gone != gone->owner()->return_node(),
          "graph: the ends of a block are not destroyed");
    gone->destroy();
  });
}
int uh_node_set_input(uh_graph self, int64_t node, int64_t index, int64_t value) {
  return done([&] {
    Node* n = node_of(self, node);
    n->set_input(index_of(index, n->inputs().size(), "input"), value_of(self, value));
  });
}
int uh_node_insert_input(uh_graph self, int64_t node, int64_t index, int64_t value) {
  return done([&] {
    Node* n = node_of(self, node);
    n->insert_input(index_of(index, n->inputs().size() + 1, "input"), value_of(self, value));
  });
}
int uh_node_drop_input(uh_graph self, int64_t node, int64_t index) {
  return done([&] {
    Node* n = node_of(self, node);
    n->drop_input(index_of(index, n->inputs().size(), "input"));
  });
}
int64_t uh_node_add_output(uh_graph self, int64_t node, const char* type) {
  return guard(-1, [&] { return node_of(self, node)->add_output(parse_type(type))->id(); });
}
int uh_node_drop_output(uh_graph self, int64_t node, int64_t index) {
  return done([&] {
    Node* n = node_of(self, node);
    const size_t i = index_of(index, n->outputs().size(), "output");
    check(!n->output(i)->has_uses(), "graph: %", n->output(i)->name(), " is still used");
    n->drop_output(i);
  });
}
int64_t uh_node_add_block(uh_graph self, int64_t node) {
  return guard(-1, [&] { return node_of(self, node)->add_block()->id(); });
}
int uh_node_set_attribute(uh_graph self, int64_t node, const char* name, const uh_value* value) {
  return done([&] { node_of(self, node)->set_attribute(name, read_value(*value)); });
}
int uh_node_set_graph(uh_graph self, int64_t node, const char* name, uh_graph graph) {
  return done([&] {
    Attribute attribute;
    attribute.graph = GraphRef::share(&graph_of(graph));
    check(attribute.graph.get() != &graph_of(self), "graph: a node cannot hold its own graph");
    node_of(self, node)->set_attribute(name, std::move(attribute));
  });
}
int uh_node_drop_attribute(uh_graph self, int64_t node, const char* name) {
  return done([&] { node_of(self, node)->drop_attribute(name); });
}
int64_t uh_block_add_param(uh_graph self, int64_t block, const char* name, const char* type) {
  return guard(-1, [&] {
    Value* value = block_of(self, block)->add_param(parse_type(type));
    if (*name) value->set_name(name);
    return value->id();
  });
}
int uh_block_add_return(uh_graph self, int64_t block, int64_t value) {
  return done([&] { block_of(self, block)->add_return(value_of(self, value)); });
}
int uh_block_set_return(uh_graph self, int64_t block, int64_t index, int64_t value) {
  return done([&] {
    Block* b = block_of(self, block);
    b->set_return(index_of(index, b->returns().size(), "return"), value_of(self, value));
  });
}
int uh_block_drop_return(uh_graph self, int64_t block, int64_t index) {
  return done([&] {
    Block* b = block_of(self, block);
    b->drop_return(index_of(index, b->returns().size(), "return"));
  });
}
int uh_value_set_type(uh_graph self, int64_t value, const char* type) {
  return done([&] { value_of(self, value)->set_type(parse_type(type)); });
}
int uh_value_set_name(uh_graph self, int64_t value, const char* name) {
  return done([&] { value_of(self, value)->set_name(name); });
}
int uh_value_add_origin(uh_graph self, int64_t value, int64_t origin) {
  return done([&] { value_of(self, value)->add_origin(origin); });
}
int uh_value_replace(uh_graph self, int64_t value, int64_t other) {
  return done([&] {
    check(value != other, "graph: value ", value, " is replaced by itself");
    value_of(self, value)->replace_uses_with(value_of(self, other));
  });
}
int uh_value_replace_after(uh_graph self, int64_t value, int64_t node, int64_t other) {
  return done([&] {
    check(value != other, "graph: value ", value, " is replaced by itself");
    value_of(self, value)->replace_uses_after(node_of(self, node), value_of(self, other));
  });
}
const char* uh_value_type(uh_graph self, int64_t value) {
  thread_local std::string kept;
  return text_of(kept, [&] { return value_of(self, value)->type()->text(); });
}
const char* uh_value_name(uh_graph self, int64_t value) {
  thread_local std::string kept;
  return text_of(kept, [&] { return value_of(self, value)->name(); });
}
int uh_value_constant(uh_graph self, int64_t value, uh_value* ret_value) {
  return guard(-1, [&] {
    const Value* v = value_of(self, value);
    if (const IValue* constant = v->constant()) {
      *ret_value = write_value(*constant);
      return 1;
    }
    return 0;
  });
}

int64_t uh_pass_count(void) { return static_cast<int64_t>(all_passes().size()); }
const char* uh_pass_name(int64_t i) {
  return i >= 0 && i < uh_pass_count() ? all_passes()[static_cast<size_t>(i)]->name : "";
}
const char* uh_pass_doc(int64_t i) {
  return i >= 0 && i < uh_pass_count() ? all_passes()[static_cast<size_t>(i)]->doc : "";
}

namespace {
const Pass& pass_of(const char* name) {
  const Pass* pass = find_pass(name);
  check_kind(pass != nullptr, ErrorKind::kValue, "there is no pass '", name, "'");
  return *pass;
}
}  // namespace

int64_t uh_pass_run(uh_graph self, const char* name) {
  return guard(-1, [&] { return run_pass(pass_of(name), graph_of(self)); });
}
const char* uh_pass_run_kept(uh_graph self, const char* name) {
  thread_local std::string kept;
  return text_of(kept, [&] {
    std::vector<KeptRewrite> rewrites;
    RewriteCount outer;
    outer.kept = &rewrites;
    RewriteCount* found = t_rewrites;
    t_rewrites = &outer;
    try {
      run_pass(pass_of(name), graph_of(self));
    } catch (...) {
      t_rewrites = found;
      throw;
    }
    t_rewrites = found;
    return json_of_rewrites(rewrites);
  });
}
const char* uh_pipeline(void) {
  thread_local std::string kept;
  return text_of(kept, [&] {
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
    t_open[&graph].rewrite = std::make_unique<Rewrite>(graph, rule, concerned, file, line);
    t_open[&graph].rewrite->because(reason);
  });
}
int uh_rewrite_end(uh_graph self) {
  return done([&] {
    const auto it = t_open.find(&graph_of(self));
    check(it != t_open.end() && it->second.rewrite, "rewrite: none is open on this graph");
    it->second.rewrite.reset();
    if (!it->second.pass) t_open.erase(it);
  });
}
int uh_pass_begin(uh_graph self, const char* name) {
  return done([&] {
    Graph& graph = graph_of(self);
    check(t_open.count(&graph) == 0, "pass ", name, ": another pass of this graph is open");
    t_open[&graph].pass = std::make_unique<PassRun>(name, graph);
  });
}
int64_t uh_pass_end(uh_graph self, const char* failed) {
  return guard(-1, [&] {
    const auto it = t_open.find(&graph_of(self));
    check(it != t_open.end() && it->second.pass, "pass: none is open on this graph");
    Open open = std::move(it->second);
    t_open.erase(it);
    open.rewrite.reset();
    return open.pass->end(failed);
  });
}
