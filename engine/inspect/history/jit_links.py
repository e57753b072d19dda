"""Where a Value comes from and what became of it: one graph of numbers over all graphs of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.inspect.history.ir import Json, Place

if TYPE_CHECKING:
    from engine.inspect.history.jit import Jit


@dataclass(frozen=True, slots=True)
class End:
    """What became of a node: the rewrite that took it away, and the Value that stands for its own."""

    moment: int
    run: int
    rule: str
    reason: str
    became: tuple[int, ...]


class Links:
    """Origins and what they became, by the numbers of Values; nodes by theirs."""

    def __init__(self, jit: Jit):
        self._from: dict[int, set[int]] = {}
        self._to: dict[int, set[int]] = {}
        self.node_of: dict[int, int] = {}  # a Value -> the node that makes it
        self.values_of: dict[int, list[int]] = {}  # a node -> its outputs
        self.place_of: dict[int, Place] = {}  # a node -> its source
        self.ends: dict[int, End] = {}  # a node that is gone
        tables = jit.tables
        told = [(int(m), "graph", row) for row, m in enumerate(tables.graphs.since)]
        told += [(int(m), "rewrite", row) for row, m in enumerate(tables.rewrites.since)]
        for moment, sort, row in sorted(told):
            if sort == "graph":
                snapshot = jit.json(moment)
                if "block" in snapshot:
                    self._block(snapshot["block"])
            else:
                self._rewrite(jit, row)

    def _link(self, value: int, origin: int) -> None:
        self._from.setdefault(value, set()).add(origin)
        self._to.setdefault(origin, set()).add(value)

    def _made(self, node: int, values: list[Json]) -> None:
        for value in values:
            if value["id"] not in self.node_of:
                self.values_of.setdefault(node, []).append(value["id"])
            self.node_of[value["id"]] = node
            for origin in value["origins"]:
                self._link(value["id"], origin)

    def _block(self, block: Json) -> None:
        self._made(block["param"], block["params"])
        for node in block["nodes"]:
            self._made(node["id"], node["outputs"])
            if node["span"]:
                self.place_of.setdefault(node["id"], Place(*node["span"]))
            for inner in node["blocks"]:
                self._block(inner)
            for graph in node.get("graphs", {}).values():
                self._block(graph["block"])

    def _rewrite(self, jit: Jit, row: int) -> None:
        fact = jit._rewrite(row)
        replaced: dict[int, int] = {}
        gone: list[int] = []
        for kind, a, b, _c, _d, text, words in fact.edits:
            if kind == "origin":
                self._link(a, b)
            elif kind == "replaced":
                replaced[a] = b
                self._link(b, a)
            elif kind == "add_output":
                self.node_of[b] = a
                self.values_of.setdefault(a, []).append(b)
            elif kind == "destroy":
                gone.append(a)
            elif kind == "span" and text:
                self.place_of.setdefault(a, Place(text, *map(int, words.split(":"))))
        for node in gone:
            values = self.values_of.get(node, [])
            became = tuple(replaced[v] for v in values if v in replaced)
            self.ends[node] = End(fact.moment, fact.run, fact.rule, fact.reason, became)

    def family(self, values: Iterable[int]) -> frozenset[int]:
        """These Values, all that they were made from, and all that was made from these."""
        seeds = set(values)
        return frozenset(self._closure(seeds, self._from) | self._closure(seeds, self._to))

    def sources(self, value: int) -> tuple[Place, ...]:
        """The places in the source that a Value comes from."""
        nodes = {self.node_of[v] for v in self._closure({value}, self._from) if v in self.node_of}
        found = {self.place_of[node] for node in nodes if node in self.place_of}
        return tuple(sorted(found, key=lambda p: (p.file, p.line, p.column)))

    def at_line(self, file: str, line: int) -> frozenset[int]:
        """Every Value, in any graph, whose node comes from this line."""
        nodes = [n for n, p in self.place_of.items() if p.line == line and p.file == file]
        return frozenset(v for node in nodes for v in self.values_of.get(node, ()))

    def origins(self, value: int) -> frozenset[int]:
        """What a Value was made from, at once."""
        return frozenset(self._from.get(value, ()))

    @staticmethod
    def _closure(seeds: set[int], step: dict[int, set[int]]) -> set[int]:
        seen, rest = set(seeds), list(seeds)
        while rest:
            for other in step.get(rest.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    rest.append(other)
        return seen
