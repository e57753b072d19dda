#include "jit/text/parse_value.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "generated/ops/creation.h"
#include "jit/ir/verify.h"
#include "ops/copy/element.h"

namespace uh::jit {
namespace {

// The Enum member that a graph writes as __torch__.Color.RED; None for any other word.
IValue member_named(std::string_view word) {
  const size_t dot = word.rfind('.');
  if (dot == std::string_view::npos) return {};
  const TypeRef type = find_class(word.substr(0, dot));
  if (!type || !type->is(TypeKind::kEnum)) return {};
  return static_cast<const EnumType&>(*type).member(word.substr(dot + 1));
}

class ValueReader {
 public:
  ValueReader(Cursor& cursor, const std::vector<IValue>* constants)
      : cursor_(cursor), constants_(constants) {}

  IValue read() {
    const Cursor::Deeper level(cursor_);
    const size_t from = cursor_.at();
    switch (cursor_.peek()) {
      case '"':
      case '\'': return cursor_.quoted();
      case '[': return list();
      case '(': return tuple();
      case '{': return dict();
      case '<': cursor_.refuse(from, "this value has no literal form");
      default: break;
    }
    if (cursor_.eat_word("None")) return IValue();
    if (cursor_.eat_word("annotate")) return annotated();
    if (cursor_.eat("CONSTANTS.c")) return constant(from);
    if (const std::string_view word = cursor_.try_word("."); !word.empty()) {
      if (IValue member = member_named(word); !member.is_none()) return member;
      cursor_.go(from);
    }
    return number();
  }

 private:
  // Parses annotate(List[int], []); ignores the type, which the constant has as well.
  IValue annotated() {
    cursor_.expect("(");
    for (int depth = 0; depth > 0 || cursor_.raw() != ','; cursor_.go(cursor_.at() + 1)) {
      const char c = cursor_.raw();
      if (c == '\0') cursor_.wrong("a type and a value");
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    }
    cursor_.expect(",");
    IValue value = read();
    cursor_.expect(")");
    return value;
  }

  IValue number() {
    const size_t from = cursor_.at();
    const bool minus = cursor_.eat('-');
    if (cursor_.eat_word("inf"))
      return minus ? -std::numeric_limits<double>::infinity()
                   : std::numeric_limits<double>::infinity();
    if (cursor_.eat_word("nan")) return std::numeric_limits<double>::quiet_NaN();
    const size_t digits = cursor_.at();
    while (std::string_view("0123456789.eE+-").find(cursor_.raw()) != std::string_view::npos &&
           cursor_.raw())
      cursor_.go(cursor_.at() + 1);
    const std::string_view text = cursor_.since(digits);
    cursor_.go(digits);
    if (text.empty() || text[0] == '-' || text[0] == '+') cursor_.wrong("a value");
    if (text.find_first_of(".eE") == std::string_view::npos) {
      cursor_.go(minus ? digits - 1 : digits);
      return cursor_.integer("a number");
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) cursor_.refuse(from, "a number that does not fit a float");
    cursor_.go(digits + static_cast<size_t>(end - text.data()));
    return minus ? -value : value;
  }

  IValue constant(size_t from) {
    const int64_t i = cursor_.integer("the number of a constant");
    if (!constants_) cursor_.refuse(from, "there are no constants to this text");
    if (i < 0 || static_cast<size_t>(i) >= constants_->size())
      cursor_.refuse(from, message("there are ", constants_->size(), " constants to this text"));
    return (*constants_)[static_cast<size_t>(i)];
  }

  std::vector<IValue> items(std::string_view end) {
    std::vector<IValue> all;
    while (!cursor_.eat(end)) {
      all.push_back(read());
      if (!cursor_.eat(',') && cursor_.peek() != end[0])
        cursor_.wrong(message("',' or '", end, "'"));
    }
    return all;
  }

  IValue list() {
    cursor_.expect("[");
    return make_container<List>(items("]"));
  }
  IValue tuple() {
    cursor_.expect("(");
    return make_container<Tuple>(items(")"));
  }

  IValue dict() {
    const size_t from = cursor_.at();
    cursor_.expect("{");
    IValue result = make_container<Dict>();
    if (cursor_.eat('}')) return result;
    IValue key = read();
    if (cursor_.eat('}')) {
      if (!key.get_if<int64_t>() && !key.get_if<double>() && !key.get_if<bool>())
        cursor_.refuse(from, "a tensor of one element is written with its number: {2.5}");
      const bool integer_value = key.get_if<int64_t>() != nullptr;
      return ops::full(Dims{}, from_value<Scalar>(key),
                       integer_value ? DType::kInt64 : DType::kFloat32);
    }
    for (;; key = read()) {
      if (!key.get_if<int64_t>() && !key.get_if<double>() && !key.get_if<std::string>() &&
          !key.get_if<bool>() && !key.get_if<Tensor>())
        cursor_.refuse(from, "a key is a number, a text or a tensor");
      cursor_.expect(":");
      result.dict()->put(std::move(key), read());
      if (cursor_.eat('}')) return result;
      cursor_.expect(",");
      if (cursor_.eat('}')) return result;
    }
  }

  Cursor& cursor_;
  const std::vector<IValue>* constants_;
};

// True if `[` is followed by a type: it begins with a word, maybe after brackets.
bool types_follow(Cursor& cursor) {
  const size_t from = cursor.at();
  cursor.expect("[");
  while (cursor.eat('(')) {
  }
  const std::string_view word = cursor.try_word(".");
  cursor.go(from);
  if (!member_named(word).is_none()) return false;
  return !word.empty() && !word.starts_with("CONSTANTS.") && word != "None" && word != "nan" &&
         word != "inf" && word != "CONSTANTS";
}

// Converts `{2.5}` to a one-element tensor of the type's dtype and sizes.
IValue tensor_as(const Tensor& t, const Type& type) {
  const TensorProperties& facts = type.facts();
  if (!t || t.ndim() != 0 || t.is_meta()) return t;
  const Dims sizes = facts.sizes.value_or(Dims{});
  for (const int64_t n : sizes)
    if (n != 1) return t;
  const DType dtype = facts.dtype == DType::kUndefined ? t.dtype() : facts.dtype;
  if (dtype == t.dtype() && sizes.empty()) return t;
  return ops::full(sizes, read_scalar(t), dtype);
}

}  // namespace

Attribute read_attribute(Cursor& cursor, const std::vector<IValue>* constants) {
  Attribute attribute;
  if (cursor.peek() != '[' || !types_follow(cursor)) {
    attribute.value = ValueReader(cursor, constants).read();
    // A list of numbers only becomes an operator's argument: int[] or float[].
    const List* list = attribute.value.list();
    if (list && !list->items.empty()) {
      const TypeRef type = type_of(attribute.value);
      if (type->element()->is(TypeKind::kInt) || type->element()->is(TypeKind::kFloat))
        attribute.value = as_type(cursor, cursor.at(), attribute.value, *type);
    }
    return attribute;
  }
  cursor.expect("[");
  while (!cursor.eat(']')) {
    attribute.types.push_back(read_type(cursor));
    if (!cursor.eat(',') && cursor.peek() != ']') cursor.wrong("',' or ']'");
  }
  return attribute;
}

IValue as_type(Cursor& cursor, size_t from, IValue value, const Type& type) {
  using K = TypeKind;
  if (type.is(K::kOptional))
    return value.is_none() ? value : as_type(cursor, from, std::move(value), *type.element());
  const int64_t* integer_value = value.get_if<int64_t>();
  if (type.is(K::kBool) && integer_value && (*integer_value == 0 || *integer_value == 1))
    return *integer_value == 1;
  if (type.is(K::kFloat) && integer_value) return static_cast<double>(*integer_value);
  if (type.is(K::kDevice) && value.get_if<std::string>()) return from_value<Device>(value);
  if (type.is(K::kTensor) && value.get_if<Tensor>())
    value = tensor_as(*value.get_if<Tensor>(), type);
  if (Tuple* tuple = value.tuple()) {
    const bool pair = tuple->items.size() == 2 && tuple->items[0].get_if<double>() &&
                      tuple->items[1].get_if<double>();
    if (pair && (type.is(K::kComplex) || type.is(K::kNumber)))
      return Scalar(
          Complex128(*tuple->items[0].get_if<double>(), *tuple->items[1].get_if<double>()));
    if (type.is(K::kTuple) && type.inner().size() == tuple->items.size()) {
      std::vector<IValue> items;
      for (size_t i = 0; i < tuple->items.size(); ++i)
        items.push_back(as_type(cursor, from, tuple->items[i], *type.inner()[i]));
      return make_container<Tuple>(std::move(items));
    }
  }
  if (List* list = value.list(); list && type.is(K::kList)) {
    for (IValue& item : list->items) item = as_type(cursor, from, item, *type.element());
    const K of = type.element()->kind();
    if (of == K::kInt) return from_value<Dims>(value);
    if (of == K::kFloat) return from_value<std::vector<double>>(value);
    if (of == K::kTensor) return from_value<std::vector<Tensor>>(value);
  }
  if (Dict* dict = value.dict(); dict && type.is(K::kDict)) {
    IValue result = make_container<Dict>();
    for (const auto& [key, dict_value] : dict->items())
      result.dict()->put(as_type(cursor, from, key, *type.inner()[0]),
                         as_type(cursor, from, dict_value, *type.inner()[1]));
    value = std::move(result);
  }
  if (!constant_fits(value, type))
    cursor.refuse(from, message("expected ", type.text(), ", not a ", value.type_name()));
  return value;
}

}  // namespace uh::jit
