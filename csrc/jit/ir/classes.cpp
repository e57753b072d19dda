// Classes and Enums: named types, and descriptions of their objects.
#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "jit/function.h"
#include "jit/ir/type.h"

namespace uh::jit {
namespace {

std::mutex g_lock;
std::map<std::string, Type*, std::less<>>& named_types() {
  static auto* table = new std::map<std::string, Type*, std::less<>>;
  return *table;
}

void know(const std::string& name, Type* type) {
  std::lock_guard guard(g_lock);
  check(named_types().emplace(name, type).second, "jit: there is a class ", name, " already");
}
void forget(const std::string& name) {
  std::lock_guard guard(g_lock);
  named_types().erase(name);
}

thread_local const ClassAliases::Names* t_aliases = nullptr;

// Names a parameter's holder for the explorer: "weight" of "__torch__.models.Cell".
std::string words_of(const Object& object, size_t slot, int64_t number) {
  if (!static_cast<const Type&>(*object.type).is(TypeKind::kClass))
    return message("result of future ", number);
  const auto& type = static_cast<const ClassType&>(*object.type.get());
  const std::string& name = type.name();
  return message("attribute ", slot < type.attributes().size() ? type.attributes()[slot].name : "?",
                 " of ", type.is_plain() ? "object " : "module ",
                 name.substr(name.find_last_of('.') + 1), " ", number);
}

// Set at static initialisation: a future is an Object that may exist before any class.
[[maybe_unused]] const bool g_words_known = (Object::attribute_name = &words_of, true);

// Collects all types that a program names, starting from one graph.
class NamedTypes {
 public:
  void add(const Graph& graph) {
    for (const Value* input : graph.inputs()) add(*input->type());
    graph.each_node([&](Node* node) {
      for (const Value* output : node->outputs()) add(*output->type());
      for (const Block* block : node->blocks())
        for (const Value* param : block->params()) add(*param->type());
      for (const auto& [name, attribute] : node->attributes()) {
        for (const TypeRef& type : attribute.types) add(*type);
        if (attribute.graph) add(*attribute.graph);
        const auto* called = dynamic_cast<const Function*>(attribute.object.get());
        if (called && seen_.insert(called).second) add(called->graph());
      }
    });
  }

  std::vector<TypeRef> types;

 private:
  void add(const Type& type) {
    for (const TypeRef& inner : type.inner()) add(*inner);
    if (!type.is(TypeKind::kClass) && !dynamic_cast<const EnumType*>(&type)) return;
    if (!seen_.insert(&type).second) return;
    if (type.is(TypeKind::kEnum)) {
      types.push_back(TypeRef::share(const_cast<Type*>(&type)));
      return;
    }
    auto& named = const_cast<ClassType&>(static_cast<const ClassType&>(type));
    if (!named.is_plain()) return;  // a module's class: its objects own what they need
    types.push_back(TypeRef::share(&named));
    for (const auto& attribute : named.attributes()) add(*attribute.type);
    const Ref<Methods> methods = named.methods();
    for (const auto& [name, function] : methods->all)
      if (seen_.insert(function.get()).second) add(function->graph());
  }

  std::unordered_set<const void*> seen_;
};

}  // namespace

ClassType::ClassType(std::string name) : Type(TypeKind::kClass), name_(std::move(name)) {
  know(name_, this);
}
ClassType::~ClassType() { forget(name_); }

EnumType::EnumType(std::string name, Members members)
    : Type(TypeKind::kEnum), name_(std::move(name)), members_(std::move(members)) {
  know(name_, this);
}
EnumType::~EnumType() { forget(name_); }

IValue EnumType::member(std::string_view name) const {
  for (const auto& [member_name, value] : members_) {
    if (member_name != name) continue;
    const IValue result = make_container<Object>(
        Ref<RefCounted>::share(const_cast<EnumType*>(this)), Ref<RefCounted>(), 2);
    result.object()->slots = {member_name, value};
    return result;
  }
  return {};
}

const EnumType* enum_of(const IValue& value) {
  const Object* object = value.object();
  return object && !object->methods ? static_cast<const EnumType*>(object->type.get()) : nullptr;
}

std::string member_text(const IValue& member) {
  return enum_of(member)->name() + "." + *member.object()->slots[0].get_if<std::string>();
}

int64_t class_count() {
  std::lock_guard guard(g_lock);
  return static_cast<int64_t>(named_types().size());
}

std::vector<TypeRef> named_types_of(const Graph& graph) {
  NamedTypes all;
  all.add(graph);
  return std::move(all.types);
}

Methods::Methods(Ref<ClassType> type) : type_(std::move(type)) {}

Methods::~Methods() {
  std::lock_guard guard(g_lock);
  if (type_->methods_ == this) type_->methods_ = nullptr;
}

IValue new_object(ClassType& type) {
  return make_container<Object>(Ref<RefCounted>::share(&type), Ref<RefCounted>(type.methods()),
                                type.attributes().size());
}

ClassAliases::ClassAliases(const Names& names) : outer_(t_aliases) { t_aliases = &names; }
ClassAliases::~ClassAliases() { t_aliases = outer_; }

TypeRef find_class(std::string_view name) {
  if (t_aliases) {
    if (const auto it = t_aliases->find(name); it != t_aliases->end()) return it->second;
  }
  std::lock_guard guard(g_lock);
  const auto it = named_types().find(name);
  if (it == named_types().end() || !it->second->try_retain()) return nullptr;
  return TypeRef::adopt(it->second);
}

int64_t ClassType::slot(std::string_view name) const {
  for (size_t i = 0; i < attributes_.size(); ++i)
    if (attributes_[i].name == name) return static_cast<int64_t>(i);
  return -1;
}

void ClassType::add_attribute(Attribute attribute) {
  check(slot(attribute.name) < 0, name_, ": has an attribute '", attribute.name, "' already");
  attributes_.push_back(std::move(attribute));
}

Ref<Methods> ClassType::methods() {
  std::lock_guard guard(g_lock);
  if (methods_ && methods_->try_retain()) return Ref<Methods>::adopt(methods_);
  Ref<Methods> result = make_ref<Methods>(Ref<ClassType>::share(this));
  methods_ = result.get();
  return result;
}

Ref<Function> ClassType::method(std::string_view name) const {
  const Ref<Methods> methods = const_cast<ClassType*>(this)->methods();
  for (const auto& [method_name, function] : methods->all)
    if (method_name == name) return function;
  return nullptr;
}

void ClassType::add_method(std::string name, Ref<Function> function) {
  check(!method(name), name_, ": has a method '", name, "' already");
  const Ref<Methods> all = methods();
  if (!plain_) {  // Note [Ownership of methods]
    for (const TypeRef& type : named_types_of(function->graph()))
      if (type->is(TypeKind::kClass))
        all->keeps.push_back(static_cast<ClassType&>(*type).methods());
  }
  all->all.emplace_back(std::move(name), std::move(function));
}

}  // namespace uh::jit
