"""The shared memory between a recorded process and the writer process.

The recorded process only stores 64-byte records (and the bytes attached to them) here; another
process carries them to disk. So a program that is killed loses nothing that it has already said,
and nothing of the writing happens under the program's GIL.

One file, mapped by both: a header page of little-endian u64 fields, then the slots of the records
(event `n` lives in slot `n % capacity`), then the blob area. Positions only ever grow; the
physical place is the position modulo the capacity. The producer owns the heads, the writer owns
the tails, and each reads the other's: that is the whole protocol.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from typing import Final

MAGIC: Final = int.from_bytes(b"UHRING1\0", "little")
HEADER_BYTES: Final = 4096
RECORD_BYTES: Final = 64
HAS_BLOB: Final = 1 << 15
TRUNCATED: Final = 1

RECORDING: Final = 1
CLOSED: Final = 2

MODE_LINES: Final = 1
MODE_VALUES: Final = 2

DEFAULT_VALUES_BUDGET: Final = 256 << 20

# The u64 fields of the header, by their index (byte offset / 8).
FIELDS: Final = {
    "magic": 0,
    "capacity_records": 1,
    "capacity_blob": 2,
    "head": 3,
    "tail": 4,
    "blob_head": 5,
    "blob_tail": 6,
    "heartbeat": 7,
    "producer_pid": 8,
    "writer_pid": 9,
    "state": 10,
    "waited_ns": 11,
    "lost": 12,
    "mode": 13,
    "values_budget": 14,
}


class RingError(Exception):
    """The file behind a descriptor is not a ring, or is one that cannot be used."""


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
        self._header = memoryview(self.memory)[:HEADER_BYTES].cast("Q")
        self.capacity_records = self["capacity_records"]
        self.capacity_blob = self["capacity_blob"]
        self.blob_start = HEADER_BYTES + self.capacity_records * RECORD_BYTES
        expected = self.blob_start + self.capacity_blob
        if self["magic"] != MAGIC or size != expected:
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
        """Makes a new ring in anonymous memory. Pages are only taken as they are first used."""
        for name, value in (("records", records), ("blob", blob)):
            if value < 64 or value & (value - 1):
                raise RingError(f"ring: {name} must be a power of two >= 64, got {value}")
        fd = _anonymous_file()
        os.ftruncate(fd, HEADER_BYTES + records * RECORD_BYTES + blob)
        with mmap.mmap(fd, HEADER_BYTES) as memory:
            header = memoryview(memory).cast("Q")
            header[FIELDS["capacity_records"]] = records
            header[FIELDS["capacity_blob"]] = blob
            header[FIELDS["mode"]] = mode
            header[FIELDS["values_budget"]] = values_budget
            header[FIELDS["heartbeat"]] = time.monotonic_ns()
            header[FIELDS["magic"]] = MAGIC
            header.release()
        return cls(fd)

    def __getitem__(self, field: str) -> int:
        return self._header[FIELDS[field]]

    def __setitem__(self, field: str, value: int) -> None:
        self._header[FIELDS[field]] = value

    @property
    def pending(self) -> int:
        """How many records the writer has not taken yet."""
        return self["head"] - self["tail"]

    def close(self) -> None:
        """Unmaps the ring and closes its descriptor; nothing may view the memory any more."""
        self._header.release()
        self.memory.close()
        os.close(self.fd)


def alive(pid: int) -> bool:
    """Whether a process with this id exists (as far as we may know)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _anonymous_file() -> int:
    """A file without a name: memory where the system has memfd, else an unlinked temporary file."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("underhood-ring", os.MFD_CLOEXEC)
    fd, path = tempfile.mkstemp(prefix="underhood-ring-")
    os.unlink(path)
    return fd
