"""The history of one graph, in order: source, tree, graph, each pass, code, first run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine.inspect.events import FOREVER
from engine.inspect.models._wording import method_name


@dataclass(frozen=True, slots=True)
class PassRow:
    """A phase or a run of a pass. `at` is the moment to jump to.

    kind: source, syntax, graph, pass, code, run. state: past, here, ahead. changes -1: not ended.
    """

    kind: str
    name: str
    at: int
    since: int
    run: int = 0
    index: int = 0
    changes: int = 0
    ns: int = 0
    failed: str = ""
    state: str = "past"
    highlighted: bool = False  # it created, changed or removed the selection

    @property
    def idle(self) -> bool:
        """A pass that changed nothing."""
        return self.kind == "pass" and self.changes == 0 and not self.failed


@dataclass(frozen=True, slots=True)
class GraphRef:
    """A graph of a function: its first phase, and the first and last moment of its history."""

    graph: int
    phase: str
    since: int
    until: int
    current: bool


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """A compiled function, with its graphs."""

    id: int
    name: str
    mode: str
    at: int
    file: str
    line: int
    graphs: tuple[GraphRef, ...]
    current: bool


@dataclass(frozen=True, slots=True)
class Focus:
    """The subject of the view; 0: none."""

    function: int = 0
    graph: int = 0


def focus_at(jit: Any, moment: int) -> Focus:
    """Return the graph that the compiler or the interpreter worked on last."""
    tables = jit.tables
    matches: list[tuple[int, Focus]] = []

    def last(table: Any, focus: Any) -> None:
        row = table.started_by(moment) - 1
        if row >= 0:
            matches.append((int(table.since[row]), focus(row)))

    functions, graphs, codes, runs = tables.functions, tables.graphs, tables.codes, tables.runs
    last(functions, lambda row: _own(jit, int(functions.id[row]), moment))
    last(tables.syntax, lambda row: _own(jit, int(tables.syntax.function[row]), moment))
    last(graphs, lambda row: Focus(int(graphs.function[row]), int(graphs.id[row])))
    last(codes, lambda row: Focus(int(codes.function[row]), int(codes.graph[row])))
    recorded = set(graphs.id[: graphs.started_by(moment)].tolist())
    for row in range(runs.started_by(moment) - 1, -1, -1):
        if int(runs.graph[row]) in recorded:
            position = Focus(int(runs.function[row]), int(runs.graph[row]))
            matches.append((int(runs.since[row]), position))
            break
    running = tables.frames.at(moment)
    if len(running):
        code = jit.code(int(tables.frames.code[int(running[-1])]))
        if code is not None:
            since = int(tables.frames.since[int(running[-1])])
            matches.append((since, Focus(code.function, code.graph)))
    return max(matches, key=lambda item: item[0])[1] if matches else Focus()


def _own(jit: Any, number: int, moment: int) -> Focus:
    """Return a function with its compiled graph, once that was recorded."""
    function = jit.function(number)
    known = function is not None and jit.last_change(function.graph, moment) >= 0
    return Focus(number, function.graph if known else 0)


def function_rows(jit: Any, focus: Focus, moment: int) -> tuple[FunctionRow, ...]:
    """Return every function of the trace so far, with the graphs that it has had so far."""
    refs = {
        function: {
            graph: GraphRef(graph, phase, since, until, graph == focus.graph)
            for graph, (phase, since, until) in graphs.items()
        }
        for function, graphs in jit.graphs_of.items()
    }
    rows = [
        FunctionRow(
            f.id, method_name(f.name), f.mode, f.moment, f.file, f.first_line,
            tuple(refs.get(f.id, {}).values()), f.id == focus.function,
        )
        for f in jit.functions(FOREVER - 1)
        if f.moment <= moment or any(item.since <= moment for item in refs.get(f.id, {}).values())
    ]  # fmt: skip
    known = {row.id for row in rows}
    rows += [
        FunctionRow(
            function, _name_in_snapshot(jit, graphs), "", graphs[0].since, "", 0, graphs,
            function == focus.function and any(item.current for item in graphs),
        )
        for function, graphs in ((f, tuple(refs[f].values())) for f in refs if f not in known)
        if any(item.since <= moment for item in graphs)
    ]  # fmt: skip
    return tuple(rows)


def _name_in_snapshot(jit: Any, graphs: tuple[GraphRef, ...]) -> str:
    """Return the name of graphs without a recorded function: those of a loaded or frozen module, and of forks.
    Only the beginning of a snapshot is read: the rest may be long."""
    matches = _NAME.search(jit.history.text(graphs[0].since)[:200])
    name = method_name(matches[1]) if matches else ""
    return name or "unnamed"


_NAME = re.compile(r'"name":"([^"\\]*)"')


def title_of(function: Any, name: str, graph: int) -> str:
    """Return the name of a graph: that of its function; a gradient graph has no function."""
    if function is None:
        return name or (f"graph {graph}" if graph else "")
    own = method_name(str(function.name))
    return f"gradient of {own}" if name == "backward" else own


def with_graph(jit: Any, focus: Focus) -> Focus:
    """Set the graph of a focus without one: the first of the function's graphs that is compiled to
    code."""
    if focus.graph or not focus.function:
        return focus
    rows = jit.tables.graphs.where("function", focus.function)
    graphs = list(dict.fromkeys(jit.tables.graphs.id[rows].tolist()))
    codes = set(jit.tables.codes.graph.tolist())
    graph = next((graph for graph in graphs if graph in codes), graphs[0] if graphs else 0)
    return Focus(focus.function, int(graph))


def pass_rows(jit: Any, focus: Focus, moment: int, touched: frozenset[int]) -> tuple[PassRow, ...]:
    """Return the rows of a graph in order of time. `touched`: runs that changed the selection."""
    rows = [*_before(jit, focus), *_passes(jit, focus, touched), *_after(jit, focus)]
    rows.sort(key=lambda row: (row.since, row.at))
    current = max((at for at, row in enumerate(rows) if row.since <= moment), default=-1)
    return tuple(
        PassRow(
            r.kind, r.name, r.at, r.since, r.run, r.index, r.changes, r.ns, r.failed,
            "current" if at == current else "past" if at < current else "ahead", r.highlighted,
        )
        for at, r in enumerate(rows)
    )  # fmt: skip


def _before(jit: Any, focus: Focus) -> list[PassRow]:
    function = jit.function(focus.function)
    rows = []
    if function is not None:
        name = {"script": "source", "trace": "traced", "load": "loaded"}.get(
            function.mode, "source"
        )
        # The function is recorded after its graph was compiled; the rows are in the order of the work.
        own = jit.changes.get(function.graph, []) if focus.graph == function.graph else []
        first = own[0][0] - 1 if own else FOREVER
        rows.append(PassRow("source", name, function.moment, min(function.moment, first)))
        row = jit.tables.syntax.last("function", focus.function, FOREVER - 1)
        if row >= 0:
            at = int(jit.tables.syntax.since[row])
            rows.append(PassRow("syntax", "tokens and tree", at, min(at, first)))
    return rows


def _passes(jit: Any, focus: Focus, touched: frozenset[int]) -> list[PassRow]:
    if not focus.graph:
        return []
    runs = jit.runs(focus.graph, FOREVER - 1)
    names = {run.name for run in runs}
    graphs = jit.tables.graphs
    rows: list[PassRow] = []
    for row in graphs.until_now("id", focus.graph, FOREVER - 1):
        phase, since = jit.history.string(int(graphs.phase[row])), int(graphs.since[row])
        if phase not in names or not rows:
            rows.append(PassRow("graph", phase, since, since))
    last = len(jit.history.tables.events) - 1
    for run in runs:
        over = min(run.until, last)
        rows.append(
            PassRow(
                "pass", run.name, over, run.since, run.id, run.index, run.changes, run.ns,
                run.failed, highlighted=run.id in touched,
            )
        )  # fmt: skip
    return rows


def _after(jit: Any, focus: Focus) -> list[PassRow]:
    if not focus.graph:
        return []
    codes, frames = jit.tables.codes, jit.tables.frames
    rows: list[PassRow] = []
    for row in codes.until_now("graph", focus.graph, FOREVER - 1):
        number, since = int(codes.id[row]), int(codes.since[row])
        rows.append(PassRow("code", f"code {number}", since, since, changes=int(codes.size[row])))
        ran = frames.where("code", number)
        if len(ran):
            first = int(frames.since[ran[0]])
            rows.append(PassRow("run", "first run", first, first))
    return rows
