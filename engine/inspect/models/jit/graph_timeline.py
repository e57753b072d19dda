"""All lines that a graph had at any time, in one order, so that each keeps its row from pass to pass.

The states of a graph (one per snapshot and rewrite) are overlaid. A removed line keeps its row; a new one
is inserted after the line it follows. A node that moves leaves its old row and gets a new one. The order is
computed once per graph and only grows, so a step never reorders anything. Each row stores the versions of
its line, so a state is looked up instead of replayed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engine.inspect.history.cache import per_history
from engine.inspect.history.gc_pause import all_stays
from engine.inspect.history.jit.ir import IrGraph, IrLine, Json, SourceRange
from engine.inspect.history.jit.linked_graph import LinkedGraph, LinkedLine

if TYPE_CHECKING:
    from engine.inspect.history import History

NEVER = 1 << 60
MAX_CACHED = 8  # states whose lines are cached
_LOST = (KeyError, ValueError, IndexError, AttributeError)  # edits that were recorded incompletely


class LineHistory:
    """One line, from the state in which it was inserted to the one in which it was removed."""

    __slots__ = (
        "after",
        "created_at",
        "keeps",
        "key",
        "lines",
        "moved",
        "removed_at",
        "row",
        "states",
    )

    def __init__(self, key: int, created_at: int) -> None:
        self.key = key  # the node of the line
        self.created_at, self.removed_at = created_at, NEVER
        self.moved = False  # it moved to another row
        self.keeps = False  # whether its row stays after its removal
        self.states: list[int] = []  # the first state of each line below
        self.lines: list[IrLine] = []  # the line from that state on
        self.after: LineHistory | None = None
        self.row: object = None  # its last drawn row (`lines`)

    @property
    def line(self) -> IrLine | None:
        """Its last version."""
        return self.lines[-1] if self.lines else None

    def at(self, state: int) -> IrLine | None:
        """Return its version in one state."""
        if len(self.lines) == 1 or not self.lines:
            return self.line
        return self.lines[max(0, bisect_right(self.states, state) - 1)]

    def reads(self, state: int, line: IrLine | None) -> None:
        """Add the version from this state on."""
        if line is None or (self.lines and self.lines[-1] == line):
            return
        self.states.append(state)
        self.lines.append(line)


class GraphTimeline:
    """Every state of one graph, by its index among the changes (`Jit.changes`)."""

    def __init__(self, jit: Any, graph: int) -> None:
        changes = jit.changes.get(graph, [])
        self.moments = [moment for moment, _ in changes]
        self.snapshots = [state for state, (_, row) in enumerate(changes) if row < 0]
        self.lost = -1  # the first state with incomplete edits
        self.name = ""
        self._holes: list[tuple[int, int]] = []  # the (from, until) states of incomplete edits
        self._top = LineHistory(0, NEVER)  # before the first
        self._last: dict[int, dict[int, IrLine]] = {}
        self._names: dict[int, dict[int, str]] = {}
        self._graph: LinkedGraph | None = None
        for state, (moment, row) in enumerate(changes):
            if row < 0:
                self._add_snapshot(jit.json(moment), state)
            elif self._graph is not None:
                self._rewritten(jit._rewrite(row).edits, state)
        self._graph = None
        self.frames = list(self._walk(self._top))
        for frame in self.frames:
            # A line that existed only within one pass, or moved, leaves no row.
            pair = (
                bisect_right(self.snapshots, state - 1)
                for state in (frame.created_at, frame.removed_at)
            )
            frame.keeps = not frame.moved and len(set(pair)) > 1
        self.keys = frozenset(frame.key for frame in self.frames)

    # States

    def is_known(self, state: int) -> bool:
        """Return whether this state is known."""
        return state >= 0 and not any(since <= state < until for since, until in self._holes)

    def lines(self, state: int) -> dict[int, IrLine]:
        """Return the lines of a state by their nodes, in the order of its text; {} if the state is unknown."""
        known = self._last.get(state)
        if known is None:
            known = self._lines(state) if self.is_known(state) else {}
            self._last[state] = known
            while len(self._last) > MAX_CACHED:
                del self._last[next(iter(self._last))]
        return known

    def names(self, state: int) -> dict[int, str]:
        """Return the names of the Values of a state, without those inside a group."""
        if state not in self._names:
            self._names = {state: {}}  # a cache of one state
            for line in self.lines(state).values():
                if line.role == "with":
                    break
                self._names[state] |= {value.id: value.name for value in line.outputs}
        return self._names[state]

    @cached_property
    def last_names(self) -> dict[int, str]:
        """Return the last name of each Value that the graph had at any time."""
        lines = (frame.line for frame in self.frames if frame.line is not None)
        return {value.id: value.name for line in lines for value in line.outputs}

    @cached_property
    def sources(self) -> tuple[SourceRange, ...]:
        """The source lines of the graph's nodes, each once."""
        lines = (line for frame in self.frames for line in frame.lines)
        matches = {
            (line.source_range.file, line.source_range.line): line.source_range
            for line in lines
            if line.source_range
        }
        return tuple(matches.values())

    def _lines(self, state: int) -> dict[int, IrLine]:
        matches = {}
        for frame in self.frames:
            if (
                frame.created_at <= state < frame.removed_at
                and (line := frame.at(state)) is not None
            ):
                matches[frame.key] = line
        return matches

    # Construction

    def _add_snapshot(self, snapshot: Json, state: int) -> None:
        """Add a snapshot: it equals the present state, except for facts that edits lack."""
        if "block" not in snapshot:
            return
        self.name = str(snapshot.get("name", ""))
        try:
            if self._graph is not None and self._agrees(self._graph, snapshot, state):
                return
            chain = LinkedGraph(snapshot)
            new = list(chain.chain())
            lines = [chain.line(linked.key) for linked in new]
        except _LOST:
            self._lose(state)
            return
        if self._holes and self._holes[-1][1] == NEVER:
            self._holes[-1] = self._holes[-1][0], state
        elif self._graph is None:
            self._holes.append((0, state))
        old = [frame for frame in self._walk(self._top) if frame.removed_at == NEVER]
        self._graph = chain
        self._lay(self._top, old, new, state)
        for linked, line in zip(new, lines, strict=True):
            linked.mark.reads(state, line)
        for frame in old:
            frame.moved = frame.removed_at == state and frame.key in chain.linked_lines

    def _agrees(self, chain: LinkedGraph, snapshot: Json, state: int) -> bool:
        """Return whether the edits led to this snapshot; only snapshots have the schema of a node."""
        chain.settle()
        recorded = IrGraph(snapshot)
        for key, node in recorded.nodes.items():
            own = chain.nodes.get(key)
            if own is not None and "schema" in node and "schema" not in own:
                own["schema"] = node["schema"]
                linked = chain.linked_lines.get(key)
                if linked is not None and linked.mark is not None:
                    linked.mark.reads(state, chain.line(key))
        return bool(chain.graph["block"] == snapshot["block"])

    def _rewritten(self, edits: list[Any], state: int) -> None:
        chain = self._graph
        assert chain is not None
        try:
            if not edits:
                raise ValueError("no rewrite is without edits")
            chain.apply(edits)
            fresh, loose, dirty = chain.take()
        except _LOST:
            self._lose(state)
            return
        removed_at = set(loose)
        for linked in fresh:
            if linked.mark is None:
                self._fill(linked, removed_at, state)
        for frame in removed_at:
            frame.removed_at = state
        for frame in loose:
            frame.moved = frame.removed_at == state and _in_text(chain, frame.key)
        for key in dirty:
            known = chain.linked_lines.get(key)
            if known is not None and known.mark is not None:
                known.mark.reads(state, chain.line(key))

    def _lose(self, state: int) -> None:
        """Drop invalid edits: the timeline continues at the next snapshot."""
        self.lost = state if self.lost < 0 else self.lost
        if not self._holes or self._holes[-1][1] != NEVER:
            self._holes.append((state, NEVER))
        self._graph = None

    def _fill(self, linked: LinkedLine, removed_at: set[LineHistory], state: int) -> None:
        """Fill the gap between two unchanged lines: the old and the new lines in it."""
        first = linked
        while first.before is not None and first.before.mark is None:
            first = first.before
        above = first.before.mark if first.before is not None else self._top
        new: list[LinkedLine] = []
        at: LinkedLine | None = first
        while at is not None and at.mark is None:
            new.append(at)
            at = at.after
        end = at.mark if at is not None else None
        old = []
        for frame in self._walk(above):
            if frame is end:
                break
            if frame in removed_at:
                old.append(frame)
        self._lay(above, old, new, state)
        removed_at.difference_update(frame for frame in old if frame.removed_at == NEVER)

    def _lay(
        self, above: LineHistory, old: list[LineHistory], new: list[LinkedLine], state: int
    ) -> None:
        """Merge new lines with the old ones of a gap: each old one stays or is removed."""
        first, last, shorter = 0, 0, min(len(old), len(new))
        while first < shorter and old[first].key == new[first].key:
            first += 1
        while last < shorter - first and old[-1 - last].key == new[-1 - last].key:
            last += 1
        for frame, linked in zip(old[:first], new[:first], strict=True):
            linked.mark = frame
        if last:
            for frame, linked in zip(old[-last:], new[-last:], strict=True):
                linked.mark = frame
        own, fresh = old[first : len(old) - last], new[first : len(new) - last]
        keys = [frame.key for frame in own], [linked.key for linked in fresh]
        for tag, i, j, k, n in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
            if tag == "equal":
                for frame, linked in zip(own[i:j], fresh[k:n], strict=True):
                    linked.mark = frame
                continue
            for frame in own[i:j]:
                frame.removed_at = state
            upper = own[j - 1] if j else old[first - 1] if first else above
            for linked in fresh[k:n]:  # below what they replace
                frame = linked.mark = LineHistory(linked.key, state)
                frame.after, upper.after = upper.after, frame
                upper = frame

    @staticmethod
    def _walk(frame: LineHistory) -> Iterator[LineHistory]:
        after = frame.after
        while after is not None:
            yield after
            after = after.after


def _in_text(chain: LinkedGraph, key: int) -> bool:
    linked = chain.linked_lines.get(key)
    return linked is not None and linked.mark is not None


@per_history(max_entries=4096)
def timeline_of(history: History, graph: int) -> GraphTimeline:
    """Return every state of a graph."""
    with all_stays():
        return GraphTimeline(history.jit, graph)


def state_at(timeline: GraphTimeline, moment: int) -> int:
    """Return the index of the last change up to a moment; -1: before the first snapshot."""
    return bisect_right(timeline.moments, moment) - 1
