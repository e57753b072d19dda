// constant_propagation: evaluates nodes whose inputs are all constants.
//
// Pure operators run as they would at run time; one that raises is left in place. Results become
// constants only if they are small and nothing can write to them: the constant is the same object
// in every run. An operator on tensors first runs on the meta device, for the result's size.
// Dictionaries and lists of lists cannot be constants, but an element of one can. An If with a
// constant condition is replaced by its taken block, as later nodes depend on it.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "generated/ops/copy.h"
#include "generated/tags.h"
#include "jit/builtins/builtin.h"
#include "jit/ir/alias_analysis.h"
#include "jit/ir/constants.h"
#include "jit/ir/effects.h"
#include "jit/pass.h"
#include "jit/passes/known_conditions.h"
#include "tensor/thread_state.h"

namespace uh::jit {
namespace {

constexpr int64_t kMaxElements = 4096;  // of a constant tensor, list or string

// Disables tracing and grad mode for the calls made here.
class NoTracerNoGradGuard {
 public:
  NoTracerNoGradGuard() : previous_state_(t_state), grad_(false) {
    t_state.included = t_state.included - Key::kTracer;
  }
  ~NoTracerNoGradGuard() { t_state.included = previous_state_.included; }

 private:
  const ThreadState previous_state_;
  const GradMode grad_;
};

bool is_small(const IValue& value) {
  if (const Tensor* t = value.get_if<Tensor>()) return !*t || t->numel() <= kMaxElements;
  if (const auto* s = value.get_if<std::string>())
    return static_cast<int64_t>(s->size()) <= kMaxElements;
  const auto all = [](const auto& items) {
    return static_cast<int64_t>(items.size()) <= kMaxElements &&
           std::all_of(items.begin(), items.end(), [](const auto& v) { return is_small(v); });
  };
  if (const List* list = value.list()) return all(list->items);
  if (const Tuple* tuple = value.tuple()) return all(tuple->items);
  if (const auto* tensors = value.get_if<std::vector<Tensor>>()) return all(*tensors);
  if (const Dict* dict = value.dict())
    return static_cast<int64_t>(dict->items().size()) <= kMaxElements &&
           std::all_of(dict->items().begin(), dict->items().end(), [](const auto& item) {
             return is_small(item.first) && is_small(item.second);
           });
  return !value.object();
}

// True if a constant can hold the value: a list in a list would be shared with its readers.
bool can_be_constant(const IValue& value) {
  if (value.dict() || value.object()) return false;
  const auto plain = [](const IValue& item) { return !item.list() && can_be_constant(item); };
  if (const List* list = value.list())
    return std::all_of(list->items.begin(), list->items.end(), plain);
  if (const Tuple* tuple = value.tuple())
    return std::all_of(tuple->items.begin(), tuple->items.end(), can_be_constant);
  return true;
}

IValue on_meta(const IValue& value) {
  if (const Tensor* t = value.get_if<Tensor>(); t && *t)
    return ops::_to_copy(*t, DType::kUndefined, Device::kMeta, MemoryFormat::kUndefined);
  const List* list = value.list();
  if (!list) return value;
  std::vector<IValue> items;
  for (const IValue& item : list->items) items.push_back(on_meta(item));
  return make_container<List>(std::move(items));
}

// Runs the operator; nullopt if it raises or its result is large.
std::optional<Stack> results_of(const Node& node, Stack arguments) {
  OperatorInfo& op = const_cast<OperatorInfo&>(*node.op());
  if (!std::all_of(arguments.begin(), arguments.end(), is_small)) return std::nullopt;
  Stack stack = arguments;
  try {
    const NoTracerNoGradGuard apart;
    if (!as_builtin(&op)) {
      for (size_t i = 0; i < stack.size(); ++i) {
        stack[i] = on_meta(stack[i]);
        if (op.schema().arguments[i].name == "device") stack[i] = Device::kMeta;
      }
      op.call_boxed(stack);
      if (!std::all_of(stack.begin(), stack.end(), is_small)) return std::nullopt;
      stack = std::move(arguments);
    }
    op.call_boxed(stack);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (!std::all_of(stack.begin(), stack.end(), is_small)) return std::nullopt;
  return stack;
}

int64_t length_of(const IValue* value) {
  if (const List* list = value ? value->list() : nullptr)
    return static_cast<int64_t>(list->items.size());
  const auto* text = value ? value->get_if<std::string>() : nullptr;
  return text ? static_cast<int64_t>(text->size()) : 0;
}

// True if an int argument, as a length or a factor of one, is too large: "a" * 10**12.
bool is_too_long(const Node& node) {
  if (!node.op()->has_tag(Tag::kLengthFromNumber)) return false;
  int64_t limit = 0, longest = 1;
  for (const Value* input : node.inputs()) {
    longest = std::max(longest, length_of(input->constant()));
    if (const std::optional<int64_t> n = constant_int(input)) limit = std::max(limit, *n);
  }
  return limit > kMaxElements / longest;
}

class ConstantPropagation {
 public:
  explicit ConstantPropagation(Graph& graph) : graph_(graph), alias_(graph) {}

  void visit(Block* block) {
    for (Node* node = block->first(); node != block->return_node();) {
      if (node->is("prim::If")) {
        const IValue* condition = constant_of(node->input(0));
        if (const bool* is_true = condition ? condition->get_if<bool>() : nullptr) {
          Node* before = node->prev();
          take_block(node, *is_true);
          node = before->next();  // continue with the nodes that replaced it
          continue;
        }
      }
      Node* next = node->next();
      if (node->blocks().empty()) {
        fold(node);
      } else if (!node->is("prim::Loop") || (drop_unchanged(node), !skip_loop(node))) {
        for (Block* inner : node->blocks()) visit(inner);
        if (node->is("prim::If"))
          for (size_t i = node->outputs().size(); i-- > 0;) share_output(node, i);
      }
      node = next;
    }
  }

 private:
  // Replaces a carried value that the body returns unchanged by its initial value.
  void drop_unchanged(Node* loop) {
    Block* body = loop->block(0);
    for (size_t i = loop->outputs().size(); i-- > 0;) {
      if (body->returns()[i + 1] != body->params()[i + 1]) continue;
      Rewrite r(graph_, "a value that a loop carries and does not change is the value before it",
                {loop});
      Value* before = loop->input(i + 2);
      loop->output(i)->replace_uses_with(before);
      loop->drop_output(i);
      body->drop_return(i + 1);
      body->params()[i + 1]->replace_uses_with(before);
      body->drop_param(i + 1);
      loop->drop_input(i + 2);
    }
  }

  bool skip_loop(Node* loop) {
    const std::optional<int64_t> trips = constant_int(loop->input(0));
    if (!trips || *trips > 0) return false;
    Rewrite r(graph_, "for _ in range(0): ... -> nothing", {loop});
    for (size_t i = 0; i < loop->outputs().size(); ++i)
      loop->output(i)->replace_uses_with(loop->input(i + 2));
    loop->destroy();
    return true;
  }

  // The constant value in every run, also after writes; null if unknown.
  const IValue* constant_of(const Value* value) const {
    if (const auto it = known_.find(value); it != known_.end()) return &it->second;
    if (constants_.contains(value)) return value->constant();
    return alias_.has_writers(value) ? nullptr : value->constant();
  }

  void fold(Node* node) {
    if (node->is("prim::Constant") || node->outputs().empty()) return;
    Stack arguments;
    for (const Value* input : node->inputs()) {
      const IValue* constant = constant_of(input);
      if (!constant) return;
      arguments.push_back(*constant);
    }
    for (const Value* output : node->outputs()) {
      // A constant is one object in all runs: a write to it would affect the next run.
      if (is_mutable_type(*output->type()) &&
          (alias_.has_writers(output) || alias_.escapes(output)))
        return;
    }
    if (std::optional<Stack> results = values_of(*node, std::move(arguments)))
      replace(node, *results);
  }

  std::optional<Stack> values_of(const Node& node, Stack arguments) {
    if (node.is("prim::ListConstruct")) {
      const TypeRef& element = node.output()->type()->element();
      if (is_mutable_type(*element) && !element->is(TypeKind::kList)) return std::nullopt;
      return Stack{make_container<List>(std::move(arguments))};
    }
    if (node.is("prim::DictConstruct")) {
      IValue dict = make_container<Dict>();
      for (size_t i = 0; i + 1 < arguments.size(); i += 2)
        dict.dict()->put(arguments[i], arguments[i + 1]);
      return Stack{std::move(dict)};
    }
    if (node.is("prim::TupleConstruct")) return Stack{make_container<Tuple>(std::move(arguments))};
    if (node.is("prim::unchecked_cast")) return arguments;
    if (node.is("prim::TupleUnpack") || node.is("prim::ListUnpack")) {
      const Tuple* tuple = arguments[0].tuple();
      const List* list = arguments[0].list();
      if (!tuple && !list) return std::nullopt;
      return tuple ? tuple->items : list->items;
    }
    if (node.is("prim::TupleIndex")) return item_of(arguments);
    const OperatorInfo* op = node.op();
    if (!op || !is_pure(node) || is_too_long(node)) return std::nullopt;
    if (!as_builtin(op) && (op->name_space() != "aten" || op->has_tag(Tag::kUninitializedResult)))
      return std::nullopt;
    return results_of(node, std::move(arguments));
  }

  static std::optional<Stack> item_of(const Stack& arguments) {
    const Tuple* tuple = arguments[0].tuple();
    const int64_t* index = arguments[1].get_if<int64_t>();
    if (!tuple || !index) return std::nullopt;
    const int64_t n = static_cast<int64_t>(tuple->items.size());
    const int64_t i = *index < 0 ? *index + n : *index;
    if (i < 0 || i >= n) return std::nullopt;
    return Stack{tuple->items[static_cast<size_t>(i)]};
  }

  void replace(Node* node, const Stack& results) {
    if (results.size() != node->outputs().size()) return;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].object()) return;
      if (!is_instance(results[i], *unshaped(node->output(i)->type()))) return;
    }
    if (!std::all_of(results.begin(), results.end(), can_be_constant)) {
      for (size_t i = 0; i < results.size(); ++i) known_.emplace(node->output(i), results[i]);
      return;
    }
    std::vector<const Node*> concerned{node};
    for (const Value* input : node->inputs()) concerned.push_back(input->node());
    Rewrite r(graph_, "all inputs are constants -> a constant", concerned);
    for (size_t i = 0; i < results.size(); ++i) {
      Node* constant = graph_.create_constant(results[i])->insert_before(node);
      // The type of an empty list is ambiguous, and a list of optionals looks like a plain one.
      if (results[i].list() || results[i].tuple())
        constant->output()->set_type(node->output(i)->type());
      constants_.insert(constant->output());
      node->output(i)->replace_uses_with(constant->output());
    }
    node->destroy();
  }

  Graph& graph_;
  const AliasDb alias_;
  std::unordered_map<const Value*, IValue> known_;  // values that cannot be constant nodes
  std::unordered_set<const Value*> constants_;      // outputs of constants without writers
};

void constant_propagation(Graph& graph) { ConstantPropagation(graph).visit(graph.block()); }

}  // namespace

extern const Pass pass_constant_propagation;
const Pass pass_constant_propagation{
    "constant_propagation",
    "Computes operators whose inputs are constants, before the program runs.",
    constant_propagation};

}  // namespace uh::jit
