#include "arguments.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "base/dtype.h"

namespace uh::test {
namespace {

// Strings that operators accept, by argument name. Other arguments get one of these at random.
const std::map<std::string, std::vector<std::string>> kWords = {
    {"reduce", {"sum", "prod", "mean", "amax", "amin", "add", "multiply"}},
    {"mode", {"constant", "reflect", "replicate", "circular", "reduced", "complete", "r"}},
    {"UPLO", {"L", "U", "l"}},
    {"driver", {"gelsy", "gelsd", "gels", "gelss", "gesvd", "gesvdj"}},
    {"norm", {"backward", "ortho", "forward"}},
    {"interpolation", {"linear", "lower", "higher", "midpoint", "nearest"}},
    {"side", {"left", "right"}},
    {"approximate", {"none", "tanh"}},
    {"rounding_mode", {"floor", "trunc"}},
    {"indexing", {"ij", "xy"}},
    {"padding", {"valid", "same"}},
    {"ord", {"fro", "nuc"}},
    {"equation",
     {"ij->ji", "i->", "...->...", "ij,jk->ik", "ii", "...a,b...->ab", "->", ",", "aa->a"}},
    {"", {"", "zzz", "sum ", "\xff\xfe", "i\0j", "inf", "%s%n", "->..,,"}},
};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
bool names_dim(const std::string& name) { return has(name, "dim") || has(name, "axis"); }
bool names_index(const std::string& name) {
  return has(name, "ind") || name == "target" || has(name, "offset") || has(name, "lengths") ||
         name == "repeats" || name == "sorter";
}

bool is_list(const std::string& type, const char* of) {
  return type.starts_with(std::string(of) + "[") && type.back() == ']';
}

uh_value none() { return {kNone, 0, 0, nullptr}; }
uh_value as_int(int64_t i) { return {kInt, i, 0, nullptr}; }
uh_value as_float(double d) { return {kFloat, 0, d, nullptr}; }
uh_value as_tensor(uh_handle h) { return {kTensor, static_cast<int64_t>(h), 0, nullptr}; }

}  // namespace

Arguments::Arguments(const FunctionSchema& schema, Random& random)
    : schema_(schema), random_(random), scene_(random) {
  const auto& recipes = recipes_for(schema.full_name());
  const Recipe* recipe = recipes.empty() || random.one_in(4) ? nullptr : &random.of(recipes);
  // In some calls one argument is of an unexpected type, in others several.
  const int64_t strangers = random.one_in(3) ? random.in(2, 12) : 0;
  for (const Argument& argument : schema.arguments) {
    if (strangers && random.one_in(strangers)) {
      values_.push_back(random.one_in(4) ? anything() : fitting(argument));
      continue;
    }
    const auto* spec = recipe && recipe->contains(std::string(argument.name))
                           ? &recipe->at(std::string(argument.name))
                           : nullptr;
    if (spec)
      values_.push_back(cooked(argument, random.of(split(*spec, '|'))));
    else if (argument.has_default() && !random.one_in(3))
      values_.push_back(default_value(argument));
    else
      values_.push_back(fitting(argument));
  }
}

std::string Arguments::text() const {
  std::string out = std::string(schema_.text) + "\n";
  for (size_t i = 0; i < values_.size(); ++i)
    out += "    " + std::string(schema_.arguments[i].name) + " = " + described(values_[i]) + "\n";
  return out;
}

uh_value Arguments::default_value(const Argument& argument) {
  using Kind = DefaultValue::Kind;
  const DefaultValue& value = *argument.default_value;
  switch (value.kind) {
    case Kind::kBool: return {kBool, value.integer, 0, nullptr};
    case Kind::kInt: return as_int(value.integer);
    case Kind::kFloat: return as_float(value.real);
    case Kind::kString: return scene_.string(std::string(value.string));
    case Kind::kInts: return scene_.ints(Sizes(value.integers.begin(), value.integers.end()));
    default: return none();
  }
}

uh_value Arguments::cooked(const Argument& argument, const std::string& spec) {
  const std::string type = argument.type.without_optional().text();
  if (spec == "None") return none();
  if (type == "Tensor") return cooked_tensor(argument, spec);
  if (is_list(type, "Tensor") || is_list(type, "Tensor?")) {
    std::vector<uh_handle> list;
    for (const std::string& item : split(spec.substr(1, spec.size() - 2), ';'))
      list.push_back(item == "-" ? 0 : static_cast<uh_handle>(cooked_tensor(argument, item).i));
    return scene_.tensors(list);
  }
  if (is_list(type, "int")) return scene_.ints(evaluated_list(spec));
  if (is_list(type, "float")) {
    std::vector<double> list;
    for (const std::string& item : split(spec.substr(1, spec.size() - 2), ','))
      list.push_back(std::atof(item.c_str()));
    return scene_.floats(list);
  }
  if (type == "str") return scene_.string(spec);
  if (has(spec, ":")) return fitting(argument);  // another overload takes a tensor there
  if (type == "bool") return {kBool, evaluated(spec), 0, nullptr};
  if (type == "ScalarType") return {kDType, evaluated(spec), 0, nullptr};
  const bool is_integer = !has(spec, "e-") && spec != "inf" && (!has(spec, ".") || has(spec, ".."));
  if (type == "float" || !is_integer)
    return as_float(is_integer ? static_cast<double>(evaluated(spec)) : std::atof(spec.c_str()));
  if (type == "int" || type == "Scalar") return as_int(evaluated(spec));
  return fitting(argument);
}

uh_value Arguments::cooked_tensor(const Argument& argument, const std::string& spec) {
  const auto colon = spec.find(':');
  if (colon == std::string::npos) return any_tensor(argument);
  Wanted expected;
  switch (spec[0]) {
    case 'f': expected.dtype = scene_.floating; break;
    case 'z': expected.dtype = scene_.inexact; break;
    case 'c': expected.dtype = scene_.complex; break;
    case 'i': expected.dtype = static_cast<int>(DType::kInt64); break;
    case 'j': expected.dtype = static_cast<int>(DType::kInt32); break;
    case 'b': expected.dtype = static_cast<int>(DType::kBool); break;
    default: expected.dtype = scene_.any;
  }
  if (colon > 1) {
    const char kind = spec[1];
    expected.values = kind == 'u'   ? Wanted::kUnit
                      : kind == 'p' ? Wanted::kDefinite
                      : kind == '<' ? Wanted::kBelow
                                    : Wanted::kFromOne;
    if (kind == '<' || kind == '>') expected.bound = evaluated(spec.substr(2, colon - 2));
  }
  if (colon + 1 < spec.size()) {
    for (const std::string& size : split(spec.substr(colon + 1), ',')) {
      if (size == "*")
        expected.sizes.insert(expected.sizes.end(), scene_.batch.begin(), scene_.batch.end());
      else
        expected.sizes.push_back(evaluated(size));
    }
  }
  expected.plain = argument.is_write();
  return as_tensor(scene_.tensor(expected));
}

// Evaluates N*2+1 from left to right (no precedence), or low..high.
int64_t Arguments::evaluated(const std::string& expression) {
  if (const auto range = expression.find(".."); range != std::string::npos)
    return random_.in(std::atoll(expression.c_str()), std::atoll(expression.c_str() + range + 2));
  int64_t value = 0;
  char operation = '+';
  for (size_t at = 0; at < expression.size();) {
    int64_t operand;
    if (expression[at] >= 'A' && expression[at] <= 'Z') {
      operand = scene_.letter(expression[at++]);
    } else {
      char* end;
      operand = std::strtoll(expression.c_str() + at, &end, 10);
      const auto next = static_cast<size_t>(end - expression.c_str());
      if (next == at) throw Failure("recipe: not an expression: " + expression);
      at = next;
    }
    // A meta tensor's sizes may be so large that their sum overflows.
    const bool wraps = operation == '*' ? __builtin_mul_overflow(value, operand, &value)
                                        : __builtin_add_overflow(value, operand, &value);
    if (wraps) value = INT64_MAX;
    if (at < expression.size()) operation = expression[at++];
  }
  return value;
}

Sizes Arguments::evaluated_list(const std::string& text) {
  if (text.front() != '[') return {evaluated(text)};
  const std::string inside = text.substr(1, text.size() - 2);
  if (inside.empty()) return {};
  if (const auto times = inside.find(';'); times != std::string::npos) {
    const int64_t n = std::clamp<int64_t>(evaluated(inside.substr(times + 1)), 0, 64);
    return Sizes(static_cast<size_t>(n), evaluated(inside.substr(0, times)));
  }
  Sizes list;
  for (const std::string& item : split(inside, ',')) {
    const auto first = item.find_first_not_of(' ');
    list.push_back(evaluated(item.substr(first == std::string::npos ? 0 : first)));
  }
  return list;
}

uh_value Arguments::fitting(const Argument& argument) {
  const std::string type = argument.type.without_optional().text();
  if (argument.type.is(SchemaKind::kOptional) && random_.one_in(2)) return none();
  if (type == "Tensor") return any_tensor(argument);
  if (is_list(type, "Tensor") || is_list(type, "Tensor?")) {
    std::vector<uh_handle> list(static_cast<size_t>(random_.in(0, 4)));
    for (uh_handle& h : list)
      h = random_.one_in(12) ? 0 : static_cast<uh_handle>(any_tensor(argument).i);
    return scene_.tensors(list);
  }
  if (type == "int") return as_int(any_int(argument));
  if (is_list(type, "int")) return any_ints(argument);
  if (type == "float") return as_float(any_float(argument));
  if (is_list(type, "float")) {
    std::vector<double> list(static_cast<size_t>(random_.in(0, 4)));
    for (double& d : list) d = any_float(argument);
    return scene_.floats(list);
  }
  if (type == "bool") return {kBool, random_.in(0, 1), 0, nullptr};
  if (type == "ScalarType") return {kDType, random_.in(-1, kDTypeCount - 1), 0, nullptr};
  if (type == "Device") return {kDevice, random_.one_in(5), 0, nullptr};
  if (type == "MemoryFormat") return as_int(random_.one_in(8) ? scene_.number() : random_.in(0, 3));
  if (type == "Scalar") return any_scalar();
  if (type == "str") return any_string(argument);
  throw Failure("no random value is known for an argument of type " + argument.type.text());
}

uh_value Arguments::anything() {
  static const std::vector<std::string> types = {"Tensor",  "Tensor[]", "int", "int[]", "float",
                                                 "float[]", "bool",     "str", "Scalar"};
  if (random_.one_in(10)) return none();
  if (random_.one_in(15)) return {kDType, random_.in(-3, 40), 0, nullptr};
  if (random_.one_in(15)) return {kDevice, random_.in(-3, 40), 0, nullptr};
  if (random_.one_in(15)) return as_tensor(0);
  const auto schema = parse_schema("any(" + random_.of(types) + " value) -> ()");
  return fitting(schema->arguments[0]);
}

uh_value Arguments::any_tensor(const Argument& argument) {
  Wanted expected;
  expected.sizes = scene_.shape;
  if (random_.one_in(4)) {  // a shape that broadcasts to the scene's
    const auto cut = random_.in(0, static_cast<int64_t>(expected.sizes.size()));
    expected.sizes.erase(expected.sizes.begin(), expected.sizes.begin() + cut);
    for (int64_t& size : expected.sizes) size = random_.one_in(3) ? 1 : size;
  } else if (random_.one_in(6)) {
    expected.sizes.assign(static_cast<size_t>(random_.in(0, 5)), 1);
    for (int64_t& size : expected.sizes) size = scene_.size();
  }
  expected.dtype =
      random_.one_in(8) ? static_cast<int>(random_.in(0, kDTypeCount - 1)) : scene_.any;
  const bool mask = argument.name == "mask" || argument.name == "condition";
  if (mask && !random_.one_in(8)) expected.dtype = static_cast<int>(DType::kBool);
  if (names_index(std::string(argument.name)) && !random_.one_in(8)) {
    expected.dtype = static_cast<int>(DType::kInt64);
    expected.values = Wanted::kBelow;
    expected.bound = 2;
  }
  // Many out= arguments must have the dtype of the result.
  if (argument.is_write() && argument.keyword_only && !random_.one_in(3))
    expected.dtype = random_.of(std::vector<int>{0, 4, 5, scene_.floating, scene_.complex});
  // While gradients are recorded a written tensor is not used elsewhere: see Scene::tensor.
  expected.plain = argument.is_write() && (scene_.gradients() || !random_.one_in(10));
  return as_tensor(scene_.tensor(expected));
}

int64_t Arguments::any_int(const Argument& argument) {
  const auto rank = static_cast<int64_t>(scene_.shape.size());
  if (names_dim(std::string(argument.name)) && !random_.one_in(6))
    return random_.in(-rank, std::max<int64_t>(rank - 1, 0));
  if (argument.name == "reduction" && !random_.one_in(6)) return random_.in(0, 2);
  return scene_.number();
}

uh_value Arguments::any_ints(const Argument& argument) {
  const auto rank = static_cast<int64_t>(scene_.shape.size());
  const int64_t length = argument.type.without_optional().fixed_size;
  int64_t n = length && !random_.one_in(6) ? length : random_.in(0, 5);
  if (!length && random_.one_in(2)) n = rank;
  if (random_.one_in(200)) n = random_.in(60, 130);
  Sizes list(static_cast<size_t>(n));
  for (int64_t& item : list) item = any_int(argument);
  return scene_.ints(list);
}

double Arguments::any_float(const Argument&) {
  static const std::vector<double> usual = {0.0, 0.5, 1.0, 2.0, 0.1, -1.0, 1e-5};
  return random_.one_in(4) ? scene_.real() : random_.of(usual);
}

uh_value Arguments::any_scalar() {
  if (random_.one_in(3)) return as_float(random_.one_in(2) ? scene_.real() : 0.5);
  if (random_.one_in(8)) return {kBool, random_.in(0, 1), 0, nullptr};
  if (random_.one_in(8))
    return {kComplex, std::bit_cast<int64_t>(scene_.real()), scene_.real(), nullptr};
  return as_int(scene_.number());
}

uh_value Arguments::any_string(const Argument& argument) {
  const auto known = kWords.find(std::string(argument.name));
  auto entry =
      known == kWords.end() || random_.one_in(8)
          ? std::next(kWords.begin(), random_.in(0, static_cast<int64_t>(kWords.size()) - 1))
          : known;
  std::string text = random_.of(entry->second);
  if (!text.empty() && random_.one_in(8))
    text[static_cast<size_t>(random_.in(0, static_cast<int64_t>(text.size()) - 1))] =
        static_cast<char>(random_.in(1, 127));
  if (random_.one_in(100)) text = std::string(static_cast<size_t>(random_.in(100, 5000)), 'a');
  return scene_.string(text);
}

}  // namespace uh::test
