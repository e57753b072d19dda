"""All lines that a graph ever had, in one order: so that each keeps its place from pass to pass.

The states of a graph (one per snapshot and rewrite) are laid over each other. A line that is gone leaves
its place behind; a new one stands after the line it follows. A node that moves leaves the old place and
takes a new one. The order is made once per graph and only grows, so a step never reorders anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any
from weakref import WeakKeyDictionary

from engine.inspect.history.ir import IrGraph, IrLine

NEVER = 1 << 60
_ENDS = ("unlink", "destroy", "drop_block", "drop_attribute", "set_attribute")  # lines may go


@dataclass(slots=True)
class Frame:
    """The place of one line: from the state in which it came (`born`) to that in which it went."""

    key: int  # the node of the line
    born: int
    gone: int = NEVER
    line: IrLine | None = None  # as it was last, once it is gone
    moved: bool = False  # it went to another place


def states(jit: Any, graph: int) -> Iterator[tuple[int, IrGraph]]:
    """(place among the changes, the graph after it), one after the other; the graph goes on changing."""
    state: IrGraph | None = None
    for place, (moment, row) in enumerate(jit.changes.get(graph, [])):
        if row < 0:
            snapshot = jit.json(moment)
            state = IrGraph(snapshot) if "block" in snapshot else state
        elif state is not None:
            try:
                state.apply(jit._rewrite(row).edits)
            except (KeyError, ValueError, IndexError, StopIteration):
                state = None  # its edits were not kept whole; the next snapshot goes on
        if state is not None:
            yield place, state


class Film:
    """Every state of one graph, by its place among the changes (`Jit.changes`)."""

    def __init__(self, jit: Any, graph: int) -> None:
        changes = jit.changes.get(graph, [])
        self.moments = [moment for moment, _ in changes]
        self.snapshots = [place for place, (_, row) in enumerate(changes) if row < 0]
        self.frames: list[Frame] = []
        self.lost = -1  # the first place whose edits were not kept whole
        state: IrGraph | None = None
        for place, (moment, row) in enumerate(changes):
            if row < 0:
                snapshot = jit.json(moment)
                if "block" in snapshot:
                    self._take(IrGraph(snapshot), state, place)
                    state = IrGraph(snapshot)
            elif state is not None:
                state = self._go_on(jit, state, jit._rewrite(row).edits, place)

    def _go_on(self, jit: Any, state: IrGraph, edits: list[Any], place: int) -> IrGraph | None:
        ends = any(
            edit[0] in ("unlink", "destroy", "drop_block", "drop_attribute") for edit in edits
        )
        before = {line.node: line for line in state.every_line()} if ends else {}
        try:
            state.apply(edits)
        except (KeyError, ValueError, IndexError, StopIteration):
            self.lost = place if self.lost < 0 else self.lost
            return None
        self._merge([line.node for line in state.every_line()], before, place)
        return state

    def _take(self, state: IrGraph, before: IrGraph | None, place: int) -> None:
        was = {line.node: line for line in before.every_line()} if before is not None else {}
        self._merge([line.node for line in state.every_line()], was, place)

    def _merge(self, keys: list[int], before: dict[int, IrLine], place: int) -> None:
        """Lay the next state over those so far."""
        alive = [at for at, frame in enumerate(self.frames) if frame.gone == NEVER]
        old = [self.frames[at].key for at in alive]
        if old == keys:
            return
        first = 0
        while first < min(len(old), len(keys)) and old[first] == keys[first]:
            first += 1
        last = 0
        while last < min(len(old), len(keys)) - first and old[-1 - last] == keys[-1 - last]:
            last += 1
        mine, new = old[first : len(old) - last], keys[first : len(keys) - last]
        kept = set(new)
        placed = {}  # after which place of `frames` the new lines stand
        for sort, i, j, k, n in SequenceMatcher(None, mine, new, autojunk=False).get_opcodes():
            if sort == "equal":
                continue
            for at in alive[first + i : first + j]:
                self.frames[at].gone = place
                self.frames[at].line = before.get(self.frames[at].key)
                self.frames[at].moved = self.frames[at].key in kept
            if n > k:
                above = first + j - 1  # below what they replace
                placed[alive[above] if above >= 0 else -1] = [Frame(key, place) for key in new[k:n]]
        if placed:
            self.frames = [
                *placed.get(-1, ()),
                *(one for at, f in enumerate(self.frames) for one in (f, *placed.get(at, ()))),
            ]


_FILMS: WeakKeyDictionary[Any, dict[int, Film]] = WeakKeyDictionary()


def film_of(jit: Any, graph: int) -> Film:
    """The film of a graph, made once for each history."""
    films = _FILMS.setdefault(jit, {})
    if graph not in films:
        films[graph] = Film(jit, graph)
    return films[graph]
