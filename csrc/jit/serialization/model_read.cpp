#include <algorithm>
#include <charconv>

#include "autograd/autograd_meta.h"
#include "base/json.h"
#include "jit/ir/subgraphs.h"
#include "jit/ir/verify.h"
#include "jit/serialization/archive.h"
#include "jit/serialization/model_file.h"
#include "jit/text/parse.h"

namespace uh::jit {
namespace {

double number(const Json& json) {
  const std::string& text = json.as_string();
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);  // independent of the locale
  check(error == std::errc() && end == last, "load: '", text, "' is not a number");
  return value;
}

constexpr int kMaxModuleDepth = 1000;

class ModelReader {
 public:
  explicit ModelReader(SafetensorsReader& file) : file_(file) {}

  IValue read(const Json& model) {
    read_constants(model.at("constants"), model.at("version").as_int());
    for (const Json& each : model.at("classes").as_array()) make_class(each);
    if (const Json* enums = model.find("enums"))
      for (const Json& each : enums->as_array()) make_enum(each);
    const ClassAliases names(aliases_);
    for (const Json& each : model.at("classes").as_array()) read_attributes(each);
    for (const Json& each : model.at("functions").as_array()) {
      Ref<Function> function = read_function(each);
      check(functions_.emplace(function->name(), function).second, "load: two functions are '",
            function->name(), "'");
    }
    for (const Json& each : model.at("classes").as_array()) {
      ClassType& type = class_named(each.at("name").as_string());
      for (const Json& method : each.at("methods").as_array())
        type.add_method(method.at("as").as_string(), read_function(method));
    }
    for (const Ref<Function>& function : new_functions_) bind(*function);
    refuse_circles();
    // After the methods: verify() looks up callees.
    for (const Ref<Function>& function : new_functions_) verify(function->graph());
    const Json::Array& objects = model.at("objects").as_array();
    check(!objects.empty(), "load: the model has no object");
    make_objects(objects);
    keep_classes();
    return objects_[0];
  }

 private:
  void read_constants(const Json& names, int64_t version) {
    if (version > 1) {
      for (const Json& name : names.as_array())
        constants_.push_back(file_.tensor(name.as_string()));
      return;
    }
    const int64_t count = names.as_int();
    check(count >= 0 && static_cast<size_t>(count) <= file_.entries().size(),
          "load: the file does not hold ", count, " constants");
    for (int64_t i = 0; i < count; ++i)
      constants_.push_back(file_.tensor("CONSTANTS.c" + std::to_string(i)));
  }

  void make_class(const Json& json) {
    const std::string& name = json.at("name").as_string();
    Ref<ClassType> type = make_ref<ClassType>(free_class_name(name));
    if (const Json* plain = json.find("plain"); plain && plain->as_bool()) type->set_plain();
    methods_.push_back(type->methods());
    check(aliases_.emplace(name, TypeRef::share(type.get())).second, "load: two classes are '",
          name, "'");
  }

  // Uses the existing Enum of that name if it has the same members.
  void make_enum(const Json& json) {
    const std::string& name = json.at("name").as_string();
    EnumType::Members members;
    for (const Json& each : json.at("members").as_array())
      members.emplace_back(each.at("name").as_string(), read_value(each.at("value")));
    TypeRef type = find_class(name);
    if (!type || !type->is(TypeKind::kEnum) ||
        !same_members(static_cast<EnumType&>(*type), members))
      type = make_ref<EnumType>(free_class_name(name), std::move(members));
    check(aliases_.emplace(name, std::move(type)).second, "load: two classes are '", name, "'");
  }
  static bool same_members(const EnumType& type, const EnumType::Members& members) {
    return std::equal(type.members().begin(), type.members().end(), members.begin(), members.end(),
                      [](const auto& a, const auto& b) {
                        return a.first == b.first &&
                               a.second.variant().index() == b.second.variant().index() &&
                               equal(a.second, b.second);
                      });
  }

  // Note [Ownership of methods] in ir/type.h: the methods of classes without objects need an owner.
  void keep_classes() {
    const Ref<Methods> root = static_cast<ClassType&>(*objects_[0].object()->type).methods();
    for (const Ref<Methods>& methods : methods_)
      if (methods.get() != root.get()) root->keeps.push_back(methods);
  }

  ClassType& class_named(const std::string& name) {
    const auto it = aliases_.find(name);
    check(it != aliases_.end() && it->second->is(TypeKind::kClass), "load: there is no class '",
          name, "' in the file");
    return static_cast<ClassType&>(*it->second);
  }

  void read_attributes(const Json& json) {
    ClassType& type = class_named(json.at("name").as_string());
    for (const Json& a : json.at("attributes").as_array()) {
      const int64_t kind = a.at("kind").as_int();
      type.add_attribute(
          {a.at("name").as_string(), parse_type(a.at("type").as_string()), kind == 1, kind == 2});
    }
  }

  Ref<Function> read_function(const Json& json) {
    GraphRef graph = parse(json.at("graph").as_string(), &constants_);
    graph->set_name(json.at("name").as_string());
    Ref<Function> function = make_ref<Function>(json.at("name").as_string(), std::move(graph));
    std::vector<IValue> defaults;
    for (const Json& value : json.at("defaults").as_array()) defaults.push_back(read_value(value));
    check(defaults.size() <= function->graph().inputs().size(), "load: ", function->name(), " has ",
          defaults.size(), " defaults for ", function->graph().inputs().size(), " parameters");
    function->set_defaults(std::move(defaults));
    new_functions_.push_back(function);
    return function;
  }

  // Replaces the function's name in each call by the function.
  void bind(Function& function) {
    each_node_within(function.graph(), [&](Node* node) {
      const Attribute* attribute = node->attribute("name");
      if (!node->is("prim::Constant") || !attribute || attribute->object) return;
      const std::string called = node->text_attribute("name");
      const auto it = functions_.find(called);
      check(it != functions_.end(), "load: ", function.name(), " calls '", called,
            "', which the file does not have");
      Attribute bound = *attribute;
      bound.object = Ref<RefCounted>::share(it->second.get());
      node->set_attribute("name", std::move(bound));
      calls_[&function].push_back(it->second.get());
    });
  }

  // A recursive function would never be freed; the compiler rejects them.
  void refuse_circles() {
    std::unordered_map<const Function*, int> state;  // 1: being looked at, 2: done
    std::vector<std::pair<const Function*, size_t>> path;
    for (const auto& [name, function] : functions_) {
      if (state[function.get()] == 2) continue;
      path.emplace_back(function.get(), 0);
      while (!path.empty()) {
        auto& [at, next] = path.back();
        state[at] = 1;
        const auto& callees = calls_[at];
        if (next == callees.size()) {
          state[at] = 2;
          path.pop_back();
          continue;
        }
        const Function* callee = callees[next++];
        check(state[callee] != 1, "load: ", callee->name(), " calls itself");
        if (state[callee] == 0) path.emplace_back(callee, 0);
      }
    }
  }

  void make_objects(const Json::Array& all) {
    for (const Json& each : all) {
      ClassType& type = class_named(each.at("class").as_string());
      objects_.push_back(new_object(type));
    }
    for (size_t i = 0; i < all.size(); ++i) {
      Object& object = *objects_[i].object();
      const auto& type = static_cast<const ClassType&>(*object.type.get());
      const Json::Array& values = all[i].at("attributes").as_array();
      check(values.size() == object.slots.size(), "load: an object of ", type.name(), " has ",
            values.size(), " attributes, its class ", object.slots.size());
      for (size_t k = 0; k < values.size(); ++k) {
        IValue value = read_value(values[k], true);
        const auto& attribute = type.attributes()[k];
        check(is_instance(value, *attribute.type), "load: ", type.name(), ".", attribute.name,
              " is a ", attribute.type->text(), ", the file has a ", type_of(value)->text());
        object.slots[k] = std::move(value);
      }
      object.written();
    }
    std::unordered_map<const Object*, bool> over;
    for (const IValue& object : objects_) refuse_circle(*object.object(), over, 0);
  }

  // An object that contains itself would never be freed, and visiting it would not terminate.
  void refuse_circle(const Object& object, std::unordered_map<const Object*, bool>& over,
                     int depth) {
    check(depth < kMaxModuleDepth, "load: modules are nested more than ", kMaxModuleDepth, " deep");
    const auto [it, fresh] = over.try_emplace(&object, false);
    check(fresh || it->second, "load: a module of the file holds itself");
    if (!fresh) return;
    for (const IValue& value : object.slots) refuse_circle_within(value, over, depth + 1);
    over[&object] = true;
  }
  void refuse_circle_within(const IValue& value, std::unordered_map<const Object*, bool>& over,
                            int depth) {
    check(depth < kMaxModuleDepth, "load: modules are nested more than ", kMaxModuleDepth, " deep");
    if (const Object* inner = value.object(); inner && !enum_of(value))
      refuse_circle(*inner, over, depth);
    const auto each = [&](const std::vector<IValue>& items) {
      for (const IValue& item : items) refuse_circle_within(item, over, depth + 1);
    };
    if (const List* list = value.list()) each(list->items);
    if (const Tuple* tuple = value.tuple()) each(tuple->items);
    if (const Dict* dict = value.dict())
      for (const auto& [key, item] : dict->items()) refuse_circle_within(item, over, depth + 1);
  }

  IValue read_value(const Json& json, bool objects = false) {
    const auto items = [&](const Json& list) {
      std::vector<IValue> values;
      for (const Json& item : list.as_array()) values.push_back(read_value(item, objects));
      return values;
    };
    if (const Json* name = json.find("tensor")) {
      const bool trains = json.at("requires_grad").as_bool();
      Tensor& t = tensors_[{name->as_string(), trains}];
      if (!t) {
        t = file_.tensor(name->as_string());
        if (trains) autograd::set_requires_grad(t, true);
      }
      return t;
    }
    if (const Json* of = json.find("enum")) {
      const auto it = aliases_.find(of->as_string());
      const bool known = it != aliases_.end() && it->second->is(TypeKind::kEnum);
      IValue member;
      if (known)
        member = static_cast<const EnumType&>(*it->second).member(json.at("member").as_string());
      check(!member.is_none(), "load: there is no member ", of->as_string(), ".",
            json.at("member").as_string());
      return member;
    }
    if (const Json* number_of = json.find("object")) {
      const int64_t n = number_of->as_int();
      check(objects && n >= 0 && static_cast<size_t>(n) < objects_.size(), "load: object ", n,
            " is not allowed here");
      return objects_[static_cast<size_t>(n)];
    }
    if (const Json* list = json.find("list")) return make_container<List>(items(*list));
    if (const Json* tuple = json.find("tuple")) return make_container<Tuple>(items(*tuple));
    if (const Json* keys = json.find("keys")) {
      const std::vector<IValue> names = items(*keys), values = items(json.at("values"));
      check(names.size() == values.size(), "load: a dictionary of ", names.size(), " keys and ",
            values.size(), " values");
      IValue dict = make_container<Dict>();
      for (size_t i = 0; i < names.size(); ++i) dict.dict()->put(names[i], values[i]);
      return dict;
    }
    if (const Json* b = json.find("bool")) return b->as_bool();
    if (const Json* n = json.find("int")) return n->as_int();
    if (const Json* d = json.find("float")) return number(*d);
    if (const Json* parts = json.find("complex")) {
      const Json::Array& two = parts->as_array();
      check(two.size() == 2, "load: a complex number of ", two.size(), " parts");
      return Scalar(Complex128(number(two[0]), number(two[1])));
    }
    if (const Json* device = json.find("device"))
      return find_device(device->as_string()).value_or(Device::kCPU);
    if (const Json* text = json.find("str")) return text->as_string();
    json.at("none");
    return {};
  }

  SafetensorsReader& file_;
  std::map<std::pair<std::string, bool>, Tensor> tensors_;  // tied weights stay one tensor
  std::vector<IValue> constants_;
  std::map<std::string, TypeRef, std::less<>> aliases_;
  std::vector<Ref<Methods>> methods_;  // owned here until there are objects
  std::map<std::string, Ref<Function>> functions_;
  std::vector<Ref<Function>> new_functions_;
  std::unordered_map<const Function*, std::vector<const Function*>> calls_;
  std::vector<IValue> objects_;
};

}  // namespace

std::string free_class_name(const std::string& name) {
  constexpr std::string_view mangle = "___torch_mangle_";
  const size_t dot = name.rfind('.');
  const std::string last = dot == std::string::npos ? name : name.substr(dot + 1);
  std::string head = dot == std::string::npos ? "" : name.substr(0, dot);
  const size_t part = head.rfind('.') + 1;  // 0 without a dot
  if (std::string_view(head).substr(part).starts_with(mangle))
    head.resize(part == 0 ? 0 : part - 1);
  if (!head.empty()) head += '.';
  std::string free = name;
  for (int64_t i = 0; find_class(free); ++i)
    free = head + std::string(mangle) + std::to_string(i) + "." + last;
  return free;
}

IValue load_model(SafetensorsReader& file) {
  const std::string* text = file.metadata("underhood.jit");
  check(text != nullptr, "load: ", file.name(),
        " is a safetensors file without a model: it was not written by jit.save");
  int64_t version = 0;
  try {
    const Json model = Json::parse(*text);
    version = model.at("version").as_int();
    check(version >= 1, "there is no version ", version);
    if (version <= kModelVersion) return ModelReader(file).read(model);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory) throw;
    // Any kind of error: a graph that verify() rejects is an internal error elsewhere, here a bad
    // file.
    std::string reason = error.what();
    if (reason.starts_with("load: ")) reason = reason.substr(6);
    fail(ErrorKind::kRuntime, "load: the model in ", file.name(), " is damaged: ", reason);
  }
  fail(ErrorKind::kRuntime, "load: the model in ", file.name(),
       " was written by a newer version of the engine: it has version ", version,
       " of the form, and this engine reads versions 1 to ", kModelVersion);
}

std::optional<std::string> extra_file(const SafetensorsReader& file, const std::string& name) {
  if (const std::string* text = file.metadata("extra." + name)) return *text;
  const std::string* characters = file.metadata("extra_bytes." + name);
  if (!characters) return std::nullopt;
  // Each byte was written as the character with its number: one or two bytes of UTF-8.
  std::string bytes;
  for (size_t i = 0; i < characters->size(); ++i) {
    auto byte = static_cast<unsigned char>((*characters)[i]);
    if (byte >= 0x80) {
      check(byte <= 0xC3 && i + 1 < characters->size(), "load: the extra file '", name, "' in ",
            file.name(), " is damaged");
      byte = static_cast<unsigned char>(byte << 6 | ((*characters)[++i] & 0x3F));
    }
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace uh::jit
