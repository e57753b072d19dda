#include <algorithm>

#include "jit/ir/rewrite.h"
#include "jit/ir/snapshot.h"

namespace uh::jit {

bool Node::is_op(std::string_view full_name) const {
  if (!op_ || !full_name.starts_with(kind_.text())) return false;
  const std::string_view overload = op_->schema().overload_name();
  const std::string_view tail = full_name.substr(kind_.text().size());
  return overload.empty()
             ? tail.empty()
             : tail.size() == overload.size() + 1 && tail[0] == '.' && tail.substr(1) == overload;
}

Value* Node::input(std::string_view argument) const {
  if (!op_) return nullptr;
  const size_t i = op_->schema().index_of(argument);
  return i < op_->schema().arguments.size() && i < inputs_.size() ? inputs_[i] : nullptr;
}

bool Node::is_before(const Node* other) const {
  // Walk up to the block that contains both, then along it.
  std::vector<const Node*> chain;
  for (const Node* at = this; at; at = at->owner_ ? at->owner_->owner() : nullptr)
    chain.push_back(at);
  for (const Node* at = other; at; at = at->owner_ ? at->owner_->owner() : nullptr) {
    for (const Node* ancestor : chain) {
      if (ancestor->owner_ != at->owner_) continue;
      if (ancestor == at) {
        // One contains the other (it comes first), or they are in different blocks of one If.
        if (ancestor == this) return this != other;
        if (at == other) return false;
        for (const Block* block : ancestor->blocks_) {
          for (const Node* a : chain)
            if (a->owner_ == block) return true;
          for (const Node* b = other; b; b = b->owner_ ? b->owner_->owner() : nullptr)
            if (b->owner_ == block) return false;
        }
        return false;
      }
      for (const Node* next = ancestor->next_; next; next = next->next_)
        if (next == at) return true;
      return at == ancestor->owner_->return_node();
    }
  }
  return false;
}

const Attribute* Node::attribute(std::string_view name) const {
  const auto it = attributes_.find(std::string(name));
  return it == attributes_.end() ? nullptr : &it->second;
}

std::string Node::text_attribute(std::string_view name) const {
  const Attribute* match = attribute(name);
  const std::string* text = match ? match->value.get_if<std::string>() : nullptr;
  return text ? *text : std::string();
}

void Node::record_held() {
  std::vector<HolderTracker::Reference> references;
  for (const auto& [name, attribute] : attributes_)
    each_tensor(attribute.value, [&](const Tensor& t) { references.push_back({id_, &t}); });
  if (!holders_) {
    if (references.empty()) return;
    holders_ = std::make_unique<HolderTracker>(events::Holder::kConstant, graph_->id());
  }
  holders_->update(references);
}

void Node::set_attribute(std::string_view name, Attribute attribute) {
  Attribute& entry = attributes_[std::string(name)];
  entry = std::move(attribute);
  if (events::on()) [[unlikely]]
    record_held();
  graph_->edited(EditKind::kSetAttribute);
  if (Edit* edit = graph_->log(EditKind::kSetAttribute)) {
    edit->a = id_;
    edit->text = name;
    edit->words = snapshot_of(entry);
  }
}

void Node::drop_attribute(std::string_view name) {
  if (attributes_.erase(std::string(name)) == 0) return;
  if (events::on()) [[unlikely]]
    record_held();
  graph_->edited(EditKind::kDropAttribute);
  if (Edit* edit = graph_->log(EditKind::kDropAttribute)) {
    edit->a = id_;
    edit->text = name;
  }
}

void Node::set_op(const OperatorInfo* op) {
  op_ = op;
  kind_ = Symbol(op->qualified_name());
  graph_->edited(EditKind::kSetKind);
  if (Edit* edit = graph_->log(EditKind::kSetKind)) {
    edit->a = id_;
    edit->text = kind_.text();
    edit->words = op->schema_text();
  }
}

void Node::forget_use(size_t i) {
  auto& uses = inputs_[i]->uses_;
  // Searched from the end: replacing all uses, and destroying nodes last to first, removes the last
  // use first.
  uses.erase(std::find(uses.rbegin(), uses.rend(), Use{this, i}).base() - 1);
}

void Node::set_input(size_t i, Value* value) {
  if (inputs_[i] == value) return;
  forget_use(i);
  inputs_[i] = value;
  value->uses_.push_back({this, i});
  graph_->edited(EditKind::kSetInput, id_, static_cast<int64_t>(i), value->id_);
}

void Node::add_input(Value* value) { insert_input(inputs_.size(), value); }

void Node::insert_input(size_t i, Value* value) {
  for (size_t k = inputs_.size(); k-- > i;) {
    auto& uses = inputs_[k]->uses_;
    ++std::find(uses.begin(), uses.end(), Use{this, k})->index;
  }
  inputs_.insert(inputs_.begin() + static_cast<std::ptrdiff_t>(i), value);
  value->uses_.push_back({this, i});
  graph_->edited(EditKind::kInsertInput, id_, static_cast<int64_t>(i), value->id_);
}

void Node::drop_input(size_t i) {
  forget_use(i);
  for (size_t k = i + 1; k < inputs_.size(); ++k) {
    auto& uses = inputs_[k]->uses_;
    --std::find(uses.begin(), uses.end(), Use{this, k})->index;
  }
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
  graph_->edited(EditKind::kDropInput, id_, static_cast<int64_t>(i));
}

void Node::drop_inputs() {
  while (!inputs_.empty()) drop_input(inputs_.size() - 1);
}

Value* Node::add_output(TypeRef type) {
  Value* value = graph_->new_value(this, std::move(type));
  outputs_.push_back(value);
  graph_->edited(EditKind::kAddOutput);
  if (Edit* edit = graph_->log(EditKind::kAddOutput)) {
    edit->a = id_;
    edit->b = value->id_;
    edit->text = value->type_->text();
    edit->words = value->name_;
  }
  if (graph_->rewrite_) graph_->give_origins(value);
  return value;
}

void Node::drop_output(size_t i) {
  Value* value = outputs_[i];
  check_kind(value->uses_.empty(), ErrorKind::kInternal, "graph: %", value->name_,
             " cannot be erased: used by ",
             value->uses_.empty() ? "" : value->uses_[0].node->kind_.text());
  graph_->names_.erase(value->name_);
  graph_->values_.erase(value->id_);
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < outputs_.size(); ++k) outputs_[k]->offset_ = k;
  graph_->edited(EditKind::kDropOutput, id_, static_cast<int64_t>(i));
}

Block* Node::add_block() {
  Block* block = graph_->new_block(this);
  blocks_.push_back(block);
  graph_->edited(EditKind::kAddBlock, id_, block->id_, block->param_->id_, block->return_->id_);
  return block;
}

void Node::drop_block(size_t i) {
  Block* block = blocks_[i];
  graph_->free_block(block);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
  graph_->edited(EditKind::kDropBlock, id_, static_cast<int64_t>(i));
}

Node* Node::insert_before(Node* other) {
  check_kind(!owner_, ErrorKind::kInternal, "graph: ", kind_.text(), " is in a block already");
  check_kind(other->prev_, ErrorKind::kInternal, "graph: ", kind_.text(), " is put before ",
             other->kind_.text(), ", the first node of its block");
  owner_ = other->owner_;
  prev_ = other->prev_;
  next_ = other;
  prev_->next_ = this;
  other->prev_ = this;
  graph_->edited(EditKind::kInsert, id_, owner_->id_, other->id_);
  return this;
}

Node* Node::insert_after(Node* other) { return insert_before(other->next_); }
Node* Node::append_to(Block* block) { return insert_before(block->return_); }

void Node::unlink() {
  if (graph_->insert_point_ == this) graph_->insert_point_ = next_;
  prev_->next_ = next_;
  next_->prev_ = prev_;
  owner_ = nullptr;
  next_ = prev_ = nullptr;
  graph_->edited(EditKind::kUnlink, id_);
}

void Node::move_before(Node* other) {
  if (other == this || next_ == other) return;
  unlink();
  insert_before(other);
}

void Node::destroy() {
  for (const Value* output : outputs_) {
    check_kind(output->uses_.empty(), ErrorKind::kInternal, "graph: ", kind_.text(),
               " is destroyed, and its %", output->name_, " is still used");
  }
  while (!blocks_.empty()) drop_block(blocks_.size() - 1);
  if (owner_) unlink();
  drop_inputs();
  while (!outputs_.empty()) drop_output(outputs_.size() - 1);
  graph_->edited(EditKind::kDestroy, id_);
  graph_->nodes_.erase(id_);  // deletes *this
}

bool Node::writes() const { return op_ && op_->schema().is_mutable(); }

bool Node::is_constant() const { return is("prim::Constant") && attributes_.count("value") != 0; }

}  // namespace uh::jit
