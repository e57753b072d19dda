#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autograd/autograd_meta.h"
#include "base/json.h"
#include "jit/ir/subgraphs.h"
#include "jit/serialization/archive.h"
#include "jit/serialization/model_file.h"
#include "jit/text/parse.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

constexpr int kMaxObjectDepth = 1000;  // the limit of the reader

class ModelWriter {
 public:
  std::string write(const IValue& module, SafetensorsWriter& file) {
    number_object(module, "");
    for (size_t i = 0; i < classes_.size(); ++i) find_named(*classes_[i]);
    JsonWriter objects;
    objects.begin_array();
    for (size_t i = 0; i < objects_.size(); ++i) write_object(objects, i, file);
    objects.end_array();

    JsonWriter classes;
    classes.begin_array();
    for (size_t i = 0; i < classes_.size(); ++i) write_class(classes, *classes_[i]);
    classes.end_array();

    // Writing a function may add functions that it calls.
    JsonWriter functions;
    functions.begin_array();
    for (size_t i = 0; i < functions_.size(); ++i) write_function(functions, *functions_[i]);
    functions.end_array();

    JsonWriter w;
    w.begin_object().member("version", kModelVersion).key("constants").begin_array();
    for (size_t i = 0; i < constants_.size(); ++i)
      w.value(file.add("CONSTANTS.c" + std::to_string(i), *constants_[i].get_if<Tensor>()));
    w.end_array();
    if (!enums_.empty()) w.key("enums").raw(enums_text());
    w.key("classes").raw(classes.text());
    w.key("functions").raw(functions.text());
    w.key("objects").raw(objects.text());
    w.end_object();
    return w.take();
  }

 private:
  size_t number_object(const IValue& value, const std::string& path, int depth = 0) {
    check(depth < kMaxObjectDepth, "save: objects hold each other more than ", kMaxObjectDepth,
          " deep, at ", path.substr(0, 60));
    const Object* object = value.object();
    const size_t number = objects_.size();
    const auto [it, fresh] = numbers_.try_emplace(object, number);
    if (!fresh) return it->second;
    objects_.push_back(object);
    paths_.push_back(path);
    auto* type = static_cast<const ClassType*>(object->type.get());
    if (known_classes_.insert(type).second) classes_.push_back(type);
    for (size_t i = 0; i < object->slots.size(); ++i)
      number_within(object->slots[i], join(path, type->attributes()[i].name), depth + 1);
    return number;
  }

  // Numbers the objects in an attribute, which may be a list of them.
  void number_within(const IValue& value, const std::string& path, int depth) {
    if (const EnumType* type = enum_of(value)) return know_enum(*type);
    if (value.object()) number_object(value, path, depth);
    const auto each = [&](const std::vector<IValue>& items) {
      for (size_t i = 0; i < items.size(); ++i)
        number_within(items[i], path + "." + std::to_string(i), depth);
    };
    if (const List* list = value.list()) each(list->items);
    if (const Tuple* tuple = value.tuple()) each(tuple->items);
    if (const Dict* dict = value.dict())
      for (const auto& [key, item] : dict->items()) number_within(item, path, depth);
  }

  // Finds classes that only graphs and attribute types name.
  void find_named(const ClassType& type) {
    const Ref<Methods> methods = const_cast<ClassType&>(type).methods();
    for (const auto& [name, function] : methods->all)
      for (const TypeRef& named : named_types_of(function->graph())) know(*named);
    for (const auto& attribute : type.attributes()) know_within(*attribute.type);
  }
  void know_within(const Type& type) {
    for (const TypeRef& inner : type.inner()) know_within(*inner);
    know(type);
  }
  void know(const Type& type) {
    if (const auto* of = dynamic_cast<const EnumType*>(&type)) know_enum(*of);
    const auto* named = dynamic_cast<const ClassType*>(&type);
    if (named && known_classes_.insert(named).second) classes_.push_back(named);
  }
  void know_enum(const EnumType& type) {
    if (std::find(enums_.begin(), enums_.end(), &type) == enums_.end()) enums_.push_back(&type);
  }

  std::string enums_text() {
    SafetensorsWriter no_tensors;
    JsonWriter w;
    w.begin_array();
    for (const EnumType* type : enums_) {
      w.begin_object().member("name", type->name()).key("members").begin_array();
      for (const auto& [name, value] : type->members()) {
        w.begin_object().member("name", name).key("value");
        write_value(w, value, name, no_tensors);
        w.end_object();
      }
      w.end_array().end_object();
    }
    w.end_array();
    return w.take();
  }

  static std::string join(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }

  void write_object(JsonWriter& w, size_t number, SafetensorsWriter& file) {
    const Object& object = *objects_[number];
    const auto& type = static_cast<const ClassType&>(*object.type.get());
    w.begin_object().member("class", type.name()).key("attributes").begin_array();
    for (size_t i = 0; i < type.attributes().size(); ++i) {
      const IValue none;
      const IValue& value = i < object.slots.size() ? object.slots[i] : none;
      write_value(w, value, join(paths_[number], type.attributes()[i].name), file);
    }
    w.end_array().end_object();
  }

  void write_value(JsonWriter& w, const IValue& value, const std::string& path,
                   SafetensorsWriter& file) {
    w.begin_object();
    const auto items = [&](const char* kind, const std::vector<IValue>& list) {
      w.key(kind).begin_array();
      for (size_t i = 0; i < list.size(); ++i)
        write_value(w, list[i], path + "." + std::to_string(i), file);
      w.end_array();
    };
    if (const Tensor* t = value.get_if<Tensor>(); t && *t) {
      w.member("tensor", file.add(path, *t));
      w.member("requires_grad", autograd::requires_grad(*t));
    } else if (const auto* list = value.get_if<std::vector<Tensor>>()) {
      items("list", std::vector<IValue>(list->begin(), list->end()));
    } else if (const EnumType* of = enum_of(value)) {
      w.member("enum", of->name());
      w.member("member", *value.object()->slots[0].get_if<std::string>());
    } else if (const Object* object = value.object()) {
      w.member("object", numbers_.at(object));
    } else if (const List* each = value.list()) {
      items("list", each->items);
    } else if (const Tuple* tuple = value.tuple()) {
      items("tuple", tuple->items);
    } else if (const Dict* dict = value.dict()) {
      std::vector<IValue> keys, values;
      for (const auto& [key, item] : dict->items()) {
        keys.push_back(key);
        values.push_back(item);
      }
      items("keys", keys);
      items("values", values);
    } else if (const auto* dims = value.get_if<Dims>()) {
      items("list", std::vector<IValue>(dims->begin(), dims->end()));
    } else if (const auto* floats = value.get_if<std::vector<double>>()) {
      items("list", std::vector<IValue>(floats->begin(), floats->end()));
    } else if (const auto* b = value.get_if<bool>()) {
      w.member("bool", *b);
    } else if (const auto* n = value.get_if<int64_t>()) {
      w.member("int", *n);
    } else if (const auto* type = value.get_if<DType>()) {
      w.member("int", pytorch_code(*type));
    } else if (const auto* d = value.get_if<double>()) {
      w.member("float", number_of(*d));  // infinities and NaN, which JSON numbers cannot represent
    } else if (const auto* s = value.get_if<Scalar>(); s && s->is_complex()) {
      w.key("complex").begin_array();
      w.value(number_of(s->to_complex().re)).value(number_of(s->to_complex().im)).end_array();
    } else if (const auto* device = value.get_if<Device>()) {
      w.member("device", name(*device));
    } else if (const auto* text = value.get_if<std::string>()) {
      w.member("str", *text);
    } else {
      check(value.is_none(), "save: ", path, " is a ", value.type_name(),
            ", which cannot be saved");
      w.member("none", true);
    }
    w.end_object();
  }

  void write_class(JsonWriter& w, const ClassType& type) {
    w.begin_object().member("name", type.name());
    if (type.is_plain()) w.member("plain", true);
    write_attributes(w, type);
    w.key("methods").begin_array();
    const Ref<Methods> methods = const_cast<ClassType&>(type).methods();
    for (const auto& [name, function] : methods->all) {
      w.begin_object().member("as", name);
      write_body(w, *function);
      w.end_object();
    }
    w.end_array().end_object();
  }

  void write_function(JsonWriter& w, const Function& function) {
    w.begin_object();
    write_body(w, function);
    w.end_object();
  }

  // Rejects a graph that could not be read back.
  static void check_depth(const Graph& graph, const std::string& name) {
    std::vector<std::pair<const Block*, int>> waiting{{graph.block(), 0}};
    while (!waiting.empty()) {
      const auto [block, depth] = waiting.back();
      waiting.pop_back();
      check(depth < kMaxBlocks, "save: ", name, " nests blocks more than ", kMaxBlocks,
            " deep, which no file can; save it as functions that call each other");
      for (const Node* node : block->nodes())
        for (const Block* inner : node->blocks()) waiting.emplace_back(inner, depth + 1);
    }
  }

  void write_body(JsonWriter& w, const Function& function) {
    check_depth(function.graph(), function.name());
    w.member("name", function.name());
    w.member("graph", print(function.graph(), Print{true, &constants_}));
    w.key("defaults").begin_array();
    SafetensorsWriter no_tensors;
    for (const IValue& value : function.defaults()) write_value(w, value, "default", no_tensors);
    w.end_array();
    each_node_within(function.graph(), [&](Node* node) {
      check(!node->is("prim::PythonOp"), "save: ", function.name(), " calls the Python function ",
            node->text_attribute("name"),
            ", which is marked @jit.ignore and cannot be saved; mark it "
            "@jit.unused where the saved program does not need it");
      const Attribute* name = node->attribute("name");
      if (!name || !name->object) return;
      auto* called = static_cast<const Function*>(name->object.get());
      if (known_functions_.insert(called).second) functions_.push_back(called);
    });
  }

  std::vector<const Object*> objects_;
  std::vector<std::string> paths_;
  std::unordered_map<const Object*, size_t> numbers_;
  std::vector<const EnumType*> enums_;
  std::vector<const ClassType*> classes_;
  std::unordered_set<const ClassType*> known_classes_;
  std::vector<const Function*> functions_;
  std::unordered_set<const Function*> known_functions_;
  std::vector<IValue> constants_;
};

// True if the string can be stored in JSON unchanged, that is, if it is valid UTF-8.
bool is_json_text(const std::string& content) {
  try {
    return Json::parse(JsonWriter().value(content).take()).as_string() == content;
  } catch (const Error&) {
    return false;
  }
}

// Encodes each byte as the character with its number.
std::string characters_of(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xC0 | byte >> 6);
    text += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte);
  }
  return text;
}

}  // namespace

void write_attributes(JsonWriter& writer, const ClassType& type) {
  writer.key("attributes").begin_array();
  for (const auto& a : type.attributes()) {
    writer.begin_object().member("name", a.name).member("type", a.type->text());
    writer.member("kind", a.is_parameter ? 1 : a.is_buffer ? 2 : 0).end_object();
  }
  writer.end_array();
}

void save_model(const IValue& module, const std::string& path,
                const std::map<std::string, std::string>& extra) {
  check_kind(module.object() != nullptr, ErrorKind::kType, "save: expected a module, got a ",
             module.type_name());
  SafetensorsWriter file;
  ModelWriter model;
  file.set_metadata("underhood.jit", model.write(module, file));
  for (const auto& [name, content] : extra) {
    if (is_json_text(content))
      file.set_metadata("extra." + name, content);
    else
      file.set_metadata("extra_bytes." + name, characters_of(content));
  }
  file.write(path);
}

IValue module_of(Function& function) {
  const std::string name = "__torch__." + function.name() + "." + std::to_string(function.id());
  Ref<ClassType> type = make_ref<ClassType>(free_class_name(name));
  const Ref<Methods> methods = type->methods();
  GraphRef graph = make_ref<Graph>();
  graph->add_input("self", TypeRef::share(type.get()));
  std::vector<Value*> inputs;
  for (const Value* input : function.graph().inputs()) {
    Value* new_value = graph->add_input("", input->type());
    new_value->copy_facts(*input);
    inputs.push_back(new_value);
  }
  for (Value* output : graph->inline_graph(function.graph(), inputs)) graph->add_output(output);
  Ref<Function> forward = make_ref<Function>("forward", graph);
  forward->set_defaults(function.defaults());
  type->add_method("forward", forward);
  return new_object(*type);
}

}  // namespace uh::jit
