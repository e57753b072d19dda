"""Memory over time: live bytes, their peak and who created them, and what grows from iteration to iteration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from engine.inspect.events import device_name
from engine.inspect.history.cache import per_history
from engine.inspect.history.keepers import result_name
from engine.inspect.models.timeline import window

if TYPE_CHECKING:
    import numpy as np

    from engine.inspect.history import History
    from engine.inspect.selection import Selection

COLUMNS = 240  # the resolution of the graph
LAYERS = 2  # creators that have their own layer in the graph; the others share one
MAX_CREATORS = 40  # creators that are listed
NAMES = 3  # tensors of a creator that are named
ITERATIONS = 4  # a loop leaks from this many iterations on that left something
SAMPLES = 24  # storages of a leak whose holders are looked up
_STEP = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Creator:
    """A line of the program, and the storages that it created: those alive at the peak, and now."""

    file: int
    line: int  # 0: no line of the program ran
    path: str
    code: str
    peak_count: int
    peak_bytes: int
    count: int
    bytes: int
    names: tuple[str, ...]  # of the largest tensors at the peak
    tensor: int  # on the largest storage at the peak
    storage: int
    since: int


@dataclass(frozen=True, slots=True)
class Leak:
    """A loop whose iterations each leave storages allocated, so that live memory grows."""

    file: int
    line: int  # the line of the loop that runs once in each iteration
    path: str
    code: str
    iterations: int  # that ran so far
    leaving: int  # of these, the ones that left something
    count: int  # storages
    bytes: int
    creators: tuple[int, ...]  # the lines that created them, most bytes first
    held_by: tuple[str, ...]  # names and containers that keep them
    tensor: int  # the newest of them
    storage: int
    since: int


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The storages of one device."""

    device: str
    bytes: int
    count: int
    peak: int  # its own, which need not be at the peak of all
    peak_at: int
    layers: tuple[tuple[int, ...], ...]  # as those of all storages


@dataclass(frozen=True, slots=True)
class LiveMemory:
    """Live bytes per column of the window: [first + i * span, first + (i + 1) * span) at their highest,
    by layer: the creators with most bytes at the peak, then all others."""

    moment: int
    end: int
    first: int
    last: int
    span: int
    layers: tuple[tuple[int, ...], ...]
    live_bytes: int
    live_count: int
    peak: int  # bytes
    peak_at: int
    peak_line: int
    peak_code: str
    peak_path: str
    creators: tuple[Creator, ...]
    hidden: int  # creators that are not listed
    leaks: tuple[Leak, ...]
    devices: tuple[DeviceMemory, ...] = ()  # empty if all storages are in main memory


def project(history: History, moment: int, selection: Selection, zoom: int = 0) -> LiveMemory:
    """Return live memory as a whole, and up to `moment` what grows."""
    end = history.end
    if not end or moment < 0:
        return LiveMemory(moment, end, 0, 0, 1, (), 0, 0, 0, -1, 0, "", "", (), 0, ())
    storages = history.tables.storages
    peak_at, peak = highest(history)
    first, last = window(moment, end, zoom)
    span = max(1, -(-(last - first) // COLUMNS))
    creators = _creators(history, moment, peak_at)
    line = history.line_at(peak_at) if peak_at >= 0 else None
    alive = _alive(history, moment)
    return LiveMemory(
        moment=moment,
        end=end,
        first=first,
        last=last,
        span=span,
        layers=_layers(history, first, last, span),
        live_bytes=int(storages.nbytes[alive].sum()),
        live_count=len(alive),
        peak=peak,
        peak_at=peak_at,
        peak_line=line.line if line else 0,
        peak_code=history.line_text(line.file, line.line) if line else "",
        peak_path=line.path if line else "",
        creators=creators[:MAX_CREATORS],
        hidden=max(0, len(creators) - MAX_CREATORS),
        leaks=_leaks(history, moment),
        devices=_devices(history, moment, first, last, span),
    )


def _devices(
    history: History, moment: int, first: int, last: int, span: int
) -> tuple[DeviceMemory, ...]:
    import numpy as np

    storages = history.tables.storages
    codes = np.unique(storages.device[_in_memory(history)]).tolist()
    if codes in ([], [0]):
        return ()
    alive = _alive(history, moment)
    rows = []
    for code in codes:
        own = alive[storages.device[alive] == code]
        moments, totals = _series(history, -1, code)
        peak = int(totals.argmax())
        rows.append(
            DeviceMemory(
                device=device_name(code),
                bytes=int(storages.nbytes[own].sum()),
                count=len(own),
                peak=int(totals[peak]),
                peak_at=int(moments[peak]),
                layers=_layers(history, first, last, span, code),
            )
        )
    return tuple(rows)


# Live bytes


@per_history(max_entries=1)
def _in_memory(history: History) -> np.ndarray:
    """Mark the storages that have memory. One on the device meta, as the compiler makes them, has a size only."""
    import numpy as np

    devices = history.tables.storages.device
    real = [
        code for code in np.unique(devices).tolist() if not device_name(code).startswith("meta")
    ]
    return np.isin(devices, real)


def _alive(history: History, m: int) -> np.ndarray:
    rows: np.ndarray = history.tables.storages.at(m)
    return rows[_in_memory(history)[rows]]


def highest(history: History) -> tuple[int, int]:
    """Return (moment, bytes) of the first moment with most live bytes; -1 without storages."""
    moments, totals = _series(history)
    if not len(moments):
        return -1, 0
    row = int(totals.argmax())
    return int(moments[row]), int(totals[row])


def live_bytes(history: History) -> tuple[np.ndarray, np.ndarray]:
    """Return (moments at which live bytes change, live bytes from there on)."""
    return _series(history)


@per_history(max_entries=3 * (LAYERS + 2))
def _series(history: History, layer: int = -1, device: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Return (moments at which live bytes change, bytes from there on), of all storages (-1) or of a layer or
    device."""
    import numpy as np

    storages = history.tables.storages
    rows = np.arange(len(storages))
    if layer >= 0:
        rows = rows[_layer_of(history) == layer]
    if device >= 0:
        rows = rows[storages.device[rows] == device]
    rows = rows[_in_memory(history)[rows]]
    sizes = storages.nbytes[rows]
    ended = storages.until[rows] < history.end
    moments = np.concatenate([storages.since[rows], storages.until[rows][ended]])
    changes = np.concatenate([sizes, -sizes[ended]])
    order = np.argsort(moments, kind="stable")
    moments, totals = moments[order], np.cumsum(changes[order])
    last = np.append(moments[1:] != moments[:-1], True) if len(moments) else np.empty(0, bool)
    return moments[last], totals[last]


@per_history(max_entries=1)
def _creator_lines(history: History) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (group of each storage, file and line of each group): the lines that ran as storages were created."""
    import numpy as np

    _, files, lines = history.tables.lines_of(history.tables.storages.since)
    pairs, group = np.unique(np.stack([files, lines], axis=1), axis=0, return_inverse=True)
    return group.reshape(-1), pairs[:, 0], pairs[:, 1]


@per_history(max_entries=1)
def _layer_of(history: History) -> np.ndarray:
    """Return the layer of each storage: its creator's, if that had most bytes at the peak, or the last."""
    import numpy as np

    storages, (group, _, lines) = history.tables.storages, _creator_lines(history)
    peak_at, _ = highest(history)
    at_peak = _alive(history, peak_at)
    sizes = np.bincount(group[at_peak], storages.nbytes[at_peak], minlength=len(lines))
    layers = np.full(len(lines), LAYERS)
    for layer, index in enumerate(np.argsort(-sizes, kind="stable")[:LAYERS]):
        layers[index] = layer
    return layers[group]


@per_history(max_entries=6)
def _layers(
    history: History, first: int, last: int, span: int, device: int = -1
) -> tuple[tuple[int, ...], ...]:
    """Return for each layer its bytes (of a device) at the moment of each column at which all together are highest."""
    import numpy as np

    moments, totals = _series(history, -1, device)
    if not len(moments):
        return ()
    low = np.arange(first, last, span)
    at_start = np.searchsorted(moments, low, "right") - 1
    stop = np.searchsorted(moments, np.minimum(low + span, last), "left")
    padded = np.append(np.maximum(at_start, 0), len(moments))
    values = np.where(at_start >= 0, totals[padded[:-1]], 0)
    best = np.where(at_start >= 0, low, -1)
    for column, (start, end) in enumerate(zip(at_start + 1, stop, strict=True)):
        if start < end:
            row = start + int(totals[start:end].argmax())
            if totals[row] > values[column]:
                best[column] = moments[row]
    layers = []
    for layer in range(LAYERS + 1):
        moments_of, totals_of = _series(history, layer, device)
        row = np.searchsorted(moments_of, best, "right") - 1
        level = np.append(totals_of, 0)[row]  # row -1: nothing yet
        layers.append(tuple(int(value) for value in level))
    return tuple(layers)


# Who created it


def _creators(history: History, moment: int, peak_at: int) -> tuple[Creator, ...]:
    """Return the lines whose storages were alive at the peak, most bytes first."""
    import numpy as np

    if peak_at < 0:
        return ()
    storages, (group, files, lines) = history.tables.storages, _creator_lines(history)
    at_peak, current = _alive(history, peak_at), _alive(history, moment)
    peak_bytes = np.bincount(group[at_peak], storages.nbytes[at_peak], minlength=len(lines))
    peak_count = np.bincount(group[at_peak], minlength=len(lines))
    now_bytes = np.bincount(group[current], storages.nbytes[current], minlength=len(lines))
    now_count = np.bincount(group[current], minlength=len(lines))
    order = [int(i) for i in np.argsort(-peak_bytes, kind="stable") if peak_count[i]]
    creators = []
    for position, index in enumerate(order):
        largest = _largest(
            history, at_peak[group[at_peak] == index], peak_at, position < MAX_CREATORS
        )
        file, line = int(files[index]), int(lines[index])
        creators.append(
            Creator(
                file=file,
                line=line,
                path=history.source(file)[0] if file else "",
                code=history.line_text(file, line) if file else "",
                peak_count=int(peak_count[index]),
                peak_bytes=int(peak_bytes[index]),
                count=int(now_count[index]),
                bytes=int(now_bytes[index]),
                names=tuple(history.label(tensor, peak_at) for tensor, _ in largest if tensor),
                tensor=largest[0][0] if largest else 0,
                storage=int(storages.id[largest[0][1]]) if largest else 0,
                since=int(storages.since[largest[0][1]]) if largest else -1,
            )
        )
    return tuple(creators)


def _largest(
    history: History, rows: np.ndarray, m: int, listed: bool
) -> tuple[tuple[int, int], ...]:
    """Return (tensor, row of the storage) of the largest of these storages."""
    if not listed:
        return ()
    storages = history.tables.storages
    order = sorted(rows.tolist(), key=lambda row: (-int(storages.nbytes[row]), row))[:NAMES]
    return tuple((_tensor_on(history, int(storages.id[row]), m), row) for row in order)


def _tensor_on(history: History, storage: int, m: int) -> int:
    """Return the tensor over a storage that has a name, else the first; 0: none."""
    tensors = history.tensors_on(storage, m)
    named = (fact.id for fact in tensors if history.names_of(fact.id, m))
    return next(named, tensors[0].id if tensors else 0)


# What grows


@per_history(max_entries=2)
def _leaks(history: History, moment: int) -> tuple[Leak, ...]:
    """Return the loops whose iterations each created storages that are still alive at the moment."""
    import numpy as np

    storages = history.tables.storages
    alive = _alive(history, moment)
    alive = alive[~np.isin(storages.id[alive], _parameters(history, moment))]
    group = _creator_lines(history)[0][alive]
    loops: dict[tuple[int, int, int], list[int]] = {}
    for index in np.unique(group):
        rows = alive[group == index]
        if len(rows) < ITERATIONS:
            continue
        loop = _loop_of(history, rows)
        if loop is not None:
            loops.setdefault(loop, []).extend(rows.tolist())
    leaks = []
    for (frame, _), parts in _same_loop(history, loops, moment).items():
        begins = _runs(history, frame, parts[0][0], moment)
        if _unfinished(history, frame, begins, moment):  # what this iteration uses, it has not left
            parts = [
                (at, [row for row in rows if storages.since[row] < begins[-1]])
                for at, rows in parts
            ]
            begins = begins[:-1]
        parts = [(at, left) for at, rows in parts if (left := _recurring(history, rows, begins))]
        rows = [row for _, part in parts for row in part]
        iteration = np.searchsorted(begins, storages.since[rows], "right")
        leaving = np.unique(iteration[iteration > 0])
        if len(leaving) < ITERATIONS or 2 * len(leaving) < len(begins):
            continue  # a cache that is filled in the first iterations does not grow
        if len(begins) - int(leaving[-1]) > len(begins) // 4:
            continue  # it has stopped growing
        at = _largest_part(history, parts)
        leaks.append(_leak(history, moment, at, rows, len(begins), len(leaving)))
    return tuple(sorted(leaks, key=lambda leak: -leak.bytes))


Part = tuple[tuple[int, int], list[int]]  # (file, line), rows of the storages created below it


def _same_loop(
    history: History, loops: dict[tuple[int, int, int], list[int]], m: int
) -> dict[tuple[int, int], list[Part]]:
    """Group the lines of each frame by how often they ran: those that ran equally often belong to one loop."""
    same: dict[tuple[int, int], list[Part]] = {}
    for (frame, file, line), rows in loops.items():
        runs = len(_runs(history, frame, (file, line), m))
        same.setdefault((frame, runs), []).append(((file, line), rows))
    return same


def _recurring(history: History, rows: list[int], begins: np.ndarray) -> list[int]:
    """Return those of the storages whose line left some in several iterations. What only one has left, such
    as the gradients of the last, is in use: the next iteration replaces it."""
    import numpy as np

    group = _creator_lines(history)[0][rows]
    iteration = np.searchsorted(begins, history.tables.storages.since[rows], "right")
    pairs = np.unique(np.stack([group, iteration]), axis=1)
    several = np.flatnonzero(np.bincount(pairs[0]) >= ITERATIONS)
    return [row for row, left in zip(rows, np.isin(group, several), strict=True) if left]


def _runs(history: History, frame: int, at: tuple[int, int], m: int) -> np.ndarray:
    """Return the moments at which the line began to run in the frame."""
    lines = history.tables.lines
    rows = lines.where("frame", frame)
    moments = lines.since[rows[(lines.file[rows] == at[0]) & (lines.line[rows] == at[1])]]
    return moments[moments <= m]


def _unfinished(history: History, frame: int, begins: np.ndarray, m: int) -> bool:
    """Return whether the newest iteration still runs. After it the head of the loop runs again, the first of its
    lines, or a line that did not run in the iterations before."""
    if not len(begins) or history.frame(frame, m) is None:
        return False
    lines = history.tables.lines
    rows = lines.where("frame", frame)
    rows = rows[(lines.since[rows] >= begins[0]) & (lines.since[rows] <= m)]
    positions = [*zip(lines.file[rows].tolist(), lines.line[rows].tolist(), strict=True)]
    newest = int(lines.since[rows].searchsorted(begins[-1]))
    before = set(positions[:newest])
    head = min(before, default=None)
    return all(each in before and each != head for each in positions[newest + 1 :])


def _largest_part(history: History, parts: list[Part]) -> tuple[int, int]:
    """Return the line below which most bytes were created."""
    sizes = history.tables.storages.nbytes
    return max(parts, key=lambda part: int(sizes[part[1]].sum()))[0]


def _leak(
    history: History, m: int, at: tuple[int, int], rows: list[int], iterations: int, leaving: int
) -> Leak:
    storages = history.tables.storages
    group, _, lines = _creator_lines(history)
    sizes: dict[int, int] = {}
    for row in rows:
        line = int(lines[group[row]])
        sizes[line] = sizes.get(line, 0) + int(storages.nbytes[row])
    newest = max(rows, key=lambda row: int(storages.since[row]))
    older = sorted(rows)[:-1] or rows  # the newest has another name while it is in use
    some = older[:: max(1, len(older) // SAMPLES)][:SAMPLES]
    names = (holder(history, int(storages.id[row]), m) for row in some)
    held_by = dict.fromkeys(_STEP.sub("[…]", name) for name in names if name)
    return Leak(
        file=at[0],
        line=at[1],
        path=history.source(at[0])[0],
        code=history.line_text(*at),
        iterations=iterations,
        leaving=leaving,
        count=len(rows),
        bytes=int(storages.nbytes[rows].sum()),
        creators=tuple(sorted(sizes, key=lambda line: -sizes[line])),
        held_by=tuple(held_by),
        tensor=_tensor_on(history, int(storages.id[newest]), m),
        storage=int(storages.id[newest]),
        since=int(storages.since[newest]),
    )


def _parameters(history: History, m: int) -> np.ndarray:
    """Return the storages of leaves that require gradients: a model built in a loop does not leak."""
    import numpy as np

    flags, tensors = history.autograd.tables.flags, history.tables.tensors
    leaves = np.unique(flags.tensor[flags.value != 0])
    rows = tensors.at(m)
    return np.unique(tensors.storage[rows][np.isin(tensors.id[rows], leaves)])


def _loop_of(history: History, rows: np.ndarray) -> tuple[int, int, int] | None:
    """Return (frame, file, line) of the innermost frame in which all these storages were created, by the line that
    ran in it each time; None if it ran once only."""
    moments = history.tables.storages.since[rows]
    some = moments[:: max(1, len(moments) // SAMPLES)].tolist()
    stacks = [[(line.frame, line.file, line.line) for line in history.lines_at(m)] for m in some]
    common = set(stacks[0]).intersection(*stacks[1:])
    innermost = [step for step in stacks[0] if step in common]
    return innermost[-1] if innermost else None


def holder(history: History, storage: int, m: int) -> str:
    """Return the name of the program that keeps a storage: that of a tensor over it, or of a result whose graph saved
    it; "": none is known."""
    tensors = [fact.id for fact in history.tensors_on(storage, m)]
    for tensor in tensors:
        if history.names_of(tensor, m):
            return history.label(tensor, m)
    for tensor in tensors:
        for saved in history.autograd.savers(tensor, m):
            name = result_name(history, saved.node, m)
            if name:
                return f"the graph of {name}"
    owners = (each.name for tensor in tensors for each in history.owners(tensor, m).impl.holders)
    return next((name for name in owners if name), "")


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return PurePath(path).name
