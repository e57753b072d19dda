"""The provenance of Values: their origins and results over all graphs of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.inspect.history.gc_pause import all_stays
from engine.inspect.history.jit.ir import Json, SourceRange
from engine.inspect.history.jit.payload_schema import graph_in
from engine.inspect.history.jit.source_ranges import Extent, inside
from engine.inspect.selection import GraphNodeSelection, JitSelection, ValueSelection

if TYPE_CHECKING:
    from engine.inspect.history.jit import Jit


@dataclass(frozen=True, slots=True)
class Creation:
    """The creation of a node: with its graph (run 0, rule: the phase), or by a rewrite."""

    moment: int
    run: int
    rule: str


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of a node: the rewrite, and the Value that replaces its own."""

    moment: int
    run: int
    rule: str
    reason: str
    replaced_by: tuple[int, ...]


class Links:
    """Origins and replacements, by the numbers of Values and nodes."""

    def __init__(self, jit: Jit):
        self._from: dict[int, set[int]] = {}
        self._to: dict[int, set[int]] = {}
        self.node_of: dict[int, int] = {}  # a Value -> the node that defines it
        self.values_of: dict[int, list[int]] = {}  # a node -> its outputs
        self.range_of: dict[int, SourceRange] = {}  # a node -> its source
        self.removals: dict[int, Removal] = {}  # by removed node
        self.creations: dict[int, Creation] = {}
        self.kind_of: dict[int, str] = {}  # of a node, at its creation
        self.name_of: dict[int, str] = {}  # of a Value, the last one
        self.range_of_value: dict[int, SourceRange] = {}  # of parameters, which have no node
        self._jit = jit
        self._by_file: dict[str, list[tuple[int, Extent]]] = {}
        self._creation = Creation(-1, 0, "")
        with all_stays():
            self._read(jit)

    def _read(self, jit: Jit) -> None:
        """Read all graphs and rewrites in order."""
        tables = jit.tables
        moments = [(int(m), "graph", row) for row, m in enumerate(tables.graphs.since)]
        moments += [(int(m), "rewrite", row) for row, m in enumerate(tables.rewrites.since)]
        for moment, kind, row in sorted(moments):
            if kind == "graph":
                snapshot = jit.json(moment)
                if "block" in snapshot:
                    self._creation = Creation(
                        moment, 0, jit.history.string(int(tables.graphs.phase[row]))
                    )
                    self._block(snapshot["block"])
                    self._parameters(int(tables.graphs.function[row]), snapshot["block"])
            else:
                self._rewrite(jit, row)

    def _link(self, value: int, origin: int) -> None:
        self._from.setdefault(value, set()).add(origin)
        self._to.setdefault(origin, set()).add(value)

    def _parameters(self, function: int, block: Json) -> None:
        """Set each parameter's source range to its name in the signature."""
        fact = self._jit.function(function)
        if fact is None:
            return
        spans = {
            item.text.split()[0]: item.span
            for item in self._jit.tree(function)
            if item.kind == "arg"
        }
        for value in block["params"]:
            span = spans.get(value["name"].partition(".")[0])
            if span:
                self.range_of_value.setdefault(value["id"], SourceRange(fact.file, *span))

    def _add(self, node: int, values: list[Json]) -> None:
        self.creations.setdefault(node, self._creation)
        for value in values:
            self.name_of[value["id"]] = value["name"]
            if value["id"] not in self.node_of:
                self.values_of.setdefault(node, []).append(value["id"])
            self.node_of[value["id"]] = node
            for origin in value["origins"]:
                self._link(value["id"], origin)

    def _block(self, block: Json) -> None:
        self._add(block["param"], block["params"])
        for node in block["nodes"]:
            self._add(node["id"], node["outputs"])
            self.kind_of[node["id"]] = node["kind"]
            if node["span"]:
                self.range_of.setdefault(node["id"], SourceRange(*node["span"]))
            for inner in node["blocks"]:
                self._block(inner)
            for graph in node.get("graphs", {}).values():
                self._block(graph["block"])

    def _rewrite(self, jit: Jit, row: int) -> None:
        fact = jit._rewrite(row)
        self._creation = Creation(fact.moment, fact.run, fact.rule)
        replaced: dict[int, int] = {}
        ended: list[int] = []
        for kind, a, b, _c, _d, text, argument in fact.edits:
            if kind == "origin":
                self._link(a, b)
            elif kind == "replaced":
                replaced[a] = b
                self._link(b, a)
            elif kind == "create":
                self.creations.setdefault(a, self._creation)
                self.kind_of[a] = text
            elif kind == "set_kind":
                self.kind_of[a] = text
            elif kind == "set_name":
                self.name_of[a] = text
            elif kind == "set_attribute" and (references := graph_in(argument)):
                self._block(references["block"])
            elif kind == "add_output":
                self.node_of[b] = a
                self.name_of[b] = argument
                self.values_of.setdefault(a, []).append(b)
            elif kind == "destroy":
                ended.append(a)
            elif kind == "span" and text:
                self.range_of.setdefault(a, SourceRange(text, *map(int, argument.split(":"))))
        for node in ended:
            values = self.values_of.get(node, [])
            replaced_by = tuple(replaced[v] for v in values if v in replaced)
            self.removals[node] = Removal(
                fact.moment, fact.run, fact.rule, fact.reason, replaced_by
            )

    def family(self, values: Iterable[int]) -> frozenset[int]:
        """Return these Values with all their origins, and all Values that have these as origins.

        A specialised function has two graphs with one origin; equal Values of both belong together.
        """
        seeds = set(values)
        seeds |= self._copies(seeds)
        sources = self._closure(seeds, self._from)
        return frozenset(sources | self._copies(sources) | self._closure(seeds, self._to))

    def _copies(self, values: set[int]) -> set[int]:
        """Return the same Values in the other graphs with the same origin."""
        own = {value for value in values if self._is_original(value)}
        origins = {origin for value in own for origin in self._from.get(value, ())}
        return {v for origin in origins for v in self._to.get(origin, ()) if self._is_original(v)}

    def _is_original(self, value: int) -> bool:
        """Return whether a Value was in the first snapshot of its graph: no pass created it."""
        creation = self.creations.get(self.node_of.get(value, -1))
        return creation is not None and creation.run == 0

    def seeds(self, selected: JitSelection | None) -> frozenset[int]:
        """Return the Values of a selection: its own, or those that come from its source range."""
        if selected is None:
            return frozenset()
        if isinstance(selected, ValueSelection):
            return frozenset((selected.value,))
        if isinstance(selected, GraphNodeSelection):
            return frozenset(self.values_of.get(selected.node, ()))
        function, index = self._jit.function(selected.function), selected.index
        if function is None:
            return frozenset()
        if selected.part == "line":
            return self.at_line(function.file, index)
        if selected.part == "token":
            tokens = self._jit.syntax(selected.function).get("tokens", [])
            return (
                self._round(function.file, tuple(tokens[index][2:]))
                if index < len(tokens)
                else frozenset()
            )
        tree = self._jit.tree(selected.function)
        span = tree[index].span if index < len(tree) else None
        return self._within(function.file, span) if span else frozenset()

    def _within(self, file: str, span: Extent) -> frozenset[int]:
        """Return the Values that come from a range or from a part of it."""
        return frozenset(value for value, extent in self._extents(file) if inside(extent, span))

    def _round(self, file: str, span: Extent) -> frozenset[int]:
        """Return the Values that come from the smallest range that contains this one."""
        holding = [(extent, value) for value, extent in self._extents(file) if inside(span, extent)]
        if not holding:
            return frozenset()
        minimum = min((extent for extent, _ in holding), key=_size)
        return frozenset(value for extent, value in holding if extent == minimum)

    def _extents(self, file: str) -> list[tuple[int, Extent]]:
        """Return (Value, extent) of everything that comes from a file."""
        if file not in self._by_file:
            matches = [(v, p) for v, p in self.range_of_value.items() if p.file == file]
            for node, source_range in self.range_of.items():
                if source_range.file == file:
                    matches += [(value, source_range) for value in self.values_of.get(node, ())]
            self._by_file[file] = [
                (v, (p.line, p.column, p.end_line, p.end_column)) for v, p in matches
            ]
        return self._by_file[file]

    def sources(self, value: int) -> tuple[SourceRange, ...]:
        """Return the source ranges that a Value comes from."""
        values = self._closure({value}, self._from)
        nodes = {self.node_of[v] for v in values if v in self.node_of}
        matches = {self.range_of[node] for node in nodes if node in self.range_of}
        matches |= {self.range_of_value[v] for v in values if v in self.range_of_value}
        return tuple(sorted(matches, key=lambda p: (p.file, p.line, p.column)))

    def own_ranges(self, values: Iterable[int]) -> frozenset[SourceRange]:
        """Return the source ranges of exactly these Values' nodes."""
        matches = {self.range_of_value[v] for v in values if v in self.range_of_value}
        nodes = {self.node_of[v] for v in values if v in self.node_of}
        return frozenset(matches | {self.range_of[node] for node in nodes if node in self.range_of})

    def at_line(self, file: str, line: int) -> frozenset[int]:
        """Return every Value, in any graph, whose node begins on this line."""
        return frozenset(value for value, extent in self._extents(file) if extent[0] == line)

    def origins(self, value: int) -> frozenset[int]:
        """Return the direct origins of a Value."""
        return frozenset(self._from.get(value, ()))

    def replaced_by(self, value: int) -> frozenset[int]:
        """Return the Values that have this one as a direct origin."""
        return frozenset(self._to.get(value, ()))

    @staticmethod
    def _closure(seeds: set[int], step: dict[int, set[int]]) -> set[int]:
        seen, remaining = set(seeds), list(seeds)
        while remaining:
            for other in step.get(remaining.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    remaining.append(other)
        return seen


def _size(span: Extent) -> tuple[int, int]:
    """Return a sort key of ranges by their size, lines first."""
    return span[2] - span[0], span[3] - span[1]
