"""The index of a long recording: its columns and tables, which are mapped instead of computed on the next opening.

An index is trusted, unlike a trace, so it is in the user's cache folder and only Underhood writes it. It is valid
for one state of a file (path, size, modification time) and one version of the code. Everything in it can be
recomputed, so the oldest indexes are deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

MIN_EVENTS = 1_000_000
"""Shorter recordings are folded in about the time that reading an index takes."""
MAX_BYTES = 4 << 30
"""The bytes of all indexes together."""
_ALIGN = 64
_M_MMAP_THRESHOLD = -3  # glibc's number

Arrays = dict[str, np.ndarray]


def indexes_directory() -> Path:
    """Return the folder of indexes: in the user's cache folder, or `UNDERHOOD_HOME`."""
    from platformdirs import user_cache_path

    if moved := os.environ.get("UNDERHOOD_HOME"):
        return Path(moved) / "cache" / "index"
    return user_cache_path("underhood", appauthor=False) / "index"


class Index:
    """Named groups of arrays in one folder. A folder that cannot be written to only costs time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writable = True

    @classmethod
    def of(cls, trace: Path) -> Index:
        """Return the index of a trace file as it is now."""
        status = trace.stat()
        identity = f"{trace.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0{_code_version()}"
        name = hashlib.sha256(os.fsencode(identity)).hexdigest()[:32]
        return cls(indexes_directory() / name)

    def arrays(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of this name: those that were stored, else what `compute` returns, which is stored as
        well and
        then mapped: no memory holds what the file has."""
        arrays = self.load(name)
        if arrays is None:
            arrays = compute()
            self.store(name, arrays)
            stored = self.load(name)
            return arrays if stored is None else stored
        return arrays

    def load(self, name: str) -> Arrays | None:
        """Map the arrays of this name; None if they do not exist."""
        try:
            data = np.asarray(np.memmap(self.folder / name, np.uint8, "r"))
            size = int(data[:8].view("<u8")[0])
            entries = json.loads(bytes(data[8 : 8 + size]))
            return {key: _part(data, *entry) for key, *entry in entries}
        except (OSError, ValueError, TypeError, IndexError):  # missing or truncated
            return None

    def store(self, name: str, arrays: Arrays) -> None:
        """Write the arrays of this name; the file appears when it is complete."""
        if not self._writable:
            return
        path = self.folder / name
        partial = path.with_name(f"{name}.{os.getpid()}.new")
        try:
            if not self.folder.is_dir():
                self._begin()
            with partial.open("wb") as file:
                for piece in _pieces(arrays):
                    file.write(piece)
            partial.replace(path)
        except OSError:  # a full disk, or a folder that is another user's
            self._writable = False
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def _begin(self) -> None:
        """Make the folder, and room for it."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.parent.chmod(0o700)
        others = sorted(self.folder.parent.iterdir(), key=lambda each: each.stat().st_mtime)
        sizes = [sum(file.stat().st_size for file in each.iterdir()) for each in others]
        while others and sum(sizes) > MAX_BYTES:
            shutil.rmtree(others.pop(0), ignore_errors=True)
            del sizes[0]
        self.folder.mkdir(mode=0o700)


def give_back_memory() -> None:
    """Return freed memory to the system, as far as its library can: glibc would keep 100 MB of columns that are now
    mapped. From now on a block of a megabyte (a segment's blobs, a column) is returned when it is freed."""
    import ctypes

    with suppress(OSError, TypeError, AttributeError):  # another library
        libc = ctypes.CDLL(None)
        libc.malloc_trim(0)
        libc.mallopt(_M_MMAP_THRESHOLD, 1 << 20)


def _pieces(arrays: Arrays) -> Iterator[bytes]:
    """Yield the bytes of one file: the length of the list of arrays, the list, the arrays."""
    entries: list[list[object]] = []
    for key, array in arrays.items():
        entries.append([key, array.dtype.str, len(array), 0])
    room = 8 + len(json.dumps(entries)) + 20 * len(entries)
    start = -room % _ALIGN + room
    for entry, array in zip(entries, arrays.values(), strict=True):
        entry[3] = start
        start += array.nbytes + -array.nbytes % _ALIGN
    head = json.dumps(entries).encode()
    first = -room % _ALIGN + room
    yield (len(head).to_bytes(8, "little") + head).ljust(first, b"\0")
    for array in arrays.values():
        yield array.tobytes()
        yield bytes(-array.nbytes % _ALIGN)


def _part(data: np.ndarray, dtype: str, count: int, start: int) -> np.ndarray:
    """Return one array of a file. Raises: ValueError where the file ends before it."""
    end = start + count * np.dtype(dtype).itemsize
    if end > len(data):
        raise ValueError(f"{len(data)} bytes, expected {end}")
    return data[start:end].view(dtype)


@cache
def _code_version() -> str:
    """Return a string that changes with the code that computes columns and tables."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return " ".join(f"{file.stat().st_size}.{file.stat().st_mtime_ns}" for file in files)
