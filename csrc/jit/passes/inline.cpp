// inline: replaces prim::CallFunction and prim::CallMethod by the nodes of the callee.
//
// Calls inside the callee are inlined in turn, so that none is left. Every Value of the callee's
// graph is the origin of its copy.
#include <algorithm>

#include "jit/function.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

using Callers = std::vector<const Function*>;

// The callee of a node; null if the node is not a call, or the callee has no graph.
Ref<Function> callee_of(const Node& node) {
  if (node.inputs().empty()) return nullptr;
  const Value& first = *node.input(0);
  if (node.is("prim::CallFunction")) {
    const Attribute* named = first.node()->attribute("name");
    return Ref<Function>::share(named ? dynamic_cast<Function*>(named->object.get()) : nullptr);
  }
  if (!node.is("prim::CallMethod") || !first.type()->is(TypeKind::kClass)) return nullptr;
  const std::string name = node.text_attribute("name");
  Ref<Function> method = static_cast<const ClassType&>(*first.type()).method(name);
  check(static_cast<bool>(method), "inline: ", first.type()->text(), " has no method '", name, "'");
  return method;
}

[[noreturn]] void recursive(const Callers& callers, const Function& again) {
  std::string chain;
  for (const Function* caller : callers) chain += caller->name() + " -> ";
  fail(ErrorKind::kRuntime, "inline: function '", again.name(), "' is called recursively (", chain,
       again.name(), "): recursive calls are not supported");
}

// Adds the call site to the spans of inlined nodes, which keep their source position.
void called_from(const Ref<CallSite>& site, Node* node, const Node* end) {
  for (; node != end; node = node->next()) {
    Span span = node->span();
    if (span) {
      span.caller = site;
      node->set_span(std::move(span));
    }
    for (const Block* block : node->blocks())
      called_from(site, block->first(), block->return_node());
  }
}

// Replaces the call by the callee's nodes.
void inline_call(Node* call, const Function& callee) {
  Graph& graph = call->graph();
  const bool by_name = call->is("prim::CallFunction");
  Node* named = by_name ? call->input(0)->node() : nullptr;
  Rewrite r(graph, "a call -> the nodes of its callee", {call});
  r.because("calls " + callee.name());
  std::vector<Value*> arguments(call->inputs().begin() + (by_name ? 1 : 0), call->inputs().end());
  graph.set_insert_point(call);
  Node* last = call->prev();
  const std::vector<Value*> results = graph.inline_graph(callee.graph(), arguments);
  graph.set_insert_point(graph.block());
  if (call->span()) called_from(make_ref<CallSite>(call->span()), last->next(), call);
  check_kind(results.size() == call->outputs().size(), ErrorKind::kInternal,
             "inline: ", callee.name(), " returns ", results.size(), " values, the call has ",
             call->outputs().size(), " results");
  for (size_t i = 0; i < results.size(); ++i) {
    Value* output = call->output(i);
    // The caller's name is preferred if the callee's Value has only a number.
    results[i]->add_origin(output->id());
    output->replace_uses_with(results[i]);
  }
  call->destroy();
  if (named && !named->output()->has_uses()) named->destroy();
}

void inline_between(Node* before, Node* end, Callers& callers) {
  for (Node* node = before->next(); node != end;) {
    Node* next = node->next();
    for (Block* block : node->blocks())
      inline_between(block->param_node(), block->return_node(), callers);
    if (const Ref<Function> callee = callee_of(*node)) {
      if (std::find(callers.begin(), callers.end(), callee.get()) != callers.end())
        recursive(callers, *callee);
      Node* last = node->prev();
      // Removes the constant that names the callee with its last call; `last` may be that constant.
      if (node->is("prim::CallFunction") && last == node->input(0)->node() &&
          node->input(0)->uses().size() == 1)
        last = last->prev();
      inline_call(node, *callee);
      callers.push_back(callee.get());
      inline_between(last, next, callers);
      callers.pop_back();
    }
    node = next;
  }
}

void inline_calls(Graph& graph) {
  Callers callers;
  Block& block = *graph.block();
  inline_between(block.param_node(), block.return_node(), callers);
}

}  // namespace

extern const Pass pass_inline;
const Pass pass_inline{
    "inline", "Replaces calls of functions and methods by the nodes of the callee.", inline_calls};

}  // namespace uh::jit
