// Graphs that verify() rejects, and the node that its error quotes.
#include "check.h"
#include "dispatch/dispatcher.h"
#include "jit/function.h"
#include "jit/ir/verify.h"
#include "jit/schema_matching/builtin_calls.h"
#include "jit/text/parse.h"

namespace uh::test {
namespace {

using namespace uh::jit;

const char* const kText =
    "graph(%x : Tensor, %n : int, %b : bool):\n"
    "  %1 : int = prim::Constant[value=1]()\n"
    "  %2 : Tensor = aten::add(%x, %x, %1)\n"
    "  %3 : Tensor = prim::If(%b)\n"
    "    block0():\n"
    "      %4 : Tensor = aten::relu(%2)\n"
    "      -> (%4)\n"
    "    block1():\n"
    "      -> (%2)\n"
    "  %5 : Tensor = prim::Loop(%n, %b, %3)\n"
    "    block0(%6 : int, %7 : Tensor):\n"
    "      %8 : Tensor = aten::mul(%7, %6)\n"
    "      -> (%b, %8)\n"
    "  return (%5)\n";

Node* find(const Graph& graph, const char* kind) {
  Node* match = nullptr;
  graph.each_node([&](Node* node) {
    if (node->is(kind) && !match) match = node;
  });
  return match;
}

// Changes the graph and expects verify() to fail with this message.
void refused(const char* expected, const std::function<void(Graph&)>& change) {
  const GraphRef graph = parse(kText);
  verify(*graph);
  change(*graph);
  CHECK_FAILS(verify(*graph), expected);
}

TEST(a_value_is_made_before_it_is_used) {
  refused("is used before its definition: %2 : Tensor = aten::add", [](Graph& g) {
    Node* add = find(g, "aten::add");
    add->input(2)->node()->move_before(g.block()->return_node());
  });
  refused("is used before its definition",
          [](Graph& g) { g.block()->set_return(0, find(g, "aten::relu")->output()); });
}

TEST(a_call_has_all_arguments_of_their_types) {
  refused(
      "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor: it takes 3 "
      "arguments, not 2: %2 : Tensor = aten::add(%x, %x)",
      [](Graph& g) { find(g, "aten::add")->drop_input(2); });
  refused("argument 'self' is a Tensor, and is given a int",
          [](Graph& g) { find(g, "aten::relu")->set_input(0, g.inputs()[1]); });
  refused("it gives a Tensor, not a str", [](Graph& g) {
    find(g, "aten::relu")->output()->set_type(make_type(TypeKind::kString));
  });
  refused("it gives 1 values, not 2", [](Graph& g) { find(g, "aten::relu")->add_output(); });
}

TEST(blocks_fit_their_if_and_loop) {
  refused("the condition of an If must be a bool",
          [](Graph& g) { find(g, "prim::If")->set_input(0, g.inputs()[1]); });
  refused("it has 2 blocks, not 1", [](Graph& g) { find(g, "prim::If")->drop_block(1); });
  refused("a returned value of a block is a int, not a Tensor",
          [](Graph& g) { find(g, "prim::If")->block(1)->set_return(0, g.inputs()[1]); });
  refused("must return what the node outputs",
          [](Graph& g) { find(g, "prim::If")->block(1)->drop_return(0); });
  refused("the trip count of a Loop must be an int",
          [](Graph& g) { find(g, "prim::Loop")->set_input(0, g.inputs()[2]); });
  refused("an initial value of a Loop is a int, not a Tensor",
          [](Graph& g) { find(g, "prim::Loop")->set_input(2, g.inputs()[1]); });
  refused("a returned value of a Loop is a int, not a Tensor",
          [](Graph& g) { find(g, "prim::Loop")->block(0)->set_return(1, g.inputs()[1]); });
  refused("Loop condition must be bool",
          [](Graph& g) { find(g, "prim::Loop")->block(0)->set_return(0, g.inputs()[1]); });
}

TEST(a_constant_is_of_its_type) {
  refused("its value is a str, not a int", [](Graph& g) {
    find(g, "prim::Constant")->set_attribute("value", IValue(std::string("one")));
  });
  refused("a constant without a value",
          [](Graph& g) { find(g, "prim::Constant")->drop_attribute("value"); });
}

TEST(a_kind_that_nobody_knows_is_refused) {
  refused("unknown operator or node kind",
          [](Graph& g) { g.insert(g.create("prim::Mystery", {g.inputs()[0]})); });
}

TEST(members_of_a_class_are_there) {
  const Ref<ClassType> type = make_ref<ClassType>("__torch__.VerifyCell");
  type->add_attribute({"w", tensor_type(), true, false});
  const auto get = [&](const char* name, const char* result) {
    return parse("graph(%self : __torch__.VerifyCell):\n  %1 : " + std::string(result) +
                 " = prim::GetAttr[name=\"" + name + "\"](%self)\n  return (%1)\n");
  };
  verify(*get("w", "Tensor"));
  CHECK_FAILS(get("v", "Tensor"), "a __torch__.VerifyCell has no attribute 'v'");
  CHECK_FAILS(get("w", "int"), "the attribute is a Tensor, not a int");
  const GraphRef call = parse(
      "graph(%self : __torch__.VerifyCell):\n"
      "  %1 : Tensor = prim::CallMethod[name=\"forward\"](%self)\n  return (%1)\n");
  verify_alone(*call);
  CHECK_FAILS(verify(*call), "has no method 'forward'");
  GraphRef body = parse("graph(%self : __torch__.VerifyCell, %x : Tensor):\n  return (%x)\n");
  const Ref<Methods> methods = type->methods();
  type->add_method("forward", make_ref<Function>("forward", body));
  CHECK_FAILS(verify(*call), "forward takes 2 arguments, not 1");
}

TEST(values_without_an_origin_are_found) {
  const GraphRef graph = parse(kText);
  CHECK(lint_origins(*graph).find("%2 of %2 : Tensor = aten::add") != std::string::npos);
  const GraphRef copy = graph->copy();
  CHECK_EQ(lint_origins(*copy), "");
}

}  // namespace
}  // namespace uh::test
