#include "jit/ir/type.h"

#include <algorithm>

#include "autograd/autograd_meta.h"
#include "jit/function.h"

namespace uh::jit {
namespace {

// A tensor type's text, in PyTorch's order: Float(2, 3, strides=[3, 1], requires_grad=0,
// device=cpu).
std::string tensor_text(const TensorProperties& facts) {
  if (facts.nothing()) return "Tensor";
  std::string parts;
  const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : ", ") + part; };
  const auto number = [](int64_t n) { return n < 0 ? std::string("*") : std::to_string(n); };
  if (facts.sizes) {
    for (const int64_t n : *facts.sizes) add(number(n));
  } else {
    add("...");
  }
  if (facts.strides && !facts.strides->empty()) {
    std::string list;
    for (const int64_t n : *facts.strides) list += (list.empty() ? "" : ", ") + number(n);
    add("strides=[" + list + "]");
  }
  if (facts.requires_grad) add(*facts.requires_grad ? "requires_grad=1" : "requires_grad=0");
  if (facts.device != Device::kUndefined) add("device=" + std::string(name(facts.device)));
  const bool typed = facts.dtype != DType::kUndefined;
  return (typed ? std::string(info(facts.dtype).title) : "Tensor") + "(" + parts + ")";
}

std::string joined_texts(const std::vector<TypeRef>& types, std::string (Type::*text)() const) {
  std::string all;
  for (const TypeRef& t : types) all += (all.empty() ? "" : ", ") + (t.get()->*text)();
  return all;
}

// A named tuple as PyTorch prints it: NamedTuple(values : Tensor, indices : Tensor).
std::string named_text(const Type& type) {
  std::string all;
  for (size_t i = 0; i < type.inner().size(); ++i) {
    all += (i ? ", " : "") + type.field_names()[i] + " : " + type.inner()[i]->text();
  }
  return "NamedTuple(" + all + ")";
}

}  // namespace

bool TensorProperties::operator==(const TensorProperties& other) const {
  const auto same = [](const std::optional<Dims>& a, const std::optional<Dims>& b) {
    return a.has_value() == b.has_value() &&
           (!a || std::equal(a->begin(), a->end(), b->begin(), b->end()));
  };
  return dtype == other.dtype && same(sizes, other.sizes) && same(strides, other.strides) &&
         requires_grad == other.requires_grad && device == other.device;
}

std::string Type::text() const {
  switch (kind_) {
    case TypeKind::kAny: return "Any";
    case TypeKind::kTensor: return tensor_text(facts_);
    case TypeKind::kInt: return "int";
    case TypeKind::kFloat: return "float";
    case TypeKind::kComplex: return "complex";
    case TypeKind::kBool: return "bool";
    case TypeKind::kString: return "str";
    case TypeKind::kNone: return "NoneType";
    case TypeKind::kNumber: return "Scalar";
    case TypeKind::kDevice: return "Device";
    case TypeKind::kOptional: return element()->text() + "?";
    case TypeKind::kList: return element()->text() + "[]";
    case TypeKind::kTuple:
      return names_.empty() ? "(" + joined_texts(inner_, &Type::text) + ")" : named_text(*this);
    case TypeKind::kDict: return "Dict(" + joined_texts(inner_, &Type::text) + ")";
    case TypeKind::kFunction: return "Function";
    case TypeKind::kUnion: return "Union(" + joined_texts(inner_, &Type::text) + ")";
    case TypeKind::kFuture: return "Future[" + inner_[0]->text() + "]";
    case TypeKind::kEnum: return "AnyEnumType";
    case TypeKind::kClass: break;
  }
  fail(ErrorKind::kInternal, "type: a class without a name");
}

std::string Type::annotation() const {
  switch (kind_) {
    case TypeKind::kTensor: return "Tensor";
    case TypeKind::kNone: return "None";
    case TypeKind::kNumber: return "number";
    case TypeKind::kDevice: return "Device";
    case TypeKind::kOptional: return "Optional[" + element()->annotation() + "]";
    case TypeKind::kList: return "List[" + element()->annotation() + "]";
    case TypeKind::kTuple:
      return inner_.empty() ? "Tuple[()]"
                            : "Tuple[" + joined_texts(inner_, &Type::annotation) + "]";
    case TypeKind::kDict: return "Dict[" + joined_texts(inner_, &Type::annotation) + "]";
    case TypeKind::kFuture: return "Future[" + inner_[0]->annotation() + "]";
    case TypeKind::kUnion: return "Union[" + joined_texts(inner_, &Type::annotation) + "]";
    default: return text();
  }
}

TypeRef make_type(TypeKind kind, std::vector<TypeRef> inner, std::vector<std::string> names) {
  // An optional of an optional is the same optional: None has one representation only.
  if (kind == TypeKind::kOptional &&
      (inner[0]->is(TypeKind::kOptional) || inner[0]->is(TypeKind::kNone)))
    return inner[0];
  if (kind == TypeKind::kOptional && inner[0]->is(TypeKind::kUnion))
    return union_of({inner[0], make_type(TypeKind::kNone)});
  TypeRef type = TypeRef::adopt(new Type(kind));
  type->inner_ = std::move(inner);
  type->names_ = std::move(names);
  return type;
}

TypeRef tensor_type(TensorProperties facts) {
  TypeRef type = make_type(TypeKind::kTensor);
  type->facts_ = std::move(facts);
  return type;
}

namespace {
// PyTorch's order of type kinds in a Union.
int place_in_union(const Type& type) {
  static constexpr TypeKind kOrder[] = {
      TypeKind::kAny,     TypeKind::kEnum,     TypeKind::kTensor, TypeKind::kTuple,
      TypeKind::kList,    TypeKind::kDict,     TypeKind::kNumber, TypeKind::kFloat,
      TypeKind::kComplex, TypeKind::kInt,      TypeKind::kNone,   TypeKind::kString,
      TypeKind::kBool,    TypeKind::kOptional, TypeKind::kDevice, TypeKind::kFunction,
      TypeKind::kClass,   TypeKind::kUnion};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), type.kind()) - kOrder);
}
bool before_in_union(const TypeRef& a, const TypeRef& b) {
  const int i = place_in_union(*a), k = place_in_union(*b);
  return i != k ? i < k : a->text() < b->text();
}
void add_members(const TypeRef& type, std::vector<TypeRef>& into) {
  if (type->is(TypeKind::kUnion)) {
    for (const TypeRef& member : type->inner()) add_members(member, into);
  } else if (type->is(TypeKind::kOptional)) {
    add_members(type->element(), into);
    add_members(make_type(TypeKind::kNone), into);
  } else {
    const auto covers = [&](const TypeRef& union_member) {
      return is_subtype(*type, *union_member);
    };
    if (std::any_of(into.begin(), into.end(), covers)) return;
    std::erase_if(into,
                  [&](const TypeRef& union_member) { return is_subtype(*union_member, *type); });
    into.push_back(type);
  }
}
}  // namespace

TypeRef union_of(const std::vector<TypeRef>& types) {
  std::vector<TypeRef> members;
  for (const TypeRef& type : types) add_members(type, members);
  std::sort(members.begin(), members.end(), before_in_union);
  const bool none = std::any_of(members.begin(), members.end(),
                                [](const TypeRef& t) { return t->is(TypeKind::kNone); });
  std::vector<TypeRef> tail;
  for (const TypeRef& t : members)
    if (!t->is(TypeKind::kNone)) tail.push_back(t);
  const auto has = [&](TypeKind kind) {
    return std::any_of(tail.begin(), tail.end(), [&](const TypeRef& t) { return t->is(kind); });
  };
  if (tail.size() == 3 && has(TypeKind::kInt) && has(TypeKind::kFloat) && has(TypeKind::kComplex))
    tail = {make_type(TypeKind::kNumber)};
  if (tail.empty()) return make_type(TypeKind::kNone);
  if (tail.size() == 1) return none ? optional_of(tail[0]) : tail[0];
  return make_type(TypeKind::kUnion, std::move(members));
}

TypeRef type_of_tensor(const Tensor& t) {
  TensorProperties facts;
  facts.dtype = t.dtype();
  facts.sizes = t.sizes();
  facts.strides = t.strides();
  facts.requires_grad = autograd::requires_grad(t);
  facts.device = t.device();
  return tensor_type(std::move(facts));
}

bool same_type(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind() != b.kind()) return false;
  if (a.is(TypeKind::kTensor)) return a.facts() == b.facts();
  if (a.is(TypeKind::kClass) || a.is(TypeKind::kEnum)) return a.text() == b.text();
  if (a.inner().size() != b.inner().size() || a.field_names() != b.field_names()) return false;
  for (size_t i = 0; i < a.inner().size(); ++i)
    if (!same_type(*a.inner()[i], *b.inner()[i])) return false;
  return true;
}

namespace {
bool facts_within(const TensorProperties& a, const TensorProperties& expected) {
  const auto fits = [](const std::optional<Dims>& own, const std::optional<Dims>& requested) {
    if (!requested) return true;
    if (!own || own->size() != requested->size()) return false;
    for (size_t i = 0; i < requested->size(); ++i)
      if ((*requested)[i] >= 0 && (*requested)[i] != (*own)[i]) return false;
    return true;
  };
  return (expected.dtype == DType::kUndefined || expected.dtype == a.dtype) &&
         fits(a.sizes, expected.sizes) && fits(a.strides, expected.strides) &&
         (!expected.requires_grad || expected.requires_grad == a.requires_grad) &&
         (expected.device == Device::kUndefined || expected.device == a.device);
}
}  // namespace

bool is_subtype(const Type& type, const Type& expected) {
  if (expected.is(TypeKind::kAny) || same_type(type, expected)) return true;
  if (type.is(TypeKind::kUnion))
    return std::all_of(type.inner().begin(), type.inner().end(),
                       [&](const TypeRef& member) { return is_subtype(*member, expected); });
  if (expected.is(TypeKind::kUnion)) {
    const auto covers = [&](const TypeRef& member) { return is_subtype(type, *member); };
    if (std::any_of(expected.inner().begin(), expected.inner().end(), covers)) return true;
    return type.is(TypeKind::kOptional) && is_subtype(*type.element(), expected) &&
           is_subtype(*make_type(TypeKind::kNone), expected);
  }
  if (expected.is(TypeKind::kOptional)) {
    if (type.is(TypeKind::kNone)) return true;
    return is_subtype(type.is(TypeKind::kOptional) ? *type.element() : type, *expected.element());
  }
  if (expected.is(TypeKind::kNumber))
    return type.is(TypeKind::kInt) || type.is(TypeKind::kFloat) || type.is(TypeKind::kComplex) ||
           type.is(TypeKind::kBool);
  if (type.kind() != expected.kind()) return false;
  if (expected.is(TypeKind::kTensor)) return facts_within(type.facts(), expected.facts());
  if (expected.is(TypeKind::kFunction)) return true;
  if (expected.is(TypeKind::kFuture)) return is_subtype(*type.element(), *expected.element());
  if (expected.is(TypeKind::kEnum)) return !dynamic_cast<const EnumType*>(&expected);  // any Enum
  if (expected.is(TypeKind::kList)) {
    // Lists are mutable, so element types must be equal, except for tensor
    // properties.
    return same_type(*unshaped(type.element()), *unshaped(expected.element()));
  }
  if (!expected.is(TypeKind::kTuple) || type.inner().size() != expected.inner().size())
    return false;
  for (size_t i = 0; i < expected.inner().size(); ++i)
    if (!is_subtype(*type.inner()[i], *expected.inner()[i])) return false;
  return true;
}

namespace {
TensorProperties common(const TensorProperties& a, const TensorProperties& b) {
  TensorProperties facts;
  const auto both = [](const std::optional<Dims>& x, const std::optional<Dims>& y) {
    std::optional<Dims> result;
    if (!x || !y || x->size() != y->size()) return result;
    result = *x;
    for (size_t i = 0; i < y->size(); ++i)
      if ((*x)[i] != (*y)[i]) (*result)[i] = -1;
    return result;
  };
  if (a.dtype == b.dtype) facts.dtype = a.dtype;
  facts.sizes = both(a.sizes, b.sizes);
  facts.strides = both(a.strides, b.strides);
  if (a.requires_grad == b.requires_grad) facts.requires_grad = a.requires_grad;
  if (a.device == b.device) facts.device = a.device;
  return facts;
}
}  // namespace

TypeRef unify(const TypeRef& a, const TypeRef& b) {
  if (is_subtype(*a, *b)) return b;
  if (is_subtype(*b, *a)) return a;
  if (a->is(TypeKind::kTensor) && b->is(TypeKind::kTensor))
    return tensor_type(common(a->facts(), b->facts()));
  if (a->is(TypeKind::kNone)) return optional_of(b);
  if (b->is(TypeKind::kNone)) return optional_of(a);
  if (a->is(TypeKind::kOptional) || b->is(TypeKind::kOptional)) {
    const TypeRef inner = unify(a->is(TypeKind::kOptional) ? a->element() : a,
                                b->is(TypeKind::kOptional) ? b->element() : b);
    return inner ? optional_of(inner) : nullptr;
  }
  if (!a->is(TypeKind::kTuple) || !b->is(TypeKind::kTuple) ||
      a->inner().size() != b->inner().size())
    return nullptr;
  std::vector<TypeRef> inner;
  for (size_t i = 0; i < a->inner().size(); ++i) {
    inner.push_back(unify(a->inner()[i], b->inner()[i]));
    if (!inner.back()) return nullptr;
  }
  return tuple_of(std::move(inner), a->field_names());
}

TypeRef unshaped(const TypeRef& type) {
  if (type->is(TypeKind::kTensor)) return tensor_type();
  if (type->is(TypeKind::kClass) || type->inner().empty()) return type;
  std::vector<TypeRef> inner;
  for (const TypeRef& t : type->inner()) inner.push_back(unshaped(t));
  return make_type(type->kind(), std::move(inner), type->field_names());
}

namespace {
TypeRef common_type(const std::vector<IValue>& items, size_t limit = SIZE_MAX) {
  TypeRef all;
  for (size_t i = 0; i < items.size() && i < limit; ++i) {
    const TypeRef element_type = unshaped(type_of(items[i]));
    all = all ? unify(all, element_type) : element_type;
    if (!all) return make_type(TypeKind::kAny);
  }
  return all ? all : tensor_type();  // TorchScript's [] is List[Tensor]
}
}  // namespace

TypeRef type_of(const IValue& value) {
  if (const Tensor* t = value.get_if<Tensor>()) return *t ? type_of_tensor(*t) : tensor_type();
  if (value.get_if<int64_t>() || value.get_if<DType>()) return make_type(TypeKind::kInt);
  if (value.get_if<double>()) return make_type(TypeKind::kFloat);
  if (value.get_if<bool>()) return make_type(TypeKind::kBool);
  if (value.get_if<std::string>()) return make_type(TypeKind::kString);
  if (value.get_if<Device>()) return make_type(TypeKind::kDevice);
  if (value.get_if<Dims>()) return list_of(make_type(TypeKind::kInt));
  if (value.get_if<std::vector<double>>()) return list_of(make_type(TypeKind::kFloat));
  if (value.get_if<std::vector<Tensor>>()) return list_of(tensor_type());
  if (const Scalar* s = value.get_if<Scalar>()) {
    static constexpr TypeKind kKinds[] = {TypeKind::kBool, TypeKind::kInt, TypeKind::kFloat,
                                          TypeKind::kComplex};
    return make_type(kKinds[static_cast<size_t>(s->kind())]);
  }
  if (const List* list = value.list()) return list_of(common_type(list->items));
  if (const Tuple* tuple = value.tuple()) {
    std::vector<TypeRef> inner;
    for (const IValue& item : tuple->items) inner.push_back(type_of(item));
    return tuple_of(std::move(inner));
  }
  if (const Dict* dict = value.dict()) {
    std::vector<IValue> keys, values;
    for (const auto& [k, v] : dict->items()) {
      keys.push_back(k);
      values.push_back(v);
    }
    if (keys.empty()) return dict_of(make_type(TypeKind::kString), tensor_type());
    return dict_of(common_type(keys), common_type(values));
  }
  if (const Object* object = value.object())
    return TypeRef::share(static_cast<Type*>(object->type.get()));
  return make_type(TypeKind::kNone);
}

bool is_instance(const IValue& value, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kAny: return true;
    case TypeKind::kOptional: return value.is_none() || is_instance(value, *type.element());
    case TypeKind::kUnion:
      return std::any_of(type.inner().begin(), type.inner().end(),
                         [&](const TypeRef& member) { return is_instance(value, *member); });
    case TypeKind::kList: {
      const List* list = value.list();
      if (!list) return is_subtype(*type_of(value), type);
      return std::all_of(list->items.begin(), list->items.end(),
                         [&](const IValue& v) { return is_instance(v, *type.element()); });
    }
    case TypeKind::kTuple: {
      const Tuple* tuple = value.tuple();
      if (!tuple || tuple->items.size() != type.inner().size()) return false;
      for (size_t i = 0; i < tuple->items.size(); ++i)
        if (!is_instance(tuple->items[i], *type.inner()[i])) return false;
      return true;
    }
    case TypeKind::kDict: {
      const Dict* dict = value.dict();
      return dict && std::all_of(dict->items().begin(), dict->items().end(), [&](const auto& e) {
               return is_instance(e.first, *type.inner()[0]) &&
                      is_instance(e.second, *type.inner()[1]);
             });
    }
    default: return is_subtype(*type_of(value), type);
  }
}

}  // namespace uh::jit
