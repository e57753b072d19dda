#include "dispatch/function_schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <deque>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "dispatch/ivalue.h"

namespace uh {
namespace {

struct Word {
  std::string_view text;
  SchemaKind kind;
};
// A kind is printed as its first word in this list.
constexpr Word kWords[] = {
    {"Tensor", SchemaKind::kTensor},
    {"Scalar", SchemaKind::kScalar},
    {"number", SchemaKind::kScalar},
    {"int", SchemaKind::kInt},
    {"SymInt", SchemaKind::kInt},
    {"float", SchemaKind::kFloat},
    {"complex", SchemaKind::kComplex},
    {"bool", SchemaKind::kBool},
    {"str", SchemaKind::kString},
    {"ScalarType", SchemaKind::kScalarType},
    {"Layout", SchemaKind::kLayout},
    {"MemoryFormat", SchemaKind::kMemoryFormat},
    {"Device", SchemaKind::kDevice},
    {"Generator", SchemaKind::kGenerator},
    {"Any", SchemaKind::kAny},
    {"NoneType", SchemaKind::kNone},
    {"None", SchemaKind::kNone},
    {"AnyEnumType", SchemaKind::kAnyEnum},
    {"AnyClassType", SchemaKind::kAnyClass},
};

std::string joined(std::span<const SchemaType> types) {
  std::string all;
  for (const SchemaType& type : types) all += (all.empty() ? "" : ", ") + type.text();
  return all;
}

// A parsed schema and the storage that its views refer to. Deques never move their elements.
struct SchemaStorage {
  explicit SchemaStorage(std::string_view from) : text(from) {}
  SchemaStorage(const SchemaStorage&) = delete;
  SchemaStorage& operator=(const SchemaStorage&) = delete;

  const std::string text;
  std::deque<std::vector<SchemaType>> types;
  std::deque<DefaultValue> defaults;
  std::deque<std::string> strings;
  std::deque<std::vector<int64_t>> integers;
  std::deque<std::vector<double>> reals;
  std::vector<Argument> arguments;
  std::vector<Argument> returns;
  FunctionSchema schema{};
};

class Parser {
 public:
  explicit Parser(SchemaStorage& storage) : storage_(storage), text_(storage.text) {}

  void parse() {
    FunctionSchema& schema = storage_.schema;
    schema.text = storage_.text.c_str();
    schema.operator_name.name = word("an operator name");
    if (eat('.')) schema.operator_name.overload_name = word("an overload name");
    expect('(');
    arguments();
    skip();
    if (!(eat('-') && eat('>'))) wrong("'->'");
    results();
    skip();
    if (at_ != text_.size()) wrong("the end");
    schema.arguments = storage_.arguments;
    schema.returns = storage_.returns;
  }

 private:
  static constexpr int kMaxDepth = 50;

  void arguments() {
    bool keyword_only = false;
    while (!eat(')')) {
      if (eat('*')) {
        keyword_only = true;
      } else {
        argument(keyword_only);
      }
      if (!eat(',') && peek() != ')') wrong("',' or ')'");
    }
  }

  void results() {
    // `-> (Tensor, int)` are two results; no schema has `-> (Tensor, int)?`, a single one.
    if (!eat('(')) {
      result();
      return;
    }
    while (!eat(')')) {
      result();
      if (!eat(',') && peek() != ')') wrong("',' or ')'");
    }
  }

  void result() {
    AliasInfo alias;
    const SchemaType& type = store({this->type(alias)})[0];
    skip();
    std::string_view name;
    if (is_letter(peek())) name = word("a result name");
    storage_.returns.push_back({type, name, nullptr, alias, false, false});
  }

  void argument(bool keyword_only) {
    AliasInfo alias;
    const SchemaType& type = store({this->type(alias)})[0];
    const std::string_view name =
        type.is(SchemaKind::kVariadic) ? std::string_view("...") : word("an argument name");
    const DefaultValue* value = nullptr;
    if (eat('=')) {
      skip();
      const size_t from = at_;
      value = &storage_.defaults.emplace_back(default_value(type));
      if (at_ == from) wrong("a default value");
    }
    storage_.arguments.push_back({type, name, value, alias, keyword_only, false});
  }

  const std::vector<SchemaType>& store(std::vector<SchemaType> types) {
    return storage_.types.emplace_back(std::move(types));
  }
  SchemaType around(SchemaKind kind, std::vector<SchemaType> inner) {
    const std::vector<SchemaType>& all = store(std::move(inner));
    return {kind, 0, {}, all.data(), all.size()};
  }

  // Parses Tensor(a!)?[]?: a base type, its alias annotation, and list and optional suffixes.
  SchemaType type(AliasInfo& alias, int depth = 0) {
    if (depth > kMaxDepth) wrong("less nesting");
    SchemaType result = base_type(depth);
    if (result.is(SchemaKind::kVariadic)) return result;
    for (;;) {
      if (eat('?')) {
        result = around(SchemaKind::kOptional, {result});
      } else if (eat('[')) {
        int32_t size = 0;
        skip();
        for (; is_digit(raw()); ++at_) size = std::min(size * 10 + (raw() - '0'), 1 << 20);
        expect(']');
        result = around(SchemaKind::kList, {result});
        result.fixed_size = size;
      } else if (eat('(')) {
        alias_info(alias);
      } else {
        return result;
      }
    }
  }

  SchemaType base_type(int depth) {
    skip();
    const size_t from = at_;
    if (eat('(')) return around(SchemaKind::kTuple, types(depth, ')'));
    if (eat('.')) {
      if (!(eat('.') && eat('.'))) wrong("'...'");
      return {SchemaKind::kVariadic};
    }
    const std::string_view name = dotted_word("a type");
    for (const Word& each : kWords) {
      if (each.text != name) continue;
      if (each.kind == SchemaKind::kTensor || raw() != '(') return {each.kind};
    }
    if (name == "Dict" && eat('(')) {
      SchemaType dict = around(SchemaKind::kDict, types(depth, ')'));
      if (dict.count != 2) wrong("the types of keys and values");
      return dict;
    }
    if (name == "Future" && (raw() == '(' || raw() == '[')) {
      const char close = raw() == '(' ? ')' : ']';
      ++at_;
      SchemaType future = around(SchemaKind::kFuture, types(depth, close));
      if (future.count != 1) wrong("one type");
      return future;
    }
    // Types that only the JIT parses: Union(int, str), NamedTuple(a : int), Float(2, 3),
    // Enum<__torch__.Color>.
    if (raw() == '<' || (raw() == '(' && std::isupper(static_cast<unsigned char>(name[0]))))
      balanced();
    const std::string_view all = text_.substr(from, at_ - from);
    const bool variable = all == name && std::islower(static_cast<unsigned char>(name[0]));
    return {variable ? SchemaKind::kVariable : SchemaKind::kNamed, 0, all};
  }

  std::vector<SchemaType> types(int depth, char close) {
    std::vector<SchemaType> all;
    while (!eat(close)) {
      AliasInfo inner;
      all.push_back(type(inner, depth + 1));
      if (!eat(',') && peek() != close) wrong("',' or a closing bracket");
    }
    return all;
  }

  // Skips from an opening bracket past the matching closing one.
  void balanced() {
    int depth = 0;
    do {
      const char c = raw();
      if (at_ == text_.size()) wrong("a closing bracket");
      if (c == '(' || c == '[' || c == '<') ++depth;
      if (c == ')' || c == ']' || c == '>') --depth;
      ++at_;
    } while (depth > 0);
  }

  void alias_info(AliasInfo& alias) {
    skip();
    const size_t from = at_;
    if (!eat('*')) {
      word("an alias set");
      while (eat('|')) word("an alias set");
    }
    alias.set = text_.substr(from, at_ - from);
    alias.is_write = eat('!');
    alias.enters_container = eat('-');
    if (alias.enters_container && !(eat('>') && eat('*'))) wrong("'-> *'");
    expect(')');
  }

  DefaultValue default_value(const SchemaType& type) {
    using Kind = DefaultValue::Kind;
    const size_t from = at_;
    const std::string_view literal = default_text();
    DefaultValue value;
    if (literal == "None") return value;
    if (literal == "True" || literal == "False") {
      value.kind = Kind::kBool;
      value.integer = literal == "True";
      return value;
    }
    const SchemaType& expected = type.without_optional();
    const char first = literal[0];
    if (first == '"' || first == '\'') {
      const size_t end = std::exchange(at_, from);
      if (std::string text; quoted(text) && at_ == end) {
        value.kind = Kind::kString;
        value.string = storage_.strings.emplace_back(std::move(text));
        return value;
      }
      at_ = end;
    }
    if (expected.is(SchemaKind::kList) && list(literal, expected, value)) return value;
    if (!expected.is(SchemaKind::kList) && number(literal, expected, value)) return value;
    value.kind = Kind::kLiteral;
    value.string = literal;
    return value;
  }

  static bool number(std::string_view text, const SchemaType& type, DefaultValue& value) {
    const char* end = text.data() + text.size();
    if (!type.is(SchemaKind::kFloat)) {
      value.kind = DefaultValue::Kind::kInt;
      const auto read = std::from_chars(text.data(), end, value.integer);
      if (read.ec == std::errc() && read.ptr == end) return true;
    }
    value.kind = DefaultValue::Kind::kFloat;
    const auto read = std::from_chars(text.data(), end, value.real);
    return read.ec == std::errc() && read.ptr == end;
  }

  // Parses [1, 2], or a number that fills int[2].
  bool list(std::string_view text, const SchemaType& type, DefaultValue& value) {
    const bool bracketed = text.front() == '[' && text.back() == ']';
    if (bracketed) text = text.substr(1, text.size() - 2);
    std::vector<int64_t> integers;
    std::vector<double> reals;
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      std::string_view item = text.substr(0, comma);
      text.remove_prefix(std::min(comma + 1, text.size()));
      while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
      while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
      DefaultValue each;
      if (!number(item, type.element(), each)) return false;
      const bool real = each.kind == DefaultValue::Kind::kFloat;
      integers.push_back(each.integer);
      reals.push_back(real ? each.real : static_cast<double>(each.integer));
      if (real && !type.element().is(SchemaKind::kFloat)) return false;
    }
    const auto n = static_cast<size_t>(std::max(type.fixed_size, 1));
    if (!bracketed) {
      if (integers.size() != 1) return false;
      integers.resize(n, integers[0]);
      reals.resize(n, reals[0]);
    }
    if (type.element().is(SchemaKind::kFloat)) {
      value.kind = DefaultValue::Kind::kFloats;
      value.reals = storage_.reals.emplace_back(std::move(reals));
    } else if (type.element().is(SchemaKind::kInt)) {
      value.kind = DefaultValue::Kind::kInts;
      value.integers = storage_.integers.emplace_back(std::move(integers));
    } else {
      return false;
    }
    return true;
  }

  // Returns the text up to the ',' or ')' that ends the argument; brackets and quotes nest.
  std::string_view default_text() {
    skip();
    const size_t from = at_;
    int depth = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote) {
        if (c == '\\' && at_ + 1 < text_.size()) {
          ++at_;
        } else if (c == quote) {
          quote = 0;
        }
        continue;
      }
      if (c == '\'' || c == '"') quote = c;
      if (c == '[' || c == '(') ++depth;
      if (depth == 0 && (c == ',' || c == ')')) break;
      if (c == ']' || c == ')') --depth;
    }
    size_t end = at_;
    while (end > from && text_[end - 1] == ' ') --end;
    if (end == from) wrong("a default value");
    at_ = end;
    return text_.substr(from, end - from);
  }

  // Reads a quoted string with its escapes; returns false if there is none.
  bool quoted(std::string& out) {
    const char quote = raw();
    for (++at_; at_ < text_.size() && raw() != quote; ++at_) {
      if (raw() != '\\') {
        out += raw();
        continue;
      }
      ++at_;
      static constexpr std::string_view kLetters = "abfnrtv\\'\"?";
      static constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\'\"?";
      const size_t which = kLetters.find(raw());
      if (at_ < text_.size() && which != std::string_view::npos) {
        out += kMeant[which];
        continue;
      }
      const bool hexadecimal = raw() == 'x';
      const size_t digits = hexadecimal ? 2 : 3;
      if (hexadecimal) ++at_;
      unsigned code = 0;
      const std::string_view text = text_.substr(at_, digits);
      const auto read =
          std::from_chars(text.data(), text.data() + text.size(), code, hexadecimal ? 16 : 8);
      if (read.ec != std::errc() || code > 255 || (hexadecimal && read.ptr != text.data() + 2))
        return false;
      out += static_cast<char>(code);
      at_ += static_cast<size_t>(read.ptr - text.data()) - 1;
    }
    if (at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  // Every byte of a non-ASCII character counts as a letter.
  static bool is_letter(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalpha(byte) || c == '_' || byte >= 0x80;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) { return is_letter(c) || is_digit(c) || c == ':'; }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char raw() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char peek() {
    skip();
    return raw();
  }
  bool eat(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!eat(c)) wrong(std::string("'") + c + "'");
  }
  std::string_view word(std::string_view expected) {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == from) wrong(expected);
    return text_.substr(from, at_ - from);
  }
  // Reads `__torch__.Cell`, one word among types.
  std::string_view dotted_word(std::string_view expected) {
    const std::string_view first = word(expected);
    const size_t from = at_ - first.size();
    while (raw() == '.' && at_ + 1 < text_.size() && is_word(text_[at_ + 1])) {
      ++at_;
      word(expected);
    }
    return text_.substr(from, at_ - from);
  }
  [[noreturn]] void wrong(std::string_view expected) {
    fail(ErrorKind::kRuntime, "schema: expected ", expected, " at column ", at_ + 1, " of '", text_,
         "'");
  }

  SchemaStorage& storage_;
  const std::string_view text_;
  size_t at_ = 0;
};

void write_json(JsonWriter& writer, const SchemaType& type) {
  writer.begin_object();
  const auto* word = std::find_if(std::begin(kWords), std::end(kWords),
                                  [&](const Word& each) { return each.kind == type.kind; });
  const char* kind = type.is(SchemaKind::kOptional)   ? "Optional"
                     : type.is(SchemaKind::kList)     ? "List"
                     : type.is(SchemaKind::kTuple)    ? "Tuple"
                     : type.is(SchemaKind::kDict)     ? "Dict"
                     : type.is(SchemaKind::kFuture)   ? "Future"
                     : type.is(SchemaKind::kVariable) ? "Variable"
                     : type.is(SchemaKind::kVariadic) ? "..."
                                                      : "Named";
  writer.member("kind", word != std::end(kWords) ? word->text : std::string_view(kind));
  if (!type.name.empty()) writer.member("name", type.name);
  if (type.fixed_size != 0) writer.member("size", type.fixed_size);
  if (type.count != 0) {
    writer.key("inner").begin_array();
    for (const SchemaType& inner : type.inner()) write_json(writer, inner);
    writer.end_array();
  }
  writer.end_object();
}

void write_json(JsonWriter& writer, const DefaultValue& value) {
  switch (value.kind) {
    case DefaultValue::Kind::kNone: writer.value(nullptr); break;
    case DefaultValue::Kind::kBool: writer.value(value.integer != 0); break;
    case DefaultValue::Kind::kInt: writer.value(value.integer); break;
    case DefaultValue::Kind::kFloat: writer.value(value.real); break;
    case DefaultValue::Kind::kString: writer.value(value.string); break;
    case DefaultValue::Kind::kInts: writer.values(value.integers); break;
    case DefaultValue::Kind::kFloats: writer.values(value.reals); break;
    case DefaultValue::Kind::kLiteral:
      writer.begin_object().member("literal", value.string).end_object();
      break;
  }
}

void write_json(JsonWriter& writer, std::span<const Argument> arguments) {
  writer.begin_array();
  for (const Argument& a : arguments) {
    writer.begin_object().member("name", a.name);
    write_json(writer.key("type"), a.type);
    writer.member("type_text", a.type.text());
    if (a.default_value) write_json(writer.key("default"), *a.default_value);
    if (a.keyword_only) writer.member("keyword_only", true);
    if (a.takes_number) writer.member("takes_number", true);
    if (!a.alias_info.set.empty()) {
      writer.member("alias_set", a.alias_info.set);
      if (a.is_write()) writer.member("is_write", true);
    }
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

std::string SchemaType::text() const {
  switch (kind) {
    case SchemaKind::kOptional: return first->text() + "?";
    case SchemaKind::kList: return first->text() + "[]";
    case SchemaKind::kTuple: return "(" + joined(inner()) + ")";
    case SchemaKind::kDict: return "Dict(" + joined(inner()) + ")";
    case SchemaKind::kFuture: return "Future(" + joined(inner()) + ")";
    case SchemaKind::kVariadic: return "...";
    case SchemaKind::kVariable:
    case SchemaKind::kNamed: return std::string(name);
    default: break;
  }
  for (const Word& word : kWords)
    if (word.kind == kind) return std::string(word.text);
  return "";
}

IValue DefaultValue::value() const {
  switch (kind) {
    case Kind::kNone: return IValue();
    case Kind::kBool: return integer != 0;
    case Kind::kInt: return integer;
    case Kind::kFloat: return real;
    case Kind::kString: return std::string(string);
    case Kind::kInts: {
      Dims dims;
      for (const int64_t i : integers) dims.push_back(i);
      return dims;
    }
    case Kind::kFloats: return std::vector<double>(reals.begin(), reals.end());
    case Kind::kLiteral: break;
  }
  fail(ErrorKind::kRuntime, "schema: no operator can have the default ", string);
}

std::string FunctionSchema::full_name() const {
  std::string result(name());
  if (!overload_name().empty()) result.append(".").append(overload_name());
  return result;
}

bool FunctionSchema::is_mutable() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument& a) { return a.is_write(); });
}

bool FunctionSchema::is_out() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument& a) { return a.is_write() && a.keyword_only; });
}

bool FunctionSchema::is_view() const {
  return std::any_of(returns.begin(), returns.end(), [](const Argument& a) { return a.is_view(); });
}

size_t FunctionSchema::index_of(std::string_view argument) const {
  size_t i = 0;
  while (i < arguments.size() && arguments[i].name != argument) ++i;
  return i;
}

std::shared_ptr<const FunctionSchema> parse_schema(std::string_view text) {
  const auto storage = std::make_shared<SchemaStorage>(text);
  Parser(*storage).parse();
  return {storage, &storage->schema};
}

void write_json(JsonWriter& writer, const FunctionSchema& schema) {
  writer.begin_object();
  writer.member("text", schema.text);
  writer.member("name", schema.name()).member("overload_name", schema.overload_name());
  write_json(writer.key("arguments"), schema.arguments);
  write_json(writer.key("returns"), schema.returns);
  writer.end_object();
}

}  // namespace uh
