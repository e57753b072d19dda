#include <algorithm>

#include "jit/ir/rewrite.h"

namespace uh::jit {

Graph& Value::graph() const { return *node_->graph_; }
Block* Value::block() const { return node_->owner_; }
bool Value::is_param() const { return node_->is("prim::Param"); }

void Value::set_type(TypeRef type) {
  if (type_ && same_type(*type_, *type)) {
    type_ = std::move(type);  // a class or function may be a different object with the same text
    return;
  }
  type_ = std::move(type);
  graph().edited(EditKind::kSetType, id_);
  if (Edit* edit = graph().log(EditKind::kSetType)) {
    edit->a = id_;
    edit->text = type_->text();
  }
}

void Value::set_name(std::string_view name) {
  Graph& g = graph();
  // A number, as in parsed graphs: used unless another value has it.
  if (!name.empty() && name.size() < 18 &&
      name.find_first_not_of("0123456789") == std::string_view::npos) {
    if (named_ || g.names_.count(std::string(name))) return;
    g.names_.erase(name_);
    name_ = name;
    g.names_[name_] = this;
    g.edited(EditKind::kSetName);
    if (Edit* edit = g.log(EditKind::kSetName)) {
      edit->a = id_;
      edit->text = name_;
    }
    return;
  }
  // "x.3" requests a variant of x: as in PyTorch, the number after the last dot is counted per
  // name.
  std::string stem(name);
  if (const size_t dot = stem.find_last_of('.');
      dot != std::string::npos && dot + 1 < stem.size() &&
      stem.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
    stem.resize(dot);
  }
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || static_cast<unsigned char>(c) >= 0x80;
  };
  check(!stem.empty() && stem.find_first_not_of("0123456789") != std::string::npos &&
            std::all_of(stem.begin(), stem.end(), fits),
        "graph: '", name, "' is not a valid value name: letters, digits, _ and ., not only digits");
  std::string full(name);
  for (auto owner = g.names_.find(full); owner != g.names_.end() && owner->second != this;
       owner = g.names_.find(full)) {
    full = stem + "." + std::to_string(++g.suffixes_[stem]);
  }
  if (full == name_) return;
  g.names_.erase(name_);
  name_ = full;
  named_ = true;
  g.names_[name_] = this;
  g.edited(EditKind::kSetName);
  if (Edit* edit = g.log(EditKind::kSetName)) {
    edit->a = id_;
    edit->text = name_;
  }
}

void Value::add_origin(int64_t id) {
  if (id == id_ || std::find(origins_.begin(), origins_.end(), id) != origins_.end()) return;
  origins_.push_back(id);
  if (Edit* edit = graph().log(EditKind::kOrigin)) {
    edit->a = id_;
    edit->b = id;
  }
}

void Value::copy_facts(const Value& other) {
  set_type(other.type_);
  if (other.named_) set_name(other.name_);
  add_origin(other.id_);
}

void Value::replace_uses_with(Value* other) {
  check_kind(other != this, ErrorKind::kInternal, "graph: %", name_, " replaced by itself");
  if (uses_.empty()) return;
  if (Edit* edit = graph().log(EditKind::kReplaced)) {
    edit->a = id_;
    edit->b = other->id_;
  }
  while (!uses_.empty()) uses_.back().node->set_input(uses_.back().index, other);
}

void Value::replace_uses_after(const Node* node, Value* other) {
  std::vector<Use> later;
  for (const Use& use : uses_)
    if (node->is_before(use.node)) later.push_back(use);
  if (later.empty()) return;
  if (Edit* edit = graph().log(EditKind::kReplaced)) {
    edit->a = id_;
    edit->b = other->id_;
  }
  for (const Use& use : later) use.node->set_input(use.index, other);
}

const IValue* Value::constant() const {
  return node_->is_constant() ? &node_->attribute("value")->value : nullptr;
}

}  // namespace uh::jit
