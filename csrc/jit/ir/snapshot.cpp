#include "jit/ir/snapshot.h"

#include "base/json.h"
#include "jit/ir/rewrite.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

void write_graph(JsonWriter& w, const Graph& graph);

void write_value(JsonWriter& w, const Value& value) {
  w.begin_object();
  w.member("id", value.id()).member("name", value.name()).member("type", value.type()->text());
  w.key("origins").values(value.origins());
  w.end_object();
}

void write_numbers(JsonWriter& w, const std::vector<Value*>& values) {
  w.begin_array();
  for (const Value* value : values) w.value(value->id());
  w.end_array();
}

void write_values(JsonWriter& w, const std::vector<Value*>& values) {
  w.begin_array();
  for (const Value* value : values) write_value(w, *value);
  w.end_array();
}

void write_block(JsonWriter& w, const Block& block);

void write_span(JsonWriter& w, const Span& span) {
  if (!span) {
    w.value(nullptr);
    return;
  }
  w.begin_array().value(span.source->file);
  w.value(span.line).value(span.column).value(span.end_line).value(span.end_column);
  w.end_array();
}

void write_node(JsonWriter& w, const Node& node) {
  w.begin_object();
  w.member("id", node.id()).member("kind", node.kind().text());
  if (node.op()) w.member("schema", node.op()->schema_text());
  if (!node.scope().empty()) w.member("scope", node.scope());
  w.key("attributes").begin_object();
  for (const auto& [name, attribute] : node.attributes())
    if (!attribute.graph) w.member(name, print(attribute));
  w.end_object();
  bool any = false;
  for (const auto& [name, attribute] : node.attributes()) {
    if (!attribute.graph) continue;
    if (!any) w.key("graphs").begin_object();
    any = true;
    w.key(name);
    write_graph(w, *attribute.graph);
  }
  if (any) w.end_object();
  w.key("inputs");
  write_numbers(w, node.inputs());
  w.key("outputs");
  write_values(w, node.outputs());
  w.key("blocks").begin_array();
  for (const Block* block : node.blocks()) write_block(w, *block);
  w.end_array();
  w.key("span");
  write_span(w, node.span());
  w.end_object();
}

void write_block(JsonWriter& w, const Block& block) {
  w.begin_object();
  w.member("id", block.id()).member("param", block.param_node()->id());
  w.member("return", block.return_node()->id());
  w.key("params");
  write_values(w, block.params());
  w.key("nodes").begin_array();
  for (const Node* node : block.nodes()) write_node(w, *node);
  w.end_array();
  w.key("returns");
  write_numbers(w, block.returns());
  w.end_object();
}

void write_graph(JsonWriter& w, const Graph& graph) {
  w.begin_object().member("graph", graph.id()).member("name", graph.name()).key("block");
  write_block(w, *graph.block());
  w.end_object();
}

// In the order of EditKind.
constexpr const char* kEditNames[] = {
#define UH_EDIT(enumerator, name) name,
#include "events/codes.inc"
};

}  // namespace

std::string snapshot(const Graph& graph) {
  JsonWriter w;
  write_graph(w, graph);
  return w.take();
}

std::string snapshot_of(const Attribute& attribute) {
  return attribute.graph ? snapshot(*attribute.graph) : print(attribute);
}

std::string json_of(const std::vector<Edit>& edits) {
  JsonWriter w;
  w.begin_array();
  for (const Edit& edit : edits) {
    w.begin_array().value(kEditNames[static_cast<size_t>(edit.kind)]);
    w.value(edit.a).value(edit.b).value(edit.c).value(edit.d);
    w.value(edit.text).value(edit.words).end_array();
  }
  w.end_array();
  return w.take();
}

}  // namespace uh::jit
