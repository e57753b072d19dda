"""A graph of the JIT as it was at some moment: a recorded snapshot, and the edits since.

Snapshots are what csrc/jit/ir/snapshot.h writes, edits are those of Note [Edits] in csrc/jit/ir/graph.h. The
text is PyTorch's, line by line, each with the numbers of the node and the values in it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from engine.inspect.history.jit.payload_schema import graph_in

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ValueFact:
    """A Value as a line declares it."""

    id: int
    name: str
    type: str
    origins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SourceRange:
    """A span of source: lines count from 1, columns from 0, ends are exclusive; end_line 0: unknown."""

    file: str
    line: int
    column: int
    end_line: int = 0
    end_column: int = 0


@dataclass(frozen=True, slots=True)
class IrLine:
    """One line of a graph's text.

    role: head (the inputs), node, block (the head of one), yield (what a block returns), return, with
    (the head of a graph that a node holds).
    """

    role: str
    depth: int
    node: int
    outputs: tuple[ValueFact, ...]  # of a head or block: its parameters
    kind: str
    attributes: str
    inputs: tuple[tuple[int, str], ...]  # number and name
    source_range: SourceRange | None
    schema: str = ""

    @property
    def text(self) -> str:
        """The line as PyTorch prints it, indented, without the source."""
        declared = ", ".join(f"%{item.name} : {item.type}" for item in self.outputs)
        used = ", ".join(f"%{name}" for _, name in self.inputs)
        pad = "  " * self.depth
        match self.role:
            case "head":
                return f"graph({declared}):"
            case "with":
                return f"{pad}with {self.kind} = graph({declared}):"
            case "block":
                return f"{pad}{self.kind}({declared}):"
            case "yield":
                return f"{pad}-> ({used})"
            case "return":
                return f"{pad}return ({used})"
        return f"{pad}{declared} = {self.kind}{self.attributes}({used})"


class IrGraph:
    """One graph. `apply` goes forward by the edits of a rewrite."""

    def __init__(self, snapshot: Json | str) -> None:
        self.graph: Json = json.loads(snapshot) if isinstance(snapshot, str) else snapshot
        self.nodes: dict[int, Json] = {}
        self.values: dict[int, Json] = {}
        self.blocks: dict[int, Json] = {}
        self.block_of: dict[int, Json] = {}  # a node's number -> the block that contains it
        self._every: list[IrLine] | None = None  # the text, until the next edit
        self._enter(self.graph["block"])

    def copy(self) -> IrGraph:
        """Return an independent copy."""
        return IrGraph(copy.deepcopy(self.graph))

    @property
    def id(self) -> int:
        return int(self.graph["graph"])

    @property
    def name(self) -> str:
        return str(self.graph["name"])

    def _enter(self, block: Json) -> None:
        self.blocks[block["id"]] = block
        for value in block["params"]:
            self.values[value["id"]] = value
        # The block holds the outputs of its param node and the inputs of its return node.
        self.nodes[block["param"]] = {"outputs": block["params"], "inputs": [], "blocks": []}
        self.nodes[block["return"]] = {"outputs": [], "inputs": block["returns"], "blocks": []}
        for node in block["nodes"]:
            self.nodes[node["id"]] = node
            self.block_of[node["id"]] = block
            for value in node["outputs"]:
                self.values[value["id"]] = value
            for inner in node["blocks"]:
                self._enter(inner)

    # Edits

    def apply(self, edits: list[list[Any]]) -> None:
        """Apply one rewrite. Raises: KeyError, ValueError or IndexError for edits of another graph."""
        self._every = None
        for kind, *fields in edits:
            getattr(self, "_" + kind)(*fields)

    def _create(self, a: int, _b: int, _c: int, _d: int, text: str, _argument: str) -> None:
        self.nodes[a] = {
            "id": a, "kind": text, "attributes": {}, "inputs": [], "outputs": [], "blocks": [],
            "span": None,
        }  # fmt: skip

    def _insert(self, a: int, b: int, c: int, *_: Any) -> None:
        block = self.blocks[b]
        nodes = block["nodes"]
        nodes.insert(
            len(nodes) if c == block["return"] else nodes.index(self.nodes[c]), self.nodes[a]
        )
        self.block_of[a] = block

    def _unlink(self, a: int, *_: Any) -> None:
        self.block_of.pop(a)["nodes"].remove(self.nodes[a])

    def _destroy(self, a: int, *_: Any) -> None:
        node = self.nodes.pop(a)
        if node["inputs"] or node["outputs"] or node["blocks"]:
            raise ValueError(f"node {a} is destroyed, and still has inputs, outputs or blocks")

    def _set_input(self, a: int, b: int, c: int, *_: Any) -> None:
        self.nodes[a]["inputs"][b] = self.values[c]["id"]

    def _insert_input(self, a: int, b: int, c: int, *_: Any) -> None:
        self.nodes[a]["inputs"].insert(b, self.values[c]["id"])

    def _drop_input(self, a: int, b: int, *_: Any) -> None:
        del self.nodes[a]["inputs"][b]

    def _add_output(self, a: int, b: int, _c: int, _d: int, text: str, argument: str) -> None:
        value = {"id": b, "name": argument, "type": text, "origins": []}
        self.values[b] = value
        self.nodes[a]["outputs"].append(value)

    def _drop_output(self, a: int, b: int, *_: Any) -> None:
        del self.values[self.nodes[a]["outputs"].pop(b)["id"]]

    def _add_block(self, a: int, b: int, c: int, d: int, *_: Any) -> None:
        block: Json = {"id": b, "param": c, "return": d, "params": [], "nodes": [], "returns": []}
        self._enter(block)
        self.nodes[a]["blocks"].append(block)

    def _drop_block(self, a: int, b: int, *_: Any) -> None:
        block = self.nodes[a]["blocks"].pop(b)
        if block["nodes"]:
            raise ValueError(f"block {block['id']} is dropped before its nodes")
        del self.blocks[block["id"]], self.nodes[block["param"]], self.nodes[block["return"]]

    def _set_type(self, a: int, _b: int, _c: int, _d: int, text: str, _argument: str) -> None:
        self.values[a]["type"] = text

    def _set_name(self, a: int, _b: int, _c: int, _d: int, text: str, _argument: str) -> None:
        self.values[a]["name"] = text

    def _set_attribute(self, a: int, _b: int, _c: int, _d: int, text: str, argument: str) -> None:
        if references := graph_in(argument):
            self.nodes[a].setdefault("graphs", {})[text] = references
        else:
            self.nodes[a]["attributes"][text] = argument

    def _drop_attribute(self, a: int, _b: int, _c: int, _d: int, text: str, _argument: str) -> None:
        if self.nodes[a]["attributes"].pop(text, None) is None:
            graphs = self.nodes[a]["graphs"]
            del graphs[text]
            if not graphs:
                del self.nodes[a]["graphs"]

    def _set_kind(self, a: int, _b: int, _c: int, _d: int, text: str, argument: str) -> None:
        self.nodes[a]["kind"] = text
        self.nodes[a].pop("schema", None)
        if argument:
            self.nodes[a]["schema"] = argument

    def _replaced(self, *_: Any) -> None:
        """Do nothing: the following edits change the graph; `Links` reads this one."""

    def _origin(self, a: int, b: int, *_: Any) -> None:
        self.values[a]["origins"].append(b)

    def _span(self, a: int, _b: int, _c: int, _d: int, text: str, argument: str) -> None:
        self.nodes[a]["span"] = [text, *map(int, argument.split(":"))] if text else None

    # Text

    def lines(self) -> list[IrLine]:
        """Return the lines of the graph's text, each with its node and Values."""
        block = self.graph["block"]
        head = IrLine("head", 0, block["param"], self._declared(block["params"]), "", "", (), None)
        return [head, *self._block_lines(block, 1), self._end("return", 1, block)]

    def every_line(self) -> list[IrLine]:
        """Return the text with that of the graphs which nodes hold below it, numbered as PyTorch does."""
        if self._every is None:
            self._every = self._all_lines()
        return self._every

    def _all_lines(self) -> list[IrLine]:
        if not any("graphs" in node for node in self.nodes.values()):
            return self.lines()
        lines, below = [], []
        references = {number: IrGraph(graph) for number, _, graph in self._graphs_of_nodes()}
        index = {number: at for at, number in enumerate(references)}
        for line in self.lines():
            if line.role == "node" and line.node in references:
                line = replace(line, kind=f"{line.kind}_{index[line.node]}")
                below += subgraph_lines(references[line.node], line.kind)
            lines.append(line)
        return [*lines, *below]

    def _graphs_of_nodes(self) -> Iterator[tuple[int, str, Json]]:
        """Yield (node, attribute, snapshot) of every graph that a node holds, in the order of the text."""
        for line in self.lines():
            node = self.nodes[line.node]
            if line.role == "node":
                yield from (
                    (line.node, name, graph) for name, graph in node.get("graphs", {}).items()
                )

    def text(self) -> str:
        """Return the graph as PyTorch prints it, without source comments."""
        return "\n".join(line.text for line in self.lines()) + "\n"

    def subgraphs(self) -> Iterator[tuple[int, str, IrGraph]]:
        """Yield (node, attribute, graph) of every graph that a node holds."""
        for number, node in self.nodes.items():
            for name, graph in node.get("graphs", {}).items():
                yield number, name, IrGraph(graph)

    def _declared(self, values: list[Json]) -> tuple[ValueFact, ...]:
        return tuple(
            ValueFact(item["id"], item["name"], item["type"], tuple(item["origins"]))
            for item in values
        )

    def _used(self, ids: list[int]) -> tuple[tuple[int, str], ...]:
        known = self.values  # a damaged graph uses Values that it does not have: named by number
        return tuple((n, known[n]["name"] if n in known else str(n)) for n in ids)

    def _end(self, role: str, depth: int, block: Json) -> IrLine:
        used = self._used(block["returns"])
        return IrLine(role, depth, block["return"], (), "", "", used, None)

    def _block_lines(self, block: Json, depth: int) -> Iterator[IrLine]:
        for node in block["nodes"]:
            yield self._node_line(node, depth)
            for number, inner in enumerate(node["blocks"]):
                yield self._block_head(inner, number, depth + 1)
                yield from self._block_lines(inner, depth + 2)
                yield self._end("yield", depth + 2, inner)

    def _node_line(self, node: Json, depth: int) -> IrLine:
        visible = ", ".join(
            f"{name}={text}"
            for name, text in sorted(node["attributes"].items())
            if not (node["kind"] == "prim::Constant" and name == "value" and text == "None")
        )
        return IrLine(
            "node", depth, node["id"], self._declared(node["outputs"]), node["kind"],
            f"[{visible}]" if visible else "", self._used(node["inputs"]),
            SourceRange(*node["span"]) if node["span"] else None, node.get("schema", ""),
        )  # fmt: skip

    def _block_head(self, block: Json, number: int, depth: int) -> IrLine:
        declared = self._declared(block["params"])
        return IrLine("block", depth, block["param"], declared, f"block{number}", "", (), None)


def subgraph_lines(graph: IrGraph, name: str) -> list[IrLine]:
    """Return the lines of a graph that a node holds, as they appear below the text of the outer graph."""
    head, *remaining = graph.lines()
    return [replace(head, role="with", kind=name), *remaining]
