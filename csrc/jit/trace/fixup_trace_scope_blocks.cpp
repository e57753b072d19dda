#include "jit/trace/fixup_trace_scope_blocks.h"

#include "jit/function.h"
#include "jit/pass.h"
#include "jit/trace/tracing_state.h"

namespace uh::jit {
namespace {

constexpr const char* kForward = "prim::TracedModuleForward";
using Replaced = std::unordered_map<const Value*, Value*>;

// Gives a new node the span of the node that it derives from.
Node* with_span_of(const Node& origin, Node* node) {
  node->set_span(origin.span());
  return hide_span(node);
}

// Names for Values in blocks: applied when the block is a separate graph, as until then an outside
// Value may have the name.
using Names = std::vector<std::pair<Value*, std::string>>;

Value* add_param_like(Block* block, Value* outer, Names& names) {
  Value* param = block->add_param(outer->type());
  param->add_origin(outer->id());
  if (outer->has_name()) names.emplace_back(param, outer->name());
  return param;
}

class ToMethods {
 public:
  ToMethods(Graph& graph, const Scopes& scopes) : graph_(graph), scopes_(scopes) {}

  void run() {
    Block* block = graph_.block();
    add_selves(block);
    read_attributes(block, scopes_.self, graph_.inputs()[0]);
    give_results(block);
    results_as_tuples(block);
    take_from_outside(block);
    calls(block);
  }

 private:
  static bool is_forward(const Node* node) { return node->is(kForward); }

  // Adds the module as first parameter of every block.
  void add_selves(Block* block) {
    for (Node* node : block->nodes()) {
      if (!is_forward(node)) continue;
      take_name(node->block(0)->add_param(node->input(0)->type()), "self");
      node->block(0)->params()[0]->add_origin(node->input(0)->id());
      add_selves(node->block(0));
    }
  }

  // Replaces placeholders of modules and tensors by GetAttrs from `self`, once per block, at its
  // beginning; those outside of `module` become parameters. Returns the arguments for these.
  std::vector<Value*> read_attributes(Block* block, const Object* module, Value* self) {
    std::vector<Value*> elsewhere;
    Replaced local_replacements;
    const auto replaced = [&](Value* value, const Node& user) {
      Value*& match = local_replacements[value];
      if (match) return match;
      match = attribute_from(block, module, self, value, user);
      if (!match) {
        match = add_param_like(block, value, names_[block]);
        elsewhere.push_back(value);
      }
      return match;
    };
    if (block == graph_.block())
      for (Value* value : scopes_.shared) replaced(value, *block->return_node());
    std::vector<Node*> nodes = block->nodes();
    nodes.push_back(block->return_node());
    for (Node* node : nodes) {
      if (is_forward(node)) {
        Block* inner = node->block(0);
        for (Value* value : read_attributes(inner, scopes_.calls.at(node), inner->params()[0]))
          node->add_input(value);
      }
      for (size_t i = 0; i < node->inputs().size(); ++i)
        if (scopes_.attributes.count(node->input(i)))
          node->set_input(i, replaced(node->input(i), *node));
    }
    return elsewhere;
  }

  // Null if the attribute is not within `module`.
  Value* attribute_from(Block* block, const Object* module, Value* self, const Value* value,
                        const Node& user) {
    std::vector<const AttributeRef*> path;
    for (const AttributeRef* at = &scopes_.attributes.at(value);;
         at = &scopes_.modules.at(at->owner)) {
      path.push_back(at);
      if (at->owner == module) break;
      if (at->owner == scopes_.self) return nullptr;
    }
    Node* before = block->first();
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      Node* node = graph_.create("prim::GetAttr", {self}, 0)->insert_before(before);
      node->set_attribute("name", IValue((*it)->attribute));
      with_span_of(user, node)->set_scope("");
      Value* read = node->add_output((*it)->type);
      read->add_origin(self->id());
      take_name(read, (*it)->attribute);
      self = read;
    }
    self->add_origin(value->id());
    return self;
  }

  static bool is_within(const Block* block, const Block* outer) {
    while (block != outer && block->owner()) block = block->owner()->owner();
    return block == outer;
  }

  // Returns Values that are used outside of their block through all blocks in between.
  void give_results(Block* block) {
    std::vector<Node*> nodes = block->nodes();
    nodes.push_back(block->return_node());
    for (Node* node : nodes) {
      for (size_t i = 0; i < node->inputs().size(); ++i) {
        Value* value = node->input(i);
        while (!is_within(block, value->block())) value = handed_up(value);
        node->set_input(i, value);
      }
      for (Block* inner : node->blocks()) give_results(inner);
    }
  }

  Value* handed_up(Value* value) {
    Value*& match = results_[value];
    if (match) return match;
    Node* owner = value->block()->owner();
    value->block()->add_return(value);
    match = owner->add_output(value->type());
    match->add_origin(value->id());
    return match;
  }

  // Packs several results of a method into a tuple.
  void results_as_tuples(Block* block) {
    for (Node* node : block->nodes()) {
      if (!is_forward(node)) continue;
      Block* inner = node->block(0);
      results_as_tuples(inner);
      const std::vector<Value*> results = inner->returns();
      if (results.size() == 1) continue;
      Node* new_node;
      if (results.empty()) {
        new_node = graph_.create_constant(IValue())->append_to(inner);
        new_node->output()->add_origin(inner->params()[0]->id());
      } else {
        std::vector<TypeRef> types;
        for (const Value* result : results) types.push_back(result->type());
        new_node = graph_.create("prim::TupleConstruct", results, 0)->append_to(inner);
        new_node->add_output(tuple_of(std::move(types)));
        for (const Value* result : results) new_node->output()->add_origin(result->id());
      }
      with_span_of(*node, new_node)->set_scope("");
      while (!inner->returns().empty()) inner->drop_return(inner->returns().size() - 1);
      inner->add_return(new_node->output());
      one_result(node, new_node->output());
    }
  }

  void one_result(Node* node, const Value* result) {
    const std::vector<Value*> before = node->outputs();
    Value* tuple = node->add_output(result->type());
    tuple->add_origin(result->id());
    if (!before.empty()) {
      Node* unpack = graph_.create("prim::TupleUnpack", {tuple}, 0)->insert_after(node);
      with_span_of(*node, unpack)->set_scope("");
      for (Value* input_value : before) {
        Value* part = unpack->add_output(input_value->type());
        part->add_origin(input_value->id());
        input_value->replace_uses_with(part);
      }
    }
    for (size_t i = before.size(); i-- > 0;) node->drop_output(i);
  }

  // Makes outside Values that a block uses its parameters, in the order of use.
  void take_from_outside(Block* block) {
    Replaced local_replacements;
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) take_from_outside(inner);
      if (block != graph_.block()) take_inputs(block, node, local_replacements);
    }
    if (block != graph_.block()) take_inputs(block, block->return_node(), local_replacements);
  }

  void take_inputs(Block* block, Node* node, Replaced& local_replacements) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* value = node->input(i);
      if (value->block() == block) continue;
      Value*& param = local_replacements[value];
      if (!param) {
        param = add_param_like(block, value, names_[block]);
        block->owner()->add_input(value);
      }
      node->set_input(i, param);
    }
  }

  // Turns blocks into methods, innermost first, and replaces them by calls.
  void calls(Block* block) {
    for (Node* node : block->nodes()) {
      if (!is_forward(node)) continue;
      calls(node->block(0));
      const std::string name = add_method(node);
      Node* call = graph_.create("prim::CallMethod", node->inputs(), 0)->insert_before(node);
      with_span_of(*node, call)->set_scope("");
      call->set_attribute("name", IValue(name));
      Value* result = call->add_output(unshaped(node->output()->type()));
      result->add_origin(node->output()->id());
      node->output()->replace_uses_with(result);
      node->destroy();
    }
  }

  std::string add_method(Node* node) {
    auto& type = static_cast<ClassType&>(*node->input(0)->type());
    std::string name = "forward";
    for (int i = 1; type.method(name); ++i) name = message("forward", i);
    Names names = std::move(names_[node->block(0)]);
    const GraphRef new_graph = graph_.split_off(node);
    new_graph->set_name(name);
    for (auto& [value, new_name] : names) value->set_name(new_name);
    remove_dead_of_trace(*new_graph);
    new_graph->renumber_unnamed();
    const Ref<Function> method = make_ref<Function>(message(type.name(), ".", name), new_graph);
    record_graph(*new_graph, method->id(), "as compiled");
    type.add_method(name, method);
    return name;
  }

  Graph& graph_;
  const Scopes& scopes_;
  Replaced results_;
  std::unordered_map<const Block*, Names> names_;
};

}  // namespace

std::string Scopes::path(const Object* module) const {
  if (module == self) return "__module";
  const AttributeRef& ref = modules.at(module);
  return path(ref.owner) + "." + plain_name(ref.attribute);
}

std::string plain_name(std::string name) {
  for (char& c : name) {
    const char lower = static_cast<char>(c | 0x20);
    if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9')) c = '_';
  }
  return name;
}

Node* hide_span(Node* node) {
  Span span = node->span();
  span.is_printed = false;
  node->set_span(std::move(span));
  return node;
}

void make_methods(Graph& graph, const Scopes& scopes) {
  ToMethods(graph, scopes).run();
  // Removes the placeholders: attributes are now read where they are used.
  for (Node* node : graph.block()->nodes())
    if (node->outputs().size() == 1 && scopes.attributes.count(node->output())) node->destroy();
}

}  // namespace uh::jit
