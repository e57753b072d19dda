"""The rows of a graph at a moment: its lines, the effect of the last change, and removed lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.inspect.history.cache import per_history
from engine.inspect.history.jit.ir import IrLine
from engine.inspect.models.jit.graph_timeline import GraphTimeline, LineHistory, timeline_of
from engine.inspect.selection import GraphNodeSelection, JitSelection, ValueSelection

if TYPE_CHECKING:
    from engine.inspect.history import History


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a line's text. value 0: not a Value. style: the name of its style."""

    text: str
    value: int = 0
    style: str = ""


@dataclass(frozen=True, slots=True)
class GraphRow:
    """One line of the graph, or the row of a removed one.

    change: "" as before, added, removed, changed, moved (to this row), left (from this row),
    gone (removed by an earlier change).
    """

    node: int
    item: JitSelection  # the item that selecting the whole line selects
    depth: int
    parts: tuple[Part, ...]
    change: str
    before: str  # a changed line as it was
    highlighted: bool
    selected: bool
    source: str  # file:line of the node
    defined: tuple[int, ...] = ()  # the Values that it declares
    used: tuple[int, ...] = ()  # and those that it reads

    @property
    def text(self) -> str:
        """The line without its indent."""
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Window:
    """The compared states: indices of changes of a graph; -1: before the first."""

    current: int
    base: int


_DEFAULTS = re.compile(r", (?:requires_grad=0|device=cpu)(?=[,)])|(?:requires_grad=0|device=cpu), ")


_CLASS = re.compile(r"__torch__(?:\.\w+)*\.(\w+)")


def short_type(text: str) -> str:
    """Shorten a tensor's type by the common requires_grad=0 and device=cpu, and a class's name by its
    package."""
    text = _CLASS.sub(r"\1", text)
    return _DEFAULTS.sub("", text).replace("(requires_grad=0)", "").replace("(device=cpu)", "")


@lru_cache(maxsize=16384)
def parts_of(line: IrLine) -> tuple[Part, ...]:
    """Split the text of a line into pieces, one for each Value."""
    parts: list[Part] = []
    match line.role:
        case "head":
            parts.append(Part("graph(", 0, "keyword"))
        case "with":
            parts += [Part("with ", 0, "keyword"), Part(line.kind, 0, "op"), Part(" = graph(")]
        case "block":
            parts.append(Part(f"{line.kind}(", 0, "keyword"))
        case "yield":
            parts.append(Part("-> (", 0, "keyword"))
        case "return":
            parts.append(Part("return (", 0, "keyword"))
    for at, value in enumerate(line.outputs):
        parts += [Part(", ")] if at else []
        parts += [Part(f"%{value.name}", value.id, "name"), Part(" : ")]
        parts.append(Part(short_type(value.type), 0, "type"))
    if line.role == "node":
        parts += [Part(" = ")] if line.outputs else []
        parts += [Part(line.kind, 0, "op"), Part(line.attributes, 0, "number"), Part("(")]
    for at, (number, name) in enumerate(line.inputs):
        parts += [Part(", ")] if at else []
        parts.append(Part(f"%{name}", number, "name"))
    parts.append(Part("):" if line.role in ("head", "with", "block") else ")"))
    return tuple(part for part in parts if part.text)


_NUMBERED = re.compile(r"_\d+$")


def _same(a: IrLine, b: IrLine) -> bool:
    """Return whether two lines are equal except for the numbers of groups."""
    return a is b or _reading(a) == _reading(b)


def _reading(line: IrLine) -> tuple[Any, ...]:
    declared = [(value.id, value.name, value.type) for value in line.outputs]
    return _NUMBERED.sub("", line.kind), line.attributes, declared, line.inputs


def item_of_line(line: IrLine) -> JitSelection:
    """Return the item that selecting a whole line selects: its first output, else its node."""
    makes = line.role == "node" and line.outputs
    return ValueSelection(line.outputs[0].id) if makes else GraphNodeSelection(line.node)


class Rows:
    """The rows of one graph in one window, in the order of the timeline, without highlights."""

    def __init__(self, timeline: GraphTimeline, window: Window) -> None:
        self.timeline, self.window = timeline, window
        base, state, since = timeline.lines(window.base), window.current, window.base
        complete = timeline.is_known(state)
        rows = []
        for frame in timeline.frames:
            if frame.created_at > state or (frame.removed_at <= since and not frame.keeps):
                continue
            known: Any = frame.row
            if known is not None and frame.created_at <= since:  # nearly always unchanged
                line, row = known
                if frame.removed_at <= since and row.change == "gone":
                    rows.append(row)
                    continue
                stands = complete and frame.removed_at > state and not row.change
                if stands and base.get(frame.key) is line and frame.at(state) is line:
                    rows.append(row)
                    continue
            row = self._row(frame, base, state, complete)
            if row is not None:
                rows.append(row)
        self.plain = tuple(rows)
        self._by_item: dict[JitSelection, list[int]] | None = None

    def highlighted(
        self, family: frozenset[int], selected: JitSelection | None
    ) -> tuple[GraphRow, ...]:
        """Return the rows with the selection highlighted."""
        if not family and not selected:
            return self.plain
        indices = self._rows_of_items()
        highlighted = {at for value in family for at in indices.get(ValueSelection(value), ())}
        value = selected.value if isinstance(selected, ValueSelection) else 0
        picked = {
            at
            for at in (indices.get(selected, ()) if selected else ())
            if self.plain[at].item == selected or value in self.plain[at].defined
        }
        rows = list(self.plain)
        for at in highlighted | picked:
            rows[at] = replace(rows[at], highlighted=at in highlighted, selected=at in picked)
        return tuple(rows)

    def _rows_of_items(self) -> dict[JitSelection, list[int]]:
        """Return the rows that a Value or a row's own item highlights."""
        if self._by_item is None:
            self._by_item = {}
            for at, row in enumerate(self.plain):
                makes = row.defined or [part.value for part in row.parts if part.value]
                for item in {row.item, *map(ValueSelection, makes)}:
                    self._by_item.setdefault(item, []).append(at)
        return self._by_item

    def _row(
        self, frame: LineHistory, base: dict[int, IrLine], state: int, complete: bool
    ) -> GraphRow | None:
        if frame.removed_at > state:
            line = frame.at(state)
            if line is None or not complete:
                return None
            old = base.get(frame.key)
            if old is line and frame.created_at <= self.window.base:  # nearly always
                return _plain(frame, line, "")
            change, before = self._change(frame, old, line)
            return (
                _plain(frame, line, change)
                if not before
                else _full_row(frame, line, change, before)
            )
        line = frame.line
        fresh = frame.removed_at > self.window.base >= frame.created_at
        if line is None or not (fresh or frame.keeps):
            return None
        return _plain(frame, line, ("left" if frame.moved else "removed") if fresh else "gone")

    def _change(self, frame: LineHistory, old: IrLine | None, line: IrLine) -> tuple[str, str]:
        if old is None:
            return ("added" if frame.created_at > self.window.base else ""), ""
        if frame.created_at > self.window.base:
            return "moved", ""
        if _same(old, line):
            return "", ""
        return "changed", "".join(part.text for part in parts_of(old))


def _plain(frame: LineHistory, line: IrLine, change: str) -> GraphRow:
    """Return the row of a line, which is cached: most windows share it."""
    known: Any = frame.row
    if known is not None and known[0] is line and known[1].change == change:
        return known[1]
    row = _full_row(frame, line, change, "")
    frame.row = line, row
    return row


def _full_row(frame: LineHistory, line: IrLine, change: str, before: str) -> GraphRow:
    location = f"{line.source_range.file}:{line.source_range.line}" if line.source_range else ""
    return GraphRow(
        frame.key, item_of_line(line), line.depth, parts_of(line), change, before, False, False,
        location, tuple(item.id for item in line.outputs), tuple(dict.fromkeys(n for n, _ in line.inputs)),
    )  # fmt: skip


@per_history(max_entries=16)
def rows_of(history: History, graph: int, window: Window) -> Rows:
    """Return the rows of a window of a graph."""
    return Rows(timeline_of(history, graph), window)
