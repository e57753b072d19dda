"""Graphs from Python: reading, printing, and changing them in passes of one's own.

`Graph`, `Node`, `Block` and `Value` have the names of `torch._C.Graph` and so on. They name what is in
the native graph by its number: one that was destroyed is an error that says so. What is read comes from
a snapshot that is made anew when the graph has changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.values import Native, to_python


def text_of(pointer: Any) -> str:
    """A text that C returned. Raises: the last error where there is none."""
    if pointer == ffi.NULL:
        raise_last()
    return ffi.string(pointer).decode("utf-8", "replace")


def number_of(result: int) -> int:
    """A number that C returned. Raises: the last error where it is -1."""
    if result < 0:
        raise_last()
    return result


@dataclass(frozen=True)
class Use:
    """One place where a Value is an input."""

    user: Node
    offset: int


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
        self._owner: Any = None  # the module whose methods it calls: a class does not keep them

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            lib.uh_graph_release(getattr(self, "_handle", 0))

    @classmethod
    def parse(cls, text: str) -> Graph:
        """The graph that a text describes. Raises: RuntimeError with the line and column."""
        return cls(lib.uh_graph_parse(text.encode()))

    def __str__(self) -> str:
        return text_of(lib.uh_graph_text(self._handle, 1))

    __repr__ = __str__

    def text(self, print_source_ranges: bool = True) -> str:
        """The text, with or without the source comments."""
        return text_of(lib.uh_graph_text(self._handle, print_source_ranges))

    def copy(self) -> Graph:
        """A graph of its own; each Value has the copied one as its origin."""
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
        return text_of(lib.uh_graph_lint(self._handle)).splitlines()

    def run(self, *inputs: Any) -> Any:
        """Runs the graph as it is, without any optimisation: for those who write passes.

        Raises: TypeError for another number of inputs, and what the operators raise.
        """
        native, result = Native(inputs), ffi.new("uh_value *")
        number_of(lib.uh_graph_run(self._handle, native.array, native.count, result))
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
        self._snapshot = json.loads(text_of(lib.uh_graph_snapshot(self._handle)))
        self._nodes: dict[int, dict[str, Any]] = {}
        self._values: dict[int, dict[str, Any]] = {}
        self._uses: dict[int, list[tuple[int, int]]] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._read_block(self._snapshot["block"], None)
        self._version = version

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
        return Block(self, number_of(lib.uh_graph_block(self._handle)))

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
        for node in self.nodes():
            yield node
            for block in node.blocks():
                yield from block.all_nodes()

    def return_node(self) -> Node:
        """The node whose inputs are the graph's outputs."""
        return self.block().return_node()

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind."""
        nodes = self.all_nodes() if recurse else self.nodes()
        return [node for node in nodes if node.kind() == kind]

    # Changing

    @contextmanager
    def rewrite(self, rule: str, *nodes: Node, reason: str = "") -> Iterator[None]:
        """The scope of one rewrite in a pass: what the explorer shows as one step.

        rule: what a reader is told ("x.t().t() -> x"). nodes: those that it looked at; Values made
        inside come from theirs.
        """
        frame = sys._getframe(2)
        ids = [node._id for node in nodes]
        file, line = frame.f_code.co_filename.encode(), frame.f_lineno
        begun = lib.uh_rewrite_begin(
            self._handle, rule.encode(), reason.encode(), file, line, ids, len(ids)
        )
        if begun != 0:
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
        made = lib.uh_graph_add_input(self._handle, name.encode(), type.encode())
        return Value(self, number_of(made))

    def registerOutput(self, value: Value) -> None:
        """The graph returns this Value, too."""
        number_of(lib.uh_graph_add_output(self._handle, value._id))

    def setInsertPoint(self, where: Node | Block) -> None:
        """New nodes go before this node, or to the end of this block."""
        set_point = (
            lib.uh_graph_insert_before if isinstance(where, Node) else lib.uh_graph_insert_at_end
        )
        number_of(set_point(self._handle, where._id))

    def create(self, kind: str, inputs: Sequence[Value] = (), outputs: int = 1) -> Node:
        """A new node at the insertion point; its outputs are Tensors until told."""
        ids = [value._id for value in inputs]
        made = lib.uh_graph_node(self._handle, kind.encode(), ids, len(ids), outputs)
        return Node(self, number_of(made))

    def call(self, name: str, *args: Value | Any, **kwargs: Value | Any) -> Node:
        """The call of an operator, its overload chosen by the types; plain values become constants.

        Raises: RuntimeError with all overloads and why each does not fit.
        """
        ids = [self._as_value(one)._id for one in args]
        names = [ffi.new("char[]", key.encode()) for key in kwargs]
        values = [self._as_value(one)._id for one in kwargs.values()]
        made = lib.uh_graph_call(
            self._handle, name.encode(), ids, len(ids), names, values, len(values)
        )
        return Node(self, number_of(made))

    def insertConstant(self, value: Any) -> Value:
        """A constant at the insertion point."""
        native = Native([value])
        return Value(self, number_of(lib.uh_graph_constant(self._handle, native.array)))

    def _as_value(self, one: Any) -> Value:
        return one if isinstance(one, Value) else self.insertConstant(one)


setattr(Graph, "str", Graph.text)  # noqa: B010  (PyTorch's name, which in the class would hide str)


class _Part:
    """What is named by a number within a graph."""

    __slots__ = ("_graph", "_id")
    _table = ""

    def __init__(self, graph: Graph, number: int) -> None:
        self._graph, self._id = graph, number

    def _data(self) -> dict[str, Any]:
        self._graph._read()
        found: dict[str, Any] | None = getattr(self._graph, self._table).get(self._id)
        if found is None:
            what = type(self).__name__.lower()
            raise RuntimeError(f"graph: {what} {self._id} is not there (any more)")
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._id == self._id

    def __hash__(self) -> int:
        return hash(self._id)


class Value(_Part):
    """What a node makes, or a block begins with."""

    __slots__ = ()
    _table = "_values"

    def debugName(self) -> str:
        """What the text says behind %."""
        return str(self._data()["name"])

    def type(self) -> str:
        """The text of its type: "Tensor", "Float(2, 3)", "int[]"."""
        return str(self._data()["type"])

    def node(self) -> Node:
        """The node that makes it."""
        return Node(self._graph, self._data()["node"])

    def offset(self) -> int:
        """Which of the node's outputs it is."""
        return int(self._data()["offset"])

    def uses(self) -> list[Use]:
        """Where it is an input."""
        self._data()
        return [Use(Node(self._graph, n), i) for n, i in self._graph._uses.get(self._id, [])]

    def origins(self) -> list[int]:
        """The numbers of the Values that it was made from, in this graph or one before it."""
        return list(self._data()["origins"])

    def unique(self) -> int:
        """Its number: no other Value of the process has it."""
        return self._id

    def toIValue(self) -> Any:
        """The value of a constant; None for what is none (and for None)."""
        slot = ffi.new("uh_value *")
        found = number_of(lib.uh_value_constant(self._graph._handle, self._id, slot))
        return to_python(slot) if found else None

    def setType(self, type: str) -> Value:
        """Gives it another type, by its text."""
        number_of(lib.uh_value_set_type(self._graph._handle, self._id, type.encode()))
        return self

    def setDebugName(self, name: str) -> Value:
        """Gives it a name, made unique within the graph."""
        number_of(lib.uh_value_set_name(self._graph._handle, self._id, name.encode()))
        return self

    def replaceAllUsesWith(self, other: Value) -> None:
        """Every use becomes one of `other`."""
        number_of(lib.uh_value_replace(self._graph._handle, self._id, other._id))

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Every use behind `node` becomes one of `other`."""
        number_of(lib.uh_value_replace_after(self._graph._handle, self._id, node._id, other._id))

    def __repr__(self) -> str:
        return f"%{self.debugName()} : {self.type()}"


class Node(_Part):
    """One operation."""

    __slots__ = ()
    _table = "_nodes"

    def kind(self) -> str:
        """Such as "aten::add" or "prim::If"."""
        return str(self._data()["kind"])

    def schema(self) -> str:
        """The operator's schema; "" for what is none."""
        return str(self._data().get("schema", ""))

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

    def blocks(self) -> list[Block]:
        """The blocks of an If or Loop."""
        return [Block(self._graph, block["id"]) for block in self._data()["blocks"]]

    def owningBlock(self) -> Block:
        """The block that it stands in."""
        return Block(self._graph, self._data()["block"])

    def attributes(self) -> dict[str, str]:
        """The attributes as the graph's text writes them."""
        return dict(self._data()["attributes"])

    def hasAttribute(self, name: str) -> bool:
        """Whether it has an attribute of that name."""
        return name in self._data()["attributes"]

    def sourceRange(self) -> str:
        """ "file:line:column" of the source that it comes from; "" when there is none."""
        span = self._data()["span"]
        return f"{span[0]}:{span[1]}:{span[2]}" if span else ""

    def moveBefore(self, other: Node) -> None:
        """Moves it before another node."""
        number_of(lib.uh_node_move(self._graph._handle, self._id, other._id))

    def replaceInput(self, i: int, value: Value) -> None:
        """Another Value as an input."""
        number_of(lib.uh_node_set_input(self._graph._handle, self._id, i, value._id))

    def addInput(self, value: Value) -> Value:
        """One more input, as the last."""
        at = len(self._data()["inputs"])
        number_of(lib.uh_node_insert_input(self._graph._handle, self._id, at, value._id))
        return value

    def removeInput(self, i: int) -> None:
        """One input less."""
        number_of(lib.uh_node_drop_input(self._graph._handle, self._id, i))

    def addOutput(self, type: str = "Tensor") -> Value:
        """One more output."""
        made = lib.uh_node_add_output(self._graph._handle, self._id, type.encode())
        return Value(self._graph, number_of(made))

    def addBlock(self) -> Block:
        """One more block."""
        return Block(self._graph, number_of(lib.uh_node_add_block(self._graph._handle, self._id)))

    def setAttribute(self, name: str, value: Any) -> Node:
        """Sets an attribute to a number, text, list, tensor... or a Graph."""
        if isinstance(value, Graph):
            done = lib.uh_node_set_graph(
                self._graph._handle, self._id, name.encode(), value._handle
            )
        else:
            native = Native([value])
            done = lib.uh_node_set_attribute(
                self._graph._handle, self._id, name.encode(), native.array
            )
        number_of(done)
        return self

    def removeAttribute(self, name: str) -> Node:
        """Drops an attribute, if it is there."""
        number_of(lib.uh_node_drop_attribute(self._graph._handle, self._id, name.encode()))
        return self

    def destroy(self) -> None:
        """Takes it out of the graph. Raises: RuntimeError while an output is used."""
        number_of(lib.uh_node_destroy(self._graph._handle, self._id))

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
        """What it returns."""
        return [Value(self._graph, i) for i in self._data()["returns"]]

    def nodes(self) -> list[Node]:
        """Its nodes, in order, without those of blocks inside."""
        return [Node(self._graph, node["id"]) for node in self._data()["nodes"]]

    def all_nodes(self) -> Iterator[Node]:
        """Its nodes in order, also inside of blocks."""
        for node in self.nodes():
            yield node
            for block in node.blocks():
                yield from block.all_nodes()

    def return_node(self) -> Node:
        """The node whose inputs it returns."""
        return Node(self._graph, self._data()["return"])

    def owningNode(self) -> Node | None:
        """The If or Loop around it; None for a graph's own."""
        owner = self._data()["owner"]
        return None if owner is None else Node(self._graph, owner)

    def addInput(self, name: str = "", type: str = "Tensor") -> Value:
        """One more parameter."""
        made = lib.uh_block_add_param(self._graph._handle, self._id, name.encode(), type.encode())
        return Value(self._graph, number_of(made))

    def registerOutput(self, value: Value) -> None:
        """One more Value that it returns."""
        number_of(lib.uh_block_add_return(self._graph._handle, self._id, value._id))
