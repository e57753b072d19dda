// Graph: a program in SSA form. A Graph owns Nodes in nested Blocks; Nodes define Values.
//
// PyTorch's IR and its text format (print.h, parse.h). A Node has a kind ("aten::mul", "prim::If"),
// inputs, outputs, attributes and blocks. A Block begins with parameters (the outputs of its param
// node) and ends with its results (the inputs of its return node). Invariant: a Value is used only
// after its definition, in the same or an inner block; `uses` lists exactly the inputs that refer
// to it. verify() checks all of it. If violated: the interpreter reads a register that was never
// written.
//
// Note [Origins]: every Node and Value has an id that is unique in the process. A Value's origins
// are the ids of the Values that it was derived from: those of a copied graph, of an inlined
// function, of the nodes that a rewrite replaced. With the source spans of Nodes, every Value of
// every graph can be traced back to lines of the program.
//
// Note [Edits]: a graph is changed only by the functions below, each of which is one Edit; its kinds
// are in events/codes.inc. Passes record Rewrites (rewrite.h), which store the Edits: applied one by
// one to the snapshot of a graph (snapshot.h), they reproduce every intermediate graph and the last.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dispatch/operator.h"
#include "jit/ir/type.h"

namespace uh::jit {

class Graph;
class Block;
class Node;
class Value;
using GraphRef = Ref<Graph>;

// A node kind or attribute name, interned: compared by address.
class Symbol {
 public:
  Symbol() : Symbol("") {}
  Symbol(std::string_view text);
  Symbol(const char* text) : Symbol(std::string_view(text)) {}
  const std::string& text() const { return *text_; }
  bool operator==(Symbol other) const { return text_ == other.text_; }
  bool starts_with(std::string_view prefix) const { return text_->starts_with(prefix); }

 private:
  const std::string* text_;
};

// A source range within a text. Lines count from 1, columns from 0, ends are exclusive.
struct Source : RefCounted {
  std::string file;
  int first_line = 1;  // of `text` within the file
  std::string text;
};
struct CallSite;
struct Span {
  Ref<Source> source;
  int line = 0, column = 0, end_line = 0, end_column = 0;
  Ref<CallSite> caller = {};  // of an inlined node: the call's span
  // False for nodes that a trace adds: they have a span, but PyTorch prints none.
  bool is_printed = true;

  explicit operator bool() const { return static_cast<bool>(source); }
  std::string text() const;  // "model.py:12:8"
};

struct CallSite : RefCounted {
  explicit CallSite(Span s) : span(std::move(s)) {}
  const Span span;
};

struct Use {
  Node* node;
  size_t index;
  bool operator==(const Use&) const = default;
};

class Value {
 public:
  int64_t id() const { return id_; }
  // The name that graphs print after %: "x.1", or a number unique in the graph.
  const std::string& name() const { return name_; }
  bool has_name() const { return named_; }  // other than a number
  const TypeRef& type() const { return type_; }
  Node* node() const { return node_; }
  size_t offset() const { return offset_; }
  Graph& graph() const;
  Block* block() const;  // that defines it
  bool is_param() const;
  const std::vector<Use>& uses() const { return uses_; }
  bool has_uses() const { return !uses_.empty(); }
  const std::vector<int64_t>& origins() const { return origins_; }

  void set_type(TypeRef type);
  // Makes the name unique within the graph: "x" becomes "x.1", "x.2"...
  void set_name(std::string_view name);
  void add_origin(int64_t id);
  void copy_facts(const Value& other);  // type, name and origin
  // Replaces all uses by `other`; this Value is left without uses.
  void replace_uses_with(Value* other);
  // The same for uses after `node` in its block and the blocks within.
  void replace_uses_after(const Node* node, Value* other);

  // Its constant, if its node is prim::Constant; else null.
  const IValue* constant() const;

 private:
  friend class Node;
  friend class Block;
  friend class Graph;
  Value(Node* node, size_t offset, int64_t id, TypeRef type)
      : node_(node), offset_(offset), id_(id), type_(std::move(type)) {}
  Node* node_;
  size_t offset_;
  int64_t id_;
  TypeRef type_;
  std::string name_;
  bool named_ = false;
  std::vector<Use> uses_;
  std::vector<int64_t> origins_;
};

// An attribute of a Node: a plain value, a graph (Subgraph of a fusion group), or types.
struct Attribute {
  IValue value;
  GraphRef graph;
  std::vector<TypeRef> types;
  Ref<RefCounted> object;  // a Function of prim::Constant[name=...]
};

class Node {
 public:
  int64_t id() const { return id_; }
  Symbol kind() const { return kind_; }
  bool is(Symbol kind) const { return kind_ == kind; }
  // Compares addresses: every pass calls this for every node.
  bool is(const char* kind) const { return kind_.text() == kind; }
  // The operator or builtin that the node calls; null for other prim:: nodes.
  const OperatorInfo* op() const { return op_; }
  // True if name and overload match: node.is_op("aten::add.Tensor").
  bool is_op(std::string_view full_name) const;

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  const std::vector<Block*>& blocks() const { return blocks_; }
  Value* input(size_t i) const { return inputs_[i]; }
  // The input for an argument of the operator's schema; null if the schema has no such argument.
  Value* input(std::string_view argument) const;
  Value* output() const { return outputs_[0]; }  // the only one
  Value* output(size_t i) const { return outputs_[i]; }
  Block* block(size_t i) const { return blocks_[i]; }

  Graph& graph() const { return *graph_; }
  Block* owner() const { return owner_; }  // the block that contains it; null before insertion
  Node* next() const { return next_; }     // the return node after the last
  Node* prev() const { return prev_; }     // the param node before the first
  bool is_before(const Node* other) const;  // both in one graph; may be in different blocks
  const Span& span() const { return span_; }
  void set_span(Span span) { span_ = std::move(span); }
  // The stack of modules in which the node was traced, "__module.block/__module.block.linear"; ""
  // for other nodes.
  const std::string& scope() const { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  const std::map<std::string, Attribute>& attributes() const { return attributes_; }
  const Attribute* attribute(std::string_view name) const;  // null if absent
  std::string text_attribute(std::string_view name) const;  // "" if absent
  void set_attribute(std::string_view name, Attribute attribute);
  void set_attribute(std::string_view name, IValue value) {
    set_attribute(name, Attribute{std::move(value), {}, {}, {}});
  }
  void drop_attribute(std::string_view name);

  void set_op(const OperatorInfo* op);  // also sets the kind
  void set_input(size_t i, Value* value);
  void add_input(Value* value);
  void insert_input(size_t i, Value* value);
  void drop_input(size_t i);
  void drop_inputs();
  Value* add_output(TypeRef type = tensor_type());
  void drop_output(size_t i);  // must have no uses
  Block* add_block();
  void drop_block(size_t i);

  // Inserts the node at a position; a new node has none.
  Node* insert_before(Node* other);
  Node* insert_after(Node* other);
  Node* append_to(Block* block);
  void move_before(Node* other);
  // Removes the node from its block and deletes it; its outputs must have no uses.
  void destroy();

  // PyTorch's predicates, derived from the schema.
  bool writes() const;            // writes an input in place
  bool has_side_effects() const;  // prints, raises, draws random numbers, sets an attribute
  bool is_deterministic() const;  // not random
  bool is_constant() const;

 private:
  friend class Graph;
  friend class Block;
  friend class Value;
  Node(Graph* graph, Symbol kind, int64_t id) : graph_(graph), kind_(kind), id_(id) {}
  void unlink();
  void forget_use(size_t i);

  Graph* graph_;
  Symbol kind_;
  int64_t id_;
  const OperatorInfo* op_ = nullptr;
  std::vector<Value*> inputs_, outputs_;
  std::vector<Block*> blocks_;
  void record_held();
  std::unique_ptr<HolderTracker> holders_;  // destroyed after the constants that it reports
  std::map<std::string, Attribute> attributes_;
  Span span_;
  std::string scope_;
  Block* owner_ = nullptr;
  Node* next_ = nullptr;
  Node* prev_ = nullptr;
};

class Block {
 public:
  int64_t id() const { return id_; }
  const std::vector<Value*>& params() const { return param_->outputs_; }
  const std::vector<Value*>& returns() const { return return_->inputs_; }
  Node* param_node() const { return param_; }
  Node* return_node() const { return return_; }
  Node* first() const { return param_->next_; }  // the return node of an empty block
  Node* last() const { return return_->prev_; }
  bool empty() const { return first() == return_; }
  Graph& graph() const { return *graph_; }
  Node* owner() const { return owner_; }  // the If or Loop around it; null: outermost

  Value* add_param(TypeRef type = tensor_type()) { return param_->add_output(std::move(type)); }
  void drop_param(size_t i) { param_->drop_output(i); }
  void add_return(Value* value) { return_->add_input(value); }
  void set_return(size_t i, Value* value) { return_->set_input(i, value); }
  void drop_return(size_t i) { return_->drop_input(i); }
  // A copy of the list of its Nodes, in order: the block may be changed during iteration, as long
  // as no later Node is destroyed.
  std::vector<Node*> nodes() const;

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node* owner_ = nullptr;
  int64_t id_ = 0;
  Node* param_ = nullptr;
  Node* return_ = nullptr;
};

enum class EditKind : int8_t {
#define UH_EDIT(enumerator, name) enumerator,
#include "events/codes.inc"
};
struct Edit {
  EditKind kind;
  int64_t a = 0, b = 0, c = 0, d = 0;
  std::string text, words;
};

class Rewrite;

class Graph final : public RefCounted {
 public:
  Graph();
  ~Graph() override;

  int64_t id() const { return id_; }
  const std::string& name() const { return name_; }  // of the function; may be empty
  void set_name(std::string name) { name_ = std::move(name); }
  // Id in events of the function that the graph belongs to, or will belong to; 0: none. A copy
  // belongs to the same function.
  int64_t function() const { return function_; }
  void set_function(int64_t number) { function_ = number; }
  // The same, assigned now if missing: the compiler's passes run before the function exists.
  int64_t reserve_function();
  // Called by the function of this graph. Another function of the same graph gets another id.
  int64_t take_function();
  static int64_t alive();                  // the number of live graphs
  Block* block() const { return block_; }  // the outermost
  const std::vector<Value*>& inputs() const { return block_->params(); }
  const std::vector<Value*>& outputs() const { return block_->returns(); }
  Value* add_input(std::string_view name = "", TypeRef type = tensor_type());
  void add_output(Value* value) { block_->add_return(value); }

  // Create nodes without inserting them; outputs are Tensors until their type is set.
  Node* create(Symbol kind, const std::vector<Value*>& inputs = {}, size_t outputs = 1);
  // The call of an operator with all arguments of its schema; result types are from the schema.
  Node* create_call(const OperatorInfo& op, const std::vector<Value*>& inputs);
  Node* create_constant(
      IValue value);  // typed by its value; None, numbers, strings, tensors, lists
  // Inserts at the insertion point; a constant goes before it.
  Node* insert(Node* node) { return node->insert_before(insert_point_); }
  Value* insert_constant(IValue value) {
    return insert(create_constant(std::move(value)))->output();
  }
  Node* insert_point() const { return insert_point_; }
  void set_insert_point(Node* before) { insert_point_ = before; }
  void set_insert_point(Block* end_of) { insert_point_ = end_of->return_node(); }
  // The default span of new nodes.
  void set_span(Span span) { span_ = std::move(span); }
  const Span& span() const { return span_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }

  // Copies the graph with new ids; each Value has the copied one as its origin.
  GraphRef copy() const;
  // Copies a node with its blocks; `value` maps each Value from outside to its replacement.
  using ValueMap = std::function<Value*(Value*)>;
  Node* clone(const Node* node, const ValueMap& value, bool origins = true);
  // Copies the nodes of `from` before the insertion point, with `inputs` in place of its inputs;
  // returns the copies of its outputs.
  std::vector<Value*> inline_graph(const Graph& from, const std::vector<Value*>& inputs);

  // Turns the block of a node into a separate graph, with the same nodes and values, none of which
  // may be used across the boundary. The node loses the block.
  GraphRef split_off(Node* node);

  Node* node(int64_t id) const;  // null if it does not exist (any more)
  Value* value(int64_t id) const;
  Block* find_block(int64_t id) const;
  size_t node_count() const { return nodes_.size(); }
  // Changes with every edit.
  int64_t version() const { return version_; }
  // Visits every node in order, including nested blocks.
  void each_node(const std::function<void(Node*)>& visit) const;
  Value* value_named(std::string_view name) const;
  // Resets names and ids to those of a graph that is built in the order of the text.
  void renumber();
  // The same for the numbers of unnamed values only.
  void renumber_unnamed();

  std::string text(bool with_source = true) const;  // print.cpp

  // The open scope of rewrite.h; null outside of passes.
  Rewrite* rewrite() const { return rewrite_; }

 private:
  friend class Node;
  friend class Block;
  friend class Value;
  friend class Rewrite;
  Block* new_block(Node* owner);
  Node* new_node(Symbol kind);
  Value* new_value(Node* node, TypeRef type);
  void free_block(Block* block);
  void take_over(Graph& from, Node* node);
  void edited(EditKind kind, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0);
  void give_origins(Value* value);
  void log_span(const Node& node);
  bool logging() const;
  Edit* log(EditKind kind);  // null without a listener

  int64_t id_;
  int64_t function_ = 0;
  bool function_has_graph_ = false;  // a function with the number function_ owns this graph
  std::string name_;
  std::unordered_map<int64_t, std::unique_ptr<Node>> nodes_;
  std::unordered_map<int64_t, std::unique_ptr<Value>> values_;
  std::unordered_map<int64_t, std::unique_ptr<Block>> blocks_;
  std::unordered_map<std::string, Value*> names_;
  std::unordered_map<std::string, int64_t> suffixes_;
  int64_t next_number_ = 0;
  int64_t version_ = 0;
  Block* block_ = nullptr;
  Node* insert_point_ = nullptr;
  Span span_;
  std::string scope_;
  Rewrite* rewrite_ = nullptr;
};

}  // namespace uh::jit
