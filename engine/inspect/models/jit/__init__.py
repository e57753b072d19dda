"""The JIT at a moment: source, tree, graph, passes, the last rewrite, instructions, and the links between
them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.inspect.history.jit import RewriteFact
from engine.inspect.models.jit.dataflow import FlowBox, Wires, flow_of
from engine.inspect.models.jit.explanation import story_of
from engine.inspect.models.jit.graph_timeline import (
    GraphTimeline,
    state_at,
    timeline_of,
)
from engine.inspect.models.jit.lines import GraphRow, Window, rows_of
from engine.inspect.models.jit.passes import (
    Focus,
    FunctionRow,
    PassRow,
    focus_at,
    function_rows,
    pass_rows,
    title_of,
    with_graph,
)
from engine.inspect.models.jit.rejected import rejected
from engine.inspect.models.jit.rule import RuleText, rule_of, short_path
from engine.inspect.models.jit.source import SourceRow, Sources, TokenRow, TreeRow, functions_of
from engine.inspect.selection import GraphNodeSelection, JitSelection, ValueSelection

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection


@dataclass(frozen=True, slots=True)
class RewriteRow:
    """One rewrite of the pass; `here`: it is the last so far."""

    at: int
    index: int
    rule: str
    reason: str
    file: str
    line: int
    current: bool


class Rewrites(Sequence[RewriteRow]):
    """The rewrites of a pass as rows, built on access: only a few of thousands are visible."""

    def __init__(self, facts: Sequence[RewriteFact], current: int) -> None:
        self._facts, self._current = facts, current

    def last(self) -> RewriteRow | None:
        """Return the last rewrite so far, if it is in this pass."""
        at = bisect_left(self._facts, self._current, key=lambda item: item.moment)
        known = at < len(self._facts) and self._facts[at].moment == self._current
        return self[at] if known else None

    def __len__(self) -> int:
        return len(self._facts)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[item] for item in range(*at.indices(len(self)))]
        item = self._facts[at]
        current = item.moment == self._current
        return RewriteRow(
            item.moment, item.index, item.rule, item.reason, item.file, item.line, current
        )


@dataclass(frozen=True, slots=True)
class CodeRow:
    """An instruction compiled from the graph."""

    pc: int
    text: str
    item: ValueSelection | None  # the first Value that it makes
    highlighted: bool
    selected: bool
    current: bool  # a frame that runs now ran it last


@dataclass(frozen=True, slots=True)
class JitModel:
    """Everything the JIT view shows. `why`: what to do where there is nothing to show."""

    moment: int
    why: str = ""
    function: str = ""
    mode: str = ""
    file: str = ""
    line: int = 0
    graph: int = 0
    functions: tuple[FunctionRow, ...] = ()
    passes: tuple[PassRow, ...] = ()
    position: str = ""  # the phase or pass, and where in it
    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0
    rows: tuple[GraphRow, ...] = ()
    why_no_graph: str = ""
    boxes: Sequence[FlowBox] = ()  # of the drawing, in any state of the graph
    wires: Sequence[tuple[int, int]] = ()  # of the drawing now: from node to node
    rewrites: Sequence[RewriteRow] = ()
    rewrite: RewriteRow | None = None  # the one that happened last
    rule: RuleText = field(default_factory=RuleText)
    source: tuple[SourceRow, ...] = ()
    why_no_source: str = ""
    tree: tuple[TreeRow, ...] = ()
    tokens: Sequence[TokenRow] = ()
    code: tuple[CodeRow, ...] = ()
    code_ahead: bool = False  # the instructions come later
    selected: JitSelection | None = None
    story: tuple[str, ...] = ()  # sentences about the selection: its origin and its removal
    failed: str = ""
    rejected: tuple[str, ...] = ()  # an error of the front end: nothing was compiled since
    warnings: tuple[str, ...] = ()


MANY = 800  # rewrites from which the first model is slow
NOTHING = (
    "The compiler did nothing in this recording. Compile something: f = engine.jit.script(f) or "
    "engine.jit.trace(f, inputs), then call it."
)

REJECTED = "The compiler rejected this program:"
NOT_YET = (
    "The compiler has not begun: it runs later in this recording. Press . to go to the first pass "
    "that changed something."
)


def project(history: History, moment: int, selection: Selection) -> JitModel:
    """Return the state of the function that the compiler worked on last at this moment."""
    jit = history.jit
    focus = focus_at(jit, moment)
    if not focus.function and not focus.graph:
        lines = rejected(history, moment)
        why = REJECTED if lines else NOT_YET if jit.tables.any else NOTHING
        return JitModel(moment, why, rejected=lines)
    return _View(jit, focus, moment, selection.value).model()


def takes_long(history: History, moment: int, boxes: bool = False) -> bool:
    """Return whether the first model of this moment reads thousands of rewrites and so needs a thread.
    `boxes`: whether the diagram is visible."""
    jit = history.jit
    if len(jit.tables.rewrites) < MANY:
        return False
    if links_take_long(history):
        return True
    graph = focus_at(jit, moment).graph
    if len(jit.changes.get(graph, ())) < MANY:
        return False
    return not timeline_of.is_cached(history, graph) or (
        boxes and not flow_of(history, graph).is_built
    )


def links_take_long(history: History) -> bool:
    """Return whether reading the provenance takes long: it was not read yet, and there are many rewrites."""
    return "links" not in vars(history.jit) and len(history.jit.tables.rewrites) >= MANY


class _View:
    """One graph of one function, at one moment."""

    def __init__(self, jit: Any, focus: Focus, moment: int, selected: JitSelection | None) -> None:
        self.jit, self.focus, self.moment, self.selected = jit, focus, moment, selected
        self.links = jit.links
        self.family = self.links.family(self._meant()) if selected else frozenset()
        self.passes = pass_rows(jit, with_graph(jit, focus), moment, self._touched())
        self.current = next((row for row in self.passes if row.state == "current"), None)
        self.run = self.current.run if self.current else 0
        self.inside = bool(
            self.current and self.run and self.current.since <= moment < self.current.at
        )
        self.steps = jit.rewrites(self.run, moment) if self.run else ()

    def model(self) -> JitModel:
        function = self.jit.function(self.focus.function)
        timeline = timeline_of(self.jit.history, self.focus.graph)
        rows, why = self._rows(timeline)
        current = state_at(timeline, self.moment)
        functions = functions_of(self.jit, function, timeline.sources, self.moment)
        sources = Sources(self.jit, functions, self.family, self.selected)
        lines = sources.lines()
        rewrites = self._rewrites()
        last = rewrites.last()
        code, ahead = self._code()
        kinds = [row.change for row in rows]
        return JitModel(
            moment=self.moment,
            function=title_of(function, timeline.name if rows else "", self.focus.graph),
            mode=function.mode if function else "",
            file=short_path(function.file) if function else "",
            line=function.first_line if function else 0,
            graph=self.focus.graph,
            functions=function_rows(self.jit, self.focus, self.moment),
            passes=self.passes,
            position=self._position(),
            added=kinds.count("added"),
            removed=kinds.count("removed"),
            changed=kinds.count("changed"),
            moved=kinds.count("moved"),
            rows=rows,
            why_no_graph=why,
            boxes=flow_of(self.jit.history, self.focus.graph) if rows else (),
            wires=Wires(timeline, current) if rows else (),
            rewrites=rewrites,
            rewrite=last,
            rule=rule_of(self.jit, last) if last else RuleText(),
            source=lines,
            why_no_source="" if lines else self._no_source(function),
            tree=sources.tree(),
            tokens=sources.tokens(),
            code=code,
            code_ahead=ahead,
            selected=self.selected,
            story=story_of(self.jit, self.selected, self.focus.graph, self.moment),
            failed=self._failed(),
            rejected=rejected(self.jit.history, self.moment),
            warnings=self._warnings(),
        )

    def _meant(self) -> Iterable[int]:
        """Return the selected Values; for a node without outputs (a return) its inputs."""
        seeds = self.links.seeds(self.selected)
        if seeds or not isinstance(self.selected, GraphNodeSelection):
            return seeds
        node = self.selected.node
        timeline = timeline_of(self.jit.history, self.focus.graph)
        line = timeline.lines(state_at(timeline, self.moment)).get(node)
        return [value for value, _ in line.inputs] if line is not None else []

    def _touched(self) -> frozenset[int]:
        """Return the runs of passes that created or removed the selection."""
        links = self.links
        nodes = {links.node_of[value] for value in self.family if value in links.node_of}
        creating = {links.creations[node].run for node in nodes if node in links.creations}
        return frozenset(
            creating | {links.removals[node].run for node in nodes if node in links.removals}
        )

    def _rows(self, timeline: GraphTimeline) -> tuple[tuple[GraphRow, ...], str]:
        current = state_at(timeline, self.moment)
        if current < 0:
            return (), self._no_graph()
        if not timeline.is_known(current):
            return (), "The edits of this graph were not kept whole: it cannot be shown here."
        base = current
        if self.run and self.inside:
            base = state_at(timeline, self.steps[-1].moment - 1) if self.steps else current
        elif self.run and self.current is not None:
            base = state_at(timeline, self.current.since)
        rows = rows_of(self.jit.history, self.focus.graph, Window(current, base))
        return rows.highlighted(self.family, self.selected), ""

    def _no_graph(self) -> str:
        if self.focus.graph:
            return "There is no graph yet."
        later = [f for f in function_rows(self.jit, self.focus, self.moment) if f.current]
        ahead = [item.since for row in later for item in row.graphs if item.since > self.moment]
        if ahead:
            when = min(ahead)
            return f"There is no graph yet: it is created at event {when:,}."
        return (
            "This function has no separate graph: it is inlined into its callers, or never called."
        )

    def _position(self) -> str:
        if self.current is None:
            return ""
        if not self.run:
            return self.current.name
        if self.inside:
            total = len(self.jit.rewrites(self.run))
            if not total:
                return f"in {self.current.name}"
            position = f"rewrite {len(self.steps)}" if self.steps else "before rewrite 1"
            return f"in {self.current.name}, {position} of {total}"
        return (
            f"{self.current.name} failed" if self.current.failed else f"after {self.current.name}"
        )

    def _rewrites(self) -> Rewrites:
        if not self.run:
            return Rewrites((), -1)
        last = self.steps[-1].moment if self.steps and self.inside else -1
        every = self.jit.rewrites(self.run)
        if not self.inside and every:
            last = every[-1].moment
        return Rewrites(every, last)

    def _code(self) -> tuple[tuple[CodeRow, ...], bool]:
        codes = self.jit.tables.codes
        own: Any = codes.where("graph", self.focus.graph) if self.focus.graph else ()
        if not len(own):
            return (), False
        code = self.jit._code(int(own[-1]))
        selected = self.links.seeds(self.selected)
        running = self._pc(code.id)
        rows = []
        for pc, item in enumerate(code.instructions):
            values = frozenset((int(item["value"]),)) - {0} or frozenset(
                self.links.values_of.get(int(item["node"]), ())
            )
            first = ValueSelection(min(values)) if values else None
            rows.append(
                CodeRow(
                    pc, item["text"], first, bool(values & self.family),
                    bool(values & selected), pc == running,
                )
            )  # fmt: skip
        return tuple(rows), code.moment > self.moment

    def _pc(self, code: int) -> int:
        """Return the last instruction of the innermost running frame of this code; -1: none runs."""
        frames, steps = self.jit.tables.frames, self.jit.tables.steps
        running = [row for row in frames.at(self.moment) if int(frames.code[row]) == code]
        if not running:
            return -1
        ran = steps.until_now("frame", int(frames.id[running[-1]]), self.moment)
        return int(steps.pc[ran[-1]]) if len(ran) else -1

    @staticmethod
    def _no_source(function: Any) -> str:
        if function is None:
            return "No function with source belongs to this graph."
        if function.mode == "trace":
            return "A traced function has no source: its graph is what ran while it was traced."
        return "No source was recorded for this function."

    def _failed(self) -> str:
        failed = [row.failed for row in self.passes if row.failed and row.since <= self.moment]
        return failed[-1] if failed else ""

    def _warnings(self) -> tuple[str, ...]:
        table = self.jit.tables.warnings
        rows = table.until_now("function", self.focus.function, self.moment)
        return tuple(self.jit.history.text(int(table.since[row])) for row in rows)
