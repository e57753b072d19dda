"""The shared memory between a recorded process and the writer process.

The recorded process only stores 64-byte records (and the bytes attached to them) here; another
process carries them to disk. So a killed program loses no recorded event, and writing does not need
the program's GIL.

One file, mapped by both: a header page of little-endian u64 fields, then the slots of the records,
then the blob area. Positions only ever grow; where they are in an area is in Note [Windows] of
csrc/events/ring.h. The producer owns the heads, the writer owns the tails, and each reads the
other's: that is the whole protocol.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from typing import Final

from engine._generated.codes import (
    CLOSED,
    HEADER_BYTES,
    MODE_LINES,
    MODE_VALUES,
    NOTE_AT,
    PATIENCE,
    PATIENCE_STOPPED,
    RECORD_BYTES,
    RECORDING,
    RING_FIELDS,
    RING_MAGIC,
    SILENT,
)

__all__ = [
    "CLOSED",
    "DEFAULT_VALUES_BUDGET",
    "HEADER_BYTES",
    "MODE_LINES",
    "MODE_VALUES",
    "PATIENCE",
    "PATIENCE_STOPPED",
    "RECORDING",
    "RECORD_BYTES",
    "SILENT",
    "Header",
    "Ring",
    "RingError",
    "alive",
    "private_file",
    "process_state",
    "raised",
]

DEFAULT_VALUES_BUDGET: Final = 256 << 20
_FIRST_RECORDS: Final = 1 << 16  # the windows that a recording begins with
_FIRST_BLOB: Final = 1 << 21
_HIGH: Final = 200  # descriptors from here on are seldom a program's own


class RingError(Exception):
    """The file of a descriptor is not a ring, or is one that cannot be used."""


class Header:
    """The first page of a ring: its fields by name, and the writer's note."""

    def __init__(self, page: memoryview) -> None:
        self._bytes = page.cast("B")[:HEADER_BYTES]
        self._fields = self._bytes.cast("Q")

    def __getitem__(self, field: str) -> int:
        return self._fields[RING_FIELDS[field]]

    def __setitem__(self, field: str, value: int) -> None:
        self._fields[RING_FIELDS[field]] = value

    @property
    def note(self) -> str:
        """The reason why the writer ended before the program, if it could record one."""
        start = NOTE_AT + 8
        size = min(self._fields[NOTE_AT // 8], HEADER_BYTES - start)
        return bytes(self._bytes[start : start + size]).decode("utf-8", "replace")

    @note.setter
    def note(self, text: str) -> None:
        start = NOTE_AT + 8
        data = text.encode("utf-8", "replace")[: HEADER_BYTES - start]
        self._bytes[start : start + len(data)] = data
        self._fields[NOTE_AT // 8] = len(data)

    def release(self) -> None:
        self._fields.release()
        self._bytes.release()


class Ring:
    """One mapped ring; header fields are read and written with `ring[name]`.

    `fd` stays open as long as the ring: it is what the other process inherits.
    """

    def __init__(self, fd: int) -> None:
        size = os.fstat(fd).st_size
        if size < HEADER_BYTES:
            raise RingError(f"file descriptor {fd} has {size} bytes; a ring has {HEADER_BYTES}+")
        self.fd = fd
        self.memory = mmap.mmap(fd, size)
        self.header = Header(memoryview(self.memory))
        self.capacity_records = self["capacity_records"]
        self.capacity_blob = self["capacity_blob"]
        self.blob_start = HEADER_BYTES + self.capacity_records * RECORD_BYTES
        expected = self.blob_start + self.capacity_blob
        if self["magic"] != RING_MAGIC or size != expected:
            self.close()
            raise RingError(f"file descriptor {fd} is not a ring: {size} bytes, not {expected}")

    @classmethod
    def create(
        cls,
        *,
        records: int = 1 << 19,
        blob: int = 1 << 26,
        mode: int = MODE_LINES | MODE_VALUES,
        values_budget: int = DEFAULT_VALUES_BUDGET,
    ) -> Ring:
        """Creates a ring in anonymous memory. Pages are allocated on first use."""
        for name, value in (("records", records), ("blob", blob)):
            if value < 64 or value & (value - 1):
                raise RingError(f"ring: {name} must be a power of two >= 64, got {value}")
        fd = _anonymous_file()
        os.ftruncate(fd, HEADER_BYTES + records * RECORD_BYTES + blob)
        with mmap.mmap(fd, HEADER_BYTES) as memory:
            header = Header(memoryview(memory))
            header["capacity_records"] = records
            header["capacity_blob"] = blob
            header["mode"] = mode
            header["values_budget"] = values_budget
            header["record_window"] = min(records, _FIRST_RECORDS).bit_length() - 1
            header["blob_window"] = min(blob, _FIRST_BLOB).bit_length() - 1
            header["heartbeat_ns"] = time.monotonic_ns()
            header["magic"] = RING_MAGIC
            header.release()
        return cls(fd)

    def __getitem__(self, field: str) -> int:
        return self.header[field]

    def __setitem__(self, field: str, value: int) -> None:
        self.header[field] = value

    @property
    def pending(self) -> int:
        """Return the number of records that the writer has not read yet."""
        return self["head"] - self["tail"]

    def close(self) -> None:
        """Unmaps the ring and closes its descriptor; the memory must not be viewed afterwards."""
        self.header.release()
        self.memory.close()
        os.close(self.fd)


def process_state(pid: int) -> str:
    """Return the letter that Linux has for the state of a process (proc(5)): "Z" is dead and not yet reaped.

    "" when there is no such process, "?" where the system does not say.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return stream.read().rpartition(b") ")[2][:1].decode()
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "?"


def alive(pid: int) -> bool:
    """Return whether a process with this id still runs (as far as we may know)."""
    return process_state(pid) not in ("", "Z", "X")


def raised(fd: int) -> int:
    """Return the open file under a high descriptor number, which programs do not use."""
    for lowest in (_HIGH, 3):
        try:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:  # the limit on descriptors is lower
            continue
        os.close(fd)
        return high
    return fd


def private_file(path: str | os.PathLike[str]) -> int:
    """Create a file that only its owner may read. Raises: FileExistsError."""
    return raised(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _anonymous_file() -> int:
    """Return a file without a name: memory where the system has memfd, else an unlinked temporary file."""
    if hasattr(os, "memfd_create"):
        return raised(os.memfd_create("underhood-ring", os.MFD_CLOEXEC))
    import tempfile

    fd, path = tempfile.mkstemp(prefix="underhood-ring-")
    os.unlink(path)
    return raised(fd)
