"""History: the whole recorded run as facts with lifetimes, and queries over them.

A *moment* is an event number: the state just after that event. Every query is a look-up in tables that are folded once
from the stream (fold.py), so all moments cost the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from engine.inspect.events import FOREVER, TRUNCATED, Event, fields_of, kind_of, named_payload
from engine.inspect.history import ownership, sentences, steps
from engine.inspect.history.autograd import Autograd
from engine.inspect.history.cache import HistoryCache
from engine.inspect.history.decode import Rows, each
from engine.inspect.history.facts import (
    BlockFact,
    CallFact,
    CommandFact,
    ExceptionFact,
    FrameFact,
    HopFact,
    LineFact,
    NameFact,
    ObjectFact,
    OutputFact,
    Owners,
    PlanFact,
    RegionFact,
    StorageFact,
    TensorFact,
    TensorOwners,
    VersionFact,
    WaitFact,
    WriteFact,
)
from engine.inspect.history.fold import Tables
from engine.inspect.history.jit import Jit
from engine.inspect.history.labels import Labels
from engine.inspect.history.search import Check, Search
from engine.inspect.history.storage_contents import StorageContents
from engine.inspect.history.table import Table
from engine.inspect.layout import Extent
from engine.inspect.trace import TraceReader

__all__ = ["FOREVER", "History"]

_BATCH = 4096  # events that are decoded at once


class History:
    """The facts of one trace. `grown()` returns a new History with what a live recording has appended."""

    def __init__(self, trace: TraceReader):
        self.trace = trace
        self.tables = Tables(self.trace)
        self._rows = Rows(self.tables)
        self._bytes = StorageContents(self)
        self.cache = HistoryCache()
        self.call = self.cache.memoise(self._call, 16384)
        self.label = Labels(self)
        self._source_lines = self.cache.memoise(self._lines_of_source, 64)
        self._search = self.cache.memoise(self._new_search, 4)

    def _lines_of_source(self, file: int) -> list[str]:
        return self.source(file)[1].splitlines()

    def _new_search(self, text: str) -> Search:
        return Search(self, text)

    def grown(self) -> History | None:
        """Return a history with the events recorded since, None without any. This one does not change, so threads can
        share it."""
        return History(self.trace) if self.trace.poll() else None

    @property
    def end(self) -> int:
        """The number of events: moments are 0 .. end - 1."""
        return len(self.tables.events)

    def string(self, number: int) -> str:
        return self.trace.string(number)

    def source(self, file: int) -> tuple[str, str]:
        """Return (path, text) of a source file."""
        return self.trace.source(file)

    def line_text(self, file: int, line: int) -> str:
        """Return one line of a source file, stripped; "" if it was not recorded."""
        lines = self._source_lines(file)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    # Events

    def event(self, m: int) -> Event:
        """Return the event of this moment, decoded, with its sentence."""
        if not 0 <= m < self.end:
            raise IndexError(f"moment {m} is outside the trace: it has {self.end} events")
        _, time, thread, number, flags, *payload = self.tables.events[m].item()
        kind = kind_of(number)
        fields = named_payload(kind, payload)
        return Event(
            number=m,
            time=time,
            thread=thread,
            kind=kind.name,
            fields=fields,
            truncated=bool(flags & TRUNCATED),
            sentence=sentences.sentence(self, m, kind, dict(fields)),
        )

    def each_sentence(self) -> Iterator[tuple[tuple[int, ...], str, str]]:
        """Yield record, kind and sentence of every event: cheaper than single queries."""
        starts = self.tables.tensors.since
        for start in range(0, self.end, _BATCH):
            records = self.tables.events[start : start + _BATCH]
            low, high = np.searchsorted(starts, (start, start + len(records)))
            self._rows.tensor.each(np.arange(low, high))  # the shapes of all new tensors at once
            for m, record in enumerate(records.tolist(), start):
                kind = kind_of(record[3])
                fields = dict(named_payload(kind, record[5:]))
                yield record, kind.name, sentences.sentence(self, m, kind, fields)

    def fields(self, m: int) -> tuple[tuple[str, int], ...]:
        """Return the event's used fields by name."""
        return tuple(fields_of(self.tables.events[m]).items())

    def text(self, m: int) -> str:
        """Return the text attached to an event."""
        return self._rows.text(m)

    @cached_property
    def autograd(self) -> Autograd:
        """The queries about nodes, saved tensors and backward passes."""
        return Autograd(self)

    @cached_property
    def jit(self) -> Jit:
        """The queries about graphs, passes and the interpreter."""
        return Jit(self)

    # Tensors and storages

    def tensors_at(self, m: int) -> tuple[TensorFact, ...]:
        """Return every living tensor, oldest first."""
        return self._rows.tensor.each(self.tables.tensors.at(m))

    def tensor(self, tensor: int, m: int) -> TensorFact | None:
        """Return the tensor's description at the moment; None when it does not exist then."""
        rows = self.tables.tensors.where_at("id", tensor, m)
        return self._rows.tensor(int(rows[-1])) if len(rows) else None

    def described(self, tensor: int, m: int) -> TensorFact | None:
        """Return the tensor's description at the moment, or its last one if it is freed."""
        row = self.tables.tensors.last("id", tensor, m)
        return self._rows.tensor(row) if row >= 0 else None

    def tensors_on(self, storage: int, m: int) -> tuple[TensorFact, ...]:
        """Return every living tensor over this storage, oldest first."""
        return self._rows.tensor.each(self.tables.tensors.where_at("storage", storage, m))

    def storage(self, storage: int, m: int) -> StorageFact | None:
        rows = self.tables.storages.where_at("id", storage, m)
        return self._rows.storage(int(rows[-1])) if len(rows) else None

    def storages_at(self, m: int) -> tuple[StorageFact, ...]:
        return self._rows.storage.each(self.tables.storages.at(m))

    def blocks_at(self, m: int) -> tuple[BlockFact, ...]:
        """Return every allocated block of memory."""
        return self._rows.block.each(self.tables.blocks.at(m))

    def aliases(self, first: int, second: int, m: int) -> bool:
        """Return whether two tensors share a byte at the moment; True if that is too expensive to decide."""
        item, two = self.tensor(first, m), self.tensor(second, m)
        if item is None or two is None or item.storage != two.storage or not item.storage:
            return False
        return item.extent.meets(two.extent) is not False

    def version(self, counter: int, m: int) -> int:
        """Return the value of a version counter; it starts at 0."""
        row = self.tables.versions.last("counter", counter, m)
        return int(self.tables.versions.version[row]) if row >= 0 else 0

    def versions(self, counter: int, m: int) -> tuple[VersionFact, ...]:
        """Return every increment of a version counter up to the moment."""
        return each(self._rows.version, self.tables.versions.until_now("counter", counter, m))

    def object_at(self, tensor: int, m: int) -> ObjectFact | None:
        """Return the last recorded state of the tensor's Python object, while it is alive."""
        rows = self.tables.objects.where_at("tensor", tensor, m)
        return self._rows.object(int(rows[-1])) if len(rows) else None

    def wrapped(self, tensor: int, m: int) -> bool:
        """Return whether the tensor has a Python object."""
        return len(self.tables.wrappers.where_at("tensor", tensor, m)) > 0

    def objects_of(self, tensors: list[int], m: int) -> list[ObjectFact | None]:
        """Return `object_at` of many tensors."""
        rows = self._living(self.tables.objects, "tensor", tensors, m)
        return [self._rows.object(row) if row >= 0 else None for row in rows]

    def wrapped_of(self, tensors: list[int], m: int) -> list[bool]:
        """Return `wrapped` of many tensors."""
        return [row >= 0 for row in self._living(self.tables.wrappers, "tensor", tensors, m)]

    def versions_of(self, counters: list[int], m: int) -> list[int]:
        """Return `version` of many counters."""
        table = self.tables.versions
        rows = table.last_of_each("counter", np.array(counters, np.int64), m).tolist()
        return [int(table.version[row]) if row >= 0 else 0 for row in rows]

    def _living(self, table: Table, column: str, values: list[int], m: int) -> list[int]:
        """Return the newest row of each value that holds at the moment, or -1."""
        rows = table.last_of_each(column, np.array(values, np.int64), m)
        if not len(table):
            return rows.tolist()
        return np.where((rows >= 0) & (table.until[rows] > m), rows, -1).tolist()

    # Names

    def names_at(self, m: int, frame: int | None = None) -> tuple[NameFact, ...]:
        """Return every bound name, of one frame or of all, in the order in which they were bound."""
        table = self.tables.names
        rows = table.at(m) if frame is None else table.where_at("frame", frame, m)
        return self._rows.name.each(rows)

    def names_of(self, tensor: int, m: int) -> tuple[NameFact, ...]:
        """Return every name in the user's program that refers to the tensor."""
        if not tensor:
            return ()
        return self._rows.name.each(self.tables.names.where_at("tensor", tensor, m))

    # The program

    def frame_at(self, m: int) -> int:
        """Return the frame that runs in the event's thread, or in the first thread that has frames."""
        current = self.tables.current
        if not current or not 0 <= m < self.end:
            return 0
        moments, frames = next(iter(current.values()))
        if len(current) > 1:
            moments, frames = current.get(int(self.tables.events["thread"][m]), (moments, frames))
        index = int(np.searchsorted(moments, m, "right")) - 1
        return int(frames[index]) if index >= 0 else 0

    def frame(self, frame: int, m: int) -> FrameFact | None:
        rows = self.tables.frames.where_at("id", frame, m)
        return self._rows.frame(int(rows[-1])) if len(rows) else None

    def frames_at(self, m: int) -> tuple[FrameFact, ...]:
        """Return the stack, outermost frame first."""
        stack: dict[int, FrameFact] = {}
        number = self.frame_at(m)
        while number not in stack and (frame := self.frame(number, m)):
            stack[number] = frame
            number = frame.parent
        return tuple(reversed(stack.values()))

    def line_at(self, m: int) -> LineFact | None:
        """Return the line of the user's program that is running."""
        row = self.tables.lines.last("frame", self.frame_at(m), m)
        return self._rows.line(row) if row >= 0 else None

    def last_line(self, m: int) -> LineFact | None:
        """Return the newest line that has started, even if it has ended."""
        row = self.tables.lines.started_by(m) - 1
        return self._rows.line(row) if row >= 0 else None

    def lines_at(self, m: int) -> tuple[LineFact, ...]:
        """Return the running line of each frame of the stack, outermost first."""
        table = self.tables.lines
        rows = (table.last("frame", frame.id, m) for frame in self.frames_at(m))
        return each(self._rows.line, (row for row in rows if row >= 0))

    def exceptions(self, m: int) -> tuple[ExceptionFact, ...]:
        """Return every exception raised up to the moment."""
        return each(self._rows.exception, range(self.tables.exceptions.started_by(m)))

    def exception(self, row: int) -> ExceptionFact:
        """Return the exception in this row of its table."""
        return self._rows.exception(row)

    def output(self, m: int) -> tuple[OutputFact, ...]:
        """Return what the program has written up to the moment."""
        return each(self._rows.output, range(self.tables.output.started_by(m)))

    # Devices

    def command(self, row: int) -> CommandFact:
        """Return the command in this row of its table."""
        return self._rows.command(row)

    def wait(self, row: int) -> WaitFact:
        """Return the wait in this row of its table."""
        return self._rows.wait(row)

    def commands_of(self, call: int) -> tuple[CommandFact, ...]:
        """Return the commands that a call enqueued, in order."""
        return each(self._rows.command, self.tables.commands.where("call", call))

    def program_source(self, program: int) -> str:
        """Return the OpenCL C source of a program, "" if the trace does not hold it."""
        rows = self.tables.programs.where("id", program)
        return self._rows.text(int(self.tables.programs.since[rows[0]])) if len(rows) else ""

    # Operator calls

    def calls_at(self, m: int) -> tuple[CallFact, ...]:
        """Return the running calls, outermost first."""
        table = self.tables.calls
        return each(self.call, table.id[table.at(m)])

    def call_at_or_before(self, m: int) -> CallFact | None:
        """Return the innermost running call, else the newest earlier one of the program."""
        table = self.tables.calls
        running = table.at(m)
        if len(running):
            return self.call(int(table.id[running[-1]]))
        row = table.started_by(m) - 1
        while row >= 0 and self.tables.by_compiler[row]:
            row -= 1
        return self.call(int(table.id[row])) if row >= 0 else None

    def regions_at(self, m: int) -> tuple[RegionFact, ...]:
        """Return the regions that the thread of event `m` is in, outermost first."""
        table, threads = self.tables.regions, self.tables.events["thread"]
        if not len(table) or not 0 <= m < self.end:
            return ()
        rows = table.at(m)
        return each(self._rows.region, rows[table.thread[rows] == threads[m]])

    def regions_of(self, tensor: int) -> tuple[RegionFact, ...]:
        """Return the regions in which a tensor was created, outermost first."""
        rows = self.tables.tensors.where("id", tensor)
        return self.regions_at(int(self.tables.tensors.since[rows[0]])) if len(rows) else ()

    def of_compiler(self, call: int) -> bool:
        """Return whether the call came from a pass of the compiler, not from the program."""
        rows = self.tables.calls.where("id", call)
        return bool(len(rows) and self.tables.by_compiler[rows[0]])

    def _call(self, call: int) -> CallFact | None:
        """Return the call with this number, whenever it ran."""
        table = self.tables.calls
        rows = table.where("id", call)
        if not len(rows):
            return None
        row = int(rows[0])
        return self._rows.call(row, self.line_at(int(table.since[row])))

    def hops(self, call: int) -> tuple[HopFact, ...]:
        """Return the kernels that the dispatcher ran for a call, from the outermost key down."""
        return each(self._rows.hop, self.tables.hops.where("call", call))

    def plans(self, call: int) -> tuple[PlanFact, ...]:
        """Return the loops that the kernels of a call were about to run."""
        return each(self._rows.plan, self.tables.plans.where("call", call))

    def calls_of(self, call: int) -> tuple[CallFact, ...]:
        """Return the calls within this call, in order."""
        table = self.tables.calls
        return each(self.call, table.id[table.where("parent", call)])

    # Values and owners

    def bytes_of(
        self, storage: int, m: int, lo: int = 0, hi: int | None = None
    ) -> tuple[bytes, np.ndarray]:
        """Return the recorded bytes [lo, hi) of a storage, and a mask of those known."""
        return self._bytes.read(storage, m, lo, hi)

    def last_write(self, storage: int, index: Extent | int, m: int) -> WriteFact | None:
        """Return the newest write to this byte, or to a byte of an extent (-1: to any byte)."""
        return next(self._bytes.writes(storage, m, _extent(index)), None)

    def writes_to(self, storage: int, m: int, index: Extent | int = -1) -> tuple[WriteFact, ...]:
        """Return every write to the storage (or to an extent of it) up to the moment, oldest first."""
        return tuple(self._bytes.writes(storage, m, _extent(index)))[::-1]

    def owners(self, tensor: int, m: int) -> TensorOwners:
        """Return the holders that keep the tensor alive: references to its Python object and uses of its TensorImpl."""
        return ownership.owners(self, tensor, m)

    def parts_of(self, tensor: int, m: int) -> tuple[tuple[str, int], ...]:
        """Return the parts of a sparse tensor, by name: `indices`, `values`, or those of rows."""
        return ownership.parts_of(self, tensor, m)

    def storage_owners(self, storage: int, m: int) -> Owners:
        """Return the holders of the storage; their counts add up to its use count."""
        return ownership.storage_owners(self, storage, m)

    def storage_uses(self, storages: list[int], m: int) -> list[int]:
        """Return the number of holders of each storage."""
        return ownership.storage_uses(self, storages, m)

    # Moving

    def next(self, m: int, grain: str = "raw event") -> int:
        """Return the next stop of a grain ("raw event", "event", "op", "node", "line"), or the last moment."""
        return steps.next_stop(self.tables, m, grain)

    def previous(self, m: int, grain: str = "raw event") -> int:
        """Return the previous stop; moment 0 if there is none."""
        return steps.previous_stop(self.tables, m, grain)

    @property
    def grains(self) -> tuple[str, ...]:
        """Return the grains of this trace, from the finest to the coarsest."""
        return steps.grains(self.tables)

    def find(self, text: str, m: int, step: int = 1, check: Check | None = None) -> int | None:
        """Return the nearest match after (step 1) or before (-1) m: see search.py."""
        return self._search(text).find(m, step, check)


def _extent(index: Extent | int) -> Extent | None:
    """Convert an extent or a byte number to an extent; -1, the whole storage, to None."""
    if isinstance(index, Extent):
        return index
    return Extent.stretch(index, index + 1) if index >= 0 else None
