// Type: the type of a graph's Value. Immutable and counted; equal types may be different objects.
//
// PyTorch's TorchScript types, in its text format: `Tensor`, `Float(2, 3)`, `int?`,
// `Tensor[]`, `(int, Tensor)`, `Dict(str, int)`, `Union(int, str)`, `__torch__.Cell`,
// `Enum<__torch__.Color>`. A tensor type may have a dtype, sizes, strides, device and
// requires_grad, each optional. Invariant: a Type is never changed after its creation; a
// ClassType may only gain members. If violated: graphs that share it change their
// meaning.
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
  kEnum,  // an EnumType; the plain Type matches any Enum
  kUnion,
  kFuture,
};

// The known properties of a tensor. A size or stride of -1 is unknown.
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
  // Inner types: one of an optional or a list, key and value of a dictionary, all of a tuple.
  const std::vector<TypeRef>& inner() const { return inner_; }
  const TypeRef& element() const { return inner_[0]; }
  // The field names of a named tuple, else empty.
  const std::vector<std::string>& field_names() const { return names_; }
  const TensorProperties& facts() const { return facts_; }
  // The text in PyTorch's graphs; parse_type reads it back.
  virtual std::string text() const;
  // The text as a Python annotation: `Optional[int]`, `List[Tensor]`.
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
// The union of these types, in PyTorch's order and without subtypes of others. T and None make T?,
// int, float and complex a Scalar, a single type itself.
TypeRef union_of(const std::vector<TypeRef>& types);
// The type with all properties of this tensor.
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

// The methods of a class. Note [Ownership of methods]: a method's graph holds the class, as the
// type of its `self`. If the class owned the method, neither would ever be freed. So the class's
// Objects and handles own the methods; the methods own the class, which has a plain pointer to them
// while they live. A program's classes have no Objects before it runs: the methods of the module
// that uses a class keep that class's methods alive.
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

// A class: its attributes, each with a slot in its Objects, and its methods. Either a module's
// class, or a plain class that a program instantiates.
class ClassType final : public Type {
 public:
  struct Attribute {
    std::string name;
    TypeRef type;
    bool is_parameter = false;
    bool is_buffer = false;
  };

  // Registers the class by its name, which must be unique.
  explicit ClassType(std::string name);
  ~ClassType() override;

  const std::string& name() const { return name_; }  // "__torch__.Cell"
  bool is_plain() const { return plain_; }
  void set_plain() { plain_ = true; }
  const std::vector<Attribute>& attributes() const { return attributes_; }
  // The index of an attribute, or -1.
  int64_t slot(std::string_view name) const;
  void add_attribute(Attribute attribute);
  // Retained by code that adds methods, or needs them alive: Note [Ownership of methods].
  Ref<Methods> methods();
  Ref<Function> method(std::string_view name) const;  // null if absent
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
// slots; equal() compares its value, as each access creates a new member object.
class EnumType final : public Type {
 public:
  using Members = std::vector<std::pair<std::string, IValue>>;
  EnumType(std::string name, Members members);
  ~EnumType() override;

  const std::string& name() const { return name_; }  // "__torch__.Color"
  const Members& members() const { return members_; }
  // None if there is no such member.
  IValue member(std::string_view name) const;
  std::string text() const override { return "Enum<" + name_ + ">"; }
  std::string annotation() const override { return text(); }

 private:
  const std::string name_;
  const Members members_;
};

// The Enum that a value is a member of, or null.
const EnumType* enum_of(const IValue& value);
// The qualified name of a member: "__torch__.Color.RED".
std::string member_text(const IValue& member);

// Makes an object without attributes; it owns the methods of its class.
IValue new_object(ClassType& type);
// The number of live types: it drops back when a program is released.
int64_t class_count();
// The plain classes and Enums that a graph, or a function or plain class that it uses, names.
std::vector<TypeRef> named_types_of(const Graph& graph);

// Finds a class or Enum by name; null if it does not exist (any more).
TypeRef find_class(std::string_view name);

// While it lives, find_class on this thread looks here first: it maps a file's names of classes to
// those in this process.
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

// Equality of types, including tensor properties.
bool same_type(const Type& a, const Type& b);
// True if every value of `type` may be used where `expected` is required: int for Scalar, T for T?,
// a tensor of known sizes for Tensor.
bool is_subtype(const Type& type, const Type& expected);
// The most specific supertype of both (two branches of an If); null if it would be Any.
TypeRef unify(const TypeRef& a, const TypeRef& b);
// The type without tensor properties, valid for every input.
TypeRef unshaped(const TypeRef& type);
// The most specific type of this value.
TypeRef type_of(const IValue& value);
// True if the value may be used where the type is expected.
bool is_instance(const IValue& value, const Type& type);

// Parses a type in the format of graphs and schemas: "Float(2, 3)", "int[]", "Tensor(a!)",
// "Tensor?", "Operand" (a Tensor or Scalar: Any). Classes by find_class. Throws a RuntimeError that
// quotes the position.
TypeRef parse_type(std::string_view text);

}  // namespace uh::jit
