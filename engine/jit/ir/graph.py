"""Graphs from Python: reading, printing, and changing them in passes of one's own.

`Graph` and its parts (parts.py) have the names of `torch._C.Graph` and so on. What is read comes from a
snapshot that is made anew when the graph has changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.c_results import c_integer, c_string
from engine.jit.ir.nodes import Block, Node, Use, Value, value_id
from engine.jit.nesting import deeply
from engine.jit.types.ivalues import BoxedArgs, to_python

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
        return Value(self, c_integer(made))

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
    def insert_point_guard(self, where: Node | Block) -> Iterator[None]:
        """New nodes go there within `with`."""
        before = self.insertPoint()
        self.setInsertPoint(where)
        try:
            yield
        finally:
            self.setInsertPoint(before)

    def setInsertPoint(self, where: Node | Block) -> None:
        """New nodes go before this node, or to the end of this block."""
        set_point = (
            lib.uh_graph_insert_before if isinstance(where, Node) else lib.uh_graph_insert_at_end
        )
        c_integer(set_point(self._handle, where._id))
        self._insert_point = where if isinstance(where, Node) else where.returnNode()

    def create(self, kind: str, inputs: Sequence[Value] = (), outputs: int = 1) -> Node:
        """A new node at the insertion point; its outputs are Tensors until told."""
        ids = [value_id(value) for value in inputs]
        made = lib.uh_graph_node(self._handle, kind.encode(), ids, len(ids), outputs)
        return Node(self, c_integer(made))

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
        return Node(self, c_integer(made))

    def insert(self, name: str, args: Sequence[Value | Any]) -> Value:
        """What a call of an operator gives: `call` by PyTorch's name and form."""
        return self.call(name, *args).output()

    def insertGraph(self, other: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Copies another graph's nodes to the insertion point: what stands for its outputs.

        Raises: ValueError for another number of inputs.
        """
        mine = other.inputs()
        if len(mine) != len(inputs):
            raise ValueError(f"insertGraph: it has {len(mine)} inputs, and is given {len(inputs)}")
        stands = dict(zip(mine, inputs, strict=True))
        for node in other.nodes():
            copied = self.createClone(node, stands.__getitem__)
            stands.update(zip(node.outputs(), copied.outputs(), strict=True))
        return [stands[one] for one in other.outputs()]

    def createClone(self, node: Node, value_map: Callable[[Value], Value]) -> Node:
        """A copy of a node at the insertion point, with other inputs.

        Raises: RuntimeError for a node with blocks or a graph as an attribute.
        """
        if node.blocks() or len(node.attributeNames()) != len(node.attributes()):
            raise RuntimeError(f"createClone: {node.kind()} has blocks or graphs of its own")
        if node.kind() == "prim::Constant":
            constant = node.output().toIValue() if node.attributes() else None
            return self.insertConstant(constant).node()
        inputs = [value_map(one) for one in node.inputs()]
        if schema := node.schema():
            names = [one.name if one.kwarg_only else "" for one in schema.arguments]
            plain = [one for one, name in zip(inputs, names, strict=True) if not name]
            by_name = {name: one for one, name in zip(inputs, names, strict=True) if name}
            made = self.call(_full_name(node), *plain, **by_name)
        else:
            made = self.create(node.kind(), inputs, node.outputsSize()).copyAttributes(node)
        for mine, its in zip(made.outputs(), node.outputs(), strict=True):
            mine.copyMetadata(its)
        return made

    def insertConstant(self, value: Any) -> Value:
        """A constant at the insertion point."""
        native = BoxedArgs([value])
        return Value(self, c_integer(lib.uh_graph_constant(self._handle, native.array)))

    def _as_value(self, one: Any) -> Value:
        if isinstance(one, Node):
            value_id(one)  # says where its Value is
        return one if isinstance(one, Value) else self.insertConstant(one)


def _full_name(node: Node) -> str:
    """The operator with its overload: "aten::add.Tensor"."""
    schema = node.schema()
    space = node.kind().partition("::")[0]
    return f"{space}::{schema.partition('(')[0]}"


setattr(Graph, "str", Graph.text)  # noqa: B010  (PyTorch's name, which in the class would hide str)
