"""The state of the explorer, without any drawing: a history, a moment, a selection.

Every key that moves through a trace is a method here, so all of it is tested without a terminal.
A method changes the navigator and returns one sentence for the status line; if it cannot act, it changes nothing
and the sentence says why.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.inspect.history import History
from engine.inspect.history.failure import fatal_failure
from engine.inspect.selection import (
    CallSelection,
    DataSelection,
    LineSelection,
    NameSelection,
    NodeSelection,
    Selection,
    SelectionItem,
    StorageSelection,
    TensorSelection,
    kind_of,
    parse_selection,
)
from engine.inspect.trace import TraceReader
from tui.location_spec import find_moment
from tui.notes import Notes
from tui.render import Glyphs, Picture, Target, cut
from tui.render.target import TargetItem, ViewItem
from tui.views import Action, DrawContext, View, opening, view, view_with_role, views

NEEDLE = 30  # maximum cells of a pattern that a sentence quotes
MAX_JUMPS = 200  # maximum jumps that can be undone


@dataclass(frozen=True, slots=True)
class JumpEntry:
    """The state before a jump."""

    moment: int
    selection: Selection
    view: str
    opened: str = ""  # the view that the jump opened, if it changed


class Navigator:
    """One trace, one moment, one selection; independent of Textual."""

    def __init__(self, history: History, at: str = "", view: str = "") -> None:
        self.history = history
        self.selection = Selection()
        self.grain = "line" if len(history.tables.lines) else "op"
        self.options: dict[str, Any] = {}
        failure = fatal_failure(history) if not at else None
        self.view = view or view_with_role("side" if failure else "first").name
        self.needle = ""
        self.notes = Notes()
        self.moment = -1
        self._before = ""  # the grain before the current view's own
        self._suit_grain(self.active_view)
        self._past: list[JumpEntry] = []
        self.go(at or ("error" if failure else "end"))
        self._past.clear()

    @property
    def last(self) -> int:
        """The last moment (-1 in an empty trace)."""
        return int(self.history.end) - 1

    # The active view

    @property
    def active_view(self) -> View:
        """The active view, which has the main pane."""
        return view(self.view)

    def options_of(self, name: str) -> Any:
        """Return the options of the view `name`: the user's choices, or its defaults."""
        return self.options.get(name) or view(name).Options()

    def has_option(self, option: str) -> bool:
        """Return whether the active view has this option of `underhood show`."""
        return any(action.option == option for action in self.active_view.actions)

    def set_option(self, option: str, value: str) -> str:
        """Set an option of the active view, as `underhood show --OPTION VALUE` does. Returns a sentence if
        that is not possible."""
        for action in self.active_view.actions:
            if action.option == option:
                before = self.options_of(self.view)
                sentence = self._act(self.active_view, action, value)
                return "" if self.options_of(self.view) != before else sentence
        return f"the view {self.view} has no option {option}"

    def press(self, keys: str) -> str:
        """Run the action of these keys in the active view, else in a view that they open."""
        declared = [
            (each, action)
            for each in (self.active_view, *views().values())
            for action in each.actions
            if action.keys == keys
        ]
        for each, action in declared:
            if each is self.active_view or action.leads_in:
                return self._act(each, action)
        return f"this is a key of: {', '.join(each.title for each, _ in declared)}"

    def command(self, word: str, argument: str = "") -> str:
        """Run the action of that name or label, in the active view or another."""
        for each in (self.active_view, *views().values()):
            for action in each.actions:
                if word in (action.name, action.label):
                    return self._act(each, action, argument)
        return self.show_view(word)

    def _act(self, owner: View, action: Action, argument: str = "") -> str:
        method = getattr(owner, action.name)
        if action.leads_in and owner is not self.active_view:
            self.remember()
        before = self.view
        sentence: str = method(self, argument) if argument else method(self)
        if action.leads_in:
            self.show_view(owner.name)
            self._opened(before)
        return sentence

    # Drawing

    def model(self, name: str) -> Any:
        """Return the model of the view `name` at this moment."""
        return view(name).model(self)

    def picture(self, name: str, width: int, height: int, glyphs: Glyphs) -> Picture:
        """Return the picture of the view `name` for `width` x `height` cells."""
        options = self.options_of(name)
        context = DrawContext(width, height, glyphs, self.selection, self.grain, options)
        return view(name).draw(self.model(name), context)

    def is_slow(self, name: str) -> bool:
        """Return whether a thread should draw the first picture of the view `name` at this moment."""
        options = self.options_of(name)
        return self.moment >= 0 and view(name).is_slow(self.history, self.moment, options)

    def line(self) -> Any | None:
        """Return the user's line at this moment."""
        return self.history.line_at(self.moment) if self.moment >= 0 else None

    def sentence(self) -> str:
        """Describe this event in a sentence."""
        return (
            self.history.event(self.moment).sentence if self.moment >= 0 else "nothing was recorded"
        )

    def activity(self, columns: int) -> list[float]:
        """Return the activity of the program in each of `columns` equal parts of the trace: 0 to 1. It counts
        lines and operator calls; a part with any of them is never 0."""
        import numpy as np

        end = self.last + 1
        if end <= 0:
            return []
        tables = self.history.tables
        calls = tables.calls.since[~tables.by_compiler]
        moments = np.concatenate([tables.lines.since, calls])
        counts = np.histogram(moments, bins=columns, range=(0, end))[0]
        return list(counts / max(1, counts.max()))

    # Moving

    def grains(self) -> tuple[str, ...]:
        """Return the grains of this trace: without a graph, it has no grain `node`."""
        return self.history.grains

    def move(self, moment: int) -> bool:
        """Move to `moment`, clamped to the trace. Returns whether it differs from the current one. If so, a
        selected line, call or node is deselected: the source then shows the line that runs, dispatch the
        call, autograd the node."""
        moment = max(min(moment, self.last), min(0, self.last))
        moved = moment != self.moment
        if moved:
            self.selection = replace(self.selection, line=None, call=None, node=None)
        self.moment = moment
        return moved

    def step(self, direction: int, grain: str = "") -> str:
        """Go to the next or previous moment at a grain."""
        grain = grain or self.grain
        seek = self.history.next if direction > 0 else self.history.previous
        moment = seek(self.moment, grain)
        if moment == self.moment or self.last < 0:
            return f"no {'later' if direction > 0 else 'earlier'} {grain}"
        self.move(moment)
        return ""

    def stride(self, direction: int) -> str:
        """Step by the next coarser grain: events by operator, operators by line, lines over calls."""
        grains = self.grains()
        coarser = grains.index(self.grain) + 1
        if coarser < len(grains):
            return self.step(direction, grains[coarser])
        depth = len(self.history.frames_at(self.moment))
        start = self.moment
        while not self.step(direction, "line"):
            if len(self.history.frames_at(self.moment)) <= max(depth, 1):
                return ""
        if self.moment == start:
            return f"no {'later' if direction > 0 else 'earlier'} line"
        return ""

    def move_along(self, moments: Sequence[int], direction: int, noun: str) -> str:
        """Go to the next or previous of these moments, which ascend; `noun` says what happened at them."""
        if direction > 0:
            index = bisect_right(moments, self.moment)
        else:
            index = bisect_left(moments, self.moment) - 1
        if not 0 <= index < len(moments):
            return f"no {'later' if direction > 0 else 'earlier'} {noun}"
        self.move(moments[index])
        return ""

    def set_grain(self, grain: str = "") -> str:
        """Choose the grain of a step; without a name, the next one."""
        grains = self.grains()
        if grain and grain not in grains:
            return f"unknown grain {grain!r}; choose from {', '.join(grains)}"
        self.grain = grain or grains[(grains.index(self.grain) + 1) % len(grains)]
        return f"step by {self.grain}"

    def go(self, spec: str) -> str:
        """Go to an event number, +5, -5, start, end, last, line:12 or train.py:12."""
        try:
            moment = find_moment(self.history, spec, self.moment)
        except ValueError as error:
            return str(error)
        self.remember()
        self.move(moment)
        return ""

    # Selecting

    def select(self, target: Target) -> None:
        """Select the target of a span. A line does not change the selected tensor, and vice versa."""
        item = target.item
        if isinstance(item, ViewItem):
            items = (item.selects, *target.also)
            unaffected = self.selection
        else:
            items = (item, *target.also)
            unaffected = self._unaffected(item, target.also)
        parts = Selection.of(*(each for each in items if each is not None))
        self.selection = unaffected.updated(replace(parts, data=self._current(parts.data, item)))

    def _unaffected(self, item: SelectionItem | None, also: tuple[SelectionItem, ...]) -> Selection:
        """Return the items that stay selected. A node replaces both the data and the position in the program."""
        if item is not None and kind_of(item) == "value":
            return self.selection
        if isinstance(item, NodeSelection):
            return Selection(value=self.selection.value)
        if any(kind_of(each) == "data" for each in (item, *also) if each is not None):
            return replace(self.selection, data=None, node=None)
        return replace(self.selection, line=None, call=None, node=None)

    def _current(self, data: DataSelection | None, item: TargetItem | None) -> DataSelection | None:
        """Return the data with its storage; None for a node's tensor that no longer exists."""
        if data is None or isinstance(data, StorageSelection) or not data.tensor:
            return data
        tensor = self.history.tensor(data.tensor, self.moment)
        if tensor is None and isinstance(item, NodeSelection):
            return None
        if data.storage or tensor is None:
            return data
        return replace(data, storage=tensor.storage)

    def select_text(self, text: str) -> str:
        """Select by a typed string, as `--select` does. Returns a sentence if that is not possible."""
        try:
            item, *also = parse_selection(text, self.history, self.moment)
        except ValueError as error:
            return str(error)
        self.select(Target(item, tuple(also)))
        return ""

    def select_newest(self, after: int) -> None:
        """Select the tensor that a name was bound to last, if that was after the moment `after`."""
        names = self.history.tables.names
        first = int(names.since.searchsorted(after, "right"))
        named = [
            row
            for row in range(first, len(names))
            if names.tensor[row] and names.until[row] > self.last
        ]
        if named:
            row = named[-1]
            name = self.history.string(int(names.name[row]))
            self.select(Target(NameSelection(int(names.tensor[row]), 0, name)))

    # Jumping and returning

    def remember(self) -> None:
        """Add the current state to the jump list, so that Backspace returns to it."""
        entry = JumpEntry(self.moment, self.selection, self.view)
        if not self._past or replace(self._past[-1], opened="") != entry:
            self._past.append(entry)
            del self._past[:-MAX_JUMPS]

    def _opened(self, before: str) -> None:
        """Record that the last jump opened the active view, unless it was active `before`."""
        if self._past and self.view != before:
            self._past[-1] = replace(self._past[-1], opened=self.view)

    def close_view(self) -> str:
        """Return from the active view to the position where a jump opened it; "" if the user chose it."""
        opened = [entry.opened for entry in self._past]
        if self.view not in opened:
            return ""
        row = len(opened) - 1 - opened[::-1].index(self.view)
        entry = self._past[row]
        del self._past[row:]
        self.moment, self.selection, self.view = entry.moment, entry.selection, entry.view
        return f"back at event {self.moment:,}"

    def back(self) -> str:
        """Return to the state before the last jump."""
        while self._past:
            entry = self._past.pop()
            if replace(entry, opened="") != JumpEntry(self.moment, self.selection, self.view):
                self.moment, self.selection, self.view = entry.moment, entry.selection, entry.view
                return f"back at event {self.moment:,}"
        return "jump list is empty"

    def show_view(self, name: str) -> str:
        """Switch to another view."""
        if name not in views():
            return f"unknown view {name!r}; choose from {', '.join(views())}"
        if name != self.view:
            self._suit_grain(view(name))
        self.view = name
        return view(name).opened(self)

    def _suit_grain(self, new_view: View) -> None:
        """Set the grain that a view declares (an instruction, a rewrite), until another is chosen or another
        view is active."""
        if self._before and self.grain == self.active_view.grain:
            self.grain = self._before
        self._before = ""
        if new_view.grain in self.grains() and new_view.grain != self.grain:
            self._before, self.grain = self.grain, new_view.grain

    def follow(self, target: Target) -> str:
        """Follow the target under the cursor: to an event or call, to the moment at which a line
        runs, or to the cells of a name or tensor."""
        self.remember()
        self.select(target)
        if target.event >= 0:
            self.move(target.event)
            return ""
        match target.item:
            case LineSelection(line=line):
                return self.go(f"line:{line}")
            case CallSelection(call=number):
                call = self.history.call(number)
                if call is None:
                    return f"call {number} is not in this trace"
                self.move(call.since)
                return ""
        return self.open(target)

    def open(self, target: Target) -> str:
        """Show the target in the first view that opens targets of its class."""
        if target.item is None:
            return ""
        before = self.view
        for each in opening(target.item):
            sentence = each.follow(self, target.item)
            if sentence is not None:
                self._opened(before)
                return sentence
        return ""

    # Searching

    def search(self, text: str, direction: int = 1) -> str:
        """Go to the next event whose sentence, names or operator contain the text."""
        sentence = self.begin_search(text, direction)
        if sentence is not None:
            return sentence
        moment = self.history.find(self.needle, self.moment, direction)
        return self.arrive(moment, direction, self.moment)

    def begin_search(self, text: str, direction: int) -> str | None:
        """Search the picture of the active view. Returns None if the events must be searched for `needle`."""
        self.needle = text or self.needle
        if not self.needle:
            return "no pattern; press / to search"
        return self.active_view.search(self, self.needle, direction)

    def arrive(self, moment: int | None, direction: int, start: int) -> str:
        """Go to a match, or report that there is none after or before `start`."""
        if moment is None:
            side, key, other = (
                ("after", "N", "before") if direction > 0 else ("before", "n", "after")
            )
            text = f"{cut(self.needle, NEEDLE, '…')!r} does not occur {side} event {start:,}"
            return f"{text}; {key} searches {other} it"
        self.remember()
        self.move(moment)
        return ""

    def arrive_until(self, moment: int | None, condition: str, start: int) -> str:
        """Go to the moment at which a condition became true."""
        if moment is None:
            return f"not reached after event {start:,}: {condition}"
        self.remember()
        self.move(moment)
        line = self.line()
        return f"{condition}: event {moment:,}{f', line {line.line}' if line else ''}"

    def next_tensor(self, direction: int) -> str:
        """Select the next or previous living tensor, in the order in which they were created."""
        alive = sorted(int(each) for each in self.history.tables.tensors.id[self._alive()])
        if not alive:
            return "no tensor exists at this moment"
        later = [each for each in alive if each > self.selection.tensor]
        earlier = [each for each in alive if each < self.selection.tensor]
        row = (later or alive)[0] if direction > 0 else (earlier or alive)[-1]
        self.selection = replace(self.selection, line=None, call=None)  # of the previous tensor
        self.select(Target(TensorSelection(row)))
        return self.active_view.opened(self) or (
            f"tensor {self.history.label(row, self.moment)}: {alive.index(row) + 1} of {len(alive)}"
        )

    def _alive(self) -> Any:
        return self.history.tables.tensors.at(self.moment)

    # Growing recordings

    def take(self, history: History) -> None:
        """Continue with a history that has more events. A navigator at the end stays at the end."""
        at_end = self.moment >= self.last
        self.history = history
        if at_end:
            self.move(self.last)


def open_navigator(path: Path, at: str = "", view: str = "", select: str = "") -> Navigator:
    """Open a trace at the requested location. Raises: TraceError or ValueError."""
    nav = Navigator(History(TraceReader.open(path)), view=view)
    nav.notes = Notes.load(path)
    for text, act in ((at, nav.go), (select, nav.select_text)):
        problem = text and act(text)
        if problem:
            raise ValueError(problem)
    nav._past.clear()
    return nav
