"""The files that torch.save wrote before 1.6: five pickles one after another, then the storages.

The pickles are a magic number, the version of the protocol, sizes of C types on the machine that wrote
them, the object, and the keys of the storages. Each storage is its number of elements (8 bytes) and the elements.
"""

from __future__ import annotations

import os
from typing import Any

from engine.formats.restricted_pickle import PickleError, Resolver, describe, load_pickle

__all__ = ["MAGIC", "LegacyFile", "is_legacy", "is_tar"]

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
_START = b"\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."


def is_legacy(start: bytes) -> bool:
    """Return True if a file that starts with these bytes has the format."""
    return start.startswith(_START) or (start[:1] == b"\x80" and start[2:15] == _START[2:])


def is_tar(start: bytes) -> bool:
    """Return True for the first 512 bytes of a tar, which torch.save wrote before 0.1.10."""
    return start[257:262] == b"ustar"


class _Bounded:
    """A file whose reads request at most the bytes that it has: a damaged length allocates nothing."""

    def __init__(self, file: Any) -> None:
        self._file = file
        start = file.tell()
        self.size: int = file.seek(0, os.SEEK_END)
        file.seek(start)

    def read(self, count: int) -> bytes:
        content: bytes = self._file.read(min(count, self.size - self._file.tell()))
        return content

    def readline(self) -> bytes:
        content: bytes = self._file.readline(1 << 16)
        return content


class _Plain:
    """A resolver for pickles of plain values."""

    def find(self, module: str, name: str) -> Any:
        raise PickleError(f"the header refers to {module}.{name}")

    def call(self, function: Any, arguments: Any) -> Any:
        raise PickleError("the header calls something")

    new = call

    def build(self, target: Any, state: Any) -> None:
        raise PickleError("the header sets a state")

    def persistent(self, pid: Any) -> Any:
        raise PickleError("the header has a persistent id")


class LegacyFile:
    """An open file, read from front to back."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._bounded = _Bounded(file)
        if self._plain() != MAGIC:
            raise PickleError("it does not begin with the magic number of torch.save")
        version = self._plain()
        if version != PROTOCOL:
            raise PickleError(f"its protocol is {describe(version)}, and {PROTOCOL} can be read")
        system = self._plain()
        is_little = system.get("little_endian", True) if isinstance(system, dict) else None
        if type(is_little) is not bool:
            raise PickleError("it does not say in what order numbers have their bytes")
        self.byteorder = "little" if is_little else "big"
        self.pickle_position = file.tell()

    @property
    def remaining(self) -> int:
        """The number of bytes after the position that was read last."""
        return self._bounded.size - int(self._file.tell())

    def _plain(self) -> Any:
        return load_pickle(self._bounded, _Plain())

    def object(self, resolver: Resolver) -> Any:
        """Return the object, whose storages `read_into` completes."""
        return load_pickle(self._bounded, resolver)

    def keys(self) -> list[str]:
        """Return the keys of the storages in the order in which they follow."""
        keys = self._plain()
        if not isinstance(keys, list) or not all(type(key) is str for key in keys):
            raise PickleError(f"the keys of the storages are {describe(keys)}")
        if len(set(keys)) != len(keys):
            raise PickleError("two storages have the same key")
        return keys

    def read_into(self, key: str, memory: memoryview, itemsize: int) -> None:
        """Read the next storage into memory of its size."""
        count = int.from_bytes(self._file.read(8), self.byteorder, signed=True)  # type: ignore[arg-type]
        if count * itemsize != len(memory):
            raise PickleError(
                f"the storage {key} has {count} elements, and {len(memory) // itemsize} are expected"
            )
        remainder = memory
        while remainder:
            read = self._file.readinto(remainder)
            if not read:
                raise PickleError(f"it ends inside the storage {key}")
            remainder = remainder[read:]
