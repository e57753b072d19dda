#include <algorithm>

#include "autograd/autograd_meta.h"
#include "generated/ops.h"
#include "jit/pass.h"
#include "jit/serialization/model_file.h"

namespace uh::jit {
namespace {

bool is_plain(const Type& type) {
  return type.is(TypeKind::kClass) && static_cast<const ClassType&>(type).is_plain();
}
// True if the value is or contains a list or dictionary: programs may write it, so it stays an
// attribute.
bool holds_plain(const Type& type) {
  return is_plain(type) || std::any_of(type.inner().begin(), type.inner().end(),
                                       [](const TypeRef& t) { return holds_plain(*t); });
}

const ClassType& class_of(const Object& object) {
  return static_cast<const ClassType&>(*object.type.get());
}

// Reads a slot; an object has as many slots as its class had attributes when it was created or last
// set.
const IValue& attribute_of(const Object& object, int64_t slot) {
  const auto at = static_cast<size_t>(slot);
  check(at < object.slots.size(), "freeze: ", class_of(object).name(), ": attribute '",
        class_of(object).attributes()[at].name, "' was not set");
  return object.slots[at];
}

class Freezer {
 public:
  Freezer(const IValue& module, const std::vector<std::string>& preserved)
      : module_(module), preserved_(preserved) {}

  // Replaces every GetAttr of a known object by a constant, or by another known object.
  void run(Graph& graph) {
    objects_[graph.inputs()[0]] = module_;
    graph.each_node([&](Node* node) {
      if (node->is("prim::SetAttr")) refuse_write(node);
      if (!node->is("prim::fork")) return;
      for (const Value* input : node->inputs())
        check(!input->type()->is(TypeKind::kClass) || is_plain(*input->type()),
              "freeze: the module forks a call of a module (", input->type()->text(),
              "), which is called as it is then; call it without jit.fork");
    });
    std::vector<Node*> reads;
    graph.each_node([&](Node* node) {
      if (node->is("prim::GetAttr")) reads.push_back(node);
    });
    for (Node* node : reads) freeze_read(graph, node);
    for (auto it = reads.rbegin(); it != reads.rend(); ++it) {
      if (!(*it)->output()->has_uses()) {
        const Rewrite rewrite(graph, "an unused attribute -> nothing", {*it});
        (*it)->destroy();
      }
    }
  }

 private:
  bool stays(const Node* node) const {
    if (!node->input(0)->is_param()) return false;
    const Value* attribute_value = node->is("prim::SetAttr") ? node->input(1) : node->output();
    return holds_plain(*attribute_value->type()) ||
           std::find(preserved_.begin(), preserved_.end(), node->text_attribute("name")) !=
               preserved_.end();
  }

  void refuse_write(const Node* node) const {
    if (is_plain(*node->input(0)->type())) return;  // an object that the program created
    check(stays(node), "freeze: the module sets its attribute '", node->text_attribute("name"),
          "'; name it in preserved_attrs");
  }

  void freeze_read(Graph& graph, Node* node) {
    const auto owner = objects_.find(node->input(0));
    if (owner == objects_.end() || is_plain(*node->input(0)->type()) || stays(node)) return;
    const Object& object = *owner->second.object();
    const int64_t slot = class_of(object).slot(node->text_attribute("name"));
    check(slot >= 0, "freeze: ", class_of(object).name(), " has no attribute '",
          node->text_attribute("name"), "'");
    const IValue& value = attribute_of(object, slot);
    if (value.object() && !enum_of(value)) {
      check(!class_of(*value.object()).is_plain(), "freeze: '", node->text_attribute("name"),
            "' of a submodule is an object that programs may write to; hold it in the outermost "
            "module");
      objects_[node->output()] = value;
      return;
    }
    Rewrite rewrite(graph, "an attribute of a frozen module -> its value", {node});
    rewrite.because("the module is in eval mode and nothing sets " + node->text_attribute("name"));
    const Tensor* tensor = value.get_if<Tensor>();
    const bool detached = tensor && *tensor && autograd::requires_grad(*tensor);
    Node* constant = graph.create_constant(detached ? IValue(ops::detach(*tensor)) : value);
    constant->insert_before(node);
    constant->output()->set_name("self." + node->text_attribute("name"));
    node->output()->replace_uses_with(constant->output());
  }

  const IValue& module_;
  const std::vector<std::string>& preserved_;
  std::map<const Value*, IValue> objects_;
};

// Inlines all calls of a method, and makes the module's attributes constants.
GraphRef frozen_graph(const Function& method, const std::string& name, const IValue& module,
                      const std::vector<std::string>& preserved, bool optimize_numerics) {
  GraphRef graph = method.graph().copy();
  graph->set_name(name);
  run_pass(*find_pass("inline"), *graph);
  run_pass(*find_pass("erase_shape_information"), *graph);  // only the trace's inputs had these
  {
    PassRun run("freeze", *graph);
    Freezer(module, preserved).run(*graph);
    run.end();
  }
  for (int64_t changes = 1; changes > 0;) {  // constants from one pass enable the next
    changes = 0;
    for (const char* pass :
         {"constant_propagation", "fold_constant_branches", "peephole", "cse", "dce"})
      changes += run_pass(*find_pass(pass), *graph);
  }
  if (optimize_numerics) {
    run_pass(*find_pass("fold_batch_norm"), *graph);
    run_pass(*find_pass("dce"), *graph);
  }
  return graph;
}

}  // namespace

IValue freeze(const IValue& module, const std::vector<std::string>& preserved,
              bool optimize_numerics) {
  const Object* object = module.object();
  check_kind(object != nullptr, ErrorKind::kType, "freeze: expected a module, got a ",
             module.type_name());
  const ClassType& type = class_of(*object);
  if (const int64_t slot = type.slot("training"); slot >= 0) {
    const bool* training = attribute_of(*object, slot).get_if<bool>();
    check(!training || !*training,
          "Freezing is currently only implemented for modules in eval mode. Please call .eval() on "
          "your module before freezing.");
  }
  check(static_cast<bool>(type.method("forward")), "freeze: ", type.name(), " has no forward");

  Ref<ClassType> result = make_ref<ClassType>(free_class_name(type.name()));
  const Ref<Methods> methods = result->methods();
  std::vector<IValue> values;
  std::vector<std::string> retained{"forward"};
  for (const std::string& name : preserved) {
    if (type.method(name)) {
      if (std::find(retained.begin(), retained.end(), name) == retained.end())
        retained.push_back(name);
      continue;
    }
    const int64_t slot = type.slot(name);
    check(slot >= 0, "freeze: ", type.name(), " has no attribute or method '", name,
          "' to preserve");
    result->add_attribute(type.attributes()[static_cast<size_t>(slot)]);
    values.push_back(attribute_of(*object, slot));
  }
  for (size_t i = 0; i < type.attributes().size(); ++i) {
    const ClassType::Attribute& attribute = type.attributes()[i];
    if (!holds_plain(*attribute.type) || result->slot(attribute.name) >= 0) continue;
    result->add_attribute(attribute);
    values.push_back(object->slots[i]);
  }
  if (result->slot("training") < 0) {
    result->add_attribute({"training", make_type(TypeKind::kBool)});
    values.push_back(false);
  }
  for (const std::string& name : retained) {
    const Ref<Function> method = type.method(name);
    const GraphRef graph = frozen_graph(*method, name, module, preserved, optimize_numerics);
    graph->inputs()[0]->set_type(TypeRef::share(result.get()));
    Ref<Function> function = make_ref<Function>(name, graph);
    function->set_defaults(method->defaults());
    result->add_method(name, function);
  }
  IValue frozen = new_object(*result);
  frozen.object()->slots = std::move(values);
  frozen.object()->written();
  return frozen;
}

}  // namespace uh::jit
