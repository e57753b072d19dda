// Schema matching: the overload chosen, conversions and default arguments, and the errors if
// nothing matches.
#include "check.h"
#include "dispatch/dispatcher.h"
#include "jit/builtins/builtin.h"
#include "jit/ir/verify.h"
#include "jit/schema_matching/builtin_calls.h"
#include "jit/schema_matching/signature.h"
#include "jit/text/print.h"

namespace uh::test {
namespace {

using namespace uh::jit;

// A graph with inputs %0, %1... of these types.
struct Scene {
  explicit Scene(const std::vector<const char*>& types) {
    for (const char* type : types) in.push_back(graph->add_input("", parse_type(type)));
  }
  Value* number(IValue value) { return graph->insert_constant(std::move(value)); }
  // Returns the call, verified, as "name.overload(inputs) -> types", with constants as values.
  std::string call(const char* name, const std::vector<Value*>& args,
                   const std::vector<NamedValue>& kwargs = {}) {
    Node* node = emit_builtin_call(*graph, name, args, kwargs);
    verify(*graph);
    std::string text = node->op()->full_name() + "(";
    for (const Value* input : node->inputs()) {
      if (text.back() != '(') text += ", ";
      if (input->constant())
        text += print(*input->constant());
      else
        text += input->is_param() ? "%" + input->name() : input->node()->kind().text();
    }
    text += ") -> ";
    for (const Value* output : node->outputs()) text += output->type()->text() + ";";
    return text;
  }
  GraphRef graph = make_ref<Graph>();
  std::vector<Value*> in;
};

TEST(every_operator_has_a_signature) {
  for (const OperatorInfo* op : Dispatcher::instance().all())
    CHECK_EQ(signature_of(*op).parameters.size(), op->schema().arguments.size());
  for (const Builtin* builtin : all_builtins())
    CHECK_EQ(signature_of(*builtin).parameters.size() + builtin->is_variadic(),
             builtin->schema().arguments.size());
}

TEST(exact_types_come_first) {
  Scene s({"int", "float", "Tensor", "str", "bool"});
  CHECK_EQ(s.call("aten::add", {s.in[0], s.in[0]}), "add.int(%0, %0) -> int;");
  CHECK_EQ(s.call("aten::add", {s.in[0], s.in[1]}), "add.int_float(%0, %1) -> float;");
  CHECK_EQ(s.call("add", {s.in[2], s.in[2]}), "add.Tensor(%2, %2, 1) -> Tensor;");
  CHECK_EQ(s.call("aten::add", {s.in[2], s.in[0]}), "add.Tensor(%2, %0, 1) -> Tensor;");
  CHECK_EQ(s.call("aten::sub", {s.in[1], s.in[2]}), "sub.Tensor(%1, %2, 1) -> Tensor;");
  CHECK_EQ(s.call("aten::add", {s.in[3], s.in[3]}), "add.str(%3, %3) -> str;");
  CHECK_EQ(s.call("aten::eq", {s.in[4], s.in[4]}), "eq.bool(%4, %4) -> bool;");
  CHECK_EQ(s.call("aten::add.float", {s.in[1], s.in[1]}), "add.float(%1, %1) -> float;");
}

TEST(then_come_conversions) {
  Scene s({"bool", "int", "Tensor", "Scalar", "str"});
  CHECK_EQ(s.call("aten::add", {s.in[0], s.in[1]}), "add.int(aten::Int, %1) -> int;");
  CHECK_EQ(s.call("aten::dropout", {s.in[2], s.in[1], s.in[0]}),
           "dropout(%2, aten::Float, %0) -> Tensor;");
  CHECK_EQ(s.call("aten::unsqueeze", {s.in[2], s.in[2]}),
           "unsqueeze(%2, aten::IntImplicit) -> Tensor;");
  CHECK_EQ(s.call("aten::unsqueeze", {s.in[2], s.in[3]}), "unsqueeze(%2, aten::Int) -> Tensor;");
  CHECK_EQ(s.call("aten::zeros", {s.in[1], s.in[1]}, {{"device", s.in[4]}}),
           "zeros(prim::ListConstruct, None, None, aten::device, None) -> Tensor;");
}

TEST(lists_are_made_where_programs_leave_them_out) {
  Scene s({"Tensor", "int", "(Tensor, Tensor)", "(int, int)", "Tensor[]"});
  const char* view = "view(%0, prim::ListConstruct) -> Tensor;";
  CHECK_EQ(s.call("aten::view", {s.in[0], s.in[1], s.in[1]}), view);
  CHECK_EQ(s.call("aten::view", {s.in[0], s.in[1]}), view);
  CHECK_EQ(s.call("aten::view", {s.in[0], s.in[3]}), view);
  CHECK_EQ(s.call("aten::cat", {s.in[2]}), "cat(prim::ListConstruct, 0) -> Tensor;");
  CHECK_EQ(s.call("aten::index", {s.in[0], s.in[4]}), "index.Tensor(%0, %4) -> Tensor;");
  CHECK_EQ(s.call("aten::sum", {s.in[0], s.in[1]}),
           "sum.dim_IntList(%0, prim::ListConstruct, 0, None) -> Tensor;");
  CHECK_EQ(s.call("aten::sum", {s.in[0]}), "sum(%0, None) -> Tensor;");
}

TEST(type_variables_are_bound) {
  Scene s({"int[]", "int", "Dict(str, Tensor)", "str", "int?", "int?[]"});
  CHECK_EQ(s.call("aten::append", {s.in[0], s.in[1]}), "append.t(%0, %1) -> int[];");
  CHECK_EQ(s.call("aten::append", {s.in[5], s.in[1]}), "append.t(%5, %1) -> int?[];");
  CHECK_EQ(s.call("aten::__getitem__", {s.in[0], s.in[1]}), "__getitem__.t(%0, %1) -> int;");
  CHECK_EQ(s.call("aten::__getitem__", {s.in[2], s.in[3]}),
           "__getitem__.Dict_str(%2, %3) -> Tensor;");
  CHECK_EQ(s.call("aten::get", {s.in[2], s.in[3]}), "get.str(%2, %3) -> Tensor?;");
  CHECK_EQ(s.call("aten::items", {s.in[2]}), "items.str(%2) -> (str, Tensor)[];");
  CHECK_EQ(s.call("aten::_unwrap_optional", {s.in[4]}), "_unwrap_optional(%4) -> int;");
  CHECK_EQ(s.call("aten::__is__", {s.in[4], s.number(IValue())}), "__is__(%4, None) -> bool;");
  CHECK_EQ(s.call("aten::divmod", {s.in[1], s.in[1]}), "divmod.int(%1, %1) -> int;int;");
  CHECK_FAILS(emit_builtin_call(*s.graph, "aten::append", {s.in[0], s.in[3]}),
              "Type variable 't' previously matched to type int is matched to type str.");
}

TEST(a_bare_empty_list_becomes_what_is_asked_for) {
  Scene s({"int[]"});
  Node* empty = s.graph->insert(s.graph->create("prim::ListConstruct", {}, 0));
  Value* list = empty->add_output(list_of(tensor_type()));
  CHECK_EQ(s.call("aten::add", {s.in[0], list}), "add.t(%0, prim::ListConstruct) -> int[];");
}

TEST(keywords_and_defaults_fill_the_rest) {
  Scene s({"Tensor", "int", "bool"});
  CHECK_EQ(s.call("aten::sum", {s.in[0]}, {{"keepdim", s.in[2]}}),
           "sum(%0, None, %2, None) -> Tensor;");
  CHECK_EQ(s.call("aten::conv2d", {s.in[0], s.in[0]}, {{"groups", s.in[1]}}),
           "conv2d(%0, %0, None, [1, 1], [0, 0], [1, 1], %1) -> Tensor;");
  CHECK_EQ(s.call("aten::format", {s.number(std::string("{}")), s.in[1], s.in[0]}),
           "format(\"{}\", %1, %0) -> str;");
}

TEST(what_was_tried_is_told) {
  Scene s({"str", "Tensor"});
  const size_t nodes = s.graph->node_count();
  const auto call = [&](const char* name, const std::vector<Value*>& args,
                        const std::vector<NamedValue>& kwargs = {}) {
    emit_builtin_call(*s.graph, name, args, kwargs);
  };
  CHECK_FAILS(
      call("aten::relu", {s.in[0]}),
      "Arguments for call are not valid.\nThe following variants are available:\n  \n  "
      "aten::relu(Tensor self) -> Tensor:\n  Expected a value of type 'Tensor' for argument "
      "'self' but instead found type 'str'.");
  CHECK_FAILS(call("aten::relu", {}), "Argument self not provided.");
  CHECK_FAILS(call("aten::relu", {s.in[1], s.in[1]}),
              "Expected at most 1 arguments but found 2 positional arguments.");
  CHECK_FAILS(call("aten::relu", {s.in[1]}, {{"inplace", s.in[1]}}),
              "Keyword argument inplace unknown.");
  CHECK_FAILS(call("aten::relu", {s.in[1]}, {{"self", s.in[1]}}), "by position and by name");
  CHECK_FAILS(call("aten::rleu", {s.in[1]}), "Unknown builtin op: aten::rleu.");
  CHECK_FAILS(call("aten::rleu", {s.in[1]}), "aten::relu");
  CHECK_EQ(s.graph->node_count(), nodes);
}

TEST(a_call_gives_one_value) {
  Scene s({"Tensor", "int"});
  const Value* written = emit_value(*s.graph, "aten::relu_", {s.in[0]});
  CHECK(written->node()->is("aten::relu_") && written->node()->input(0) == s.in[0]);
  CHECK(emit_value(*s.graph, "prim::Print", {s.in[0]}) == nullptr);
  Value* both = emit_value(*s.graph, "aten::max", {s.in[0], s.in[1]});
  CHECK(both->type()->is(TypeKind::kTuple) && both->type()->inner().size() == 2);
  verify(*s.graph);
}

}  // namespace
}  // namespace uh::test
