"""A device's queue: what the host enqueued, what the device ran and when, and where the host waited for it.

The device is that of the newest command. Times were measured by the device and converted to the recorder's
clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.inspect.history.cache import per_history
from engine.inspect.models._calls import duration
from engine.inspect.models.timeline import window

if TYPE_CHECKING:
    import numpy as np

    from engine.inspect.history import History
    from engine.inspect.selection import Selection

COLUMNS = 240  # the resolution of the lanes
AROUND = 60  # rows of the list before and after this moment
_NOTHING = "No device has a queue here: a program has one once a tensor is on 'opencl'."


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A kernel or a copy. `state` at this moment: waiting, running, over."""

    command: int
    moment: int  # of its enqueueing
    over: int  # at which the host learnt of its end; -1: not recorded
    call: int
    kind: str
    name: str
    bytes: int
    pinned: bool
    items: tuple[int, ...]
    group: tuple[int, ...]
    state: str
    delay_ns: int  # from when it was enqueued to its start
    delay: str
    duration_ns: int
    duration: str


@dataclass(frozen=True, slots=True)
class WaitRow:
    """The host waited."""

    moment: int
    over: int
    call: int
    reason: str
    duration_ns: int
    duration: str


@dataclass(frozen=True, slots=True)
class QueueModel:
    """Both lanes over a window of time in COLUMNS columns, and the rows around this moment.

    host: per column the share of time in which the host waited, in percent; enqueued: commands that it enqueued;
    busy: the share of time in which the device ran.
    """

    why: str = ""
    device: str = ""
    moment: int = -1
    end: int = 0
    first: int = 0
    last: int = 0
    host: tuple[int, ...] = ()
    enqueued: tuple[int, ...] = ()
    busy: tuple[int, ...] = ()
    column: int = 0  # of this moment
    moments: tuple[int, ...] = ()  # the first event of each column
    commands: int = 0
    pending: int = 0  # enqueued and not over at this moment
    busy_ns: int = 0
    busy_text: str = ""
    waited_ns: int = 0
    waited: str = ""
    window_ns: int = 0
    window: str = ""
    rows: tuple[CommandRow | WaitRow, ...] = ()


def project(history: History, moment: int, selection: Selection, zoom: int = 0) -> QueueModel:
    """Return the queue of the device whose command is the newest at the moment, else of the first."""
    import numpy as np

    commands, waits = history.tables.commands, history.tables.waits
    if not len(commands):
        return QueueModel(why=_NOTHING)
    newest = max(0, commands.started_by(moment) - 1)
    device = int(commands.device[newest])
    own = np.flatnonzero(commands.device == device)
    waited = np.flatnonzero(waits.device == device)
    times = history.tables.events["t"]
    first, last = window(moment, history.end, zoom)
    start, stop = int(times[first]), max(int(times[first]) + 1, int(times[last - 1]))
    edges = np.linspace(start, stop, COLUMNS + 1)
    ran = commands.started[own], commands.ended[own]
    host = times[waits.since[waited]], times[np.minimum(waits.until[waited], history.end - 1)]
    time = int(times[max(0, moment)])
    enqueued = times[commands.since[own]]
    started = own[commands.since[own] <= moment]
    return QueueModel(
        device=history.command(newest).device,
        moment=moment,
        end=history.end,
        first=first,
        last=last,
        host=_percent(edges, *host),
        enqueued=tuple(np.histogram(enqueued, edges)[0].tolist()),
        busy=_percent(edges, *ran),
        column=min(COLUMNS - 1, max(0, int((time - start) * COLUMNS // (stop - start)))),
        moments=tuple(
            int(each) for each in np.minimum(np.searchsorted(times, edges[:-1]), history.end - 1)
        ),
        commands=len(started),
        pending=int(np.count_nonzero(_end(commands.ended[started]) > time)),
        busy_ns=(busy_ns := _total(start, stop, *ran)),
        busy_text=duration(busy_ns),
        waited_ns=(waited_ns := _total(start, stop, *host)),
        waited=duration(waited_ns),
        window_ns=stop - start,
        window=duration(stop - start),
        rows=_rows(history, own, waited, moment, time),
    )


@per_history(max_entries=8)
def moments_of(history: History, kind: str) -> tuple[int, ...]:
    """Return the moments of all commands or waits."""
    table = history.tables.waits if kind == "wait" else history.tables.commands
    return tuple(int(each) for each in table.since)


def _end(ended: np.ndarray) -> np.ndarray:
    """Return the end of each; a command without a recorded end never ends."""
    import numpy as np

    return np.where(ended > 0, ended, np.iinfo(np.int64).max)


def _percent(edges: np.ndarray, since: np.ndarray, until: np.ndarray) -> tuple[int, ...]:
    """Return the share of each column that the intervals, which do not overlap, cover."""
    import numpy as np

    order = np.argsort(since, kind="stable")
    since, until = since[order].astype(np.float64), until[order].astype(np.float64)
    covered = np.concatenate([[0.0], np.cumsum(until - since)])

    def until_time(t: np.ndarray) -> np.ndarray:
        row = np.searchsorted(since, t, "right")
        over = np.where(row > 0, np.append(until, 0.0)[row - 1] - t, 0.0)
        sums: np.ndarray = covered[row] - np.maximum(over, 0.0)
        return sums

    shares = np.diff(until_time(edges)) / np.diff(edges) * 100
    return tuple(int(np.ceil(min(100.0, max(0.0, share)))) for share in shares.tolist())


def _total(start: int, stop: int, since: np.ndarray, until: np.ndarray) -> int:
    """Return the nanoseconds of [start, stop) in the intervals."""
    import numpy as np

    return int(np.maximum(np.minimum(until, stop) - np.maximum(since, start), 0).sum())


def _rows(
    history: History, own: np.ndarray, waited: np.ndarray, moment: int, time: int
) -> tuple[CommandRow | WaitRow, ...]:
    tables = history.tables
    both = [(int(tables.commands.since[row]), 0, int(row)) for row in own]
    both += [(int(tables.waits.since[row]), 1, int(row)) for row in waited]
    both.sort()
    current = sum(since <= moment for since, _, _ in both)
    rows = both[max(0, current - AROUND) : current + AROUND]
    return tuple(
        _wait(history, row) if is_wait else _command(history, row, moment, time)
        for _, is_wait, row in rows
    )


def _command(history: History, row: int, moment: int, time: int) -> CommandRow:
    fact = history.command(row)
    ran = fact.ended > 0
    over = ran and fact.ended <= time
    delay, spent = (fact.started - fact.queued, fact.ended - fact.started) if ran else (0, 0)
    return CommandRow(
        command=fact.id,
        moment=fact.since,
        over=fact.until if fact.until < history.end else -1,
        call=fact.call,
        kind=fact.kind,
        name=fact.name,
        bytes=fact.bytes,
        pinned=fact.pinned,
        items=fact.items,
        group=fact.group,
        state="later"
        if fact.since > moment
        else "over"
        if over
        else "running"
        if ran and fact.started <= time
        else "waiting",
        delay_ns=delay,
        delay=duration(delay),
        duration_ns=spent,
        duration=duration(spent),
    )


def _wait(history: History, row: int) -> WaitRow:
    fact = history.wait(row)
    times, end = history.tables.events["t"], min(fact.until, history.end - 1)
    spent = int(times[end]) - int(times[fact.since])
    return WaitRow(
        moment=fact.since,
        over=fact.until if fact.until < history.end else -1,
        call=fact.call,
        reason=fact.reason,
        duration_ns=spent,
        duration=duration(spent),
    )
