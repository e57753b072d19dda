"""Copies the events of a recorded process from the ring into its trace, one SQLite file.

Runs outside the recorded process: in the parent (`underhood record`) or, when a process records
itself, in a separate process: `python -m engine.inspect.writer --fd N --path P`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from engine._generated.codes import HAS_BLOB
from engine._generated.event_kinds import KINDS, PROGRAM_END, SOURCE, STRING
from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.inspect.events import (
    BLOB_FIELD,
    RECORD,
    fields_of,
    record_field,
)
from engine.inspect.new_trace import new_trace
from engine.inspect.ring import CLOSED, RECORD_BYTES, Ring, alive, private_file

try:  # zlib's format, six times as fast; on x86-64 and ARM only
    from isal.isal_zlib import compress
except ImportError:
    from zlib import compress

POLL_SECONDS: Final = 0.02
BUSY_SECONDS: Final = 0.002  # the same while the program records
FLUSH_SECONDS: Final = 0.05  # after which events are stored that do not fill a segment
QUIET_SECONDS: Final = 0.01  # the same where no other came in the meantime
SEGMENT_RECORDS: Final = 1 << 16
MIN_SPLIT_RECORDS: Final = 1 << 10  # fewer are stored together or not at all
MAX_WAITING: Final = 48 << 20  # bytes copied out of the ring and not packed yet


class TraceFile:
    """A trace that is being written.

    Each transaction is folded into the one file at once. Before it begins, the file is given the room
    that it will need: so a disk that fills up is noticed while everything written so far is in place,
    and the trace is one file all the same.
    """

    def __init__(
        self,
        path: str | Path,
        fd: int | None = None,
        database: sqlite3.Connection | None = None,
    ) -> None:
        self.path = Path(path)
        # The descriptor is closed after the database, whose locks on the file would end with it.
        self._fd = private_file(path) if fd is None else fd
        self._db = new_trace(path) if database is None else database
        self._packed = np.empty(lib.uh_pack_room(SEGMENT_RECORDS), np.uint8)
        self.end = 0
        self.last = np.zeros((), RECORD)

    def set_meta(self, entries: Mapping[str, str]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", list(entries.items()))

    def add(self, events: np.ndarray, blobs: bytes | memoryview) -> None:
        """Append records whose blob references are ascending positions in `blobs`, as one segment.

        If the disk has no room for all of them, smaller halves are tried.
        Raises: OSError for the first records that do not fit.
        """
        try:
            self._add_segment(events, blobs)
        except OSError:
            if len(events) < MIN_SPLIT_RECORDS:
                raise
            second = events[len(events) // 2 :].copy()
            has_blob = (second["flags"] & HAS_BLOB) != 0
            cut = int(second[BLOB_FIELD][has_blob][0]) if has_blob.any() else len(blobs)
            second[BLOB_FIELD][has_blob] -= cut
            self.add(events[: len(events) // 2], blobs[:cut])
            self.add(second, blobs[cut:])

    def _add_segment(self, events: np.ndarray, blobs: bytes | memoryview) -> None:
        """Append records in one transaction, or raise OSError and leave the file as it was."""
        first, count = int(events["n"][0]), len(events)
        row = (
            first,
            count,
            int(events["t"][0]),
            int(events["t"][-1]),
            compress(packed(events, self._packed), 1),
            compress(blobs, 1),
        )
        strings = list(_strings(events, blobs))
        self._make_room(len(row[4]) + len(row[5]) + sum(len(text) + 32 for _, _, text in strings))
        self._db.execute("BEGIN")
        try:
            self._db.execute("INSERT INTO segments VALUES(?, ?, ?, ?, ?, ?)", row)
            for kind, number, raw in strings:
                text = raw.decode("utf-8", "replace")
                if kind == STRING:
                    self._db.execute("INSERT OR REPLACE INTO strings VALUES(?, ?)", (number, text))
                    continue
                path = "SELECT coalesce((SELECT text FROM strings WHERE id = ?1), '')"
                self._db.execute(
                    f"INSERT OR REPLACE INTO sources VALUES(?1, ({path}), ?2)", (number, text)
                )
            self._db.execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self.last = events[-1].copy()
        self.end = first + count

    def _size(self) -> int:
        """Return the bytes of the file when everything is folded into it."""
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        (size,) = self._db.execute("PRAGMA page_size").fetchone()
        return int(pages * size)

    def _make_room(self, size: int) -> None:
        """Reserves disk space for another `size` bytes. Raises: OSError if there is none."""
        current, needed = os.fstat(self._fd).st_size, self._size() + size + size // 16 + (1 << 16)
        if needed > current:
            os.posix_fallocate(self._fd, current, needed - current)

    def close(self) -> None:
        """Leaves the one file, with nothing next to it if possible."""
        # If another process reads the file, the last one to close it folds the log; a full disk may have
        # no room.
        with suppress(sqlite3.OperationalError):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            os.ftruncate(self._fd, self._size())
            self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()
        os.close(self._fd)

    @property
    def log(self) -> Path | None:
        """The log next to the closed file if the file is incomplete without it."""
        log = self.path.with_name(self.path.name + "-wal")
        return log if log.exists() and log.stat().st_size else None


def _strings(events: np.ndarray, blobs: bytes | memoryview) -> Iterator[tuple[int, int, bytes]]:
    """Yield the strings and sources among the records: kind, number, text."""
    for record in events[(events["kind"] == STRING) | (events["kind"] == SOURCE)]:
        start = int(record[BLOB_FIELD]) + 8
        size = int.from_bytes(blobs[start - 8 : start], "little")
        (number,) = fields_of(record).values()
        yield int(record["kind"]), number, bytes(blobs[start : start + size])


def packed(events: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
    """Return the records as bytes that compress well: Note [Packed records] of csrc/events/pack.h.

    They are in `room`, if it is large enough.
    """
    needed = lib.uh_pack_room(len(events))
    out = np.empty(needed, np.uint8) if room is None or len(room) < needed else room
    size = lib.uh_pack_records(ffi.from_buffer(events), len(events), ffi.from_buffer(out))
    if size < 0:
        raise_last()
    return out[:size]


class Segment:
    """Records and their blobs, moved out of a ring and not packed yet."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._events = np.empty(SEGMENT_RECORDS, RECORD)
        self._blobs = np.empty(ring.capacity_blob // 4 + 16, np.uint8)  # programs cut longer ones
        self._filled = ffi.new("uint64_t[2]")  # records, bytes of blobs
        self.since = 0.0

    @property
    def count(self) -> int:
        return int(self._filled[0])

    @property
    def size(self) -> int:
        """The bytes of memory that it needs."""
        return self.count * RECORD_BYTES + int(self._filled[1])

    @property
    def content(self) -> tuple[np.ndarray, memoryview]:
        """The records and the blobs."""
        return self._events[: self.count], self._blobs.data[: self._filled[1]]

    def take(self) -> int:
        """Moves the ring's oldest records here; returns how many: 0 if the next one's blob has no room."""
        before = self.count
        if not before:
            self.since = time.monotonic()
        with ffi.from_buffer(self._ring.memory) as memory:
            lib.uh_take_records(
                memory, self._ring.capacity_records, self._ring.capacity_blob,
                ffi.from_buffer(self._events), SEGMENT_RECORDS,
                ffi.from_buffer(self._blobs), len(self._blobs), self._filled,
            )  # fmt: skip
        return self.count - before

    def clear(self) -> None:
        self._filled[0] = self._filled[1] = 0


class TraceWriter:
    """Drains a ring into a trace file. The owner calls `pump()` at least every POLL_SECONDS."""

    def __init__(
        self,
        ring: Ring,
        path: str | Path,
        meta: Mapping[str, str] | None = None,
        fd: int | None = None,
        database: sqlite3.Connection | None = None,
    ) -> None:
        self.ring = ring
        self.file = TraceFile(path, fd, database)
        self.file.set_meta({"recorder": "1", **(meta or {})})
        self._filling = Segment(ring)
        self._waiting: deque[Segment] = deque()
        self._waiting_bytes = 0
        self._spare: list[Segment] = []  # their memory is used again
        self._closed = False
        ring["writer_pid"] = os.getpid()
        ring["heartbeat_ns"] = time.monotonic_ns()

    @property
    def has_backlog(self) -> bool:
        """Return whether `pump` has work to do at once."""
        return bool(self._waiting)

    @property
    def pause(self) -> float:
        """The seconds that the next `pump` may wait: a busy program soon needs its room in the ring."""
        return BUSY_SECONDS if self._filling.count else POLL_SECONDS / 2

    def pump(self, seconds: float | None = None) -> int:
        """Reads the ring, for about that long, and stores what came; returns the number of events.

        All is copied out of the ring first, which frees its room for the program. It is packed when it is a
        whole segment or some time old; without `seconds`, at once, up to the event that was the last one when
        `pump` was called: a program that is faster than the writer would never let it return.
        """
        deadline = time.monotonic() + (1e9 if seconds is None else seconds)
        head = self.ring["head"]
        used = self._collect()
        age = 0.0 if seconds is None else FLUSH_SECONDS if used else QUIET_SECONDS
        while self._waiting or self._is_due(age):
            if time.monotonic() > deadline:
                break
            self._store()
            if seconds is not None or self.ring["tail"] < head:
                used += self._collect()
        return used

    def _collect(self) -> int:
        """Takes everything out of the ring, unless too much waits already; returns how many events."""
        used = 0
        while self.ring.pending and self._waiting_bytes < MAX_WAITING:
            moved = self._filling.take()
            used += moved
            if not moved or self._filling.count == SEGMENT_RECORDS:
                self._waiting.append(self._filling)
                self._waiting_bytes += self._filling.size
                self._filling = self._spare.pop() if self._spare else Segment(self.ring)
        self.ring["heartbeat_ns"] = time.monotonic_ns()
        return used

    def _is_due(self, age: float) -> bool:
        return self._filling.count > 0 and time.monotonic() - self._filling.since >= age

    def _store(self) -> None:
        """Packs the oldest segment."""
        if self._waiting:
            segment = self._waiting.popleft()
            self._waiting_bytes -= segment.size
        else:
            segment = self._filling
            self._filling = self._spare.pop() if self._spare else Segment(self.ring)
        try:
            self.file.add(*segment.content)
        finally:
            segment.clear()
            self._spare = [*self._spare[-1:], segment]

    def discard(self) -> None:
        """Frees the ring's space without storing anything, so that the program never waits."""
        self._waiting.clear()
        self._waiting_bytes = 0
        self._filling.clear()
        self.ring["blob_tail"], self.ring["tail"] = self.ring["blob_head"], self.ring["head"]
        self.ring["heartbeat_ns"] = time.monotonic_ns()

    def finish(self, exit_code: int | None = None) -> None:
        """Drains the rest and closes the file. With an exit code, records PROGRAM_END for a program that
        could not (it was killed)."""
        self.pump()
        lost, waited = self.ring["lost"], self.ring["waited_ns"]
        meta = {"closed": "clean", "lost": str(lost), "waited_ns": str(waited)}
        if exit_code is not None:
            meta["exit_code"] = str(exit_code)
            if self.file.end and self.file.last["kind"] != PROGRAM_END:
                self._end_program(exit_code)
        self.file.set_meta(meta)
        self.close()

    def give_up(self, error: Exception) -> str:
        """Closes the file as it is, after an error; returns the message. From then on events are
        discarded, so that the program continues."""
        self.discard()
        self.file.close()
        self._closed = True
        message = f"the recording stops here: {self.file.path}: {_reason(error)}"
        if log := self.file.log:
            message += f"; {log} belongs to it: copy both or neither"
        return message

    def close(self) -> None:
        """Closes the file as it is, and releases the ring."""
        if not self._closed:
            self.file.close()
        self._closed = True

    def _end_program(self, exit_code: int) -> None:
        event = np.zeros(1, RECORD)
        event["n"], event["t"] = self.file.end, time.monotonic_ns()
        event["thread"], event["kind"] = self.file.last["thread"], PROGRAM_END
        event[record_field(KINDS[PROGRAM_END], "exit_code")] = exit_code
        self.file.add(event, b"")


def _reason(error: Exception) -> str:
    """Return `No space left on device`, or SQLite's words."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def main(arguments: list[str] | None = None) -> int:
    """Writes until the producer closes the ring or has died, or until SIGTERM."""
    parser = argparse.ArgumentParser(prog="engine.inspect.writer", description=__doc__)
    parser.add_argument("--fd", type=int, required=True, help="inherited descriptor of the ring")
    parser.add_argument("--path", required=True, help="the trace file to make")
    parser.add_argument("--producer", type=int, required=True, help="process id of the program")
    parser.add_argument("--meta", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    meta = dict(entry.split("=", 1) for entry in options.meta)
    stop: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: stop.append(number))
    ring = Ring(options.fd)
    writer: TraceWriter | None = None
    try:
        writer = TraceWriter(ring, options.path, meta)
        print("ready", flush=True)
        _write(writer, options.producer, stop)
    except Exception as error:
        if writer is None or not isinstance(error, (OSError, sqlite3.Error)):
            ring.header.note = f"cannot write the trace {options.path}: {_reason(error)}"
            return 1
        ring.header.note = writer.give_up(error)
        return 1
    return 0


def _write(writer: TraceWriter, producer: int, stop: list[int]) -> None:
    """Drain the ring until the program or the parent process has ended, or `stop` is not empty."""
    ring, parent = writer.ring, os.getppid()
    while not stop:
        # Checked before draining, so that the ring has everything that the program recorded before its
        # end.
        over = ring["state"] == CLOSED or os.getppid() != parent or not alive(producer)
        writer.pump(POLL_SECONDS)
        if over:
            break
        if not writer.has_backlog:
            time.sleep(writer.pause)
    writer.finish()


if __name__ == "__main__":
    sys.exit(main())
