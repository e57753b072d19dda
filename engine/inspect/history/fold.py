"""The fold: events into tables of facts, one function a table, each in a few whole-column steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from engine._generated.event_kinds import KINDS, Kind
from engine.inspect.columns import Records
from engine.inspect.events import FOREVER, HAS_BLOB, HOLDERS, NUMBER, named_fields, record_field
from engine.inspect.history.table import (
    Table,
    ends_of,
    indexed,
    indexed_array,
    look_up,
    next_of_same,
    pair,
    rows_before,
)
from engine.inspect.trace import TraceReader


class EventColumns:
    """Events of some kinds in columns. `events["bytes"]` is a field by its name in event_list.inc, even if the
    kinds store it in different fields of the record; `kind`, `thread` and `flags` are in every record."""

    def __init__(self, kinds: tuple[Kind, ...], records: Records) -> None:
        self.kinds = kinds
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, name: str) -> np.ndarray:
        fields = {kind.number: record_field(kind, name) for kind in self.kinds}
        first, *others = dict.fromkeys(fields.values())
        column: np.ndarray = self._records[first]
        for field in others:
            numbers = [number for number, each in fields.items() if each == field]
            column = np.where(np.isin(self.kind, numbers), self._records[field], column)
        return column

    @property
    def kind(self) -> np.ndarray:
        return self._records["kind"]

    @property
    def thread(self) -> np.ndarray:
        return self._records["thread"]

    @property
    def flags(self) -> np.ndarray:
        return self._records["flags"]


class Tables:
    """All tables of a trace; each is built on its first use."""

    def __init__(self, trace: TraceReader):
        self.trace = trace
        self.index = trace.index
        self.events = trace.events
        self._columns = trace.columns
        self._numbers: dict[tuple[str, ...], np.ndarray] = {}

    def numbers(self, *kinds: str) -> np.ndarray:
        """Return the numbers of all events of these kinds, ascending."""
        if kinds not in self._numbers:
            parts = [self._columns.numbers(NUMBER[kind]) for kind in kinds]
            self._numbers[kinds] = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
        return self._numbers[kinds]

    def numbers_without(self, *kinds: str) -> np.ndarray:
        """Return the numbers of all events of other kinds, ascending."""
        key = ("other than", *kinds)
        if key not in self._numbers:
            self._numbers[key] = self._indexed(" ".join(key), lambda: self._others(kinds))
        return self._numbers[key]

    def _others(self, kinds: tuple[str, ...]) -> np.ndarray:
        left_out = np.isin(self.events["kind"], [NUMBER[kind] for kind in kinds])
        return np.flatnonzero(~left_out)

    def _indexed(self, name: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        if self.index is None:
            return compute()
        return self.index.arrays(f"Tables.{name}", lambda: {"": compute()})[""]

    def of(self, *kinds: str) -> tuple[np.ndarray, EventColumns]:
        """Return (numbers, columns) of all events of these kinds."""
        numbers = self.numbers(*kinds)
        codes = tuple(NUMBER[kind] for kind in kinds)
        records = self._columns.of_kinds(codes, numbers)
        return numbers, EventColumns(tuple(KINDS[code] for code in codes), records)

    def moments(self, kind: str, **renamed: str) -> Table:
        """Return a table of instantaneous events: each row holds only at its event.

        Its columns are the kind's fields; `id="graph"` renames the field graph to id."""
        since, events = self.of(kind)
        columns = {field: field for field in named_fields(KINDS[NUMBER[kind]])}
        columns = {name: field for name, field in columns.items() if field not in renamed.values()}
        columns |= renamed
        return Table(since, since + 1, **{name: events[field] for name, field in columns.items()})

    # Memory

    @indexed
    def blocks(self) -> Table:
        since, new = self.of("ALLOCATE")
        ended, old = self.of("FREE")
        until = pair(
            (new["allocator"], new["address"]), since, (old["allocator"], old["address"]), ended
        )
        return Table(
            since,
            until,
            allocator=new["allocator"],
            address=new["address"],
            bytes=new["bytes"],
            reused=new["reused"],
        )

    # Named parts of the program

    @indexed
    def regions(self) -> Table:
        since, new = self.of("REGION")
        over, old = self.of("REGION_END")
        until = ends_of(new["region"], old["region"], over)
        return Table(since, until, id=new["region"], thread=new.thread)

    # Devices that run commands later

    @indexed
    def commands(self) -> Table:
        """Each command, from its enqueueing until the host learnt of its end.

        The four times are nanoseconds on the recorder's clock, 0 for a command whose end was not recorded.
        """
        since, new = self.of("COMMAND")
        over, old = self.of("COMMAND_END")
        ids = new["command"]
        times = {
            field: look_up(ids, old["command"], old[field])
            for field in ("queued", "submitted", "started", "ended")
        }
        columns = {field: new[field] for field in ("call", "device", "bytes")}
        return Table(since, ends_of(ids, old["command"], over), id=ids, **columns, **times)

    @indexed
    def waits(self) -> Table:
        """The times in which the host waited for a device."""
        since, new = self.of("HOST_WAIT")
        over, old = self.of("HOST_WAIT_END")
        columns = {field: new[field] for field in ("call", "device", "reason")}
        return Table(since, ends_of(new["wait"], old["wait"], over), **columns)

    @indexed
    def programs(self) -> Table:
        """The programs of devices, whose source is attached to the event."""
        return self.moments("PROGRAM_SOURCE", id="program")

    @indexed
    def storages(self) -> Table:
        """Storages; a resize ends one row and begins another with the same allocator and device."""
        since, rows = self.of("STORAGE_NEW", "STORAGE_RESIZE")
        ended, old = self.of("STORAGE_FREE")
        until = np.minimum(
            next_of_same(rows["storage"], since=since),
            ends_of(rows["storage"], old["storage"], ended),
        )
        _, new = self.of("STORAGE_NEW")
        allocator, device = (
            look_up(rows["storage"], new["storage"], new[field])
            for field in ("allocator", "device")
        )
        return Table(
            since,
            until,
            id=rows["storage"],
            address=rows["address"],
            nbytes=rows["nbytes"],
            allocator=allocator,
            device=device,
        )

    @indexed
    def holds(self) -> Table:
        return self._holds("storage", "STORAGE_RETAIN", "STORAGE_RELEASE")

    @indexed
    def uses(self) -> Table:
        """The holders of tensors, at the latest until the tensor is freed.

        The releases of a freed node or of a failed backward pass are not recorded."""
        table = self._holds("tensor", "TENSOR_RETAIN", "TENSOR_RELEASE")
        ended, tensors = self.of("TENSOR_FREE")
        freed, nodes = self.of("NODE_FREE")
        until = np.minimum(table.until, ends_of(table.id, tensors["tensor"], ended))
        saved = table.kind == HOLDERS.index("SAVED")
        until[saved] = np.minimum(until, ends_of(table.holder, nodes["node"], freed))[saved]
        lies = table.kind == HOLDERS.index("BUFFER")
        until[lies] = np.minimum(until, self._ends_of_runs(table.since))[lies]
        return Table(table.since, until, **table.columns)

    def _ends_of_runs(self, moments: np.ndarray) -> np.ndarray:
        """Return the end of the backward pass in which a gradient last arrived, in each event's thread."""
        since, came = self.of("ARRIVE")
        ended, ends = self.of("BACKWARD_END")
        row = rows_before(came.thread, since, self.events["thread"][moments], moments)
        run = np.where(row >= 0, np.append(came["run"], 0)[row], -1)
        return ends_of(run, ends["run"], ended)

    def _holds(self, item: str, take: str, leave: str) -> Table:
        since, new = self.of(take)
        ended, old = self.of(leave)
        identity = (item, "holder_kind", "holder") + (("position",) if item == "tensor" else ())
        keys = [tuple(rows[field] for field in identity) for rows in (new, old)]
        until = pair(keys[0], since, keys[1], ended)
        columns = {"id": new[item], "kind": new["holder_kind"], "holder": new["holder"]}
        if item == "tensor":
            columns["position"] = new["position"]
        return Table(since, until, **columns)

    @indexed
    def storage_counts(self) -> Table:
        """The use count of each storage after each retain or release."""
        since, rows = self.of("STORAGE_RETAIN", "STORAGE_RELEASE")
        until = next_of_same(rows["storage"], since=since)
        return Table(since, until, id=rows["storage"], count=rows["use_count"])

    @indexed
    def tensor_counts(self) -> Table:
        """The use count of each TensorImpl after each event that changed it."""
        since, rows = self.of("WRAP", "UNWRAP", "TENSOR_RETAIN", "TENSOR_RELEASE", "USE_COUNT")
        until = next_of_same(rows["tensor"], since=since)
        return Table(since, until, id=rows["tensor"], count=rows["use_count"])

    # Tensors

    @indexed
    def tensors(self) -> Table:
        """Tensors; a TENSOR_META ends one row and begins another."""
        since, rows = self.of("TENSOR_NEW", "TENSOR_META")
        ended, old = self.of("TENSOR_FREE")
        until = np.minimum(
            next_of_same(rows["tensor"], since=since), ends_of(rows["tensor"], old["tensor"], ended)
        )
        return Table(
            since,
            until,
            id=rows["tensor"],
            storage=rows["storage"],
            layout=rows["layout"],
            offset=rows["offset"],
        )

    @indexed
    def wrappers(self) -> Table:
        since, new = self.of("WRAP")
        ended, old = self.of("UNWRAP")
        return Table(
            since, pair((new["tensor"],), since, (old["tensor"],), ended), tensor=new["tensor"]
        )

    @indexed
    def objects(self) -> Table:
        """Samples of Python objects, each until the next sample or the object's end."""
        since, rows = self.of("OBJECT")
        ended, old = self.of("UNWRAP")
        until = np.minimum(
            next_of_same(rows["tensor"], since=since),
            _next_after(rows["tensor"], since, old["tensor"], ended),
        )
        return Table(
            since,
            until,
            tensor=rows["tensor"],
            address=rows["address"],
            refcount=rows["refcount"],
            type=rows["type"],
        )

    @indexed
    def views(self) -> Table:
        return self.moments("VIEW")

    # Operators

    @indexed
    def calls(self) -> Table:
        """[OP_ENTER, OP_EXIT), or up to the ERROR that ended it."""
        since, new = self.of("OP_ENTER")
        left, out = self.of("OP_EXIT")
        failed, errors = self.of("ERROR")
        exit_ = ends_of(new["call"], out["call"], left)
        error = ends_of(new["call"], errors["call"], failed)
        return Table(
            since,
            np.where(exit_ < FOREVER, exit_, error),
            id=new["call"],
            op=new["op"],
            parent=new["parent"],
            n_args=new["n_args"],
            exit=exit_,
            error=error,
        )

    @indexed_array
    def by_compiler(self) -> np.ndarray:
        """A mask of the calls made by passes of the compiler, for shapes (on tensors without bytes) or constant
        folding. They are not part of the program."""
        passes, rows = self.of("PASS_BEGIN", "PASS_END")
        if not len(passes):
            return np.zeros(len(self.calls), bool)
        moments = self.calls.since
        row = rows_before(rows.thread, passes, self.events["thread"][moments], moments)
        started = np.where(rows.kind == NUMBER["PASS_BEGIN"], 1, -1)
        inside = np.zeros(len(rows), np.int64)  # passes of the thread that run after each event
        for thread in np.unique(rows.thread):
            own = rows.thread == thread
            inside[own] = np.cumsum(started[own])
        return (row >= 0) & (np.append(inside, 0)[row] > 0)

    @indexed_array
    def returns(self) -> np.ndarray:
        """The moments at which a call that the program made itself has ended."""
        calls = self.calls
        own = (calls.parent == 0) & ~self.by_compiler
        return np.sort(calls.until[own & (calls.until < FOREVER)])

    @indexed_array
    def node_stops(self) -> np.ndarray:
        """The moments at which a node was complete (the first tensor had it as grad_fn) or was about to run, or a
        backward pass had ended."""
        moments, records = self.of("GRAD_FN")
        nodes, first = np.unique(records["node"], return_index=True)
        attached = moments[first[nodes > 0]]
        return np.union1d(attached, self.numbers("NODE_ENTER", "BACKWARD_END"))

    @indexed
    def hops(self) -> Table:
        return self.moments("HOP")

    @indexed
    def plans(self) -> Table:
        return self.moments("PLAN")

    @indexed
    def writes(self) -> Table:
        return self.moments("WRITE")

    @indexed
    def versions(self) -> Table:
        since, rows = self.of("VERSION_BUMP")
        until = next_of_same(rows["counter"], since=since)
        return Table(
            since,
            until,
            counter=rows["counter"],
            version=rows["version"],
            tensor=rows["tensor"],
            call=rows["call"],
        )

    # Python

    @indexed
    def frames(self) -> Table:
        since, new = self.of("FRAME_PUSH")
        ended, old = self.of("FRAME_POP")
        until = pair((new["frame"],), since, (old["frame"],), ended)
        return Table(
            since,
            until,
            id=new["frame"],
            function=new["function"],
            file=new["file"],
            parent=new["parent"],
            first_line=new["first_line"],
        )

    @indexed
    def lines(self) -> Table:
        """Lines, each until the next one of its frame, or until the frame is left."""
        since, rows = self.of("LINE")
        ended, old = self.of("FRAME_POP")
        until = np.minimum(
            next_of_same(rows["frame"], since=since),
            _next_after(rows["frame"], since, old["frame"], ended),
        )
        return Table(since, until, frame=rows["frame"], file=rows["file"], line=rows["line"])

    @indexed
    def names(self) -> Table:
        """A binding ends at the next binding or unbinding of the name, or with its frame.

        The names of a discarded module (runpy does that) have no unbinding: they end with their
        tensors.
        """
        since, rows = self.of("NAME_BIND", "NAME_UNBIND")
        ended, old = self.of("FRAME_POP")
        until = np.minimum(
            next_of_same(rows["frame"], rows["name"], rows["holder_kind"], since=since),
            _next_after(rows["frame"], since, old["frame"], ended),
        )
        bound = rows.kind == NUMBER["NAME_BIND"]
        until = until[bound]
        since, rows = self.of("NAME_BIND")
        endless = (until == FOREVER) & (rows["tensor"] != 0)
        freed, tensors = self.of("TENSOR_FREE")
        until[endless] = _next_after(
            rows["tensor"][endless], since[endless], tensors["tensor"], freed
        )
        return Table(
            since,
            until,
            frame=rows["frame"],
            name=rows["name"],
            kind=rows["holder_kind"],
            tensor=rows["tensor"],
            holder=np.where(rows.flags & HAS_BLOB, 0, rows["blob"]),
        )

    @cached_property
    def current(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Per thread: (moments, the frame that runs from then on), from pushes, lines and pops."""
        since, rows = self.of("FRAME_PUSH", "LINE", "FRAME_POP")
        pops = rows.kind == NUMBER["FRAME_POP"]
        parent = look_up(rows["frame"], self.frames.id, self.frames.parent)
        frame = np.where(pops, parent, rows["frame"])
        threads = rows.thread
        return {
            int(thread): (since[threads == thread], frame[threads == thread])
            for thread in np.unique(threads)
        }

    def lines_of(self, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (frame, file, line) of the program at each of the moments; 0: no line was running."""
        frame = np.zeros(len(moments), np.int64)
        threads = self.events["thread"][moments]
        default = next(iter(self.current.values()), None)
        for thread in np.unique(threads):
            begins = self.current.get(int(thread), default)
            if begins is None:
                continue
            own = threads == thread
            at = np.searchsorted(begins[0], moments[own], "right") - 1
            frame[own] = np.where(at >= 0, begins[1][at], 0)
        lines = self.lines
        row = np.searchsorted(lines.since, moments, "right") - 1
        other = (
            np.append(lines.frame, 0)[row] != frame
        )  # the newest line is of a function that returned
        row[other] = rows_before(lines.frame, lines.since, frame[other], moments[other])
        matches = row >= 0
        matches[matches] &= lines.until[row[matches]] > moments[matches]
        file, line = (
            np.append(column, 0)[np.where(matches, row, -1)] for column in (lines.file, lines.line)
        )
        return frame, file, line

    @indexed
    def exceptions(self) -> Table:
        return self.moments("EXCEPTION")

    @indexed
    def output(self) -> Table:
        return self.moments("OUTPUT")

    # Values

    @indexed
    def values(self) -> Table:
        """Recorded bytes of storages, from the write that they belong to.

        A VALUES record comes a few events after its WRITE; the bytes were there from then on. A WRITE without
        VALUES (the budget ran out) is a row too, of mode -1: unknown from then on.
        """
        since, rows = self.of("WRITE", "VALUES")
        retained = rows.kind == NUMBER["VALUES"]
        lo, hi = rows["lo"], rows["hi"]
        mode = np.full(len(since), -1, np.int64)
        mode[retained] = self.of("VALUES")[1]["mode"]
        order = np.lexsort([since, hi, lo, rows["storage"]])
        first, second = order[:-1], order[1:]
        same = ~retained[first] & retained[second]
        for column in (rows["storage"], lo, hi):
            same &= column[first] == column[second]
        begins = since.copy()
        begins[second[same]] = since[first[same]]
        keep = np.ones(len(since), bool)
        keep[first[same]] = False
        event = since[keep]
        columns = (begins[keep], event, rows["storage"][keep], lo[keep], hi[keep], mode[keep])
        order = np.lexsort([event, columns[0]])
        begin, event, storage, lo, hi, mode = (column[order] for column in columns)
        has = (self.events["flags"][event] & HAS_BLOB) != 0
        mode = np.where((mode >= 0) & ~has, 2, mode)
        return Table(
            begin,
            np.full(len(begin), FOREVER, np.int64),
            event=event,
            storage=storage,
            lo=lo,
            hi=hi,
            mode=mode,
        )


class PartTables:
    """The tables of one part of the engine, computed from those of the trace."""

    def __init__(self, tables: Tables):
        self.tables = tables
        self.index = tables.index
        self.of = tables.of


def _next_after(
    keys: np.ndarray, since: np.ndarray, other: np.ndarray, when: np.ndarray
) -> np.ndarray:
    """Return for each (key, since) the first (other, when) after it with that key, else FOREVER."""
    count = len(keys)
    key = np.concatenate([keys, other])
    moment = np.concatenate([since, when])
    order = np.lexsort([moment, key])
    target = np.where(order >= count, moment[order], FOREVER)
    # the nearest closing at or after each place, walking from the back
    index = np.where(order >= count, np.arange(len(order)), len(order))
    nearest = np.minimum.accumulate(index[::-1])[::-1]
    out = np.full(count, FOREVER, np.int64)
    matches = (order < count) & (nearest < len(order))
    at = nearest[matches]
    same = key[order[at]] == key[order[matches]]
    out[order[matches][same]] = target[at[same]]
    return out
