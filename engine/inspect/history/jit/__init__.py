"""Queries about the JIT: graphs, passes, rewrites, the provenance of Values.

A graph at any rewrite is the last snapshot before it, with the recorded edits since. `Links` follows a
Value backwards to lines of source and forwards to instructions, through copies, inlining and merging.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from engine.inspect.events import FOREVER, kind_of
from engine.inspect.history.jit.fused import Fused
from engine.inspect.history.jit.ir import IrGraph, Json
from engine.inspect.history.jit.payload_schema import ANY, FORMS, read
from engine.inspect.history.jit.provenance import Links
from engine.inspect.history.jit.registers import Registers
from engine.inspect.history.jit.source_ranges import TreeNode, tree_of
from engine.inspect.history.jit.tables import JitTables
from engine.inspect.history.table import Ints

if TYPE_CHECKING:
    from engine.inspect.history import History


_REWRITES = 16384  # cached: read twice, for the links and for the graph's timeline
_STATES = 8  # cached graphs: one of 10,000 nodes takes 20 MB


@dataclass(frozen=True, slots=True)
class FunctionFact:
    """A function that was compiled. mode: script, trace or load. graph: the graph as it was compiled."""

    moment: int
    id: int
    name: str
    mode: str
    file: str
    first_line: int
    source: str
    graph: int = 0


@dataclass(frozen=True, slots=True)
class RewriteFact:
    """One rewrite of a run. `file`, `line`: the source of its rule in the engine."""

    moment: int
    run: int
    index: int
    rule: str
    reason: str
    file: str
    line: int
    nodes: tuple[int, ...]
    edits: list[list[Any]]


@dataclass(frozen=True, slots=True)
class RunFact:
    """One run of a pass. changes -1: it has not ended."""

    since: int
    until: int
    id: int
    function: int
    graph: int
    name: str
    index: int
    changes: int
    ns: int
    failed: str


@dataclass(frozen=True, slots=True)
class CodeFact:
    """The instructions compiled from a graph."""

    moment: int
    id: int
    function: int
    graph: int
    name: str
    registers: int
    instructions: tuple[Json, ...]
    constants: tuple[str, ...]
    guards: tuple[Json, ...]


class Rewrites(Sequence[RewriteFact]):
    """The rewrites of a run, in order. There may be thousands: each is read on its first use."""

    def __init__(self, jit: Jit, rows: Ints) -> None:
        self._jit, self._rows = jit, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> RewriteFact: ...
    @overload
    def __getitem__(self, at: slice) -> Rewrites: ...
    def __getitem__(self, at: int | slice) -> RewriteFact | Rewrites:
        if isinstance(at, slice):
            return Rewrites(self._jit, self._rows[at])
        return self._jit._rewrite(int(self._rows[at]))


class Jit:
    """The answers about one history."""

    def __init__(self, history: History):
        self.history = history
        self.tables = JitTables(history.tables)
        memoise = history.cache.memoise
        self._function = memoise(self._function_fact, 4096)
        self._rewrite = memoise(self._rewrite_fact, _REWRITES)
        self._state = memoise(self._state_after, _STATES)
        self._code = memoise(self._code_fact, 1024)
        self._tree = memoise(self._syntax_tree, 1024)

    def _syntax_tree(self, function: int) -> tuple[TreeNode, ...]:
        return tree_of(self.syntax(function))

    def json(self, moment: int) -> Json:
        """Return an event's JSON; {} if it is incomplete."""
        kind = kind_of(int(self.history.tables.events["kind"][moment])).name
        return read(self.history.text(moment), FORMS.get(kind, ANY))

    # Functions and graphs

    def functions(self, m: int) -> tuple[FunctionFact, ...]:
        """Return every function that was compiled up to the moment."""
        return tuple(self._function(row) for row in range(self.tables.functions.started_by(m)))

    def function(self, number: int, m: int = FOREVER - 1) -> FunctionFact | None:
        """Return the function with this number."""
        row = self.tables.functions.last("id", number, m)
        return self._function(row) if row >= 0 else None

    def _function_fact(self, row: int) -> FunctionFact:
        table = self.tables.functions
        moment = int(table.since[row])
        facts = self.json(moment)
        return FunctionFact(
            moment,
            int(table.id[row]),
            self.history.string(int(table.name[row])),
            self.history.string(int(table.origin[row])),
            self.history.string(int(table.file[row])),
            int(facts.get("first_line", 0)),
            str(facts.get("source", "")),
            int(facts.get("graph", 0)),
        )

    def syntax(self, function: int) -> Json:
        """Return tokens and tree of a scripted function; {} for others."""
        row = self.tables.syntax.last("function", function, FOREVER - 1)
        return self.json(int(self.tables.syntax.since[row])) if row >= 0 else {}

    def tree(self, function: int) -> tuple[TreeNode, ...]:
        """Return the syntax tree of a function in preorder; () for one that was not scripted."""
        return self._tree(function)

    # Passes

    def runs(self, graph: int, m: int) -> tuple[RunFact, ...]:
        """Return the runs of passes on a graph that began up to the moment, in order."""
        rows = self.tables.runs.until_now("graph", graph, m)
        return tuple(self.run_fact(int(row)) for row in rows)

    def run_fact(self, row: int) -> RunFact:
        table, ends = self.tables.runs, self.tables.ends
        number = int(table.id[row])
        matches = ends.where("run", number)
        over = int(matches[-1]) if len(matches) else -1
        return RunFact(
            int(table.since[row]),
            int(table.until[row]),
            number,
            int(table.function[row]),
            int(table.graph[row]),
            self.history.string(int(table.name[row])),
            int(table.index[row]),
            int(ends.changes[over]) if over >= 0 else -1,
            int(ends.ns[over]) if over >= 0 else 0,
            self._failure(int(ends.since[over])) if over >= 0 and ends.failed[over] else "",
        )

    def _failure(self, moment: int) -> str:
        """Return the reason why a pass failed. A Python error is in the EXCEPTION event that follows."""
        text = self.history.text(moment)
        raised = self.history.tables.numbers("EXCEPTION")
        index = int(raised.searchsorted(moment))
        if not text.isdigit() or index >= len(raised):
            return text or "it did not say why"
        event = self.history.event(int(raised[index]))
        return f"{self.history.string(event['type'])}: {self.history.text(event.number)}"

    def rewrites(self, run: int, m: int = FOREVER - 1) -> Rewrites:
        """Return the rewrites of a run up to the moment, in order."""
        return Rewrites(self, self.tables.rewrites.until_now("run", run, m))

    def rewrite_at(self, m: int) -> RewriteFact | None:
        """Return the rewrite recorded at this moment; None: another event."""
        since = self.tables.rewrites.since
        row = int(since.searchsorted(m))
        return self._rewrite(row) if row < len(since) and since[row] == m else None

    def _rewrite_fact(self, row: int) -> RewriteFact:
        table = self.tables.rewrites
        moment = int(table.since[row])
        facts = self.json(moment)
        return RewriteFact(
            moment,
            int(table.run[row]),
            int(table.index[row]),
            self.history.string(int(table.rule[row])),
            str(facts.get("reason", "")),
            str(facts.get("file", "")),
            int(table.line[row]),
            tuple(facts.get("nodes", ())),
            list(facts.get("edits", ())),
        )

    # Graphs at a moment

    @cached_property
    def changes(self) -> dict[int, list[tuple[int, int]]]:
        """graph -> (moment, row) of its snapshots (row -1 - r) and rewrites (row r), in order."""
        matches: dict[int, list[tuple[int, int]]] = {}
        for row, (moment, graph) in enumerate(
            zip(self.tables.graphs.since, self.tables.graphs.id, strict=True)
        ):
            matches.setdefault(int(graph), []).append((int(moment), -1 - row))
        graph_of = dict(
            zip(self.tables.runs.id.tolist(), self.tables.runs.graph.tolist(), strict=True)
        )
        for row, (moment, run) in enumerate(
            zip(self.tables.rewrites.since, self.tables.rewrites.run, strict=True)
        ):
            if int(run) in graph_of:
                matches.setdefault(graph_of[int(run)], []).append((int(moment), row))
        return {graph: sorted(changes) for graph, changes in matches.items()}

    @cached_property
    def graphs_of(self) -> dict[int, dict[int, tuple[str, int, int]]]:
        """function -> graph -> the phase of its first snapshot, that moment, and the last one."""
        table, matches = self.tables.graphs, dict[int, dict[int, tuple[str, int, int]]]()
        rows = (table.function, table.id, table.phase, table.since)
        for function, graph, phase, since in zip(*(row.tolist() for row in rows), strict=True):
            own = matches.setdefault(function, {})
            first = own.get(graph) or (self.history.string(phase), since, since)
            own[graph] = (*first[:2], since)
        return matches

    def graph_at(self, graph: int, m: int) -> IrGraph | None:
        """Return the graph at the moment; None before its first snapshot, or if edits are lost."""
        changes = self.changes.get(graph, [])
        index = bisect_right(changes, (m, len(self.tables.rewrites))) - 1
        return self._state(graph, index) if index >= 0 else None

    def _state_after(self, graph: int, index: int) -> IrGraph | None:
        """Return the last snapshot with the edits since; parsing it again is cheaper than a copy."""
        changes = self.changes[graph]
        start = next((i for i in range(index, -1, -1) if changes[i][1] < 0), None)
        if start is None:
            return None
        snapshot = self.json(changes[start][0])
        if "block" not in snapshot:
            return None
        state = IrGraph(snapshot)
        try:
            for _, row in changes[start + 1 : index + 1]:
                state.apply(self._rewrite(row).edits)
        except (KeyError, ValueError, IndexError, StopIteration):
            return None  # one of its events is incomplete
        return state

    def last_change(self, graph: int, m: int) -> int:
        """Return the moment of the graph's last snapshot or rewrite; -1 before the first."""
        changes = self.changes.get(graph, [])
        index = bisect_right(changes, (m, len(self.tables.rewrites))) - 1
        return changes[index][0] if index >= 0 else -1

    # Code

    def code(self, number: int) -> CodeFact | None:
        """Return the instructions with this number."""
        row = self.tables.codes.last("id", number, FOREVER - 1)
        return self._code(row) if row >= 0 else None

    def _code_fact(self, row: int) -> CodeFact:
        table = self.tables.codes
        moment = int(table.since[row])
        facts = self.json(moment)
        return CodeFact(
            moment,
            int(table.id[row]),
            int(table.function[row]),
            int(table.graph[row]),
            str(facts.get("name", "")),
            int(facts.get("registers", 0)),
            tuple(facts.get("instructions", ())),
            tuple(facts.get("constants", ())),
            tuple(facts.get("guards", ())),
        )

    # Provenance

    @cached_property
    def links(self) -> Links:
        """Every Value of the trace, with its origins and results."""
        return Links(self)

    @cached_property
    def fused(self) -> Fused:
        """Every fused kernel, and its launches."""
        return Fused(self)

    @cached_property
    def registers(self) -> Registers:
        """The registers of the interpreter's frames."""
        return Registers(self)
