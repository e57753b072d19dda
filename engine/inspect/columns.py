"""Columnar storage of a trace's records: 64 bytes each in the ring, one or two on disk, about 15 here.

Short traces, and the newest records of a long one, are an array of whole records. The others are packed by segment of
65,536, by kind and by field, each column with the least sufficient item size. A table of facts reads a few fields of a
few kinds without touching the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from engine.inspect.events import PAYLOAD, RECORD

PLAIN = 1 << 18  # events up to which a trace is not packed
PACKED = 1 << 16  # events of a packed segment
_CHUNK = 1 << 10  # records that are assembled when one is read
_MIN_PACKED = 1 << 14  # a segment of the file with this many is packed separately

Columns = dict[str, np.ndarray]


_COLUMNS = ("kind", "thread", "flags", "t", *PAYLOAD)
PACKED_HEAD = len(_COLUMNS)
"""The bytes before the planes: see Note [Packed records] of csrc/events/pack.h."""


def columns_of_packed(data: np.ndarray, first: int, count: int, time: int) -> Columns:
    """Return the fields of the `count` records from number `first` and `time` on, as csrc/events/pack.cpp packed them.

    Raises: ValueError where `data` is too short or too long.
    """
    live = [
        (name, byte)
        for name, mask in zip(_COLUMNS, data[:PACKED_HEAD].tolist(), strict=True)
        for byte in range(8)
        if mask >> byte & 1
    ]
    planes = data[PACKED_HEAD:].reshape(len(live), count)
    numbers = {name: np.zeros(count, np.uint64) for name in _COLUMNS}
    for (name, byte), plane in zip(live, planes, strict=True):
        numbers[name].view(np.uint8).reshape(count, 8)[:, byte] = plane
    kinds = numbers["kind"].astype(RECORD["kind"])
    times = np.cumsum(numbers["t"], out=numbers["t"])
    times += np.uint64(time % 2**64)
    columns = {
        "n": np.arange(first, first + count, dtype=RECORD["n"]),
        "t": times,
        "thread": numbers["thread"].astype(RECORD["thread"]),
        "kind": kinds,
    }
    order = np.argsort(_small(kinds), kind="stable")
    for name in ("flags", *PAYLOAD):
        column = numbers[name]
        if name != "flags":
            signs = np.negative(column & np.uint64(1))
            column >>= np.uint64(1)
            column ^= signs
            np.cumsum(column, out=column)
        columns[name] = np.empty(count, RECORD[name])
        columns[name][order] = column.view(np.int64)
    return columns


def columns_of_planes(planes: np.ndarray) -> Columns:
    """Return the fields of records from the 64 rows of their bytes: byte k of every record, as in traces of version
    1."""
    columns = {}
    for name in RECORD.names or ():
        dtype, offset = RECORD.fields[name][:2]  # type: ignore[index]
        column = np.zeros(planes.shape[1], dtype)
        if len(column):
            rows = column.view(np.uint8).reshape(-1, dtype.itemsize)
            for byte in range(dtype.itemsize):
                if planes[offset + byte].any():
                    rows[:, byte] = planes[offset + byte]
        columns[name] = column
    return columns


def columns_of_records(records: np.ndarray) -> Columns:
    return {name: np.ascontiguousarray(records[name]) for name in RECORD.names or ()}


class _Segment(Protocol):
    """A run of consecutive records."""

    first: int
    kinds: np.ndarray

    def positions(self, kind: int) -> np.ndarray:
        """Return the positions of a kind's records in the segment, ascending."""

    def of_kind(self, kind: int, field: str) -> np.ndarray | int:
        """Return a field of all records of a kind; one number if all are equal."""

    def gather(self, field: str, positions: np.ndarray) -> np.ndarray:
        """Return a field of the records at these positions."""

    def value(self, field: str, position: int) -> Any:
        """Return a field of one record: without the arrays that `gather` needs, a hundredth of its time."""


class _Plain:
    """An unpacked run of records."""

    def __init__(self, first: int, records: np.ndarray) -> None:
        self.first = first
        self.records = records
        self.kinds = np.ascontiguousarray(records["kind"])
        self._positions: dict[int, np.ndarray] = {}

    def positions(self, kind: int) -> np.ndarray:
        if kind not in self._positions:
            self._positions[kind] = np.flatnonzero(self.kinds == kind)
        return self._positions[kind]

    def of_kind(self, kind: int, field: str) -> np.ndarray | int:
        return self.records[field][self.positions(kind)]

    def gather(self, field: str, positions: np.ndarray) -> np.ndarray:
        return self.records[field][positions]

    def value(self, field: str, position: int) -> Any:
        return self.records[field][position]


class _ByKind(ABC):
    """Records by kind."""

    first: int
    kinds: np.ndarray

    @abstractmethod
    def positions(self, kind: int) -> np.ndarray: ...
    @abstractmethod
    def times(self, positions: np.ndarray) -> np.ndarray: ...
    @abstractmethod
    def threads(self, positions: np.ndarray) -> np.ndarray: ...
    @abstractmethod
    def column(self, kind: int, field: str) -> np.ndarray | int:
        """Return a field of all records of a kind that there is; one number if all are equal."""

    def of_kind(self, kind: int, field: str) -> np.ndarray | int:
        positions = self.positions(kind)
        if field in ("n", "t", "thread", "kind") or not len(positions):
            return self.gather(field, positions.astype(np.int64))
        return self.column(kind, field)

    def gather(self, field: str, positions: np.ndarray) -> np.ndarray:
        if field == "kind":
            return self.kinds[positions]
        if field == "n":
            return self.first + positions
        if field == "t":
            return self.times(positions)
        if field == "thread":
            return self.threads(positions)
        kinds = self.kinds[positions]
        out = np.empty(len(positions), np.int64)
        for kind in np.unique(kinds).tolist():
            rows = kinds == kind
            column = self.column(kind, field)
            if not isinstance(column, int):
                indices = self.positions(kind)
                column = column[indices.searchsorted(positions[rows].astype(indices.dtype))]
            out[rows] = column
        return out

    def value(self, field: str, position: int) -> Any:
        if field in ("n", "t", "thread", "kind"):
            return self.gather(field, np.array([position]))[0]
        kind = int(self.kinds[position])
        column = self.column(kind, field)
        if isinstance(column, int):
            return column
        indices = self.positions(kind)
        return column[indices.searchsorted(indices.dtype.type(position))]


class _Packed(_ByKind):
    """Records by kind; a field that is equal in all of them is stored once."""

    def __init__(self, first: int, columns: Columns) -> None:
        self.first = first
        self.kinds = _small(columns["kind"])
        self._t, self._t_first = _offsets(columns["t"])
        self._thread = _narrow(columns["thread"])
        order = np.argsort(self.kinds, kind="stable")
        sorted_kinds = self.kinds[order]
        starts = np.flatnonzero(np.diff(sorted_kinds, prepend=sorted_kinds[0] + 1))
        bounds = [*pairwise([*starts.tolist(), len(order)])]
        self._kinds = sorted_kinds[starts].tolist()
        indices = _small(order)
        self._positions = {
            kind: indices[lo:hi] for kind, (lo, hi) in zip(self._kinds, bounds, strict=True)
        }
        self._fields: dict[tuple[int, str], np.ndarray | int] = {}
        for field in ("flags", *PAYLOAD):
            column = columns[field][order]
            low = np.minimum.reduceat(column, starts).tolist()
            high = np.maximum.reduceat(column, starts).tolist()
            for kind, (lo, hi), minimum, maximum in zip(
                self._kinds, bounds, low, high, strict=True
            ):
                self._fields[kind, field] = _fitted(column[lo:hi], minimum, maximum)

    def positions(self, kind: int) -> np.ndarray:
        return self._positions.get(kind, _NONE)

    def times(self, positions: np.ndarray) -> np.ndarray:
        return self._t[positions].astype(np.uint64) + np.uint64(self._t_first)

    def threads(self, positions: np.ndarray) -> np.ndarray:
        if isinstance(self._thread, int):
            return np.full(len(positions), self._thread, np.uint32)
        return self._thread[positions]

    def column(self, kind: int, field: str) -> np.ndarray | int:
        return self._fields[kind, field]


class _Mapped(_ByKind):
    """All records of a trace by kind, as memory-mapped arrays of its index (see index.py)."""

    first = 0

    def __init__(self, arrays: Columns) -> None:
        self._arrays = arrays
        self.kinds = arrays["kinds"]

    def positions(self, kind: int) -> np.ndarray:
        return self._arrays.get(f"{kind}.n", _NONE)

    def times(self, positions: np.ndarray) -> np.ndarray:
        return self._arrays["t"][positions] + self._arrays["t_first"][positions // PACKED]

    def threads(self, positions: np.ndarray) -> np.ndarray:
        threads = self._arrays["thread"]
        return threads[positions] if len(threads) > 1 else np.full(len(positions), threads[0])

    def column(self, kind: int, field: str) -> np.ndarray | int:
        column = self._arrays[f"{kind}.{field}"]
        return int(column[0]) if len(column) == 1 else column


def arrays_of_events(events: Events) -> Columns:
    """Return the arrays for `_Mapped`, with the least item size; a column of equal elements has one."""
    kinds = _small(events.column("kind"))
    times = events.column("t")
    t_first = np.minimum.reduceat(times, np.arange(0, len(times), PACKED))
    times -= np.repeat(t_first, PACKED)[: len(times)]
    arrays = {"kinds": kinds, "t_first": t_first, "t": _small(times)}
    arrays["thread"] = np.atleast_1d(_narrow(events.column("thread")))
    for kind in np.unique(kinds).tolist():
        numbers = events.numbers(kind)
        arrays[f"{kind}.n"] = _small(numbers)
        for field in ("flags", *PAYLOAD):
            arrays[f"{kind}.{field}"] = np.atleast_1d(_narrow(events.of_kind(kind, field)))
    return arrays


_NONE = np.empty(0, np.int64)


def _small(column: np.ndarray) -> np.ndarray:
    """Convert numbers >= 0 to the smallest dtype that holds the largest."""
    return column.astype(np.min_scalar_type(int(column.max())))


def _narrow(column: np.ndarray) -> np.ndarray | int:
    return _fitted(column, int(column.min()), int(column.max()))


def _offsets(column: np.ndarray) -> tuple[np.ndarray, int]:
    first = int(column.min())
    return _small(column - np.uint64(first)), first


def _fitted(column: np.ndarray, low: int, high: int) -> np.ndarray | int:
    if low == high:
        return low
    dtype = np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high))
    # Numbers of both signs that need 64 bits promote to floats.
    return column.astype(dtype if dtype.kind in "ui" else np.int64)


class Records:
    """Some records by their numbers, with the interface of a structured array: `records["a"]`, `records[mask]`. A
    field is assembled on its first use."""

    def __init__(self, count: int, column: Callable[[str], np.ndarray]) -> None:
        self._count = count
        self._column = column
        self._columns: Columns = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            size = len(np.arange(self._count)[key])
            return Records(size, lambda field: self[field][key])
        if key not in self._columns:
            self._columns[key] = self._column(key)
        return self._columns[key]


class Events:
    """The records of a trace up to some moment: the interface of an array, in less memory."""

    def __init__(self, segments: tuple[_Segment, ...], end: int) -> None:
        self._segments = segments
        self._firsts = np.array([segment.first for segment in segments])
        self._end = end
        self._chunk = (
            -1,
            np.empty(0, RECORD),
        )  # its first number, and records that are read in order
        self._missed = -1  # the first number of the chunk in which a record was last read alone

    def __len__(self) -> int:
        return self._end

    def __iter__(self) -> Iterator[np.void]:
        return (self[number] for number in range(self._end))

    def __getitem__(self, key: Any) -> Any:
        """Return a column by its field's name; the record with a number; records by their numbers."""
        if isinstance(key, str):
            return Column(self, key)
        if isinstance(key, (int, np.integer)):
            number = range(self._end)[int(key)]
            first = number - number % _CHUNK
            cached, records = self._chunk
            if cached == first:
                return records[number - first]
            if (
                self._missed != first
            ):  # records far apart: assembling a chunk for each would take 20 times as long
                self._missed = first
                fields = RECORD.names or ()
                return np.array(tuple(self.value(name, number) for name in fields), RECORD)[()]
            records = self[first : first + _CHUNK]
            self._chunk = first, records
            return records[number - first]
        return self.records(self.record_numbers(key))

    def record_numbers(self, key: Any) -> np.ndarray:
        """Convert an array index to record numbers."""
        if isinstance(key, slice):
            return np.arange(*key.indices(self._end))
        key = np.asarray(key)
        return np.flatnonzero(key) if key.dtype == bool else key

    def records(self, numbers: np.ndarray) -> np.ndarray:
        """Return whole records by their numbers."""
        out = np.empty(len(numbers), RECORD)
        for name in RECORD.names or ():
            out[name] = self.gather(name, numbers)
        return out

    def gather(self, field: str, numbers: np.ndarray) -> np.ndarray:
        """Return a field of the records with these numbers."""
        if len(self._segments) == 1 and not self._segments[0].first:
            return self._segments[0].gather(field, numbers).astype(RECORD[field], copy=False)
        out = np.empty(len(numbers), RECORD[field])
        which = self._firsts.searchsorted(numbers, "right") - 1
        order = np.argsort(which, kind="stable")
        starts = np.flatnonzero(np.diff(which[order], prepend=-1)).tolist()
        for lo, hi in pairwise([*starts, len(order)]):
            rows = order[lo:hi]
            segment = self._segments[int(which[rows[0]])]
            out[rows] = segment.gather(field, numbers[rows] - segment.first)
        return out

    def value(self, field: str, number: int) -> Any:
        """Return a field of one record."""
        cached, records = self._chunk
        if cached == number - number % _CHUNK:
            return records[field][number - cached]
        segment = self._segments[int(self._firsts.searchsorted(number, "right")) - 1]
        return RECORD[field].type(segment.value(field, number - segment.first))

    def numbers(self, kind: int) -> np.ndarray:
        """Return the numbers of all records of a kind, ascending."""
        parts = [segment.positions(kind) for segment in self._segments]
        out = np.empty(sum(map(len, parts)), np.int64)
        at = 0
        for segment, part in zip(self._segments, parts, strict=True):
            np.add(part, np.int64(segment.first), out=out[at : at + len(part)])
            at += len(part)
        return out

    def of_kind(self, kind: int, field: str) -> np.ndarray:
        """Return a field of all records of a kind."""
        parts = [(len(segment.positions(kind)), segment) for segment in self._segments]
        out = np.empty(sum(count for count, _ in parts), RECORD[field])
        at = 0
        for count, segment in parts:
            out[at : at + count] = segment.of_kind(kind, field)
            at += count
        return out

    def of_kinds(self, kinds: tuple[int, ...], numbers: np.ndarray) -> Records:
        """Return all records of these kinds, whose numbers are `numbers`."""
        if len(kinds) == 1:
            return Records(len(numbers), lambda field: self.of_kind(kinds[0], field))
        order = np.argsort(np.concatenate([self.numbers(kind) for kind in kinds]), kind="stable")
        return Records(
            len(numbers),
            lambda field: np.concatenate([self.of_kind(kind, field) for kind in kinds])[order],
        )

    def column(self, field: str) -> np.ndarray:
        """Return a field of every record."""
        out = np.empty(self._end, RECORD[field])
        for segment in self._segments:
            count = len(segment.kinds)
            out[segment.first : segment.first + count] = segment.gather(field, np.arange(count))
        return out


class Column(np.lib.mixins.NDArrayOperatorsMixin):
    """A field of all records, assembled chunk by chunk on access."""

    def __init__(self, events: Events, field: str) -> None:
        self._events = events
        self._field = field

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer)):
            return self._events.value(self._field, range(len(self))[int(key)])
        return self._events.gather(self._field, self._events.record_numbers(key))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._events.column(self._field), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(each) if isinstance(each, Column) else each for each in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def tolist(self) -> list[int]:
        return np.asarray(self).tolist()


class Store:
    """Store of records: it returns all that were added as `Events`, or as one array if they are few."""

    def __init__(self) -> None:
        self._packed: list[_Segment] = []
        self._first = 0  # of the records in `_tail`
        self._tail = np.empty(0, RECORD)
        self._count = 0  # number of records in `_tail`
        self._columns: Events | None = None

    @classmethod
    def mapped(cls, arrays: Columns) -> Store:
        """Return all records of a trace, from the arrays of its index."""
        store = cls()
        segment = _Mapped(arrays)
        store._packed.append(segment)
        store._first = len(segment.kinds)
        return store

    def __len__(self) -> int:
        return self._first + self._count

    def append(self, columns: Columns) -> None:
        self._columns = None
        count = len(columns["kind"])
        if self._packed and count >= _MIN_PACKED:
            self._pack_tail(1)
            self._pack(columns)
            return
        if self._count + count > len(self._tail):
            room = np.empty(max(self._count + count, self._count * 3 // 2), RECORD)
            room[: self._count] = self._tail[: self._count]
            self._tail = room
        for name in RECORD.names or ():
            self._tail[name][self._count : self._count + count] = columns[name]
        self._count += count
        if len(self) > PLAIN:
            self._pack_tail(PACKED)

    def _pack_tail(self, low: int) -> None:
        """Packs the full segments, or with `least` 1 all remaining records."""
        at = 0
        while self._count - at >= low:
            end = min(at + PACKED, self._count)
            self._pack(columns_of_records(self._tail[at:end]))
            at = end
        if at:
            self._tail = self._tail[at : self._count].copy()
            self._count -= at

    def _pack(self, columns: Columns) -> None:
        self._packed.append(_Packed(self._first, columns))
        self._first += len(columns["kind"])

    @property
    def columns(self) -> Events:
        """Return the present columns, which later records do not change."""
        if self._columns is None:
            tail = [_Plain(self._first, self._tail[: self._count])] if self._count else []
            self._columns = Events((*self._packed, *tail), len(self))
        return self._columns

    @property
    def events(self) -> np.ndarray | Events:
        """The same, as an array where nothing is packed."""
        return self.columns if self._packed else self._tail[: self._count]

    def value(self, field: str, number: int) -> Any:
        """Return a field of one record."""
        if number >= self._first:
            return self._tail[: self._count][field][number - self._first]
        return self.columns.value(field, number)
