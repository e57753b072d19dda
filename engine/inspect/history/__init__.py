"""History: the whole recorded run as facts with lifetimes, and the questions one can ask of it.

A *moment* is an event number: the state just after that event. Every answer is a look-up in tables
that were folded once from the stream (tables.py), so any moment costs the same, forwards or back.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from engine.inspect.events import (
    ALLOCATORS,
    DEVICES,
    FOREVER,
    HOLDERS,
    KEYS,
    TRUNCATED,
    Event,
    coded,
    dtype_name,
    key_names,
    kind_of,
    short_op,
)
from engine.inspect.history import ownership, sentences, steps, values
from engine.inspect.history.arguments import decode_arguments
from engine.inspect.history.facts import (
    BlockFact,
    CallFact,
    ExceptionFact,
    FrameFact,
    HopFact,
    LineFact,
    NameFact,
    ObjectFact,
    OutputFact,
    Owners,
    StorageFact,
    TensorFact,
    TensorOwners,
    VersionFact,
    WriteFact,
)
from engine.inspect.history.search import Search
from engine.inspect.history.tables import Tables
from engine.inspect.layout import overlap
from engine.inspect.trace import Trace

__all__ = ["History", "FOREVER"]

_NAME_ORDER = ("NAME", "CELL", "ATTRIBUTE", "SLOT")


class History:
    """Facts of one trace. `refresh()` takes in what a live recording has appended."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self._fold()

    def _fold(self) -> None:
        self.tables = Tables(self.trace)
        self.values = values.Bytes(self)
        self.tensor_row = lru_cache(maxsize=65536)(self._tensor_row)
        self.call = lru_cache(maxsize=16384)(self._call)
        self.label = lru_cache(maxsize=65536)(self._label)
        self._search = lru_cache(maxsize=4)(partial(Search, self))

    def refresh(self) -> bool:
        """Take in newly recorded events; whether there were any."""
        if not self.trace.poll():
            return False
        self._fold()
        return True

    @property
    def end(self) -> int:
        """The number of events: moments are 0 .. end - 1."""
        return len(self.tables.events)

    def string(self, number: int) -> str:
        return self.trace.string(number)

    def source(self, file: int) -> tuple[str, str]:
        """(path, text) of a source file."""
        return self.trace.source(file)

    # Events

    def event(self, m: int) -> Event:
        """The event that made this moment, decoded, with a sentence in plain words."""
        if not 0 <= m < self.end:
            raise IndexError(f"moment {m} is outside the trace: it has {self.end} events")
        record = self.tables.events[m]
        kind = kind_of(int(record["kind"]))
        raw = (int(record[field]) for field in "abcde")
        fields = tuple(
            (name, value)
            for name, value in zip(kind.fields, raw, strict=True)
            if name not in ("_", "blob")
        )
        return Event(
            number=m,
            time=int(record["t"]),
            thread=int(record["thread"]),
            kind=kind.name,
            fields=fields,
            truncated=bool(int(record["flags"]) & TRUNCATED),
            sentence=sentences.sentence(self, m, kind, dict(fields)),
        )

    def text(self, m: int) -> str:
        """The text attached to an event."""
        return self.trace.blob(m).decode("utf-8", "replace")

    # Tensors and storages

    def tensors_at(self, m: int) -> tuple[TensorFact, ...]:
        """Every living tensor, oldest first."""
        return tuple(self.tensor_row(int(row)) for row in self.tables.tensors.at(m))

    def tensor(self, tensor: int, m: int) -> TensorFact | None:
        """The tensor's description at the moment; None when it does not exist then."""
        rows = self.tables.tensors.where_at("id", tensor, m)
        return self.tensor_row(int(rows[-1])) if len(rows) else None

    def tensors_on(self, storage: int, m: int) -> tuple[TensorFact, ...]:
        """Every living tensor over this storage, oldest first."""
        rows = self.tables.tensors.where_at("storage", storage, m)
        return tuple(self.tensor_row(int(row)) for row in rows)

    def _tensor_row(self, row: int) -> TensorFact:
        table = self.tables.tensors
        layout = int(table.layout[row])
        words = np.frombuffer(self.trace.blob(int(table.since[row]))[: 8 * 131], "<i8").tolist()
        counter, base, rank = (*words, 0, 0, 0)[:3]
        rank = min(max(rank, 0), (len(words) - 3) // 2) if len(words) >= 3 else 0
        return TensorFact(
            since=int(table.since[row]),
            until=int(table.until[row]),
            id=int(table.id[row]),
            storage=int(table.storage[row]),
            dtype=dtype_name(layout & 0xFF),
            device=coded(DEVICES, layout >> 8 & 0xFF),
            wrapped_number=bool(layout >> 16 & 1),
            offset=int(table.offset[row]),
            sizes=tuple(words[3 : 3 + rank]),
            strides=tuple(words[3 + rank : 3 + 2 * rank]),
            counter=counter,
            base=base,
        )

    def storage(self, storage: int, m: int) -> StorageFact | None:
        rows = self.tables.storages.where_at("id", storage, m)
        return self._storage_row(int(rows[-1])) if len(rows) else None

    def storages_at(self, m: int) -> tuple[StorageFact, ...]:
        return tuple(self._storage_row(int(row)) for row in self.tables.storages.at(m))

    def _storage_row(self, row: int) -> StorageFact:
        table = self.tables.storages
        return StorageFact(
            since=int(table.since[row]),
            until=int(table.until[row]),
            id=int(table.id[row]),
            address=int(table.address[row]),
            nbytes=int(table.nbytes[row]),
            allocator=coded(ALLOCATORS, int(table.allocator[row])),
            device=coded(DEVICES, int(table.device[row])),
        )

    def blocks_at(self, m: int) -> tuple[BlockFact, ...]:
        """Every block of memory that is handed out."""
        table = self.tables.blocks
        return tuple(
            BlockFact(
                since=int(table.since[row]),
                until=int(table.until[row]),
                allocator=coded(ALLOCATORS, int(table.allocator[row])),
                address=int(table.address[row]),
                bytes=int(table.bytes[row]),
                device=coded(DEVICES, int(table.device[row])),
                reused=bool(table.reused[row]),
            )
            for row in table.at(m)
        )

    def aliases(self, first: int, second: int, m: int) -> bool:
        """Whether two tensors share at least one byte at the moment."""
        one, two = self.tensor(first, m), self.tensor(second, m)
        if one is None or two is None or one.storage != two.storage or not one.storage:
            return False
        return overlap(
            (one.sizes, one.strides, one.offset, one.itemsize),
            (two.sizes, two.strides, two.offset, two.itemsize),
        )

    def version(self, counter: int, m: int) -> int:
        """The value of a version counter; it starts at 0."""
        row = self.tables.versions.last("counter", counter, m)
        return int(self.tables.versions.version[row]) if row >= 0 else 0

    def versions(self, counter: int, m: int) -> tuple[VersionFact, ...]:
        """Every step of a version counter up to the moment."""
        table = self.tables.versions
        return tuple(
            VersionFact(
                since=int(table.since[row]),
                until=int(table.until[row]),
                counter=counter,
                version=int(table.version[row]),
                tensor=int(table.tensor[row]),
                call=int(table.call[row]),
            )
            for row in table.until_now("counter", counter, m)
        )

    def object_at(self, tensor: int, m: int) -> ObjectFact | None:
        """The newest look at the tensor's Python object, while it lives."""
        table = self.tables.objects
        rows = table.where_at("tensor", tensor, m)
        if not len(rows):
            return None
        row = int(rows[-1])
        return ObjectFact(
            since=int(table.since[row]),
            until=int(table.until[row]),
            tensor=tensor,
            address=int(table.address[row]),
            refcount=int(table.refcount[row]),
            type=self.string(int(table.type[row])),
            header=self.trace.blob(int(table.since[row])),
        )

    def wrapped(self, tensor: int, m: int) -> bool:
        """Whether a Python object stands for the tensor."""
        return len(self.tables.wrappers.where_at("tensor", tensor, m)) > 0

    # Names

    def names_at(self, m: int, frame: int | None = None) -> tuple[NameFact, ...]:
        """Every bound name, of one frame or of all, in the order they were bound."""
        table = self.tables.names
        rows = table.at(m) if frame is None else table.where_at("frame", frame, m)
        return tuple(self._name_row(int(row)) for row in rows)

    def names_of(self, tensor: int, m: int) -> tuple[NameFact, ...]:
        """Everything in the user's program that refers to the tensor."""
        rows = self.tables.names.where_at("tensor", tensor, m)
        return tuple(self._name_row(int(row)) for row in rows)

    def _name_row(self, row: int) -> NameFact:
        table = self.tables.names
        since = int(table.since[row])
        return NameFact(
            since=since,
            until=int(table.until[row]),
            frame=int(table.frame[row]),
            name=self.string(int(table.name[row])),
            kind=coded(HOLDERS, int(table.kind[row])),
            tensor=int(table.tensor[row]),
            text=self.text(since) if not table.tensor[row] else "",
        )

    def _label(self, tensor: int, m: int) -> str:
        """What to call a tensor: a name of the running frame, else any name, else `#17`."""
        names = self.names_of(tensor, m) if tensor else ()
        if not names:
            return f"#{tensor}"
        running = {frame.id: depth for depth, frame in enumerate(reversed(self.frames_at(m)))}

        def rank(name: NameFact) -> tuple[int, int, int]:
            sort = _NAME_ORDER.index(name.kind) if name.kind in _NAME_ORDER else len(_NAME_ORDER)
            return (sort, running.get(name.frame, len(running)), name.since)

        return min(names, key=rank).name

    # The program

    def frame_at(self, m: int) -> int:
        """The frame that runs (in the thread of the event, or in the first one that has frames)."""
        current = self.tables.current
        if not current:
            return 0
        thread = int(self.tables.events["thread"][m])
        moments, frames = current.get(thread) or next(iter(current.values()))
        place = int(np.searchsorted(moments, m, "right")) - 1
        return int(frames[place]) if place >= 0 else 0

    def frame(self, frame: int, m: int) -> FrameFact | None:
        table = self.tables.frames
        rows = table.where_at("id", frame, m)
        if not len(rows):
            return None
        row = int(rows[-1])
        file = int(table.file[row])
        return FrameFact(
            since=int(table.since[row]),
            until=int(table.until[row]),
            id=frame,
            function=self.string(int(table.function[row])),
            file=file,
            path=self.source(file)[0],
            parent=int(table.parent[row]),
            first_line=int(table.first_line[row]),
        )

    def frames_at(self, m: int) -> tuple[FrameFact, ...]:
        """The stack, outermost frame first."""
        stack: list[FrameFact] = []
        number = self.frame_at(m)
        while number and all(number != frame.id for frame in stack):
            frame = self.frame(number, m)
            if frame is None:
                break
            stack.append(frame)
            number = frame.parent
        return tuple(reversed(stack))

    def line_at(self, m: int) -> LineFact | None:
        """The line of the user's program that is running."""
        table = self.tables.lines
        row = table.last("frame", self.frame_at(m), m)
        return self._line_row(row) if row >= 0 else None

    def lines_at(self, m: int) -> tuple[LineFact, ...]:
        """The running line of each frame of the stack, outermost first."""
        table = self.tables.lines
        rows = (table.last("frame", frame.id, m) for frame in self.frames_at(m))
        return tuple(self._line_row(row) for row in rows if row >= 0)

    def _line_row(self, row: int) -> LineFact:
        table = self.tables.lines
        file = int(table.file[row])
        return LineFact(
            since=int(table.since[row]),
            until=int(table.until[row]),
            frame=int(table.frame[row]),
            file=file,
            path=self.source(file)[0],
            line=int(table.line[row]),
        )

    def exceptions(self, m: int) -> tuple[ExceptionFact, ...]:
        """Every exception raised up to the moment."""
        table = self.tables.exceptions
        end = int(np.searchsorted(table.since, m, "right"))
        return tuple(
            ExceptionFact(
                moment=int(table.since[row]),
                frame=int(table.frame[row]),
                line=int(table.line[row]),
                type=self.string(int(table.type[row])),
                message=self.text(int(table.since[row])),
            )
            for row in range(end)
        )

    def output(self, m: int) -> tuple[OutputFact, ...]:
        """What the program has written up to the moment."""
        table = self.tables.output
        end = int(np.searchsorted(table.since, m, "right"))
        return tuple(
            OutputFact(
                int(table.since[row]), int(table.stream[row]), self.text(int(table.since[row]))
            )
            for row in range(end)
        )

    # Operator calls

    def calls_at(self, m: int) -> tuple[CallFact, ...]:
        """The running calls, outermost first."""
        table = self.tables.calls
        found = (self.call(int(table.id[row])) for row in table.at(m))
        return tuple(call for call in found if call is not None)

    def call_at_or_before(self, m: int) -> CallFact | None:
        """The innermost running call, else the newest one that began before."""
        running = self.calls_at(m)
        if running:
            return running[-1]
        table = self.tables.calls
        row = int(np.searchsorted(table.since, m, "right")) - 1
        return self.call(int(table.id[row])) if row >= 0 else None

    def _call(self, call: int) -> CallFact | None:
        """The call with this number, whenever it ran."""
        table = self.tables.calls
        rows = table.where("id", call) if call else ()
        if not len(rows):
            return None
        row = int(rows[0])
        since = int(table.since[row])
        schema = self.string(int(table.op[row]))
        exit_, error = int(table.exit[row]), int(table.error[row])
        results: tuple[int, ...] = ()
        if exit_ < FOREVER:
            record = self.tables.events[exit_]
            results = tuple(int(record[field]) for field in "cde")[: max(0, int(record["b"]))]
        line = self.line_at(since)
        return CallFact(
            since=since,
            until=int(table.until[row]),
            id=call,
            schema=schema,
            parent=int(table.parent[row]),
            args=decode_arguments(
                self.trace.blob(since), int(table.n_args[row]), schema, self.string
            ),
            results=results,
            error=self.text(error) if error < FOREVER else "",
            frame=line.frame if line else 0,
            file=line.file if line else 0,
            line=line.line if line else 0,
        )

    def hops(self, call: int) -> tuple[HopFact, ...]:
        """The kernels that the dispatcher ran for a call, from the outermost key down."""
        table = self.tables.hops
        return tuple(
            HopFact(
                moment=int(table.since[row]),
                call=call,
                op=short_op(self.string(int(table.op[row]))),
                key=coded(KEYS, int(table.key[row])),
                keys=key_names(int(table.key_set[row])),
                kernel=self.string(int(table.kernel[row])),
            )
            for row in table.where("call", call)
        )

    # Values and owners

    def bytes_of(
        self, storage: int, m: int, lo: int = 0, hi: int | None = None
    ) -> tuple[bytes, np.ndarray]:
        """Bytes [lo, hi) of a storage as far as the trace kept them, and which of them it knows."""
        return self.values.read(storage, m, lo, hi)

    def last_write(self, storage: int, byte: int, m: int) -> WriteFact | None:
        """The newest write that changed this byte."""
        return self.values.last_write(storage, byte, m)

    def writes_to(self, storage: int, m: int, byte: int = -1) -> tuple[WriteFact, ...]:
        """Every write to the storage (or to one byte of it) up to the moment, oldest first."""
        return self.values.writes(storage, m, byte)

    def owners(self, tensor: int, m: int) -> TensorOwners:
        """Who keeps the tensor alive: its Python object's references and its TensorImpl's uses."""
        return ownership.owners(self, tensor, m)

    def storage_owners(self, storage: int, m: int) -> Owners:
        """Who holds the storage; the counts add up to its use count."""
        return ownership.storage_owners(self, storage, m)

    # Moving

    def next(self, m: int, grain: str = "event") -> int:
        """The next stop of a grain ("event", "op", "line"); the last moment when there is none."""
        return steps.next_stop(self.tables, m, grain)

    def previous(self, m: int, grain: str = "event") -> int:
        """The stop before; moment 0 when there is none."""
        return steps.previous_stop(self.tables, m, grain)

    def find(self, text: str, m: int, step: int = 1) -> int | None:
        """The nearest moment after (step 1) or before (-1) m whose event matches; see search.py."""
        return self._search(text).find(m, step)
