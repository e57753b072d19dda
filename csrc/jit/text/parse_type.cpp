// Parser for types in the format of graphs and schemas.
#include "jit/text/parse_cursor.h"

namespace uh::jit {
namespace {

// A type variable of a schema, bound from the arguments during schema matching.
class TypeVariable final : public Type {
 public:
  explicit TypeVariable(std::string_view name) : Type(TypeKind::kAny), name_(name) {}
  std::string text() const override { return name_; }

 private:
  const std::string name_;
};

struct Simple {
  std::string_view text;
  TypeKind kind;
};
// The first name of a kind is the printed one. The last ones are schema types that are ints in
// graphs: dtypes, layouts and memory formats are PyTorch's codes.
constexpr Simple kSimple[] = {
    {"Any", TypeKind::kAny},          {"int", TypeKind::kInt},
    {"float", TypeKind::kFloat},      {"complex", TypeKind::kComplex},
    {"bool", TypeKind::kBool},        {"str", TypeKind::kString},
    {"NoneType", TypeKind::kNone},    {"Scalar", TypeKind::kNumber},
    {"Device", TypeKind::kDevice},    {"Function", TypeKind::kFunction},
    {"None", TypeKind::kNone},        {"number", TypeKind::kNumber},
    {"ScalarType", TypeKind::kInt},   {"Layout", TypeKind::kInt},
    {"MemoryFormat", TypeKind::kInt}, {"SymInt", TypeKind::kInt},
    {"Operand", TypeKind::kAny},      {"Generator", TypeKind::kAny},
    {"AnyClassType", TypeKind::kAny}, {"AnyEnumType", TypeKind::kEnum},
};

// The dtype of `Float` and other titles; nullopt for `Tensor` and other words.
DType dtype_of_title(std::string_view title) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (info(static_cast<DType>(i)).title == title) return static_cast<DType>(i);
  return DType::kUndefined;
}

int64_t size_or_unknown(Cursor& cursor) {
  if (cursor.eat('*')) return -1;
  const size_t from = cursor.at();
  const int64_t n = cursor.integer("a size or *");
  if (n < 0) cursor.refuse(from, "a size cannot be negative; * is one that is not known");
  return n;
}

constexpr size_t kMaxTypeDims = 64;

// Parses the properties after `Float(`: sizes or `...`, then strides=, requires_grad=, device=.
void read_facts(Cursor& cursor, TensorProperties& facts) {
  if (cursor.eat("...")) {
    if (cursor.peek() != ')') cursor.expect(",");
  } else {
    facts.sizes.emplace();
    while (cursor.peek() == '*' || (cursor.peek() >= '0' && cursor.peek() <= '9') ||
           cursor.peek() == '-') {
      if (facts.sizes->size() == kMaxTypeDims) cursor.refuse(cursor.at(), "too many dimensions");
      facts.sizes->push_back(size_or_unknown(cursor));
      if (cursor.peek() != ')') cursor.expect(",");
    }
  }
  while (cursor.peek() != ')') {
    const size_t from = cursor.at();
    const std::string_view name = cursor.word("a size, strides=, requires_grad= or device=");
    cursor.expect("=");
    if (name == "strides") {
      cursor.expect("[");
      facts.strides.emplace();
      while (!cursor.eat(']')) {
        if (facts.strides->size() == kMaxTypeDims)
          cursor.refuse(cursor.at(), "too many dimensions");
        facts.strides->push_back(size_or_unknown(cursor));
        if (cursor.peek() != ']') cursor.expect(",");
      }
      if (facts.sizes && facts.sizes->size() != facts.strides->size())
        cursor.refuse(from, "there are not as many strides as sizes");
    } else if (name == "requires_grad") {
      const int64_t on = cursor.integer("0 or 1");
      if (on != 0 && on != 1) cursor.refuse(from, "requires_grad is 0 or 1");
      facts.requires_grad = on == 1;
    } else if (name == "device") {
      const std::string_view device = cursor.word("a device", ":");
      if (const std::optional<Device> known = find_device(device)) {
        facts.device = *known;
      } else {
        cursor.refuse(from, message("the engine has the devices cpu and meta, not ", device));
      }
    } else {
      cursor.refuse(from, message("unknown tensor property ", name));
    }
    if (cursor.peek() != ')') cursor.expect(",");
  }
  cursor.expect(")");
}

// Skips an alias annotation in a schema: `(a!)`, `(a)`, `(a -> *)`, `(*)`, `(a|b)`. It is not part
// of the type. Returns true if there was one.
bool skip_alias(Cursor& cursor) {
  const size_t from = cursor.at();
  if (!cursor.eat('(')) return false;
  bool any = false;
  for (;; any = true) {
    const char c = cursor.peek();
    if (c == ')') break;
    if (c == '*' || c == '!' || c == '|') {
      cursor.eat(c);
    } else if (cursor.eat("->")) {
      continue;
    } else if (const std::string_view word = cursor.try_word();
               word.size() == 1 && word[0] >= 'a' && word[0] <= 'z') {
      continue;
    } else {
      cursor.go(from);
      return false;
    }
  }
  cursor.expect(")");
  if (!any) cursor.go(from);
  return any;
}

TypeRef read_tensor(Cursor& cursor, DType dtype) {
  TensorProperties facts;
  facts.dtype = dtype;
  // Tensor(*) is an alias set in a schema, but a 1-d tensor in a graph.
  const bool mark = dtype == DType::kUndefined && cursor.raw() == '(' &&
                    cursor.text().substr(cursor.at(), 3) != "(*)" &&
                    cursor.text().substr(cursor.at(), 3) != "(*," && skip_alias(cursor);
  if (!mark && cursor.raw() == '(') {
    cursor.expect("(");
    read_facts(cursor, facts);
  }
  return tensor_type(std::move(facts));
}

std::vector<TypeRef> read_types(Cursor& cursor) {
  std::vector<TypeRef> types;
  while (!cursor.eat(')')) {
    types.push_back(read_type(cursor));
    if (cursor.peek() != ')') cursor.expect(",");
  }
  return types;
}

TypeRef read_named_tuple(Cursor& cursor) {
  std::vector<TypeRef> types;
  std::vector<std::string> names;
  cursor.expect("(");
  while (!cursor.eat(')')) {
    names.emplace_back(cursor.word("the name of a field"));
    cursor.expect(":");
    types.push_back(read_type(cursor));
    if (cursor.peek() != ')') cursor.expect(",");
  }
  return tuple_of(std::move(types), std::move(names));
}

TypeRef read_base(Cursor& cursor) {
  if (cursor.eat('(')) return tuple_of(read_types(cursor));
  const char first = cursor.peek();
  const size_t from = cursor.at();
  const std::string_view word = cursor.word("a type", ".");
  if (word == "Tensor") return read_tensor(cursor, DType::kUndefined);
  if (const DType dtype = dtype_of_title(word); dtype != DType::kUndefined)
    return read_tensor(cursor, dtype);
  for (const Simple& simple : kSimple)
    if (simple.text == word) return make_type(simple.kind);
  if (word == "Dict") {
    cursor.expect("(");
    std::vector<TypeRef> inner = read_types(cursor);
    if (inner.size() != 2) cursor.refuse(from, "Dict has a type of keys and one of values");
    return dict_of(inner[0], inner[1]);
  }
  if (word == "Union" && cursor.eat('(')) {
    const std::vector<TypeRef> inner = read_types(cursor);
    if (inner.size() < 2) cursor.refuse(from, "a Union is of two types or more");
    return union_of(inner);
  }
  if (word == "Enum" && cursor.eat('<')) {
    const std::string_view name = cursor.word("the name of an Enum", ".");
    TypeRef type = find_class(name);
    if (!type || !type->is(TypeKind::kEnum))
      cursor.refuse(from, message("there is no Enum ", name));
    cursor.expect(">");
    return type;
  }
  if (word == "Future") {
    const bool round = cursor.eat('(');
    if (!round) cursor.expect("[");
    TypeRef type = future_of(read_type(cursor));
    cursor.expect(round ? ")" : "]");
    return type;
  }
  if (word == "NamedTuple") return read_named_tuple(cursor);
  if (TypeRef type = find_class(word); type && type->is(TypeKind::kClass)) return type;
  // A type variable: in PyTorch any word that begins with a lower-case letter.
  if (first >= 'a' && first <= 'z') return make_type(TypeKind::kAny);
  cursor.refuse(from, message("unknown type specifier ", word));
}

}  // namespace

TypeRef read_type(Cursor& cursor) {
  const Cursor::Deeper level(cursor);
  TypeRef type = read_base(cursor);
  for (int layers = 0;; ++layers) {
    if (layers > Cursor::kMaxDepth) cursor.refuse(cursor.at(), "nested too deeply");
    if (cursor.raw() == '[') {
      cursor.eat('[');
      if (cursor.peek() != ']')
        cursor.integer("']'");  // int[2]: the type does not include the length
      cursor.expect("]");
      type = list_of(std::move(type));
    } else if (cursor.raw() == '?') {
      cursor.eat('?');
      type = optional_of(std::move(type));
    } else if (cursor.raw() != '(' || !skip_alias(cursor)) {
      return type;
    }
  }
}

TypeRef type_variable(std::string_view name) { return TypeRef::adopt(new TypeVariable(name)); }

bool is_type_variable(const Type& type) {
  return type.is(TypeKind::kAny) && dynamic_cast<const TypeVariable*>(&type);
}

TypeRef parse_type(std::string_view text) {
  Cursor cursor(text, "type");
  TypeRef type = read_type(cursor);
  if (!cursor.done()) cursor.wrong("the end of the type");
  return type;
}

}  // namespace uh::jit
