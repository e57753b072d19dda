#include "jit/ir/graph.h"

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "jit/ir/rewrite.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

std::atomic<int64_t> g_next_id{1};
int64_t next_id() { return g_next_id.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Symbol::Symbol(std::string_view text) {
  static std::mutex lock;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  static auto* strings = new std::unordered_set<std::string, Hash, std::equal_to<>>;
  std::lock_guard guard(lock);
  const auto known = strings->find(text);
  text_ = &*(known != strings->end() ? known : strings->emplace(text).first);
}

std::string Span::text() const {
  if (!source) return "";
  return message(source->file, ":", line, ":", column);
}

std::vector<Node*> Block::nodes() const {
  std::vector<Node*> all;
  for (Node* node = first(); node != return_; node = node->next()) all.push_back(node);
  return all;
}

namespace {
std::atomic<int64_t> g_alive{0}, g_functions{0};
}

Graph::Graph() : id_(next_id()) {
  ++g_alive;
  block_ = new_block(nullptr);
  insert_point_ = block_->return_;
}
Graph::~Graph() { --g_alive; }
int64_t Graph::alive() { return g_alive; }

int64_t Graph::reserve_function() {
  if (function_ == 0) function_ = ++g_functions;
  return function_;
}

int64_t Graph::take_function() {
  if (std::exchange(function_has_graph_, true)) function_ = 0;
  return reserve_function();
}

Block* Graph::new_block(Node* owner) {
  const int64_t id = next_id();
  Block* block = (blocks_[id] = std::make_unique<Block>()).get();
  block->graph_ = this;
  block->owner_ = owner;
  block->id_ = id;
  block->param_ = new_node("prim::Param");
  block->return_ = new_node("prim::Return");
  block->param_->owner_ = block->return_->owner_ = block;
  block->param_->next_ = block->return_;
  block->return_->prev_ = block->param_;
  return block;
}

Node* Graph::new_node(Symbol kind) {
  const int64_t id = next_id();
  return (nodes_[id] = std::unique_ptr<Node>(new Node(this, kind, id))).get();
}

Value* Graph::new_value(Node* node, TypeRef type) {
  const int64_t id = next_id();
  auto& value = values_[id] =
      std::unique_ptr<Value>(new Value(node, node->outputs_.size(), id, std::move(type)));
  do {
    value->name_ = std::to_string(next_number_++);
  } while (names_.count(value->name_));
  names_[value->name_] = value.get();
  return value.get();
}

void Graph::give_origins(Value* value) {
  for (const int64_t origin : rewrite_->origins()) value->add_origin(origin);
}

// Uses point in both directions between nodes of a block: remove all inputs first, then the nodes.
void Graph::free_block(Block* block) {
  std::vector<Node*> nodes = block->nodes();
  block->return_->drop_inputs();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) (*it)->destroy();
  while (!block->param_->outputs_.empty())
    block->param_->drop_output(block->param_->outputs_.size() - 1);
  const int64_t param = block->param_->id_, ret = block->return_->id_;
  if (insert_point_ == block->return_) insert_point_ = block_->return_;
  blocks_.erase(block->id_);
  nodes_.erase(param);
  nodes_.erase(ret);
}

bool Graph::logging() const { return rewrite_ && rewrite_->keeps_edits(); }

Edit* Graph::log(EditKind kind) {
  return logging() ? rewrite_->add(Edit{kind, 0, 0, 0, 0, {}, {}}) : nullptr;
}

void Graph::edited(EditKind kind, int64_t a, int64_t b, int64_t c, int64_t d) {
  ++version_;
  switch (kind) {
    // Edits with strings are logged by their callers.
    case EditKind::kSetType:
    case EditKind::kSetName:
    case EditKind::kSetAttribute:
    case EditKind::kDropAttribute:
    case EditKind::kAddOutput:
    case EditKind::kCreate:
    case EditKind::kSetKind: return;
    default: break;
  }
  if (logging()) rewrite_->add(Edit{kind, a, b, c, d, {}, {}});
}

void Graph::log_span(const Node& node) {
  Edit* edit = log(EditKind::kSpan);
  if (!edit) return;
  edit->a = node.id_;
  if (!node.span_) return;
  const Span& span = node.span_;
  edit->text = span.source->file;
  edit->words = message(span.line, ":", span.column, ":", span.end_line, ":", span.end_column);
}

Value* Graph::add_input(std::string_view name, TypeRef type) {
  Value* value = block_->add_param(std::move(type));
  if (!name.empty()) value->set_name(name);
  return value;
}

Node* Graph::create(Symbol kind, const std::vector<Value*>& inputs, size_t outputs) {
  Node* node = new_node(kind);
  edited(EditKind::kCreate);
  if (Edit* edit = log(EditKind::kCreate)) {
    edit->a = node->id_;
    edit->text = kind.text();
  }
  node->span_ = span_;
  node->scope_ = scope_;
  if (!node->span_ && rewrite_) node->span_ = rewrite_->span();
  log_span(*node);
  for (Value* input : inputs) node->add_input(input);
  for (size_t i = 0; i < outputs; ++i) node->add_output();
  return node;
}

Node* Graph::create_call(const OperatorInfo& op, const std::vector<Value*>& inputs) {
  const FunctionSchema& schema = op.schema();
  check_kind(inputs.size() == schema.arguments.size(), ErrorKind::kInternal, "graph: ", schema.text,
             " is given ", inputs.size(), " arguments");
  Node* node = create(Symbol(op.qualified_name()), inputs, 0);
  node->set_op(&op);
  for (const Argument& result : schema.returns) node->add_output(jit_type(result.type));
  for (const Value* written : returned_inputs(*node)) node->add_output(unshaped(written->type()));
  return node;
}

Node* Graph::create_constant(IValue value) {
  Node* node = create("prim::Constant", {}, 0);
  node->add_output(type_of(value));
  node->set_attribute("value", std::move(value));
  return node;
}

Node* Graph::clone(const Node* from, const ValueMap& value, bool origins) {
  Node* node = new_node(from->kind_);
  edited(EditKind::kCreate);
  if (Edit* edit = log(EditKind::kCreate)) {
    edit->a = node->id_;
    edit->text = from->kind_.text();
  }
  node->span_ = from->span_;
  node->scope_ = from->scope_;
  log_span(*node);
  if (from->op_) node->set_op(from->op_);
  for (Value* input : from->inputs_) node->add_input(value(input));
  for (const auto& [name, attribute] : from->attributes_) node->set_attribute(name, attribute);
  for (const Value* output : from->outputs_) {
    Value* new_value = node->add_output(output->type_);
    if (output->named_) new_value->set_name(output->name_);
    if (origins) new_value->add_origin(output->id_);
  }
  for (const Block* block : from->blocks_) {
    std::unordered_map<const Value*, Value*> inside;
    const ValueMap map = [&](Value* v) {
      const auto it = inside.find(v);
      return it == inside.end() ? value(v) : it->second;
    };
    Block* copy = node->add_block();
    for (const Value* param : block->params()) {
      Value* new_value = copy->add_param(param->type_);
      if (param->named_) new_value->set_name(param->name_);
      if (origins) new_value->add_origin(param->id_);
      inside[param] = new_value;
    }
    for (const Node* each : block->nodes()) {
      Node* new_value = clone(each, map, origins)->append_to(copy);
      for (size_t i = 0; i < each->outputs_.size(); ++i)
        inside[each->outputs_[i]] = new_value->outputs_[i];
    }
    for (Value* result : block->returns()) copy->add_return(map(result));
  }
  return node;
}

GraphRef Graph::copy() const {
  GraphRef graph = make_ref<Graph>();
  graph->name_ = name_;
  graph->function_ = function_;
  graph->function_has_graph_ = function_ != 0;
  std::unordered_map<const Value*, Value*> map;
  for (const Value* input : inputs()) {
    Value* new_value = graph->add_input("", input->type_);
    if (input->named_) new_value->set_name(input->name_);
    new_value->add_origin(input->id_);
    map[input] = new_value;
  }
  const ValueMap find = [&](Value* v) { return map.at(v); };
  for (const Node* node : block_->nodes()) {
    Node* new_value = graph->clone(node, find)->append_to(graph->block_);
    for (size_t i = 0; i < node->outputs_.size(); ++i)
      map[node->outputs_[i]] = new_value->outputs_[i];
  }
  for (const Value* output : outputs()) graph->add_output(map.at(output));
  return graph;
}

std::vector<Value*> Graph::inline_graph(const Graph& from, const std::vector<Value*>& inputs) {
  check_kind(from.inputs().size() == inputs.size(), ErrorKind::kInternal, "graph: ", from.name(),
             " takes ", from.inputs().size(), " inputs, and is inlined with ", inputs.size());
  std::unordered_map<const Value*, Value*> map;
  for (size_t i = 0; i < inputs.size(); ++i) map[from.inputs()[i]] = inputs[i];
  const ValueMap find = [&](Value* v) { return map.at(v); };
  for (const Node* node : from.block_->nodes()) {
    Node* new_node = insert(clone(node, find));
    for (size_t i = 0; i < node->outputs_.size(); ++i)
      map[node->outputs_[i]] = new_node->outputs_[i];
  }
  std::vector<Value*> outputs;
  for (const Value* output : from.outputs()) outputs.push_back(map.at(output));
  return outputs;
}

// Moves a node without blocks, and its outputs, to this graph: the same objects, another owner.
void Graph::take_over(Graph& from, Node* node) {
  nodes_[node->id_] = std::move(from.nodes_.at(node->id_));
  from.nodes_.erase(node->id_);
  node->graph_ = this;
  if (std::exchange(node->holders_, nullptr)) node->record_held();
  for (Value* value : node->outputs_) {
    values_[value->id_] = std::move(from.values_.at(value->id_));
    from.values_.erase(value->id_);
    from.names_.erase(value->name_);
    names_[value->name_] = value;
  }
}

GraphRef Graph::split_off(Node* node) {
  check_kind(node->blocks_.size() == 1, ErrorKind::kInternal, "graph: ", node->kind_.text(),
             " has ", node->blocks_.size(), " blocks");
  Block* block = node->blocks_[0];
  GraphRef new_graph = make_ref<Graph>();
  new_graph->free_block(new_graph->block_);
  for (Node* each = block->param_;; each = each->next_) {
    check_kind(each->blocks_.empty(), ErrorKind::kInternal, "graph: ", each->kind_.text(),
               " has nested blocks");
    new_graph->take_over(*this, each);
    if (each == block->return_) break;
  }
  new_graph->blocks_[block->id_] = std::move(blocks_.at(block->id_));
  blocks_.erase(block->id_);
  node->blocks_.clear();
  block->graph_ = new_graph.get();
  block->owner_ = nullptr;
  new_graph->block_ = block;
  new_graph->insert_point_ = block->return_;
  ++version_;
  return new_graph;
}

Node* Graph::node(int64_t id) const {
  const auto it = nodes_.find(id);
  return it == nodes_.end() ? nullptr : it->second.get();
}
Value* Graph::value(int64_t id) const {
  const auto it = values_.find(id);
  return it == values_.end() ? nullptr : it->second.get();
}
Block* Graph::find_block(int64_t id) const {
  const auto it = blocks_.find(id);
  return it == blocks_.end() ? nullptr : it->second.get();
}
Value* Graph::value_named(std::string_view name) const {
  const auto it = names_.find(std::string(name));
  return it == names_.end() ? nullptr : it->second;
}

namespace {
void visit_block(const Block& block, const std::function<void(Node*)>& visit) {
  for (Node* node : block.nodes()) {
    visit(node);
    for (const Block* inner : node->blocks()) visit_block(*inner, visit);
  }
}
}  // namespace

void Graph::each_node(const std::function<void(Node*)>& visit) const {
  visit_block(*block_, visit);
}

namespace {
std::vector<Value*> in_order(const Graph& graph) {
  std::vector<Value*> order(graph.inputs());
  graph.each_node([&](Node* node) {
    order.insert(order.end(), node->outputs().begin(), node->outputs().end());
    for (const Block* block : node->blocks())
      order.insert(order.end(), block->params().begin(), block->params().end());
  });
  return order;
}
}  // namespace

void Graph::renumber_unnamed() {
  const std::vector<Value*> order = in_order(*this);
  for (const Value* value : order)
    if (!value->named_) names_.erase(value->name_);
  next_number_ = 0;
  for (Value* value : order) {
    const std::string number = std::to_string(next_number_++);
    if (!value->named_) names_[value->name_ = number] = value;
  }
  ++version_;
}

void Graph::renumber() {
  const std::vector<Value*> order = in_order(*this);
  std::unordered_map<const Value*, std::string> before;
  for (Value* value : order) before[value] = value->name_;
  names_.clear();
  suffixes_.clear();
  next_number_ = 0;
  for (Value* value : order) {
    if (!value->named_) continue;
    // "x.7" is a variant of x; the text decides which.
    const std::string& name = before[value];
    const size_t dot = name.find_last_of('.');
    const bool counted = dot != std::string::npos && dot + 1 < name.size() &&
                         name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
    const std::string stem = counted ? name.substr(0, dot) : name;
    std::string full = counted ? stem + "." + std::to_string(++suffixes_[stem]) : name;
    while (names_.count(full) != 0) full = stem + "." + std::to_string(++suffixes_[stem]);
    value->name_ = full;
    names_[full] = value;
  }
  for (Value* value : order) {
    if (value->named_) continue;
    value->name_ = std::to_string(next_number_++);
    names_[value->name_] = value;
  }
  for (Value* value : order) {
    if (value->name_ == before[value]) continue;
    edited(EditKind::kSetName);
    if (Edit* edit = log(EditKind::kSetName)) {
      edit->a = value->id_;
      edit->text = value->name_;
    }
  }
}

}  // namespace uh::jit
