// Type: what a Value of a graph may hold. Immutable, counted; equal types may be different objects.
//
// What: PyTorch's types of TorchScript, as PyTorch prints them: `Tensor`, `Float(2, 3)`, `int?`,
// `Tensor[]`, `(int, Tensor)`, `Dict(str, int)`, `Union(int, str)`, `__torch__.Cell`,
// `Enum<__torch__.Color>`. A type of a tensor may know a dtype, sizes, strides, device and whether
// it requires a gradient, each or not.
// Invariant: a Type is never changed after it was made, a ClassType only by adding to it. If
// violated: graphs that share it change their meaning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "dispatch/ivalue.h"

namespace uh::jit {

class Type;
using TypeRef = Ref<Type>;

enum class TypeKind : int8_t {
  kAny,
  kTensor,
  kInt,
  kFloat,
  kComplex,
  kBool,
  kString,
  kNone,
  kNumber,  // "Scalar": int, float, bool or complex
  kDevice,
  kOptional,
  kList,
  kTuple,
  kDict,
  kFunction,
  kClass,
  kEnum,  // an EnumType; the plain Type means any of them
  kUnion,
  kFuture,
};

// The known properties of a tensor. A size or stride of -1 is not known.
struct TensorProperties {
  DType dtype = DType::kUndefined;
  std::optional<Dims> sizes;
  std::optional<Dims> strides;
  std::optional<bool> requires_grad;
  Device device = Device::kUndefined;

  bool nothing() const {
    return dtype == DType::kUndefined && !sizes && !strides && !requires_grad &&
           device == Device::kUndefined;
  }
  bool operator==(const TensorProperties& other) const;
};

class Type : public RefCounted {
 public:
  TypeKind kind() const { return kind_; }
  bool is(TypeKind kind) const { return kind_ == kind; }
  // The type within: of an optional or a list one, of a dictionary key and value, of a tuple all.
  const std::vector<TypeRef>& inner() const { return inner_; }
  const TypeRef& element() const { return inner_[0]; }
  // Names of a named tuple's fields, else empty.
  const std::vector<std::string>& field_names() const { return names_; }
  const TensorProperties& facts() const { return facts_; }
  // As PyTorch's graphs write it; parse_type reads it back.
  virtual std::string text() const;
  // As Python's annotations write it: `Optional[int]`, `List[Tensor]`.
  virtual std::string annotation() const;

 protected:
  friend TypeRef make_type(TypeKind kind, std::vector<TypeRef> inner,
                           std::vector<std::string> names);
  friend TypeRef tensor_type(TensorProperties facts);
  explicit Type(TypeKind kind) : kind_(kind) {}

  const TypeKind kind_;
  std::vector<TypeRef> inner_;
  std::vector<std::string> names_;
  TensorProperties facts_;
};

TypeRef make_type(TypeKind kind, std::vector<TypeRef> inner = {},
                  std::vector<std::string> names = {});
TypeRef tensor_type(TensorProperties facts = {});
// One of these types: without what another one covers, in PyTorch's order. Of T and None it is T?,
// of int, float and complex a Scalar, of one type that type.
TypeRef union_of(const std::vector<TypeRef>& types);
// All that is to be known of this tensor.
TypeRef type_of_tensor(const Tensor& t);
inline TypeRef optional_of(TypeRef t) { return make_type(TypeKind::kOptional, {std::move(t)}); }
inline TypeRef future_of(TypeRef t) { return make_type(TypeKind::kFuture, {std::move(t)}); }
inline TypeRef list_of(TypeRef t) { return make_type(TypeKind::kList, {std::move(t)}); }
inline TypeRef dict_of(TypeRef k, TypeRef v) {
  return make_type(TypeKind::kDict, {std::move(k), std::move(v)});
}
inline TypeRef tuple_of(std::vector<TypeRef> t, std::vector<std::string> names = {}) {
  return make_type(TypeKind::kTuple, std::move(t), std::move(names));
}

class Function;
class Graph;
class ClassType;

// The methods of a class. Note [Ownership of methods]: the graph of a method holds the class, as
// the type of its `self`. If the class owned the method, neither would ever be freed. So the
// Objects of the class and the handles on it own the methods; the methods own the class, which has
// a plain pointer to them while they live. A program's classes have no Objects before it runs: the
// methods of the module that uses a class keep the methods of that class alive.
class Methods final : public RefCounted {
 public:
  explicit Methods(Ref<ClassType> type);
  ~Methods() override;

  ClassType& type() const { return *type_; }
  std::vector<std::pair<std::string, Ref<Function>>> all;
  std::vector<Ref<Methods>> keeps;  // of plain classes that these methods use

 private:
  const Ref<ClassType> type_;
};

// A class: its attributes, each with a slot of its Objects, and its methods. It is that of a
// module, or a plain one, which a program makes objects of.
class ClassType final : public Type {
 public:
  struct Attribute {
    std::string name;
    TypeRef type;
    bool is_parameter = false;
    bool is_buffer = false;
  };

  // Registered by its name, which must be unique.
  explicit ClassType(std::string name);
  ~ClassType() override;

  const std::string& name() const { return name_; }  // "__torch__.Cell"
  bool is_plain() const { return plain_; }
  void set_plain() { plain_ = true; }
  const std::vector<Attribute>& attributes() const { return attributes_; }
  // The index of an attribute, or -1.
  int64_t slot(std::string_view name) const;
  void add_attribute(Attribute attribute);
  // Retained by the code that adds methods, or needs them to stay: Note [Ownership of methods].
  Ref<Methods> methods();
  Ref<Function> method(std::string_view name) const;  // null when there is none
  void add_method(std::string name, Ref<Function> function);

  std::string text() const override { return name_; }
  std::string annotation() const override { return name_; }

 private:
  const std::string name_;
  bool plain_ = false;
  std::vector<Attribute> attributes_;
  friend class Methods;
  Methods* methods_ = nullptr;  // not owned
};

// An Enum: names with values, all int, float or str. A member is an Object without methods, of two
// slots; equal() compares its value, as members are created again at each access.
class EnumType final : public Type {
 public:
  using Members = std::vector<std::pair<std::string, IValue>>;
  EnumType(std::string name, Members members);
  ~EnumType() override;

  const std::string& name() const { return name_; }  // "__torch__.Color"
  const Members& members() const { return members_; }
  // None if there is no member of that name.
  IValue member(std::string_view name) const;
  std::string text() const override { return "Enum<" + name_ + ">"; }
  std::string annotation() const override { return text(); }

 private:
  const std::string name_;
  const Members members_;
};

// The Enum that a value is a member of; null for anything else.
const EnumType* enum_of(const IValue& value);
// "__torch__.Color.RED" of a member.
std::string member_text(const IValue& member);

// An object without attributes yet; it owns the methods of its class.
IValue new_object(ClassType& type);
// The number of live types: a program that releases all it compiled returns to the number before.
int64_t class_count();
// The plain classes and the Enums that a graph names, or a function or plain class that it uses.
std::vector<TypeRef> named_types_of(const Graph& graph);

// A class or an Enum by its name; null when there is none (any more).
TypeRef find_class(std::string_view name);

// While it lives, find_class on this thread looks here first: a file's names for classes that have
// other names in this process.
class ClassAliases {
 public:
  using Names = std::map<std::string, TypeRef, std::less<>>;
  explicit ClassAliases(const Names& names);
  ~ClassAliases();
  ClassAliases(const ClassAliases&) = delete;
  ClassAliases& operator=(const ClassAliases&) = delete;

 private:
  const Names* outer_;
};

// Same type, facts of tensors included.
bool same_type(const Type& a, const Type& b);
// True if every value of `type` may be used where `wanted` is expected: int for Scalar, T for T?,
// a tensor of known sizes for Tensor.
bool is_subtype(const Type& type, const Type& expected);
// The most special type that both are (two branches of an If); null where only Any would do.
TypeRef unify(const TypeRef& a, const TypeRef& b);
// The same without what is known of tensors: what holds for every input.
TypeRef unshaped(const TypeRef& type);
// The most specific type of this value.
TypeRef type_of(const IValue& value);
// True if the value may be used where the type is expected.
bool is_instance(const IValue& value, const Type& type);

// A type as graphs and schemas write it: "Float(2, 3)", "int[]", "Tensor(a!)", "Tensor?",
// "Operand" (a Tensor or Scalar: Any). Classes by find_class. Throws a RuntimeError that quotes
// the place.
TypeRef parse_type(std::string_view text);

}  // namespace uh::jit
