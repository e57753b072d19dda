// Parsing of types and graphs: valid text, which prints unchanged, and invalid text.
#include "check.h"
#include "jit/ir/verify.h"
#include "jit/text/parse.h"
#include "jit/text/print.h"
#include "tensor/tensor.h"

namespace uh::test {
namespace {

using namespace uh::jit;

const std::vector<std::string>& graph_texts() {
  static const std::vector<std::string> strings = {
      "graph(%x.1 : Tensor):\n"
      "  %1 : int = prim::Constant[value=1]() # model.py:3:15\n"
      "  %2 : Tensor = aten::add(%x.1, %x.1, %1) # model.py:3:11\n"
      "  return (%2)\n",
      "graph(%self : Float(2, *, strides=[3, 1], requires_grad=0, device=cpu),\n"
      "      %n.1 : int,\n"
      "      %7 : (int, Tensor?)[]):\n"
      "  %1 : int = prim::Constant[value=-3]()\n"
      "  %b.1 : bool = prim::Constant[value=1]()\n"
      "  %3 : float = prim::Constant[value=2.5]()\n"
      "  %4 : NoneType = prim::Constant()\n"
      "  %5 : str = prim::Constant[value=\"a\\\"\\n\\\\\\001 # no comment\"]()\n"
      "  %6 : int[] = prim::Constant[value=[1, -2]]()\n"
      "  %8 : float[] = prim::Constant[value=[1., 0.125]]()\n"
      "  %9 : Device = prim::Constant[value=\"cpu\"]()\n"
      "  %10 : Float() = prim::Constant[value={2.5}]()\n"
      "  %11 : (int, str) = prim::Constant[value=(1, \"b\")]()\n"
      "  %12 : Dict(str, int) = prim::Constant[value={\"a\": 1, \"b\": 2}]()\n"
      "  %13 : complex = prim::Constant[value=(1., -2.)]()\n"
      "  %14 : float = prim::Constant[value=-inf]()\n"
      "  %15 : int[][] = prim::Constant[value=[[1], []]]()\n"
      "  return (%1, %5)\n",
      "graph(%x.1 : Tensor,\n"
      "      %n : int):\n"
      "  %true : bool = prim::Constant[value=1]()\n"
      "  %two : int = prim::Constant[value=2]()\n"
      "  %y : Tensor, %z : int = prim::Loop(%n, %true, %x.1, %two) # a.py:2:4\n"
      "    block0(%i : int, %c : Tensor, %k : int):\n"
      "      %8 : bool = aten::gt(%i, %k)\n"
      "      %9 : Tensor = prim::If(%8) # a.py:3:8\n"
      "        block0():\n"
      "          %10 : Tensor = aten::relu(%c)\n"
      "          -> (%10)\n"
      "        block1():\n"
      "          -> (%c)\n"
      "      -> (%true, %9, %i)\n"
      "   = prim::Print(%y, %z)\n"
      "  %11 : int[] = prim::ListConstruct(%n, %z)\n"
      "  %12 : int[] = aten::append(%11, %n)\n"
      "  %13 : Dict(str, int[]) = prim::DictConstruct()\n"
      "  return (%y)\n",
      "graph(%a : Tensor,\n"
      "      %b : Tensor):\n"
      "  %2 : Tensor = prim::FusionGroup_0(%a, %b)\n"
      "  %3 : bool = prim::isinstance[types=[Tensor, (int, int), int?]](%2)\n"
      "  %4 : (Tensor, bool) = prim::TupleConstruct(%2, %3)\n"
      "  %5 : Tensor, %6 : bool = prim::TupleUnpack(%4)\n"
      "  return (%5)\n"
      "with prim::FusionGroup_0 = graph(%0 : Tensor,\n"
      "      %1 : Tensor):\n"
      "  %2 : Tensor = aten::mul(%0, %1)\n"
      "  return (%2)\n",
  };
  return strings;
}

TEST(jit_types_are_written_and_read) {
  for (const char* text : {"Tensor",
                           "Float(2, 3)",
                           "Float(2, *, strides=[3, 1], requires_grad=0, device=cpu)",
                           "Tensor(...)",
                           "Double(...)",
                           "Long()",
                           "Tensor(..., requires_grad=1)",
                           "int",
                           "float",
                           "complex",
                           "bool",
                           "str",
                           "NoneType",
                           "Scalar",
                           "Device",
                           "Any",
                           "Function",
                           "int?",
                           "Tensor[]",
                           "Tensor?[]",
                           "int[][]",
                           "Dict(str, Tensor[])",
                           "()",
                           "(int, (str, bool)?)",
                           "(int)[]",
                           "Bool(*)",
                           "Half(2, device=meta)"}) {
    const std::string expected = std::string(text) == "Tensor(...)" ? "Tensor" : std::string(text);
    CHECK_EQ(parse_type(text)->text(), expected);
  }
}

TEST(jit_types_of_schemas_are_read) {
  const auto is = [](const char* text, const char* expected) {
    CHECK_EQ(parse_type(text)->text(), expected);
  };
  is("Tensor(a!)", "Tensor");
  is("Tensor(a)[]", "Tensor[]");
  is("Tensor(a -> *)", "Tensor");
  is("Tensor?[]", "Tensor?[]");
  is("int[2]?", "int[]?");
  is("ScalarType?", "int?");
  is("MemoryFormat?", "int?");
  is("Operand", "Any");
  is("t[](a!)", "Any[]");
  is("Dict(str, t)", "Dict(str, Any)");
}

TEST(a_wrong_type_is_refused_with_the_place) {
  CHECK_FAILS(parse_type(""), "expected a type, not the end");
  CHECK_FAILS(parse_type("int["), "line 1, column 5: expected ']'");
  CHECK_FAILS(parse_type("Flat(2)"), "unknown type specifier Flat");
  CHECK_FAILS(parse_type("Float(2, 3"), "expected ','");
  CHECK_FAILS(parse_type("Float(2, strides=[1, 1])"), "as many strides");
  CHECK_FAILS(parse_type("Float(2, device=cuda:0)"), "cpu and meta");
  CHECK_FAILS(parse_type("Float(99999999999999999999)"), "64 bits");
  CHECK_FAILS(parse_type("int int"), "the end of the type");
  CHECK_FAILS(parse_type(std::string(100000, '(')), "nested too deeply");
  CHECK_FAILS(parse_type("int" + std::string(100000, '[')), "expected ']'");
}

TEST(a_graph_is_written_as_it_was_read) {
  for (const std::string& text : graph_texts()) {
    const GraphRef graph = parse(text);
    verify(*graph);
    CHECK_EQ(print(*graph), text);
    CHECK_EQ(print(*parse(print(*graph->copy()))), print(*graph->copy()));
  }
}

TEST(constants_of_a_graph_may_be_tensors) {
  const Tensor t = empty(Dims{2, 3}, DType::kFloat32);
  std::vector<IValue> constants{IValue(t)};
  const std::string text =
      "graph():\n"
      "  %0 : Float(2, 3) = prim::Constant[value=CONSTANTS.c0]()\n"
      "  return (%0)\n";
  const GraphRef graph = parse(text, &constants);
  CHECK(graph->outputs()[0]->constant()->get_if<Tensor>()->is_same(t));
  std::vector<IValue> written;
  CHECK_EQ(print(*graph, Print{.constants = &written}), text);
  CHECK(written.size() == 1 && written[0].get_if<Tensor>()->is_same(t));
  CHECK_FAILS(parse(text), "no constants");
  constants.clear();
  CHECK_FAILS(parse(text, &constants), "0 constants");
}

TEST(comments_become_spans) {
  const GraphRef graph = parse(graph_texts()[0]);
  const Node* add = graph->outputs()[0]->node();
  CHECK_EQ(add->span().text(), "model.py:3:11");
  CHECK_EQ(add->span().source->file, "model.py");
  CHECK(add->span().source.get() == graph->block()->first()->span().source.get());
  CHECK(add->op() && add->is_op("aten::add.Tensor"));
}

TEST(the_overload_is_found_by_the_types) {
  const auto overload = [](const std::string& type) {
    const GraphRef graph = parse("graph(%a : " + type + "):\n  %1 : " + type +
                                 " = aten::add(%a, %a)\n  return (%1)\n");
    return graph->outputs()[0]->node()->op()->full_name();
  };
  CHECK_EQ(overload("int"), "add.int");
  CHECK_EQ(overload("float"), "add.float");
  CHECK_EQ(overload("str"), "add.str");
  CHECK_EQ(overload("bool[]"), "add.t");
}

TEST(an_operator_in_place_may_be_written_as_pytorch_does) {
  const GraphRef graph = parse(
      "graph(%x : Tensor):\n  %1 : Tensor = aten::relu_(%x)\n  %2 : Tensor = aten::neg(%1)\n"
      "  return (%2)\n");
  const Node* written = graph->outputs()[0]->node()->input(0)->node();
  CHECK(written->is("aten::relu_") && written->input(0) == graph->inputs()[0]);
  // Without its result, as written in older files.
  const GraphRef bare = parse("graph(%x : Tensor):\n   = aten::relu_(%x)\n  return (%x)\n");
  CHECK(bare->block()->first()->is("aten::relu_"));
}

TEST(a_wrong_graph_is_refused_with_the_place) {
  const auto body = [](const std::string& lines) {
    return parse("graph(%x : Tensor, %n : int, %s : str):\n" + lines + "  return (%x)\n");
  };
  CHECK_FAILS(parse(""), "expected 'graph', not the end");
  CHECK_FAILS(parse("graph(%x : Tensor"), "expected ',' or ')'");
  CHECK_FAILS(parse("graph(%x : Tensor):\n  return (%y)"), "line 2, column 11: %y is not defined");
  CHECK_FAILS(body("  %1 : Tensor = aten::rleu(%x)\n"), "there is no operator aten::rleu");
  CHECK_FAILS(body("  %1 : Tensor = aten::relu(%s)\n"), "argument 'self' is a Tensor");
  CHECK_FAILS(body("  %1 : Tensor = aten::relu(%x, %x)\n"), "takes 1 arguments, not 2");
  CHECK_FAILS(body("  %1 : Tensor = prim::Cosntant()\n"), "there is no operator prim::Cosntant");
  CHECK_FAILS(body("  %x : Tensor = aten::relu(%x)\n"), "%x is already defined");
  CHECK_FAILS(body("  %1 : int = prim::Constant[value=\"a\"]()\n"), "expected int, not a str");
  CHECK_FAILS(body("  %1 : int = prim::Constant()\n"), "a constant without a value");
  CHECK_FAILS(body("  %1 : str = prim::Constant[value=\"a\n"), "the quotes are not closed");
  CHECK_FAILS(body("  %1 : int[] = prim::ListConstruct(%s)\n"), "an element is a str");
  CHECK_FAILS(body("  %1 : int = prim::If(%n)\n    block0():\n      -> (%n)\n"), "2 blocks");
  CHECK_FAILS(body("  %1 : Tensor = prim::FusionGroup_0(%x)\n"), "with prim::FusionGroup_0");
  CHECK_FAILS(body("  %1 : Tensor = prim::GetAttr[name=\"w\"](%x)\n"), "has no attribute 'w'");
  CHECK_FAILS(body("  %1 : int[] = prim::Constant[value=" + std::string(10000, '[') + "]()\n"),
              "nested too deeply");
  CHECK_FAILS(parse("graph():\n  return ()\nmore"), "expected 'with' or the end");
}

TEST(what_a_block_makes_is_not_seen_outside) {
  CHECK_FAILS(parse("graph(%b : bool, %x : Tensor):\n"
                    "   = prim::If(%b)\n"
                    "    block0():\n"
                    "      %1 : Tensor = aten::relu(%x)\n"
                    "      -> ()\n"
                    "    block1():\n"
                    "      -> ()\n"
                    "  return (%1)\n"),
              "%1 is not defined");
}

// Changed, dropped, repeated or swapped bytes of graphs yield a valid graph that prints as it
// reads, or an Error that points to a line.
FUZZ(graph_text_mutations) {
  Random random(budget.seed);
  const auto& seeds = graph_texts();
  const std::string alphabet = "()[]{}%:,=->#\"\\. \n019azT_?";
  const std::vector<std::string> tokens = {"prim::If", "prim::Loop", "aten::add", "int",
                                           "Tensor",   "block0",     "return",    "value",
                                           "%x.1",     "[1, 2]",     "Float(",    "prim::Constant"};
  for (int64_t n = 0; !budget.over(); ++n) {
    std::string text = random.of(seeds);
    for (int64_t edit = random.in(1, 5); edit > 0 && !text.empty(); --edit) {
      const auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(text.size()) - 1));
      const auto length = static_cast<size_t>(random.in(1, 12));
      switch (random.in(0, 4)) {
        case 0:
          text[at] = alphabet[static_cast<size_t>(
              random.in(0, static_cast<int64_t>(alphabet.size()) - 1))];
          break;
        case 1: text.erase(at, length); break;
        case 2:
          text.insert(
              at, text.substr(static_cast<size_t>(random.in(0, static_cast<int64_t>(at))), length));
          break;
        case 3: text.insert(at, random.of(tokens)); break;
        default: {
          const std::string& other = random.of(seeds);
          text = text.substr(0, at) + other.substr(std::min(at / 2, other.size()));
        }
      }
    }
    try {
      const GraphRef graph = parse(text);
      verify_alone(*graph);
      const std::string written = print(*graph);
      CHECK_EQ(print(*parse(written)), written);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kRuntime && std::string(error.what()).find("graph: ") == 0,
            error.what(), "\n", text);
    }
  }
}

}  // namespace
}  // namespace uh::test
