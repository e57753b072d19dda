// The C ABI of graphs: see underhood_jit.h. Passes and rewrites are in passes.cpp.
#include <unordered_map>

#include "capi/convert.h"
#include "capi/jit/handles.h"
#include "capi/returned_string.h"
#include "jit/ir/snapshot.h"
#include "jit/ir/verify.h"
#include "jit/schema_matching/builtin_calls.h"
#include "jit/text/parse.h"
#include "jit/text/print.h"

using namespace uh;       // NOLINT: this file is nothing but calls into uh
using namespace uh::jit;  // NOLINT

namespace {

uh_graph give_graph(GraphRef graph) { return reinterpret_cast<uh_graph>(graph.leak()); }

Value* value_of(uh_graph handle, int64_t id) {
  Value* value = graph_of(handle).value(id);
  check(value != nullptr, "graph: value ", id, " does not exist");
  return value;
}
Block* block_of(uh_graph handle, int64_t id) {
  Block* block = graph_of(handle).find_block(id);
  check(block != nullptr, "graph: block ", id, " does not exist");
  return block;
}
std::vector<Value*> values_of(uh_graph handle, const int64_t* ids, int64_t n) {
  std::vector<Value*> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(value_of(handle, ids[i]));
  return values;
}
size_t index_of(int64_t i, size_t n, const char* noun) {
  check_kind(i >= 0 && static_cast<size_t>(i) < n, ErrorKind::kIndex, "graph: ", noun, " ", i,
             " of ", n);
  return static_cast<size_t>(i);
}

// A node of a block that can be moved: not the block's parameters or returns.
Node* inside_of_block(uh_graph handle, int64_t id) {
  Node* node = node_of(handle, id);
  check(
      node->owner() && node != node->owner()->param_node() && node != node->owner()->return_node(),
      "graph: ", node->kind().text(), " is the end of a block");
  return node;
}
Node* insertion_point(uh_graph handle, int64_t id) {
  Node* node = node_of(handle, id);
  check(node->owner() && node != node->owner()->param_node(),
        "graph: cannot insert before block parameters");
  return node;
}

bool holds(const Graph& graph, const Graph& other) {
  if (&graph == &other) return true;
  bool is_inside = false;
  graph.each_node([&](const Node* node) {
    for (const auto& [name, attribute] : node->attributes())
      is_inside = is_inside || (attribute.graph && holds(*attribute.graph, other));
  });
  return is_inside;
}

// Makes outside values that a node's block uses parameters of the block and inputs of the node.
void capture_outside_values(Node& node) {
  Block& block = *node.block(0);
  std::unordered_map<const Value*, Value*> inside;
  const auto captured = [&](Value* value) {
    if (value->block() == &block) return value;
    Value*& param = inside[value];
    if (!param) {
      node.add_input(value);
      param = block.add_param(value->type());
    }
    return param;
  };
  for (Node* each : block.nodes())
    for (size_t i = 0; i < each->inputs().size(); ++i) each->set_input(i, captured(each->input(i)));
  for (size_t i = 0; i < block.returns().size(); ++i)
    block.set_return(i, captured(block.returns()[i]));
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
  return text_of([&] { return graph_of(self).text(with_source != 0); });
}
const char* uh_graph_snapshot(uh_graph self) {
  return text_of([&] { return snapshot(graph_of(self)); });
}
int uh_graph_verify(uh_graph self) {
  return done([&] { verify(graph_of(self)); });
}
const char* uh_graph_lint(uh_graph self) {
  return text_of([&] { return lint_origins(graph_of(self)); });
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
const char* uh_type_plain(const char* type) {
  return text_of([&] { return unshaped(parse_type(type))->text(); });
}
const char* uh_type_annotation(const char* type) {
  return text_of([&] { return parse_type(type)->annotation(); });
}
int uh_type_is_subtype(const char* type, const char* expected) {
  return guard(-1, [&] { return is_subtype(*parse_type(type), *parse_type(expected)) ? 1 : 0; });
}

int uh_graph_insert_at_end(uh_graph self, int64_t block) {
  return done([&] { graph_of(self).set_insert_point(block_of(self, block)); });
}
int uh_graph_insert_before(uh_graph self, int64_t node) {
  return done([&] { graph_of(self).set_insert_point(insertion_point(self, node)); });
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
  return done(
      [&] { graph_of(self).set_span(span_of(source, line, column, end_line, end_column)); });
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
    return emit_builtin_call(graph_of(self), name, values_of(self, args, n), keywords)->id();
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
  return done([&] {
    Node* moved = inside_of_block(self, node);
    Node* next = insertion_point(self, before);
    for (const Node* around = next->owner()->owner(); around; around = around->owner()->owner())
      check(around != moved, "graph: ", print(*moved), " is moved into its own block");
    moved->move_before(next);
  });
}
int uh_node_destroy(uh_graph self, int64_t node) {
  return done([&] {
    Node* erased = inside_of_block(self, node);
    for (const Value* output : erased->outputs()) {
      check(!output->has_uses(), "graph: %", output->name(), " of ", print(*erased),
            " is still used; replace its uses first");
    }
    erased->destroy();
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
int uh_node_set_types(uh_graph self, int64_t node, const char* name, const char* const* types,
                      int64_t n) {
  return done([&] {
    Attribute attribute;
    for (int64_t i = 0; i < n; ++i) attribute.types.push_back(parse_type(types[i]));
    node_of(self, node)->set_attribute(name, std::move(attribute));
  });
}
int uh_node_set_graph(uh_graph self, int64_t node, const char* name, uh_graph graph) {
  return done([&] {
    Attribute attribute;
    attribute.graph = GraphRef::share(&graph_of(graph));
    check(!holds(*attribute.graph, graph_of(self)), "graph: a node cannot hold its own graph");
    node_of(self, node)->set_attribute(name, std::move(attribute));
  });
}
int uh_node_outline(uh_graph self, int64_t node, const char* name) {
  return done([&] {
    Graph& graph = graph_of(self);
    Node* outlined = node_of(self, node);
    check(outlined->blocks().size() == 1, "graph: a node of one block can be outlined");
    if (graph.insert_point()->owner() == outlined->block(0)) graph.set_insert_point(graph.block());
    capture_outside_values(*outlined);
    Attribute attribute;
    attribute.graph = graph.split_off(outlined);
    attribute.graph->set_name("<forked function>");
    for (size_t i = 0; i < outlined->inputs().size(); ++i) {
      const Value* outside = outlined->input(i);
      Value* inside = attribute.graph->inputs().at(i);
      if (outside->has_name()) inside->set_name(outside->name());
      inside->add_origin(outside->id());
    }
    outlined->set_attribute(name, std::move(attribute));
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
  return text_of([&] { return value_of(self, value)->type()->text(); });
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
