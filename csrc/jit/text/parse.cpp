#include "jit/text/parse.h"

#include <algorithm>
#include <unordered_map>

#include "base/imported_name.h"
#include "jit/ir/verify.h"
#include "jit/ir/verify_node_kinds.h"
#include "jit/schema_matching/builtin_calls.h"
#include "jit/schema_matching/signature.h"
#include "jit/text/parse_cursor.h"
#include "jit/text/parse_value.h"

namespace uh::jit {
namespace {

// A graph takes about a hundred times the memory of its text.
constexpr size_t kMaxTextLength = 200'000'000;

// Splits `prim::FusionGroup_0`, the kind of a node with a named subgraph.
std::string_view group_kind(std::string_view kind) {
  const size_t bar = kind.rfind('_');
  if (!kind.starts_with("prim::") || bar == std::string_view::npos || bar + 1 == kind.size())
    return {};
  const bool numbered = kind.find_first_not_of("0123456789", bar + 1) == std::string_view::npos;
  return numbered ? kind.substr(0, bar) : std::string_view();
}

class GraphReader {
 public:
  GraphReader(Cursor& cursor, const std::vector<IValue>* constants)
      : cursor_(cursor), constants_(constants) {}

  GraphRef read() {
    cursor_.expect("graph");
    GraphRef parsed = graph();
    while (cursor_.eat_word("with")) {
      const size_t from = cursor_.at();
      const std::string name(cursor_.word("the name of a subgraph", ":"));
      const auto it = groups_.find(name);
      if (it == groups_.end()) cursor_.refuse(from, message("no node is a ", name));
      Node* node = it->second.node;
      depth_ = it->second.depth + 1;
      groups_.erase(it);
      cursor_.expect("=");
      cursor_.expect("graph");
      node->set_attribute("Subgraph", Attribute{{}, graph(), {}, {}});
    }
    if (!cursor_.done()) cursor_.wrong("'with' or the end of the text");
    if (!groups_.empty()) cursor_.wrong(message("'with ", groups_.begin()->first, " = graph'"));
    return parsed;
  }

 private:
  // The visible names; a block's declarations are removed at its end.
  struct Scope {
    std::vector<std::string> declared;
  };

  GraphRef graph() {
    GraphRef new_graph = make_ref<Graph>();
    graph_ = new_graph.get();
    values_.clear();
    Scope scope;
    cursor_.expect("(");
    declarations(scope, ")", [&](TypeRef type) { return graph_->add_input("", std::move(type)); });
    cursor_.expect(":");
    comment();
    nodes(graph_->block(), scope, "return");
    cursor_.expect("return");
    for (Value* value : uses()) graph_->add_output(value);
    comment();
    return new_graph;
  }

  // Parses "%x.1 : Tensor, %2 : int" up to and including `end`; `make` makes a Value of the type.
  template <class Make>
  void declarations(Scope& scope, std::string_view end, const Make& make) {
    if (cursor_.eat(end)) return;
    for (;;) {
      declaration(scope, make);
      if (cursor_.eat(end)) return;
      if (!cursor_.eat(',')) cursor_.wrong(message("',' or '", end, "'"));
    }
  }

  template <class Make>
  void declaration(Scope& scope, const Make& make) {
    cursor_.peek();
    const size_t from = cursor_.at();
    const std::string name = value_name();
    TypeRef type = cursor_.eat(':') ? read_type(cursor_) : tensor_type();
    declare(scope, from, name, make(std::move(type)));
  }

  void declare(Scope& scope, size_t from, const std::string& name, Value* value) {
    if (!values_.emplace(name, value).second)
      cursor_.refuse(from, message("%", name, " is already defined"));
    scope.declared.push_back(name);
    value->set_name(name);
  }

  // Parses a name after its %.
  std::string value_name() {
    cursor_.expect("%");
    const size_t from = cursor_.at();
    while (name_character(cursor_.raw())) cursor_.go(cursor_.at() + 1);
    const std::string_view name = cursor_.since(from);
    const bool digits = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (name.empty()) cursor_.wrong("the name of a value");
    if (name.find_first_not_of("0123456789.") == std::string_view::npos && !digits)
      cursor_.refuse(from, "the name of a value has letters, or is a number");
    return std::string(name);
  }
  static bool name_character(char c) { return in_word(c) || c == '.'; }

  Value* use() {
    cursor_.peek();
    const size_t from = cursor_.at();
    const std::string name = value_name();
    const auto it = values_.find(name);
    if (it == values_.end()) cursor_.refuse(from, message("%", name, " is not defined"));
    return it->second;
  }

  // Parses "(%1, %2)".
  std::vector<Value*> uses() {
    std::vector<Value*> values;
    cursor_.expect("(");
    while (!cursor_.eat(')')) {
      values.push_back(use());
      if (!cursor_.eat(',') && cursor_.peek() != ')') cursor_.wrong("',' or ')'");
    }
    return values;
  }

  // Parses nodes up to the word that ends the block, which is not consumed.
  void nodes(Block* block, Scope& scope, std::string_view end) {
    if (++blocks_ > kMaxBlocks) cursor_.refuse(cursor_.at(), "blocks are nested too deeply");
    for (;;) {
      cursor_.peek();
      const size_t from = cursor_.at();
      const bool over = end == "return" ? cursor_.eat_word(end) : cursor_.eat(end);
      cursor_.go(from);
      if (over) break;
      node(block, scope);
    }
    --blocks_;
  }

  struct Declared {
    size_t from;
    std::string name;
    TypeRef type;
  };

  void node(Block* block, Scope& scope) {
    std::vector<Declared> outputs;
    cursor_.peek();
    const size_t from = cursor_.at();
    while (cursor_.peek() == '%') {
      Declared output{cursor_.at(), value_name(), nullptr};
      output.type = cursor_.eat(':') ? read_type(cursor_) : tensor_type();
      outputs.push_back(std::move(output));
      if (!cursor_.eat(',')) break;
    }
    if (!outputs.empty())
      cursor_.expect("=");
    else
      cursor_.eat('=');
    cursor_.peek();
    const size_t at_kind = cursor_.at();
    const std::string kind(cursor_.word("the kind of a node, as aten::add", ":"));
    if (kind.find("::") == std::string::npos || kind == "prim::Param" || kind == "prim::Return")
      cursor_.refuse(at_kind, message("'", kind, "' is not a node kind"));
    const std::string_view group = group_kind(kind);
    if (depth_ > 0 && group == "prim::FusionGroup")
      cursor_.refuse(at_kind, "a group holds no group");
    if (depth_ == kMaxNestedBlocks && !group.empty())
      cursor_.refuse(at_kind, "subgraphs are nested too deeply");
    Node* node = graph_->create(Symbol(group.empty() ? std::string_view(kind) : group), {}, 0);
    node->append_to(block);
    const std::vector<size_t> positions = attributes(*node);
    for (Value* value : uses()) node->add_input(value);
    if (!group.empty() && !groups_.emplace(kind, Group{node, depth_}).second)
      cursor_.refuse(at_kind, message("there are two nodes ", kind));
    if (group.empty()) resolve(*node, at_kind, outputs.size());
    scope_of(*node);
    comment(node);
    while (block_follows()) inner_block(*node);
    for (Declared& output : outputs) {
      Value* value = node->add_output(std::move(output.type));
      declare(scope, output.from, output.name, value);
    }
    finish(*node, from, positions);
  }

  // Parses [value=1, name="x"]; returns the positions of the values.
  std::vector<size_t> attributes(Node& node) {
    std::vector<size_t> positions;
    if (!cursor_.eat('[')) return positions;
    while (!cursor_.eat(']')) {
      cursor_.peek();
      const size_t from = cursor_.at();
      const std::string name(cursor_.word("the name of an attribute"));
      if (node.attribute(name)) cursor_.refuse(from, message("two attributes are called ", name));
      cursor_.expect("=");
      cursor_.peek();
      positions.push_back(cursor_.at());
      node.set_attribute(name, read_attribute(cursor_, constants_));
      if (!cursor_.eat(',') && cursor_.peek() != ']') cursor_.wrong("',' or ']'");
    }
    return positions;
  }

  // Sets the overload that takes these types; If, Loop and similar nodes have none. The text may
  // omit an in-place operator's result.
  void resolve(Node& node, size_t at_kind, size_t outputs) {
    const std::string& kind = node.kind().text();
    std::vector<TypeRef> actual_types;
    for (const Value* input : node.inputs()) actual_types.push_back(input->type());
    std::string tried;
    if (const OperatorInfo* op = find_overload(kind, actual_types, outputs, &tried)) {
      node.set_op(op);
      return;
    }
    if (has_rule(kind)) return;
    for (const OperatorInfo* op : operators_in_texts(kind)) {
      if (outputs != 0 || signature_of(*op).returned_parameters.empty()) continue;
      if (!check_arguments(*op, actual_types).empty()) continue;
      node.set_op(op);
      for (const Value* written : returned_inputs(node)) node.add_output(written->type());
      return;
    }
    if (tried.empty()) cursor_.refuse(at_kind, missing(kind));
    std::string types;
    for (const TypeRef& type : actual_types) types += (types.empty() ? "" : ", ") + type->text();
    cursor_.refuse(at_kind, message("no ", kind, " takes (", types, ") and gives ", outputs,
                                    outputs == 1 ? " value" : " values", tried));
  }

  // Operators in other namespaces than the engine's belong to libraries.
  static std::string missing(const std::string& kind) {
    const bool own = kind.starts_with("aten::") || kind.starts_with("prim::");
    if (own || kind.find("::") == std::string::npos) return message("there is no operator ", kind);
    return message("there is no operator ", kind, ": the library that registers the namespace ",
                   kind.substr(0, kind.find("::")),
                   " is not loaded, or has no such operator (", imported_name(), ".ops.load_library)");
  }

  bool block_follows() {
    cursor_.peek();
    const size_t from = cursor_.at();
    const bool block = cursor_.try_word().starts_with("block");
    cursor_.go(from);
    return block;
  }

  void inner_block(Node& node) {
    const size_t from = cursor_.at();
    if (cursor_.word("block0") != message("block", node.blocks().size()))
      cursor_.refuse(from, message("this is block", node.blocks().size(), " of its node"));
    Block* block = node.add_block();
    Scope scope;
    cursor_.expect("(");
    declarations(scope, ")", [&](TypeRef type) { return block->add_param(std::move(type)); });
    cursor_.expect(":");
    comment();
    nodes(block, scope, "->");
    cursor_.expect("->");
    for (Value* value : uses()) block->add_return(value);
    comment();
    for (const std::string& name : scope.declared) values_.erase(name);
  }

  // {2} without dimensions is a Python number that was traced as a tensor.
  IValue wrapped(IValue value, size_t at) {
    const Tensor* t = value.get_if<Tensor>();
    const bool number = t && *t && t->ndim() == 0 && !t->is_meta() &&
                        (t->dtype() == DType::kInt64 || t->dtype() == DType::kFloat64 ||
                         t->dtype() == DType::kBool);
    if (number && cursor_.text().substr(at).starts_with("{")) t->impl()->set_wrapped_number(true);
    return value;
  }

  // Converts the value to the constant's type.
  void finish(Node& node, size_t from, const std::vector<size_t>& positions) {
    if (!node.is("prim::Constant")) return;
    if (node.outputs().size() != 1 || !node.inputs().empty())
      cursor_.refuse(from, "a constant has one output and no inputs");
    const Type& type = *node.output()->type();
    if (const Attribute* value = node.attribute("value")) {
      const size_t at = positions.empty() ? from : positions[0];
      if (!value->types.empty()) cursor_.refuse(at, "a type is not a constant");
      node.set_attribute("value", wrapped(as_type(cursor_, at, value->value, type), at));
    } else if (!node.attribute("name")) {
      if (!type.is(TypeKind::kNone) && !type.is(TypeKind::kOptional))
        cursor_.refuse(from, message("a constant without a value is None, and no ", type.text()));
      node.set_attribute("value", IValue());
    }
  }

  // Parses ", scope: __module.block/__module.block.linear", up to the comment or the end of the
  // line.
  void scope_of(Node& node) {
    if (!cursor_.eat(',')) return;
    cursor_.expect("scope");
    cursor_.expect(":");
    cursor_.peek();
    const size_t from = cursor_.at();
    for (char c = cursor_.raw(); c > ' ' && c != '#'; c = cursor_.raw())
      cursor_.go(cursor_.at() + 1);
    const std::string_view scope = cursor_.since(from);
    if (scope.empty()) cursor_.wrong("the modules of a scope");
    node.set_scope(std::string(scope));
  }

  // Parses "# file.py:12:4", the span of the node; other comments are ignored.
  void comment(Node* node = nullptr) {
    if (!cursor_.eat('#')) return;
    std::string_view text = cursor_.rest_of_line();
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
    int column = 0, line = 0;
    if (!node || !last_number(text, column) || !last_number(text, line) || text.empty()) return;
    Ref<Source>& source = sources_[std::string(text)];
    if (!source) {
      source = make_ref<Source>();
      source->file = std::string(text);
    }
    Span span;
    span.source = source;
    span.line = span.end_line = line;
    span.column = span.end_column = column;
    node->set_span(std::move(span));
  }

  // Removes a trailing ":12".
  static bool last_number(std::string_view& text, int& number) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == text.size() || text.size() - colon > 9)
      return false;
    int value = 0;
    for (const char c : text.substr(colon + 1)) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    number = value;
    text = text.substr(0, colon);
    return true;
  }

  Cursor& cursor_;
  const std::vector<IValue>* constants_;
  Graph* graph_ = nullptr;
  int blocks_ = 0;
  static constexpr int kMaxNestedBlocks = 50;
  int depth_ = 0;  // nesting of the graph being read
  std::unordered_map<std::string, Value*> values_;
  struct Group {
    Node* node;
    int depth;
  };
  std::unordered_map<std::string, Group> groups_;
  std::unordered_map<std::string, Ref<Source>> sources_;
};

}  // namespace

GraphRef parse(std::string_view text, const std::vector<IValue>* constants) {
  check(text.size() <= kMaxTextLength, "graph: the text has ", text.size(), " bytes, at most ",
        kMaxTextLength, " are read");
  Cursor cursor(text, "graph");
  GraphRef graph;
  try {
    graph = GraphReader(cursor, constants).read();
    verify_alone(*graph);
  } catch (const Error& error) {
    const std::string_view error_message = error.what();
    if (error_message.starts_with("graph: line ")) throw;
    // Errors of the graph name the node; errors of a value get the position.
    if (error_message.starts_with("graph: ")) fail(ErrorKind::kRuntime, error_message);
    cursor.refuse(cursor.at(), error_message);
  }
  return graph;
}

}  // namespace uh::jit
