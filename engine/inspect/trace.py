"""The trace file (`*.uht`): one SQLite file that holds a recorded run, read without running code.

A trace is read forwards, segment by segment, and may still be growing: `poll()` reads new events. The
file is open only during a poll, so a reader never prevents the recorder from closing it. Of a damaged
file the readable beginning is used, with a `warning`.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from bisect import bisect_right
from contextlib import closing
from pathlib import Path
from threading import Lock
from urllib.parse import quote

import numpy as np

from engine._generated.event_kinds import KINDS, SOURCE, STRING
from engine.inspect.columns import (
    PACKED_HEAD,
    Columns,
    Events,
    Store,
    arrays_of_events,
    columns_of_packed,
    columns_of_planes,
    columns_of_records,
)
from engine.inspect.events import (
    BLOB_FIELD,
    HAS_BLOB,
    RECORD,
    record_field,
)
from engine.inspect.index import MIN_EVENTS, Index, give_back_memory
from engine.inspect.new_trace import APPLICATION_ID, VERSION

COLUMNS = {
    "meta": [("key", 1), ("value", 0)],
    "segments": [
        ("first", 1), ("count", 0), ("t_first", 0), ("t_last", 0), ("events", 0), ("blobs", 0),
    ],
    "strings": [("id", 1), ("text", 0)],
    "sources": [("file", 1), ("path", 0), ("text", 0)],
}  # fmt: skip
"""The columns of each table, and which of them is its primary key (1)."""
# A malicious file may unpack to far more than a recording, so allocations are limited.
# Recordings unpack to 10 to 40 times their size, their values (mostly zeros, say) to 100 times.
MAX_SEGMENT_EVENTS = 1 << 18
MAX_SEGMENT_BLOBS = 96 << 20  # the recorder's ring holds 64 MB of them
MAX_UNPACKED = 16 << 20  # bytes, of a file of any size; and for each byte of it:
MAX_UNPACKED_PER_BYTE = 100
EVENT_COST = 16  # minimum bytes of an event in memory, however well it was packed
MAX_BLOBS = 1 << 30  # bytes of blobs, one segment after the other
MAX_REPAIRED = 1 << 30  # bytes of a file that is read whole, as it lost its end
_MAX_CACHED = 16 << 20  # bytes of unpacked blobs
PATIENCE = (
    0.5  # seconds to wait for a recorder that has locked the file while it opens or closes the file
)
_UNREADABLE = (
    sqlite3.DatabaseError,
    UnicodeDecodeError,
)  # the latter in SQLite's message about the former


_STRING_ID = record_field(KINDS[STRING], "id")
_SOURCE_FILE = record_field(KINDS[SOURCE], "file")


class TraceError(Exception):
    """The file is not a trace that this version can read; the message says why and what to do."""


class TraceReader:
    """The events of a run, in order, and the strings, sources and blobs that they refer to."""

    def __init__(self, path: str = ""):
        self.path = path
        self.warning = ""
        self.meta: dict[str, str] = {}
        self._store = Store()
        self._firsts: list[int] = []  # the first event of each segment
        # and its blobs, packed until they are read; None: they are in the file
        self._packed: list[bytes | None] = []
        self._unpacked: dict[int, bytes] = {}
        self._strings: dict[int, str] = {}
        self._sources: dict[int, tuple[str, str]] = {}
        self._growing = False
        self.index: Index | None = None
        """The index of a long recording that is complete."""
        self._budget = _Budget()
        self._cost = 0  # bytes that the events were unpacked to
        self._inflated_blobs: dict[int, int] = {}  # bytes by segment
        self._unpacking = (
            Lock()
        )  # one thread may draw while another reads the events that were appended

    # Opening

    @classmethod
    def open(cls, path: str | Path) -> TraceReader:
        """Read a trace file; raises TraceError for anything that is not one."""
        file = Path(path)
        _check_file(file)
        with closing(_connect(file)) as database:
            _check_database(database, file)
        trace = cls(str(file))
        trace._growing = True
        trace.poll()
        return trace

    @classmethod
    def of(
        cls,
        records: np.ndarray,
        blobs: bytes = b"",
        strings: dict[int, str] | None = None,
        sources: dict[int, tuple[str, str]] | None = None,
        meta: dict[str, str] | None = None,
    ) -> TraceReader:
        """Create a trace in memory from records whose `e` are positions in `blobs`."""
        trace = cls()
        trace.meta = dict(meta or {})
        trace._strings = dict(strings or {})
        trace._sources = dict(sources or {})
        trace._add(columns_of_records(records), zlib.compress(blobs, 1))
        return trace

    # Contents

    def __len__(self) -> int:
        return self._end

    @property
    def _end(self) -> int:
        return len(self._store)

    @property
    def events(self) -> np.ndarray | Events:
        """Every event so far, as a structured array (dtype RECORD) or, if there are many, as `Events`."""
        return self._store.events

    @property
    def columns(self) -> Events:
        """The same events by kind and field."""
        return self._store.columns

    @property
    def finished(self) -> bool:
        """Return whether the recorder closed the file; otherwise it is still recording or was killed."""
        return "closed" in self.meta

    def string(self, number: int) -> str:
        """Return the text of a string id, "" for none."""
        return self._strings.get(number, "" if number == 0 else f"<string {number}>")

    @property
    def strings(self) -> dict[int, str]:
        return self._strings

    def source(self, file: int) -> tuple[str, str]:
        """Return (path, text) of a source file; the text is "" if it was not recorded."""
        return self._sources.get(file) or (self.string(file), "")

    def source_text(self, path: str) -> str:
        """Return the recorded text of the source file `path`, "" if the trace does not have it."""
        return next((text for name, text in self._sources.values() if name == path), "")

    def blob(self, number: int) -> bytes:
        """Return the bytes attached to an event, b"" without any or if they are damaged."""
        if not int(self._store.value("flags", number)) & HAS_BLOB:
            return b""
        data = self._blobs(bisect_right(self._firsts, number) - 1)
        position = int(self._store.value(BLOB_FIELD, number))
        size = int.from_bytes(data[position : position + 8], "little") if position >= 0 else 0
        return data[position + 8 : position + 8 + size]

    def blob_words(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Return the first int64 words of many events' blobs at once, a row an event; 0 = absent."""
        return self.blob_words_and_lengths(numbers, count)[0]

    def blob_words_and_lengths(
        self, numbers: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the same, and how many words each blob has. `numbers` ascend."""
        out = np.zeros((len(numbers), count), np.int64)
        lengths = np.zeros(len(numbers), np.int64)
        cuts = np.searchsorted(numbers, self._firsts)
        for segment, (lo, hi) in enumerate(zip(cuts, [*cuts[1:], len(numbers)], strict=True)):
            if lo == hi:
                continue
            data = self._blobs(segment)
            stream = np.frombuffer(data[: len(data) & ~7], "<i8")
            has = (self.columns.gather("flags", numbers[lo:hi]) & HAS_BLOB) != 0
            start = self.columns.gather("e", numbers[lo:hi]) >> 3
            has &= (start >= 0) & (start < len(stream))
            length = np.zeros(hi - lo, np.int64)
            length[has] = np.clip(stream[start[has]] >> 3, 0, len(stream) - 1 - start[has])
            lengths[lo:hi] = length
            for word in range(count):
                is_present = has & (word < length)
                out[lo:hi][is_present, word] = stream[start[is_present] + 1 + word]
        return out, lengths

    def _blobs(self, segment: int) -> bytes:
        """Return a segment's blobs, unpacked; the least recently used ones are packed again."""
        with self._unpacking:
            return self._unpack_blobs(segment)

    def _unpack_blobs(self, segment: int) -> bytes:
        data = self._unpacked.pop(segment, None)
        if data is not None:
            self._unpacked[segment] = data
            return data
        try:
            data = _unpack(self._packed_blobs(segment), self._blob_room(segment))
        except (zlib.error, TraceError, *_UNREADABLE) as error:
            self.warning = self.warning or (
                f"{self.path}: the blobs from event {self._firsts[segment]} on are damaged "
                f"({error}): shapes and values there are missing"
            )
            data = b""
        self._unpacked[segment] = data
        self._inflated_blobs[segment] = len(data)
        while len(self._unpacked) > 1 and sum(map(len, self._unpacked.values())) > _MAX_CACHED:
            del self._unpacked[next(iter(self._unpacked))]
        return data

    def _packed_blobs(self, segment: int) -> bytes:
        packed = self._packed[segment]
        if packed is not None:
            return packed
        with closing(_connect(Path(self.path))) as database:
            query = "SELECT blobs FROM segments WHERE first = ?"
            row = database.execute(query, (self._firsts[segment],)).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else b""

    def _blob_room(self, segment: int) -> int:
        """Return the limit of unpacked bytes for the blobs of a segment."""
        others = sum(self._inflated_blobs.values()) - self._inflated_blobs.get(segment, 0)
        return max(0, min(MAX_SEGMENT_BLOBS, MAX_BLOBS - others))

    # Growing

    def poll(self) -> int:
        """Read the segments written since the last call; return the number of new events."""
        if not self._growing:
            return 0
        before = self._end
        try:
            with closing(_connect(Path(self.path))) as database:
                database.execute("BEGIN")  # one transaction: no event without its strings
                database.execute("SELECT key FROM meta").fetchone()  # which it is from here on:
                self._budget = _Budget(Path(self.path))  # what comes later only makes it larger
                self._read_tables(database)
                if before or not self._read_index(database):
                    self._read_segments(database)
            self._growing = not self.finished
            if self.finished and len(self) >= MIN_EVENTS and self.index is None:
                self._make_index()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):  # the recorder is closing the file: next time, then
                self._stop(str(error))
        except TraceError as error:
            if not Path(self.path).exists():  # else it is locked just now, as it opens or closes
                self._stop(str(error))
        except (*_UNREADABLE, zlib.error, _Damage) as error:
            self._stop(str(error))
        return self._end - before

    def _read_index(self, database: sqlite3.Connection) -> bool:
        """Map the events of a complete recording from its index; False if it has none."""
        if not self.finished:
            return False
        query = "SELECT first + count FROM segments ORDER BY first DESC LIMIT 1"
        try:
            end = database.execute(query).fetchone()
        except sqlite3.DatabaseError:  # perhaps truncated: the segments are read as far as possible
            return False
        if end is None or not isinstance(end[0], int) or end[0] < MIN_EVENTS:
            return False
        index = Index.of(Path(self.path))
        arrays = index.load("events")
        if arrays is None or len(arrays["kinds"]) != end[0]:
            return False
        self._map(index, arrays)
        return True

    def _make_index(self) -> None:
        """Store the events of a complete recording for the next opening, and release the decoded ones."""
        index = Index.of(Path(self.path))
        arrays = arrays_of_events(self.columns)
        arrays["firsts"] = np.array(self._firsts)
        index.store("events", arrays)
        if (stored := index.load("events")) is not None:
            del arrays
            self._map(index, stored)

    def _map(self, index: Index, arrays: Columns) -> None:
        self.index = index
        self._store = Store.mapped(arrays)
        self._firsts = arrays["firsts"].tolist()
        self._packed = [None] * len(self._firsts)
        give_back_memory()

    def _read_segments(self, database: sqlite3.Connection) -> None:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        rows = database.execute(
            "SELECT first, count, t_first, events, blobs FROM segments WHERE first >= ? ORDER BY first",
            (self._end,),
        )
        for first, count, time, events, blobs in rows:
            self._check_next(first, count, time, events, blobs)
            self._budget.read(len(events) + len(blobs or b""))
            data = np.frombuffer(_unpack(events, PACKED_HEAD + count * RECORD.itemsize), np.uint8)
            self._cost += len(data) + count * EVENT_COST
            self._budget.unpack(self._cost)
            self._add(_decode(version, data, first, count, time), blobs)

    def _stop(self, why: str) -> None:
        """Stop reading at damage: keep the earlier events and set the warning."""
        self._growing = False
        self.warning = (
            f"{self.path}: damaged after event {self._end - 1} ({why}); "
            f"showing the {self._end} events before it"
            if self._end
            else f"{self.path}: damaged before its first event ({why}); there is nothing to show"
        )

    def _read_tables(self, database: sqlite3.Connection) -> None:
        """Read the tables. Raises: _Damage for a value of the wrong type."""
        for key, value in database.execute("SELECT key, value FROM meta"):
            self._budget.read(len(str(value)))
            self.meta[str(key)] = str(value)
        newest = max(self._strings, default=0)
        query = "SELECT id, text FROM strings WHERE id > ?"
        for number, text in database.execute(query, (newest,)):
            self._budget.read(len(str(text)))
            self._strings[_numbered(number, "string")] = str(text)
        for file, path, text in database.execute("SELECT file, path, text FROM sources"):
            self._budget.read(len(str(text)))
            self._sources[_numbered(file, "source")] = (str(path), str(text or ""))

    def _check_next(
        self, first: object, count: object, time: object, events: object, blobs: object
    ) -> None:
        if first != self._end:
            raise _Damage(f"the next segment starts at event {first}, not {self._end}")
        if not isinstance(count, int) or not 0 < count <= MAX_SEGMENT_EVENTS:
            raise _Damage(f"a segment of {count} events")
        if not isinstance(time, int):
            raise _Damage(f"the segment at event {first} has no time")
        if not isinstance(events, bytes) or not isinstance(blobs, bytes | None):
            raise _Damage(f"the segment at event {first} has no bytes")

    def _add(self, columns: Columns, blobs: bytes | None) -> None:
        """Append one segment."""
        first = self._end
        self._firsts.append(first)
        self._packed.append(blobs or b"")
        self._store.append(columns)
        self._learn_texts(first, columns)

    def _learn_texts(self, first: int, columns: Columns) -> None:
        """Read strings and sources from the events too: the tables may be older."""
        kinds = columns["kind"]
        for index in np.flatnonzero(kinds == STRING).tolist():
            key = int(columns[_STRING_ID][index])
            if key not in self._strings:
                self._strings[key] = self.blob(first + index).decode("utf-8", "replace")
        for index in np.flatnonzero(kinds == SOURCE).tolist():
            key = int(columns[_SOURCE_FILE][index])
            if not self._sources.get(key, ("", ""))[1]:
                text = self.blob(first + index).decode("utf-8", "replace")
                self._sources[key] = (self.string(key), text)


class _Damage(Exception):
    """An invalid segment."""


class _Budget:
    """The cost of reading one file: pages that tables share, or rows that unpack to far more than
    any recording, end the reading instead of the process."""

    def __init__(self, path: Path | None = None) -> None:
        self.size = 0
        if path is not None:
            logs = (path, path.with_name(path.name + "-wal"))
            self.size = sum(file.stat().st_size for file in logs if file.exists())
        self.left = self.size

    def read(self, count: int) -> None:
        """Account for a row with `count` bytes. Raises: _Damage once rows have more than the file."""
        self.left -= count + 1
        if self.left < 0:
            raise _Damage(f"its rows hold more than the {self.size:,} bytes of the file")

    def unpack(self, total: int) -> None:
        """Check that `total` bytes of events are no more than a recording of this size unpacks to."""
        limit = MAX_UNPACKED + MAX_UNPACKED_PER_BYTE * self.size
        if total > limit:
            raise _Damage(
                f"its events unpack to more than {limit:,} bytes, the limit for a file of {self.size:,}"
            )


def _numbered(number: object, name: str) -> int:
    if not isinstance(number, int):
        raise _Damage(f"a {name} has the number {number!r}")
    return number


def _check_file(file: Path) -> None:
    """Reject files that are not traces, with a message for each case."""
    if file.is_dir():
        raise TraceError(f"{file} is a directory, not a trace; give one of the *.uht files in it")
    try:
        with file.open("rb") as stream:
            head = stream.read(100)
    except FileNotFoundError:
        raise TraceError(
            f"{file} does not exist; record one with: underhood record script.py"
        ) from None
    except OSError as error:
        raise TraceError(f"{file} cannot be read: {error.strerror}") from None
    if not head:
        raise TraceError(f"{file} is empty: nothing was recorded into it; record again")
    if not head.startswith(b"SQLite format 3\0"):
        raise TraceError(
            f"{file} is not a trace: it starts with {head[:16]!r}, not with an SQLite header; "
            "give a *.uht file made by underhood record"
        )
    if len(head) < 100:
        raise TraceError(f"{file} was cut off after {len(head)} bytes: nothing in it is readable")


def _connect(file: Path) -> sqlite3.Connection:
    """Open read only. A write-ahead log next to it is read too; without one the folder need not be
    writable."""
    address = f"file:{quote(os.fsencode(file.resolve()))}?mode=ro"
    log = file.with_name(file.name + "-wal")
    for uri in (address, f"{address}&immutable=1"):
        database = sqlite3.connect(uri, uri=True, timeout=PATIENCE)
        try:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError as error:
            database.close()
            if "unable to open" in str(error) and not log.exists():
                continue  # a trace in WAL mode in a folder that cannot be written to
            raise TraceError(f"{file} cannot be opened: {error}") from None
        except _UNREADABLE as error:
            database.close()
            if beginning := _beginning(file):
                return beginning
            raise TraceError(f"{file} is damaged: {error}; nothing in it is readable") from None
        else:
            return database
    raise TraceError(f"{file} cannot be opened; copy it to a folder that you can write to")


def _beginning(file: Path) -> sqlite3.Connection | None:
    """Load a truncated file into memory with its header's page count corrected, because SQLite rejects a
    file with fewer pages. None for a complete file."""
    if file.stat().st_size > MAX_REPAIRED:
        return None
    data = bytearray(file.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    pages = len(data) // (65536 if size == 1 else max(size, 512))
    if not 0 < pages < int.from_bytes(data[28:32], "big"):
        return None
    data[28:32] = pages.to_bytes(4, "big")
    data[18:20] = b"\1\1"  # no write-ahead log in memory
    database = sqlite3.connect(":memory:")
    database.execute("PRAGMA trusted_schema = OFF")
    database.deserialize(bytes(data))
    return database


def _check_database(database: sqlite3.Connection, file: Path) -> None:
    """Check that an SQLite file is a trace of a supported version."""
    try:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        listed = database.execute("SELECT name, type FROM sqlite_master").fetchall()
    except _UNREADABLE as error:
        raise TraceError(f"{file} is damaged: {error}; nothing in it is readable") from None
    if application != APPLICATION_ID:
        raise TraceError(
            f"{file} is an SQLite file of another program (application id {application:#x}, "
            f"a trace has {APPLICATION_ID:#x}); give a *.uht file made by underhood record"
        )
    if version > VERSION:
        raise TraceError(
            f"{file} was recorded by a newer Underhood (trace version {version}, this one reads "
            f"up to {VERSION}); upgrade underhood"
        )
    tables = {name for name, kind in listed if kind == "table"}
    if missing := COLUMNS.keys() - tables:
        raise TraceError(
            f"{file} has no table {', '.join(sorted(missing))}: its recording failed to start; "
            "record again"
        )
    for table, columns in COLUMNS.items():
        _check_columns(database, file, table, columns)


def _check_columns(
    database: sqlite3.Connection, file: Path, table: str, columns: list[tuple[str, int]]
) -> None:
    """Check that a table has only stored columns: a generated one could compute gigabytes."""
    try:
        described = database.execute(f"PRAGMA table_xinfo({table})").fetchall()
    except _UNREADABLE as error:
        raise TraceError(f"{file} is damaged: {error}; nothing in it is readable") from None
    if columns != [
        (name, primary) for _, name, _, _, _, primary, hidden in described if not hidden
    ]:
        raise TraceError(
            f"{file} is not a trace: its table {table} does not store the columns "
            f"{', '.join(name for name, _ in columns)}, but {', '.join(row[1] for row in described)}"
        )


def _unpack(packed: bytes, limit: int) -> bytes:
    """Decompress with zlib, up to `most` bytes."""
    if not packed:
        return b""
    stream = zlib.decompressobj()
    data = stream.decompress(packed, limit + 1)
    if not stream.eof or len(data) > limit:
        raise zlib.error(f"longer than {limit} bytes, or cut off")
    return data


def _decode(version: int, data: np.ndarray, first: int, count: int, time: int) -> Columns:
    """Return the fields of records from the bytes that were packed."""
    try:
        if version == 1:
            return columns_of_planes(data.reshape(RECORD.itemsize, count))
        return columns_of_packed(data, first, count, time)
    except ValueError:
        raise _Damage(f"{len(data)} bytes for {count} events") from None
