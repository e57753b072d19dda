"""Graphs from Python: reading, printing, and changing them in custom passes.

`Graph`, `Block`, `Node`, `Value` and `Use` have the names of `torch._C`. What is read comes from a snapshot,
which is renewed when the graph has changed. Values, nodes and blocks are named by their numbers; reading a
destroyed one is an error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.function_schema import parse_schema
from engine.jit.c_results import c_integer, c_string
from engine.jit.ir.node_attributes import LETTERS, letter_of, value_of
from engine.jit.nesting import deeply
from engine.jit.types.ivalues import BoxedArgs, to_python
from engine.jit.types.type_introspection import Schema, Type, type_of
from engine.tensor import Tensor

__all__ = ["Block", "Graph", "Node", "Use", "Value"]


class Graph:
    """A program in SSA form: `str(graph)` is PyTorch's text, `Graph.parse` reads it back.

    >>> g = Graph.parse('''graph(%x : Tensor):
    ...   %1 : Tensor = aten::t(%x)
    ...   return (%1)''')
    >>> [node.kind() for node in g.nodes()]
    ['aten::t']
    """

    def __init__(self, handle: int | None = None, name: str = "") -> None:
        self._handle = lib.uh_graph_new(name.encode()) if handle is None else handle
        if not self._handle:
            raise_last()
        self._version = -1
        self._rewriting = False
        self._insert_point: Node | None = None
        self._owner: Any = None  # the module whose methods it calls: a class does not keep them

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            lib.uh_graph_release(getattr(self, "_handle", 0))

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self.copy()

    @classmethod
    def parse(cls, text: str) -> Graph:
        """The graph that a text describes. Raises: RuntimeError with the line and column."""
        return cls(lib.uh_graph_parse(text.encode()))

    def __str__(self) -> str:
        return c_string(lib.uh_graph_text(self._handle, 1))

    __repr__ = __str__

    def text(self, print_source_ranges: bool = True) -> str:
        """The text, with or without the source comments."""
        return c_string(lib.uh_graph_text(self._handle, print_source_ranges))

    def copy(self) -> Graph:
        """Returns a copy; each Value has the copied one as its origin."""
        return Graph(lib.uh_graph_copy(self._handle)).of(self._owner)

    def of(self, owner: Any) -> Graph:
        """This graph; what has the methods that it calls stays as long as it."""
        self._owner = owner
        return self

    def lint(self) -> None:
        """Raises RuntimeError (SystemError for our own mistakes) when the graph is not valid."""
        if lib.uh_graph_verify(self._handle) != 0:
            raise_last()

    def without_origin(self) -> list[str]:
        """The Values that lead back to nothing: no source span, no Value they were made from."""
        return c_string(lib.uh_graph_lint(self._handle)).splitlines()

    def run(self, *inputs: Any) -> Any:
        """Runs the graph as it is, without any optimisation: for those who write passes.

        Raises: TypeError for another number of inputs, and what the operators raise.
        """
        native, result = BoxedArgs(inputs), ffi.new("uh_value *")
        c_integer(lib.uh_graph_run(self._handle, native.array, native.count, result))
        return to_python(result)

    def snapshot(self) -> dict[str, Any]:
        """The whole graph as plain data: see csrc/jit/ir/snapshot.h."""
        self._read()
        return self._snapshot

    # Reading

    def _read(self) -> None:
        version = lib.uh_graph_version(self._handle)
        if version == self._version:
            return
        with deeply(RuntimeError, "the graph"):
            self._read_snapshot(c_string(lib.uh_graph_snapshot(self._handle)))
        self._version = version

    def _read_snapshot(self, text: str) -> None:
        self._snapshot = json.loads(text)
        self._nodes: dict[int, dict[str, Any]] = {}
        self._values: dict[int, dict[str, Any]] = {}
        self._uses: dict[int, list[tuple[int, int]]] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._read_block(self._snapshot["block"], None)

    def _read_block(self, block: dict[str, Any], owner: int | None) -> None:
        block["owner"] = owner
        self._blocks[block["id"]] = block
        ends = (
            {"id": block["param"], "kind": "prim::Param", "inputs": [], "outputs": block["params"]},
            {
                "id": block["return"],
                "kind": "prim::Return",
                "inputs": block["returns"],
                "outputs": [],
            },
        )
        for node in (ends[0], *block["nodes"], ends[1]):
            node.setdefault("attributes", {})
            node.setdefault("blocks", [])
            node.setdefault("span", None)
            node["block"] = block["id"]
            self._nodes[node["id"]] = node
            for i, value in enumerate(node["outputs"]):
                self._values[value["id"]] = value | {"node": node["id"], "offset": i}
            for i, value in enumerate(node["inputs"]):
                self._uses.setdefault(value, []).append((node["id"], i))
            for inner in node["blocks"]:
                self._read_block(inner, node["id"])

    def block(self) -> Block:
        """The outermost block."""
        return Block(self, c_integer(lib.uh_graph_block(self._handle)))

    def inputs(self) -> list[Value]:
        """The graph's inputs."""
        return self.block().inputs()

    def outputs(self) -> list[Value]:
        """The Values that the graph returns."""
        return self.block().outputs()

    def nodes(self) -> list[Node]:
        """The nodes of the outermost block, in order."""
        return self.block().nodes()

    def all_nodes(self) -> Iterator[Node]:
        """Every node in order, also inside of blocks."""
        yield from self.block().all_nodes()

    def return_node(self) -> Node:
        """The node whose inputs are the graph's outputs."""
        return self.block().returnNode()

    def param_node(self) -> Node:
        """The node whose outputs are the graph's inputs."""
        return self.block().paramNode()

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind."""
        return self.block().findAllNodes(kind, recurse)

    # Changing

    @contextmanager
    def rewrite(self, rule: str, *nodes: Node, reason: str = "") -> Iterator[None]:
        """The scope of one rewrite in a pass: what the explorer shows as one step.

        rule: the description in recordings ("x.t().t() -> x"). nodes: those that matched; Values made
        inside come from theirs.
        """
        frame = sys._getframe(2)
        ids = [node._id for node in nodes]
        file, line = frame.f_code.co_filename.encode(), frame.f_lineno
        started = lib.uh_rewrite_begin(
            self._handle, rule.encode(), reason.encode(), file, line, ids, len(ids)
        )
        if started != 0:
            raise_last()
        self._rewriting = True
        try:
            yield
        finally:
            self._rewriting = False
            if lib.uh_rewrite_end(self._handle) != 0:
                raise_last()

    def addInput(self, name: str = "", type: str = "Tensor") -> Value:
        """A new input."""
        value_id_ = lib.uh_graph_add_input(self._handle, name.encode(), type.encode())
        return Value(self, c_integer(value_id_))

    def registerOutput(self, value: Value) -> None:
        """The graph returns this Value, too."""
        c_integer(lib.uh_graph_add_output(self._handle, value_id(value)))

    def eraseOutput(self, i: int) -> None:
        """The graph returns one Value less."""
        block = self.block()
        c_integer(lib.uh_block_drop_return(self._handle, block._id, i))

    def eraseInput(self, i: int) -> None:
        """One input less. Raises: RuntimeError while it is used."""
        self.param_node().eraseOutput(i)

    def insertNode(self, node: Node) -> Node:
        """Moves a node to the insertion point, where one of `create` stands already."""
        node.moveBefore(self.insertPoint())
        return node

    def appendNode(self, node: Node) -> Node:
        """Moves a node to the end."""
        node.moveBefore(self.return_node())
        return node

    def prependNode(self, node: Node) -> Node:
        """Moves a node to the beginning."""
        first = self.nodes()[0]
        if first != node:
            node.moveBefore(first)
        return node

    def insertPoint(self) -> Node:
        """The node that new nodes go before: the return node while it is the end."""
        return self._insert_point or self.return_node()

    @contextmanager
    def insert_point_guard(self, location: Node | Block) -> Iterator[None]:
        """New nodes go there within `with`."""
        before = self.insertPoint()
        self.setInsertPoint(location)
        try:
            yield
        finally:
            self.setInsertPoint(before)

    def setInsertPoint(self, location: Node | Block) -> None:
        """New nodes go before this node, or to the end of this block."""
        set_point = (
            lib.uh_graph_insert_before if isinstance(location, Node) else lib.uh_graph_insert_at_end
        )
        c_integer(set_point(self._handle, location._id))
        self._insert_point = location if isinstance(location, Node) else location.returnNode()

    def create(self, kind: str, inputs: Sequence[Value] = (), outputs: int = 1) -> Node:
        """Creates a node at the insertion point; its outputs are Tensors until they are retyped."""
        ids = [value_id(value) for value in inputs]
        node_id = lib.uh_graph_node(self._handle, kind.encode(), ids, len(ids), outputs)
        return Node(self, c_integer(node_id))

    def call(self, name: str, *args: Value | Any, **kwargs: Value | Any) -> Node:
        """The call of an operator, its overload chosen by the types; plain values become constants.

        Raises: RuntimeError with all overloads and why each does not fit.
        """
        ids = [self._as_value(arg)._id for arg in args]
        names = [ffi.new("char[]", key.encode()) for key in kwargs]
        values = [self._as_value(value)._id for value in kwargs.values()]
        result_id = lib.uh_graph_call(
            self._handle, name.encode(), ids, len(ids), names, values, len(values)
        )
        return Node(self, c_integer(result_id))

    def insert(self, name: str, args: Sequence[Value | Any]) -> Value:
        """Returns the result of an operator call: `call` by PyTorch's name and form."""
        return self.call(name, *args).output()

    def insertGraph(self, other: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Copies another graph's nodes to the insertion point: what stands for its outputs.

        Raises: ValueError for another number of inputs.
        """
        values = other.inputs()
        if len(values) != len(inputs):
            raise ValueError(
                f"insertGraph: it has {len(values)} inputs, and is given {len(inputs)}"
            )
        stands = dict(zip(values, inputs, strict=True))
        for node in other.nodes():
            copied = self.createClone(node, stands.__getitem__)
            stands.update(zip(node.outputs(), copied.outputs(), strict=True))
        return [stands[output] for output in other.outputs()]

    def createClone(self, node: Node, value_map: Callable[[Value], Value]) -> Node:
        """A copy of a node at the insertion point, with other inputs.

        Raises: RuntimeError for a node with blocks or a graph as an attribute.
        """
        if node.blocks() or len(node.attributeNames()) != len(node.attributes()):
            raise RuntimeError(f"createClone: {node.kind()} has blocks or graphs")
        if node.kind() == "prim::Constant":
            constant = node.output().toIValue() if node.attributes() else None
            return self.insertConstant(constant).node()
        inputs = [value_map(operand) for operand in node.inputs()]
        if schema := node.schema():
            names = [argument.name if argument.kwarg_only else "" for argument in schema.arguments]
            plain = [operand for operand, name in zip(inputs, names, strict=True) if not name]
            by_name = {name: operand for operand, name in zip(inputs, names, strict=True) if name}
            clone = self.call(_full_name(node), *plain, **by_name)
        else:
            clone = self.create(node.kind(), inputs, node.outputsSize()).copyAttributes(node)
        for clone_output, its in zip(clone.outputs(), node.outputs(), strict=True):
            clone_output.copyMetadata(its)
        return clone

    def insertConstant(self, value: Any) -> Value:
        """A constant at the insertion point."""
        native = BoxedArgs([value])
        return Value(self, c_integer(lib.uh_graph_constant(self._handle, native.array)))

    def _as_value(self, value: Any) -> Value:
        if isinstance(value, Node):
            value_id(value)  # says where its Value is
        return value if isinstance(value, Value) else self.insertConstant(value)


def _full_name(node: Node) -> str:
    """The operator with its overload: "aten::add.Tensor"."""
    space = node.kind().partition("::")[0]
    return f"{space}::{parse_schema(node.schema()).full_name}"


setattr(Graph, "str", Graph.text)  # noqa: B010  (PyTorch's name, which in the class would hide str)


@dataclass(frozen=True)
class Use:
    """One place where a Value is an input."""

    user: Node
    offset: int


class _Part:
    """A part of a graph that is identified by a number."""

    __slots__ = ("_graph", "_id")
    _table = ""

    def __init__(self, graph: Graph, number: int) -> None:
        self._graph, self._id = graph, number

    def _data(self) -> dict[str, Any]:
        self._graph._read()
        data: dict[str, Any] | None = getattr(self._graph, self._table).get(self._id)
        if data is None:
            kind = type(self).__name__.lower()
            raise RuntimeError(f"graph: {kind} {self._id} is not there (any more)")
        return data

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._id == self._id

    def __hash__(self) -> int:
        return hash(self._id)


class Value(_Part):
    """A Value: an output of a node, or a parameter of a block."""

    __slots__ = ()
    _table = "_values"

    def debugName(self) -> str:
        """Returns the name after %."""
        return str(self._data()["name"])

    def type(self) -> Type:
        """The text of its type: "Tensor", "Float(2, 3)", "int[]"; it answers PyTorch's questions."""
        return Type(self._data()["type"])

    def node(self) -> Node:
        """The node that makes it."""
        return Node(self._graph, self._data()["node"])

    def offset(self) -> int:
        """Returns the index of this output in its node."""
        return int(self._data()["offset"])

    def uses(self) -> list[Use]:
        """Returns the uses as an input."""
        self._data()
        return [Use(Node(self._graph, n), i) for n, i in self._graph._uses.get(self._id, [])]

    def origins(self) -> list[int]:
        """The numbers of the Values that it was made from, in this graph or one before it."""
        return list(self._data()["origins"])

    def unique(self) -> int:
        """Its number: no other Value of the process has it."""
        return self._id

    def requires_grad(self) -> bool:
        """Returns whether it may require a gradient."""
        return self.type().requires_grad()

    requiresGrad = requires_grad

    def isCompleteTensor(self) -> bool:
        """Returns whether dtype, device, sizes and strides are known."""
        of = self.type()
        return None not in (of.dtype(), of.device(), of.sizes(), of.strides())

    def toIValue(self) -> Any:
        """The value of a constant; None for what is none (and for None)."""
        slot = ffi.new("uh_value *")
        constant = c_integer(lib.uh_value_constant(self._graph._handle, self._id, slot))
        return to_python(slot) if constant else None

    def setType(self, type: str) -> Value:
        """Gives it another type, by its text."""
        c_integer(lib.uh_value_set_type(self._graph._handle, self._id, type.encode()))
        return self

    def setTypeAs(self, other: Value) -> Value:
        """Gives it the type of another Value."""
        return self.setType(other.type())

    def inferTypeFrom(self, value: Any) -> Value:
        """Gives it the type of a Tensor, with all that is known of it."""
        if not isinstance(value, Tensor):
            raise TypeError(f"inferTypeFrom: expected a Tensor, got {type(value).__name__}")
        return self.setType(type_of(value))

    def setDebugName(self, name: str) -> Value:
        """Gives it a name, made unique within the graph."""
        c_integer(lib.uh_value_set_name(self._graph._handle, self._id, name.encode()))
        return self

    def copyMetadata(self, other: Value) -> Value:
        """Takes over type and name of another Value."""
        self.setType(other.type())
        name = other.debugName()
        return self if name.isdigit() else self.setDebugName(name.partition(".")[0])

    def replaceAllUsesWith(self, other: Value) -> None:
        """Every use becomes one of `other`."""
        c_integer(lib.uh_value_replace(self._graph._handle, self._id, value_id(other)))

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Replaces every use after `node` by `other`."""
        old_id, its = self._id, value_id(other)
        c_integer(lib.uh_value_replace_after(self._graph._handle, old_id, node._id, its))

    def __repr__(self) -> str:
        return f"%{self.debugName()} : {self.type()}"


def value_id(value: Any) -> int:
    """The number of a Value.

    Raises: TypeError for anything else, such as a Node: what it makes are its outputs.
    """
    if isinstance(value, Value):
        return value._id
    instead = ", whose Value is its output()" if isinstance(value, Node) else ""
    raise TypeError(f"graph: expected a Value, got a {type(value).__name__}{instead}")


class Node(_Part):
    """One operation. `node.i("name")`, `.f`, `.s`, `.t`... are its attributes by kind."""

    __slots__ = ()
    _table = "_nodes"

    def kind(self) -> str:
        """Such as "aten::add" or "prim::If"."""
        return str(self._data()["kind"])

    def schema(self) -> Schema:
        """The operator's schema; "" for what is none."""
        return Schema(self._data().get("schema", ""))

    def scopeName(self) -> str:
        """The module that it comes from: "__module.linear"; "" outside of traces."""
        return str(self._data().get("scope") or "")

    def inputs(self) -> list[Value]:
        """The inputs, in order."""
        return [Value(self._graph, i) for i in self._data()["inputs"]]

    def outputs(self) -> list[Value]:
        """The outputs, in order."""
        return [Value(self._graph, value["id"]) for value in self._data()["outputs"]]

    def input(self, i: int = 0) -> Value:
        """One input."""
        return self.inputs()[i]

    def output(self, i: int = 0) -> Value:
        """One output."""
        return self.outputs()[i]

    def namedInput(self, name: str) -> Value:
        """The input of an argument of the schema. Raises: RuntimeError for an unknown name."""
        names = [argument.name for argument in self.schema().arguments]
        if name not in names:
            raise RuntimeError(f"{self.kind()} has no argument {name!r}; it has {', '.join(names)}")
        return self.input(names.index(name))

    def inputsSize(self) -> int:
        """Returns the number of inputs."""
        return len(self._data()["inputs"])

    def outputsSize(self) -> int:
        """Returns the number of outputs."""
        return len(self._data()["outputs"])

    def hasMultipleOutputs(self) -> bool:
        """Returns whether it has more than one output."""
        return self.outputsSize() > 1

    def hasUses(self) -> bool:
        """Returns whether an output is used."""
        return any(output.uses() for output in self.outputs())

    def blocks(self) -> list[Block]:
        """The blocks of an If or Loop."""
        return [Block(self._graph, block["id"]) for block in self._data()["blocks"]]

    def owningBlock(self) -> Block:
        """Returns the block that holds it."""
        return Block(self._graph, self._data()["block"])

    def attributes(self) -> dict[str, str]:
        """The attributes as the graph's text writes them."""
        return dict(self._data()["attributes"])

    def attributeNames(self) -> list[str]:
        """The names of its attributes."""
        return [*self._data()["attributes"], *self._data().get("graphs", {})]

    def hasAttributes(self) -> bool:
        """Returns whether it has attributes."""
        return bool(self.attributeNames())

    def attribute(self, name: str) -> Any:
        """The value of an attribute: a number, text, Tensor, list.

        Raises: RuntimeError when there is none of that name.
        """
        text = self.attributes().get(name)
        if text is None:
            raise RuntimeError(f"attribute '{name}' is not defined for {self.kind()}")
        constant = self.kind() == "prim::Constant" and name == "value"
        return self.output().toIValue() if constant else value_of(text)

    def kindOf(self, name: str) -> str:
        """The letter of an attribute's kind: "i" of int, "s" of str, "ts" of Tensors, "g" of graphs."""
        if name in self._data().get("graphs", {}):
            return "g"
        value = self.attribute(name)
        several = isinstance(value, (list, tuple))
        first = value[0] if several and value else value
        return letter_of(first) + ("s" if several else "")

    def hasAttribute(self, name: str) -> bool:
        """Returns whether it has an attribute of that name."""
        return name in self.attributeNames()

    def sourceRange(self) -> str:
        """ "file:line:column" of the source that it comes from; "" when there is none."""
        span = self._data()["span"]
        return f"{span[0]}:{span[1]}:{span[2]}" if span else ""

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind in its blocks, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind in its blocks."""
        return [node for block in self.blocks() for node in block.findAllNodes(kind, recurse)]

    def isBefore(self, other: Node) -> bool:
        """Returns whether it comes before another node of the graph, also of another block."""
        order = [node._id for node in self._graph.all_nodes()]
        return order.index(self._id) < order.index(other._id)

    def isAfter(self, other: Node) -> bool:
        """Returns whether it comes after another node."""
        return other.isBefore(self)

    def moveBefore(self, other: Node) -> None:
        """Moves it before another node."""
        c_integer(lib.uh_node_move(self._graph._handle, self._id, other._id))

    insertBefore = moveBefore  # a node of `create` is in the graph already

    def moveAfter(self, other: Node) -> None:
        """Moves it after another node."""
        block = other.owningBlock()
        order = [*block.nodes(), block.returnNode()]
        self.moveBefore(order[order.index(other) + 1])

    insertAfter = moveAfter

    def replaceInput(self, i: int, value: Value) -> None:
        """Another Value as an input."""
        c_integer(lib.uh_node_set_input(self._graph._handle, self._id, i, value_id(value)))

    def replaceInputWith(self, value: Value, other: Value) -> None:
        """Another Value wherever this one is an input."""
        for i, operand in enumerate(self.inputs()):
            if operand == value:
                self.replaceInput(i, other)

    def replaceAllUsesWith(self, other: Node) -> None:
        """Every use of an output becomes one of the other node's."""
        for own_output, its in zip(self.outputs(), other.outputs(), strict=True):
            own_output.replaceAllUsesWith(its)

    def removeAllInputs(self) -> None:
        """Without inputs."""
        for i in reversed(range(self.inputsSize())):
            self.removeInput(i)

    def eraseOutput(self, i: int) -> None:
        """One output less. Raises: RuntimeError while it is used."""
        c_integer(lib.uh_node_drop_output(self._graph._handle, self._id, i))

    def addInput(self, value: Value) -> Value:
        """One more input, as the last."""
        at = len(self._data()["inputs"])
        operand_id = value_id(value)
        c_integer(lib.uh_node_insert_input(self._graph._handle, self._id, at, operand_id))
        return value

    def removeInput(self, i: int) -> None:
        """One input less."""
        c_integer(lib.uh_node_drop_input(self._graph._handle, self._id, i))

    def addOutput(self, type: str = "Tensor") -> Value:
        """One more output."""
        output_id = lib.uh_node_add_output(self._graph._handle, self._id, type.encode())
        return Value(self._graph, c_integer(output_id))

    def addBlock(self) -> Block:
        """One more block."""
        return Block(self._graph, c_integer(lib.uh_node_add_block(self._graph._handle, self._id)))

    def setAttribute(self, name: str, value: Any) -> Node:
        """Sets an attribute to a number, text, list, tensor... or a Graph."""
        if isinstance(value, Graph):
            done = lib.uh_node_set_graph(
                self._graph._handle, self._id, name.encode(), value._handle
            )
        else:
            native = BoxedArgs([value])
            done = lib.uh_node_set_attribute(
                self._graph._handle, self._id, name.encode(), native.array
            )
        c_integer(done)
        return self

    def removeAttribute(self, name: str) -> Node:
        """Drops an attribute, if it is there."""
        c_integer(lib.uh_node_drop_attribute(self._graph._handle, self._id, name.encode()))
        return self

    def copyAttributes(self, other: Node) -> Node:
        """Takes over the attributes of another node."""
        for name in other.attributes():
            self.setAttribute(name, other.attribute(name))
        return self

    def destroy(self) -> None:
        """Takes it out of the graph. Raises: RuntimeError while an output is used."""
        c_integer(lib.uh_node_destroy(self._graph._handle, self._id))

    def __repr__(self) -> str:
        outputs = ", ".join(map(repr, self.outputs()))
        inputs = ", ".join(f"%{value.debugName()}" for value in self.inputs())
        attributes = ", ".join(f"{k}={v}" for k, v in self.attributes().items())
        return f"{outputs} = {self.kind()}{f'[{attributes}]' if attributes else ''}({inputs})"


class Block(_Part):
    """A sequence of nodes: a graph's, or one of an If or Loop."""

    __slots__ = ()
    _table = "_blocks"

    def inputs(self) -> list[Value]:
        """Its parameters."""
        return [Value(self._graph, value["id"]) for value in self._data()["params"]]

    def outputs(self) -> list[Value]:
        """Returns the outputs of the block."""
        return [Value(self._graph, i) for i in self._data()["returns"]]

    def nodes(self) -> list[Node]:
        """Its nodes, in order, without those of blocks inside."""
        return [Node(self._graph, node["id"]) for node in self._data()["nodes"]]

    def all_nodes(self) -> Iterator[Node]:
        """Its nodes in order, also inside of blocks."""
        waiting = [iter(self.nodes())]
        while waiting:
            node = next(waiting[-1], None)
            if node is None:
                waiting.pop()
                continue
            yield node
            waiting += [iter(block.nodes()) for block in reversed(node.blocks())]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind; with `recurse` also those of blocks inside."""
        return [
            node for node in (self.all_nodes() if recurse else self.nodes()) if node.kind() == kind
        ]

    def returnNode(self) -> Node:
        """The node whose inputs it returns."""
        return Node(self._graph, self._data()["return"])

    def paramNode(self) -> Node:
        """The node whose outputs are its parameters."""
        return Node(self._graph, self._data()["param"])

    def owningNode(self) -> Node | None:
        """The If or Loop around it; None for a graph's own."""
        owner = self._data()["owner"]
        return None if owner is None else Node(self._graph, owner)

    def addInputToBlock(self, name: str = "", type: str = "Tensor") -> Value:
        """One more parameter."""
        param_id = lib.uh_block_add_param(
            self._graph._handle, self._id, name.encode(), type.encode()
        )
        return Value(self._graph, c_integer(param_id))

    def registerOutput(self, value: Value) -> None:
        """One more Value that it returns."""
        c_integer(lib.uh_block_add_return(self._graph._handle, self._id, value_id(value)))


def _reader(letter: str, kind: Any) -> Any:
    def read(self: Node, name: str) -> Any:
        value = self.attribute(name)
        if not isinstance(value, kind):
            raise RuntimeError(
                f"attribute '{name}' of {self.kind()} is of the kind '{self.kindOf(name)}', "
                f"not '{letter}'"
            )
        return value

    read.__doc__ = f"The attribute of that name, which is of the kind '{letter}'."
    return read


for _name, _kind in LETTERS.items():  # node.i("value") reads, node.i_("value", 3) writes
    setattr(Node, _name, _reader(_name, _kind))
    setattr(Node, f"{_name}_", Node.setAttribute)
