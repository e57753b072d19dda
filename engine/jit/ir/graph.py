"""Graphs from Python: reading, printing, and changing them in custom passes.

`Graph`, `Block`, `Node`, `Value` and `Use` have the names of `torch._C`. Reads use a snapshot, which is
renewed after the graph has changed. Values, nodes and blocks are identified by number; reading a destroyed
one is an error.
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


class _NodeContainer:
    """The search of a graph, a block, or the blocks of a node."""

    __slots__ = ()

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Returns all nodes of a kind; with `recurse` also those of inner blocks."""
        raise NotImplementedError

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """Returns the first node of a kind, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)


class Graph(_NodeContainer):
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
        self._owner: Any = None  # the module whose methods it calls: a class does not keep it alive

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            lib.uh_graph_release(getattr(self, "_handle", 0))

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self.copy()

    @classmethod
    def parse(cls, text: str) -> Graph:
        """Parses the text of a graph. Raises: RuntimeError with the line and column."""
        return cls(lib.uh_graph_parse(text.encode()))

    def __str__(self) -> str:
        return c_string(lib.uh_graph_text(self._handle, 1))

    __repr__ = __str__

    def text(self, print_source_ranges: bool = True) -> str:
        """Returns the text, with or without the source comments."""
        return c_string(lib.uh_graph_text(self._handle, print_source_ranges))

    def copy(self) -> Graph:
        """Returns a copy; each Value has the copied one as its origin."""
        return Graph(lib.uh_graph_copy(self._handle)).of(self._owner)

    def of(self, owner: Any) -> Graph:
        """Keeps the owner of the methods that the graph calls alive, and returns the graph."""
        self._owner = owner
        return self

    def lint(self) -> None:
        """Raises RuntimeError (SystemError for the engine's own bugs) unless the graph is valid."""
        if lib.uh_graph_verify(self._handle) != 0:
            raise_last()

    def without_origin(self) -> list[str]:
        """Returns the Values without an origin: neither a source range nor another Value."""
        return c_string(lib.uh_graph_lint(self._handle)).splitlines()

    def run(self, *inputs: Any) -> Any:
        """Runs the graph without optimisation, for authors of passes.

        Raises: TypeError for another number of inputs, and what the operators raise.
        """
        native, result = BoxedArgs(inputs), ffi.new("uh_value *")
        c_integer(lib.uh_graph_run(self._handle, native.array, native.count, result))
        return to_python(result)

    def snapshot(self) -> dict[str, Any]:
        """Returns the graph as plain data: see csrc/jit/ir/snapshot.h."""
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
        """Returns the outermost block."""
        return Block(self, c_integer(lib.uh_graph_block(self._handle)))

    def inputs(self) -> list[Value]:
        """Returns the graph's inputs."""
        return self.block().inputs()

    def outputs(self) -> list[Value]:
        """Returns the Values that the graph returns."""
        return self.block().outputs()

    def nodes(self) -> list[Node]:
        """Returns the nodes of the outermost block, in order."""
        return self.block().nodes()

    def all_nodes(self) -> Iterator[Node]:
        """Returns every node in order, also inside of blocks."""
        yield from self.block().all_nodes()

    def return_node(self) -> Node:
        """Returns the node whose inputs are the graph's outputs."""
        return self.block().returnNode()

    def param_node(self) -> Node:
        """Returns the node whose outputs are the graph's inputs."""
        return self.block().paramNode()

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Returns all nodes of a kind."""
        return self.block().findAllNodes(kind, recurse)

    # Changing

    @contextmanager
    def rewrite(self, rule: str, *nodes: Node, reason: str = "") -> Iterator[None]:
        """Opens the scope of one rewrite in a pass, which the explorer shows as one step.

        rule: the description in recordings ("x.t().t() -> x"). nodes: the matched nodes, whose Values become
        the origins of the Values created inside.
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
        """Adds an input."""
        value_id_ = lib.uh_graph_add_input(self._handle, name.encode(), type.encode())
        return Value(self, c_integer(value_id_))

    def registerOutput(self, value: Value) -> None:
        """Adds a Value to the outputs."""
        c_integer(lib.uh_graph_add_output(self._handle, value_id(value)))

    def eraseOutput(self, i: int) -> None:
        """Removes an output."""
        block = self.block()
        c_integer(lib.uh_block_drop_return(self._handle, block._id, i))

    def eraseInput(self, i: int) -> None:
        """Removes an input. Raises: RuntimeError while it is used."""
        self.param_node().eraseOutput(i)

    def insertNode(self, node: Node) -> Node:
        """Moves a node to the insertion point, where `create` has put it already."""
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
        """Returns the node before which new nodes are inserted; the return node means the end."""
        return self._insert_point or self.return_node()

    @contextmanager
    def insert_point_guard(self, location: Node | Block) -> Iterator[None]:
        """Sets the insertion point inside the `with`."""
        before = self.insertPoint()
        self.setInsertPoint(location)
        try:
            yield
        finally:
            self.setInsertPoint(before)

    def setInsertPoint(self, location: Node | Block) -> None:
        """Inserts new nodes before this node, or at the end of this block."""
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
        """Creates a call of an operator, whose overload is chosen by the types; plain values become
        constants.

        Raises: RuntimeError with all overloads and the reason why each does not match.
        """
        ids = [self._as_value(arg)._id for arg in args]
        names = [ffi.new("char[]", key.encode()) for key in kwargs]
        values = [self._as_value(value)._id for value in kwargs.values()]
        result_id = lib.uh_graph_call(
            self._handle, name.encode(), ids, len(ids), names, values, len(values)
        )
        return Node(self, c_integer(result_id))

    def insert(self, name: str, args: Sequence[Value | Any]) -> Value:
        """Returns the result of an operator call: PyTorch's form of `call`."""
        return self.call(name, *args).output()

    def insertGraph(self, other: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Copies another graph's nodes to the insertion point, and returns the Values of its outputs.

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
        """Creates a copy of a node at the insertion point, with other inputs.

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
        """Creates a constant at the insertion point."""
        native = BoxedArgs([value])
        return Value(self, c_integer(lib.uh_graph_constant(self._handle, native.array)))

    def _as_value(self, value: Any) -> Value:
        if isinstance(value, Node):
            value_id(value)  # the message shows where its Value is
        return value if isinstance(value, Value) else self.insertConstant(value)


def _full_name(node: Node) -> str:
    """Returns the operator with its overload: "aten::add.Tensor"."""
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
            raise RuntimeError(f"graph: {kind} {self._id} does not exist")
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
        """Returns its type, a string such as "Tensor", "Float(2, 3)", "int[]" with PyTorch's queries."""
        return Type(self._data()["type"])

    def node(self) -> Node:
        """Returns the node that defines it."""
        return Node(self._graph, self._data()["node"])

    def offset(self) -> int:
        """Returns the index of this output in its node."""
        return int(self._data()["offset"])

    def uses(self) -> list[Use]:
        """Returns the uses as an input."""
        self._data()
        return [Use(Node(self._graph, n), i) for n, i in self._graph._uses.get(self._id, [])]

    def origins(self) -> list[int]:
        """Returns the numbers of its origins: Values of this graph or of an earlier one."""
        return list(self._data()["origins"])

    def unique(self) -> int:
        """Returns its number, which is unique in the process."""
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
        """Returns the value of a constant; None for any other Value (and for None)."""
        slot = ffi.new("uh_value *")
        constant = c_integer(lib.uh_value_constant(self._graph._handle, self._id, slot))
        return to_python(slot) if constant else None

    def setType(self, type: str) -> Value:
        """Sets its type, as text."""
        c_integer(lib.uh_value_set_type(self._graph._handle, self._id, type.encode()))
        return self

    def setTypeAs(self, other: Value) -> Value:
        """Sets its type to that of another Value."""
        return self.setType(other.type())

    def inferTypeFrom(self, value: Any) -> Value:
        """Sets its type to that of a Tensor, with dtype, device, sizes and strides."""
        if not isinstance(value, Tensor):
            raise TypeError(f"inferTypeFrom: expected a Tensor, got {type(value).__name__}")
        return self.setType(type_of(value))

    def setDebugName(self, name: str) -> Value:
        """Sets its name, made unique within the graph."""
        c_integer(lib.uh_value_set_name(self._graph._handle, self._id, name.encode()))
        return self

    def copyMetadata(self, other: Value) -> Value:
        """Copies type and name of another Value."""
        self.setType(other.type())
        name = other.debugName()
        return self if name.isdigit() else self.setDebugName(name.partition(".")[0])

    def replaceAllUsesWith(self, other: Value) -> None:
        """Replaces every use by one of `other`."""
        c_integer(lib.uh_value_replace(self._graph._handle, self._id, value_id(other)))

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Replaces every use after `node` by `other`."""
        old_id, its = self._id, value_id(other)
        c_integer(lib.uh_value_replace_after(self._graph._handle, old_id, node._id, its))

    def __repr__(self) -> str:
        return f"%{self.debugName()} : {self.type()}"


def value_id(value: Any) -> int:
    """Returns the number of a Value.

    Raises: TypeError for anything else, such as a Node instead of its output.
    """
    if isinstance(value, Value):
        return value._id
    instead = ", whose Value is its output()" if isinstance(value, Node) else ""
    raise TypeError(f"graph: expected a Value, got a {type(value).__name__}{instead}")


class Node(_NodeContainer, _Part):
    """One operation. `node.i("name")`, `.f`, `.s`, `.t`... are its attributes by kind."""

    __slots__ = ()
    _table = "_nodes"

    def kind(self) -> str:
        """Returns the kind, such as "aten::add" or "prim::If"."""
        return str(self._data()["kind"])

    def schema(self) -> Schema:
        """Returns the operator's schema; "" if the node is not an operator."""
        return Schema(self._data().get("schema", ""))

    def scopeName(self) -> str:
        """Returns the module of a traced node: "__module.linear"; "" outside of traces."""
        return str(self._data().get("scope") or "")

    def inputs(self) -> list[Value]:
        """Returns the inputs, in order."""
        return [Value(self._graph, i) for i in self._data()["inputs"]]

    def outputs(self) -> list[Value]:
        """Returns the outputs, in order."""
        return [Value(self._graph, value["id"]) for value in self._data()["outputs"]]

    def input(self, i: int = 0) -> Value:
        """Returns one input."""
        return self.inputs()[i]

    def output(self, i: int = 0) -> Value:
        """Returns one output."""
        return self.outputs()[i]

    def namedInput(self, name: str) -> Value:
        """Returns the input for an argument of the schema. Raises: RuntimeError for an unknown name."""
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
        """Returns the blocks of an If or Loop."""
        return [Block(self._graph, block["id"]) for block in self._data()["blocks"]]

    def owningBlock(self) -> Block:
        """Returns the block that holds it."""
        return Block(self._graph, self._data()["block"])

    def attributes(self) -> dict[str, str]:
        """Returns the attributes as the graph's text writes them."""
        return dict(self._data()["attributes"])

    def attributeNames(self) -> list[str]:
        """Returns the names of its attributes."""
        return [*self._data()["attributes"], *self._data().get("graphs", {})]

    def hasAttributes(self) -> bool:
        """Returns whether it has attributes."""
        return bool(self.attributeNames())

    def attribute(self, name: str) -> Any:
        """Returns the value of an attribute: a number, string, Tensor or list.

        Raises: RuntimeError when there is none of that name.
        """
        text = self.attributes().get(name)
        if text is None:
            raise RuntimeError(f"attribute '{name}' is not defined for {self.kind()}")
        constant = self.kind() == "prim::Constant" and name == "value"
        return self.output().toIValue() if constant else value_of(text)

    def kindOf(self, name: str) -> str:
        """Returns the letter of an attribute's kind: "i" of int, "s" of str, "ts" of Tensors, "g" of
        graphs."""
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
        """Returns "file:line:column" of its source; "" without one."""
        span = self._data()["span"]
        return f"{span[0]}:{span[1]}:{span[2]}" if span else ""

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Returns all nodes of a kind in its blocks."""
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
        """Replaces an input."""
        c_integer(lib.uh_node_set_input(self._graph._handle, self._id, i, value_id(value)))

    def replaceInputWith(self, value: Value, other: Value) -> None:
        """Replaces a Value by another in all inputs."""
        for i, operand in enumerate(self.inputs()):
            if operand == value:
                self.replaceInput(i, other)

    def replaceAllUsesWith(self, other: Node) -> None:
        """Replaces the uses of all outputs by the other node's outputs."""
        for own_output, its in zip(self.outputs(), other.outputs(), strict=True):
            own_output.replaceAllUsesWith(its)

    def removeAllInputs(self) -> None:
        """Removes all inputs."""
        for i in reversed(range(self.inputsSize())):
            self.removeInput(i)

    def eraseOutput(self, i: int) -> None:
        """Removes an output. Raises: RuntimeError while it is used."""
        c_integer(lib.uh_node_drop_output(self._graph._handle, self._id, i))

    def addInput(self, value: Value) -> Value:
        """Appends an input."""
        at = len(self._data()["inputs"])
        operand_id = value_id(value)
        c_integer(lib.uh_node_insert_input(self._graph._handle, self._id, at, operand_id))
        return value

    def removeInput(self, i: int) -> None:
        """Removes an input."""
        c_integer(lib.uh_node_drop_input(self._graph._handle, self._id, i))

    def addOutput(self, type: str = "Tensor") -> Value:
        """Appends an output."""
        output_id = lib.uh_node_add_output(self._graph._handle, self._id, type.encode())
        return Value(self._graph, c_integer(output_id))

    def addBlock(self) -> Block:
        """Appends a block."""
        return Block(self._graph, c_integer(lib.uh_node_add_block(self._graph._handle, self._id)))

    def setAttribute(self, name: str, value: Any) -> Node:
        """Sets an attribute to a number, string, list, tensor... or a Graph."""
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
        """Removes an attribute if it exists."""
        c_integer(lib.uh_node_drop_attribute(self._graph._handle, self._id, name.encode()))
        return self

    def copyAttributes(self, other: Node) -> Node:
        """Copies the attributes of another node."""
        for name in other.attributes():
            self.setAttribute(name, other.attribute(name))
        return self

    def destroy(self) -> None:
        """Erases it from the graph. Raises: RuntimeError while an output is used."""
        c_integer(lib.uh_node_destroy(self._graph._handle, self._id))

    def __repr__(self) -> str:
        outputs = ", ".join(map(repr, self.outputs()))
        inputs = ", ".join(f"%{value.debugName()}" for value in self.inputs())
        attributes = ", ".join(f"{k}={v}" for k, v in self.attributes().items())
        return f"{outputs} = {self.kind()}{f'[{attributes}]' if attributes else ''}({inputs})"


class Block(_NodeContainer, _Part):
    """A sequence of nodes: a graph's, or one of an If or Loop."""

    __slots__ = ()
    _table = "_blocks"

    def inputs(self) -> list[Value]:
        """Returns its parameters."""
        return [Value(self._graph, value["id"]) for value in self._data()["params"]]

    def outputs(self) -> list[Value]:
        """Returns the outputs of the block."""
        return [Value(self._graph, i) for i in self._data()["returns"]]

    def nodes(self) -> list[Node]:
        """Returns its nodes, in order, without those of inner blocks."""
        return [Node(self._graph, node["id"]) for node in self._data()["nodes"]]

    def all_nodes(self) -> Iterator[Node]:
        """Returns its nodes in order, also those of inner blocks."""
        waiting = [iter(self.nodes())]
        while waiting:
            node = next(waiting[-1], None)
            if node is None:
                waiting.pop()
                continue
            yield node
            waiting += [iter(block.nodes()) for block in reversed(node.blocks())]

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Returns all nodes of a kind; with `recurse` also those of inner blocks."""
        return [
            node for node in (self.all_nodes() if recurse else self.nodes()) if node.kind() == kind
        ]

    def returnNode(self) -> Node:
        """Returns the node whose inputs are the block's outputs."""
        return Node(self._graph, self._data()["return"])

    def paramNode(self) -> Node:
        """Returns the node whose outputs are the block's parameters."""
        return Node(self._graph, self._data()["param"])

    def owningNode(self) -> Node | None:
        """Returns the If or Loop that has it; None for the outermost block."""
        owner = self._data()["owner"]
        return None if owner is None else Node(self._graph, owner)

    def addInputToBlock(self, name: str = "", type: str = "Tensor") -> Value:
        """Appends a parameter."""
        param_id = lib.uh_block_add_param(
            self._graph._handle, self._id, name.encode(), type.encode()
        )
        return Value(self._graph, c_integer(param_id))

    def registerOutput(self, value: Value) -> None:
        """Appends an output."""
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
