"""The run as a sequence of events: those around this moment as sentences, all of them as a bar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.inspect.history.cache import per_history
from engine.inspect.history.steps import BOOKKEEPING
from engine.inspect.selection import CallSelection, LineSelection

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

AROUND = 45  # events that are described before and after the moment
COLUMNS = 240  # the resolution of the bar
MAX_MARKS = 1000  # marks of one kind on the bar
CLOSEST = 60  # events of the smallest window


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event and its description."""

    number: int
    time: int  # nanoseconds since the first event
    kind: str
    sentence: str
    depth: int  # number of enclosing operator calls
    tensor: int
    storage: int
    call: int
    highlighted: bool
    bookkeeping: bool  # not a step of the grain `event`


@dataclass(frozen=True, slots=True)
class Step:
    """The next and the previous step at one grain."""

    grain: str
    previous: int
    next: int


@dataclass(frozen=True, slots=True)
class Life:
    """The selected tensor from its first event to its last (-1: still alive), and what wrote its bytes."""

    tensor: int
    label: str
    created_at: int
    freed_at: int
    writes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RegionBar:
    """A named part of the program from its first event to its last (-1: it has no end). `depth` others surround it."""

    name: str
    since: int
    until: int
    depth: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """`density[i]`: the number of events of the busiest line among events first + [i * span, (i + 1) *
    span).

    The bar shows the events [first, last): all, or those of a zoomed window."""

    moment: int
    end: int
    line: int
    elapsed: int
    duration: int
    rows: tuple[EventRow, ...]
    steps: tuple[Step, ...]
    first: int
    last: int
    span: int
    density: tuple[int, ...]
    errors: tuple[int, ...]
    outputs: tuple[int, ...]  # of the window, one per column at most
    life: Life | None
    regions: tuple[RegionBar, ...]  # of the window, outer ones before those inside


def window(moment: int, end: int, zoom: int) -> tuple[int, int]:
    """Return the events [first, last) that a bar shows: all, or 1/2 of them for every step of the zoom.

    It moves by half its length, so that it does not move with every step."""
    size = min(end, max(CLOSEST, end >> zoom))
    half = max(1, size // 2)
    first = max(0, min(moment // half * half - half // 2, end - size))
    return first, first + size


def project(history: History, moment: int, selection: Selection, zoom: int = 0) -> Timeline:
    """Return the events around `moment`, and the density of the whole run or of a window."""
    end = history.end
    if not end:
        return Timeline(moment, 0, 0, 0, 0, (), (), 0, 0, 1, (), (), (), None, ())
    times = history.tables.events["t"]
    current = history.line_at(moment)
    first, last = window(moment, end, zoom)
    span = max(1, -(-(last - first) // COLUMNS))
    errors = history.tables.numbers("ERROR", "EXCEPTION")
    return Timeline(
        moment=moment,
        end=end,
        line=current.line if current else 0,
        elapsed=int(times[moment] - times[0]),
        duration=int(times[-1] - times[0]),
        rows=tuple(_rows(history, moment, selection)),
        steps=tuple(_steps(history, moment)),
        first=first,
        last=last,
        span=span,
        density=_density(history, first, last, span),
        errors=tuple(int(number) for number in errors[:MAX_MARKS]),
        outputs=_outputs(history, first, last, span),
        life=_life(history, moment, selection),
        regions=_regions(history, first, last),
    )


def _rows(history: History, moment: int, selection: Selection) -> Iterator[EventRow]:
    first, last = max(0, moment - AROUND), min(history.end, moment + AROUND + 1)
    start = int(history.tables.events["t"][0])
    running = len(history.tables.calls.at(first - 1)) if first else 0
    for number in range(first, last):
        event = history.event(number)
        fields = dict(event.fields)
        if event.kind in ("OP_EXIT", "ERROR"):
            running = max(0, running - 1)
        line = LineSelection(fields.get("file", 0), fields.get("line", 0))
        tensor, storage, call = (fields.get(name, 0) for name in ("tensor", "storage", "call"))
        yield EventRow(
            number=number,
            time=event.time - start,
            kind=event.kind,
            sentence=event.sentence,
            depth=running,
            tensor=tensor,
            storage=storage,
            call=call,
            highlighted=tensor == selection.tensor != 0
            or storage == selection.storage != 0
            or CallSelection(call) == selection.call
            or (event.kind == "LINE" and line == selection.line),
            bookkeeping=event.kind in BOOKKEEPING,
        )
        running += event.kind == "OP_ENTER"


def _steps(history: History, moment: int) -> Iterator[Step]:
    for grain in history.grains[1:]:  # the finest grain steps to the adjacent numbers
        yield Step(grain, history.previous(moment, grain), history.next(moment, grain))


@per_history(max_entries=4)  # a window's density does not depend on the moment
def _density(history: History, begin: int, end: int, span: int) -> tuple[int, ...]:
    """Return for each stretch of the bar the most events that one line of the program caused there."""
    import numpy as np

    edges = np.unique(np.concatenate([[0], history.tables.lines.since, [history.end]]))
    caused = np.diff(edges)
    low = np.arange(begin, end, span)
    high = np.minimum(low + span, end) - 1
    first = np.searchsorted(edges, low, "right") - 1
    last = np.searchsorted(edges, high, "right") - 1
    between = np.stack([first, last + 1], axis=1).ravel()
    matches = np.maximum.reduceat(np.append(caused, 0), between)[::2]
    return tuple(int(count) for count in matches)


def _outputs(history: History, first: int, last: int, span: int) -> tuple[int, ...]:
    """Return the moments of the window at which the program wrote to stdout or stderr, one per column at most."""
    moments = history.tables.output.since
    inside = moments[(moments >= first) & (moments < last)].tolist()
    return tuple({(moment - first) // span: moment for moment in reversed(inside)}.values())[::-1]


@per_history(max_entries=4)
def _regions(history: History, first: int, last: int) -> tuple[RegionBar, ...]:
    """Return the regions that the window shows, at most one per column: those that surround others first."""
    table = history.tables.regions
    inside = ((table.since < last) & (table.until > first)).nonzero()[0][:COLUMNS]
    bars = []
    for since, until in zip(
        table.since[inside].tolist(), table.until[inside].tolist(), strict=True
    ):
        around = history.regions_at(since)
        ended = until if until < history.end else -1
        bars.append(RegionBar(around[-1].name, since, ended, len(around) - 1))
    return tuple(sorted(bars, key=lambda bar: bar.depth))


def _life(history: History, moment: int, selection: Selection) -> Life | None:
    tables = history.tables
    if not selection.tensor or not len(tables.tensors.where("id", selection.tensor)):
        return None
    rows = tables.tensors.where("id", selection.tensor)
    created_at, until = int(tables.tensors.since[rows[0]]), int(tables.tensors.until[rows[-1]])
    storage = int(tables.tensors.storage[rows[-1]])
    writes = tables.writes.since[tables.writes.where("storage", storage)]
    freed_at = until if until < history.end else -1
    inside = writes[(writes >= created_at) & ((writes < until) | (freed_at < 0))]
    return Life(
        tensor=selection.tensor,
        label=history.label(selection.tensor, min(max(moment, created_at), history.end - 1)),
        created_at=created_at,
        freed_at=freed_at,
        writes=tuple(int(number) for number in inside[:MAX_MARKS]),
    )
