"""Graphs, nodes, values, types and schemas answer PyTorch's questions."""

from __future__ import annotations

import pytest

import engine
from engine import jit

TEXT = """graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),
      %flag : bool):
  %2 : int = prim::Constant[value=2]()
  %s : str = prim::Constant[value="hello"]()
  %dims : int[] = prim::Constant[value=[0, 1]]()
  %half : float = prim::Constant[value=0.5]()
  %3 : Tensor = aten::mul(%x, %2)
  %y : Tensor = prim::If(%flag)
    block0():
      %5 : Tensor = aten::neg(%3)
      -> (%5)
    block1():
      -> (%3)
  %6 : (Tensor, int) = prim::TupleConstruct(%y, %2)
  return (%6)
"""


@pytest.fixture
def graph():
    return jit.Graph.parse(TEXT)


def test_a_type_tells_what_is_known(graph):
    x, flag = (item.type() for item in graph.inputs())
    assert (x.kind(), x.scalarType(), x.sizes(), x.strides(), x.dim()) == (
        "TensorType",
        "Float",
        [2, 3],
        [3, 1],
        2,
    )
    assert (x.dtype(), x.device(), x.requires_grad()) == (
        engine.float32,
        engine.device("cpu"),
        False,
    )
    assert (flag.kind(), flag.sizes(), flag.dtype(), flag.str()) == ("BoolType", None, None, "bool")
    pair = graph.findNode("prim::TupleConstruct").output().type()
    assert (pair.kind(), pair.elements(), pair.annotation_str) == (
        "TupleType",
        ["Tensor", "int"],
        "Tuple[Tensor, int]",
    )
    with pytest.raises(RuntimeError, match="not a tuple"):
        x.elements()


@pytest.mark.parametrize(
    ("text", "kind", "within"),
    [
        ("int[]", "ListType", ["int"]),
        ("Tensor?[]", "ListType", ["Tensor?"]),
        ("float?", "OptionalType", ["float"]),
        ("Dict(str, (int, Tensor[]))", "DictType", ["str", "(int, Tensor[])"]),
        ("Future[Tensor]", "FutureType", ["Tensor"]),
        ("Union(int, str)", "UnionType", ["int", "str"]),
        ("Device", "DeviceObjType", []),
        ("Tensor", "TensorType", []),
        ("Scalar", "NumberType", []),
    ],
)
def test_kinds_of_types(text, kind, within):
    of = jit.Type(text)
    assert (of.kind(), of.containedTypes()) == (kind, within)


def test_a_type_that_is_known_in_part():
    of = jit.Type("Float(*, 3, strides=[*, 1])")
    assert (of.dim(), of.varyingSizes(), of.sizes(), of.strides()) == (2, [None, 3], None, None)
    assert of.requires_grad()
    assert jit.Type("Float(2)").isSubtypeOf("Tensor")
    assert not jit.Type("Tensor").isSubtypeOf("Float(2)")
    assert jit.Type("Tensor").dim() is None
    assert jit.Type("Float()").sizes() == []


def test_attributes_are_asked_by_their_kind(graph):
    two, text, dims, half = (
        item for item in graph.findAllNodes("prim::Constant", False) if item.hasAttributes()
    )
    assert (two.i("value"), two.kindOf("value"), two.attributeNames()) == (2, "i", ["value"])
    assert (text.s("value"), text.kindOf("value")) == ("hello", "s")
    assert (getattr(dims, "is")("value"), dims.kindOf("value")) == ([0, 1], "is")
    assert (half.f("value"), half.kindOf("value")) == (0.5, "f")
    with pytest.raises(RuntimeError, match="of the kind 'i', not 's'"):
        two.s("value")
    with pytest.raises(RuntimeError, match="attribute 'other' is not defined"):
        two.i("other")
    two.i_("value", 5)
    assert two.output().toIValue() == 5


def test_a_tensor_is_an_attribute():
    retained = engine.tensor([1.0, 2.0])
    traced = jit.trace(lambda x: x + retained, engine.ones(2))
    node = traced.graph.findAllNodes("prim::Constant")[0]
    assert node.t("value").tolist() == [1.0, 2.0]
    assert node.kindOf("value") == "t"


def test_nodes_are_found_and_have_places(graph):
    mul, branch = graph.findNode("aten::mul"), graph.findNode("prim::If")
    neg = branch.findNode("aten::neg")
    assert neg == graph.findNode("aten::neg")
    assert graph.findNode("aten::neg", recurse=False) is None
    assert branch.blocks()[1].findAllNodes("aten::neg") == []
    assert mul.isBefore(branch)
    assert mul.isBefore(neg)
    assert neg.isAfter(mul)
    assert mul.namedInput("other").debugName() == "2"
    assert (mul.inputsSize(), mul.outputsSize(), mul.hasUses(), mul.hasMultipleOutputs()) == (
        2,
        1,
        True,
        False,
    )
    with pytest.raises(RuntimeError, match="no argument 'alpha'; it has self, other"):
        mul.namedInput("alpha")


def test_values_tell_and_take_types(graph):
    x = graph.inputs()[0]
    y = graph.findNode("prim::If").output()
    assert x.isCompleteTensor()
    assert not y.isCompleteTensor()
    assert (x.requires_grad(), y.requiresGrad()) == (False, True)
    assert y.setTypeAs(x).type() == x.type()
    y.inferTypeFrom(engine.ones(4, dtype=engine.float64))
    assert y.type() == "Double(4, strides=[1], requires_grad=0, device=cpu)"
    with pytest.raises(TypeError, match="expected a Tensor, got int"):
        y.inferTypeFrom(3)


def test_nodes_are_made_and_moved():
    graph = jit.Graph()
    x = graph.addInput("x")
    neg = graph.create("aten::neg", [x])
    relu = graph.create("aten::relu", [x])
    graph.prependNode(relu)
    assert [node.kind() for node in graph.nodes()] == ["aten::relu", "aten::neg"]
    relu.moveAfter(neg)
    assert [node.kind() for node in graph.nodes()] == ["aten::neg", "aten::relu"]
    neg.insertAfter(relu)
    graph.insertNode(neg)
    graph.appendNode(relu)
    assert [item.kind() for item in graph.nodes()] == ["aten::neg", "aten::relu"]
    with graph.insert_point_guard(relu):
        graph.insert("aten::abs", [x])
    assert [element.kind() for element in graph.nodes()] == ["aten::neg", "aten::abs", "aten::relu"]
    assert graph.insertPoint() == graph.return_node()


def test_a_graph_is_put_into_another():
    inner = jit.Graph.parse(
        "graph(%a : Tensor, %b : Tensor):\n  %1 : int = prim::Constant[value=2]()\n"
        "  %r : Tensor = aten::add(%a, %b, %1)\n  return (%r)"
    )
    graph = jit.Graph()
    x = graph.addInput("x")
    (result,) = graph.insertGraph(inner, [x, x])
    graph.registerOutput(result)
    graph.lint()
    assert graph.run(engine.ones(1)).tolist() == [3.0]
    with pytest.raises(ValueError, match="it has 2 inputs, and is given 1"):
        graph.insertGraph(inner, [x])


def test_outputs_inputs_and_uses_change():
    graph = jit.Graph()
    x, unused = graph.addInput("x"), graph.addInput("unused")
    item, other = graph.insert("aten::neg", [x]), graph.insert("aten::abs", [x])
    graph.registerOutput(item)
    graph.registerOutput(x)
    graph.eraseOutput(1)
    graph.eraseInput(unused.offset())
    assert [len(graph.inputs()), len(graph.outputs())] == [1, 1]
    item.node().replaceAllUsesWith(other.node())
    assert graph.outputs() == [other]
    other.node().replaceInputWith(x, item)
    assert graph.run(engine.tensor([2.0])).tolist() == [2.0]
    other.node().removeAllInputs()
    assert other.node().inputsSize() == 0


def test_a_schema_tells_its_arguments():
    @jit.script
    def scaled_by(x, n: int = 2):
        return x * n, n

    schema = scaled_by.schema
    assert schema == "scaled_by(Tensor x, int n=2) -> (Tensor, int)"
    assert [(a.name, a.type, a.default_value) for a in schema.arguments] == [
        ("x", "Tensor", None),
        ("n", "int", 2),
    ]
    assert [a.has_default_value() for a in schema.arguments] == [False, True]
    add = jit.Graph.parse(TEXT).findNode("aten::mul").schema()
    assert (add.name, add.overload_name, add.returns[0].type) == ("mul", "Tensor", "Tensor")


@pytest.mark.parametrize(
    "put",
    [
        lambda graph, node: graph.registerOutput(node),
        lambda graph, node: graph.call("aten::neg", node),
        lambda graph, node: graph.create("aten::neg", [node]),
        lambda graph, node: graph.inputs()[0].replaceAllUsesWith(node),
        lambda graph, node: node.replaceInput(0, node),
        lambda graph, node: node.addInput(node),
        lambda graph, node: node.owningBlock().registerOutput(node),
    ],
)
def test_a_node_is_no_value(graph, put):
    before = str(graph)
    with pytest.raises(TypeError, match=r"got a Node, whose Value is its output\(\)"):
        put(graph, graph.findNode("aten::mul"))
    assert str(graph) == before
