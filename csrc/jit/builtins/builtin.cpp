#include "jit/builtins/builtin.h"

#include <deque>
#include <map>
#include <unordered_map>

#include "jit/builtins/register_builtin.h"

namespace uh::jit {
namespace {

struct Registry {
  std::vector<const Builtin*> all;
  std::map<std::string, std::vector<const Builtin*>, std::less<>> by_name;
  std::map<std::string, const Builtin*, std::less<>> by_full_name;
};

Registry*& being_filled() {
  static Registry* registry = nullptr;
  return registry;
}

// Filled at the first look-up; its entries are never destroyed.
const Registry& registry() {
  static const Registry* filled = [] {
    being_filled() = new Registry;
    define_arithmetic();
    define_comparisons();
    define_math();
    define_conversions();
    define_lists();
    define_dicts();
    define_texts();
    define_text_tests();
    define_formats();
    define_tensors();
    define_effects();
    define_futures();
    define_enums();
    return std::exchange(being_filled(), nullptr);
  }();
  return *filled;
}

template <class Items>
IValue listed(const Items& items) {
  return new_list(std::vector<IValue>(items.begin(), items.end()));
}

}  // namespace

bool Builtin::is_variadic() const {
  return !schema().arguments.empty() && schema().arguments.back().type.is(SchemaKind::kVariadic);
}

void Builtin::call_boxed(Stack& stack) {
  call(stack, is_variadic() ? stack.size() : schema().arguments.size());
}

const std::vector<const Builtin*>& builtins_named(std::string_view qualified_name) {
  static const auto* none = new std::vector<const Builtin*>;
  const auto it = registry().by_name.find(qualified_name);
  return it == registry().by_name.end() ? *none : it->second;
}

const Builtin* find_builtin(std::string_view full_name) {
  const auto it = registry().by_full_name.find(full_name);
  return it == registry().by_full_name.end() ? nullptr : it->second;
}

const std::vector<const Builtin*>& all_builtins() { return registry().all; }

const Builtin* as_builtin(const OperatorInfo* op) { return dynamic_cast<const Builtin*>(op); }

void define(std::string_view schema, Builtin::Function function, TagSet tags) {
  static auto* schemas = new std::deque<std::shared_ptr<const FunctionSchema>>;
  const bool prim = schema.starts_with("prim::");
  schemas->push_back(parse_schema(prim ? schema.substr(6) : schema));
  const auto* builtin = new Builtin(*schemas->back(), prim ? "prim" : "aten", function, tags);
  Registry& all = *being_filled();
  all.all.push_back(builtin);
  all.by_name[builtin->qualified_name()].push_back(builtin);
  const std::string name = std::string(builtin->name_space()) + "::" + builtin->full_name();
  check_kind(all.by_full_name.emplace(name, builtin).second, ErrorKind::kInternal,
             "builtins: two are called ", name);
}

void define_each(std::string_view schema, const std::vector<std::string_view>& substitutes,
                 Builtin::Function function, TagSet tags) {
  for (const std::string_view substitute : substitutes) {
    std::string text;
    for (const char c : schema) c == '$' ? text += substitute : text += c;
    define(text, function, tags);
  }
}

IValue with_lists(IValue value) {
  if (const Dims* dims = value.get_if<Dims>()) return listed(*dims);
  if (const auto* tensors = value.get_if<std::vector<Tensor>>()) return listed(*tensors);
  if (const auto* floats = value.get_if<std::vector<double>>()) return listed(*floats);
  return value;
}

Complex128 complex_of(const IValue& value) { return from_value<Scalar>(value).to_complex(); }

void wrong_argument(const IValue& value, std::string_view expected) {
  fail(ErrorKind::kType, "builtin: expected ", expected, ", got ", value.type_name());
}

void check_count(const Stack& stack, size_t n, size_t expected) {
  check_kind(n == expected && stack.size() >= n, ErrorKind::kType, "builtin: expected ", expected,
             " arguments, got ", stack.size() < n ? stack.size() : n);
}

}  // namespace uh::jit
