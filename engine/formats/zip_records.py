"""The zip of a `.pt` file: records that are stored as they are, each once, inside the file.

A damaged or hostile zip can claim anything: sizes beyond the file, entries that overlap or repeat, content that
expands. Every claim is compared with the file before memory is allocated for it, and all
records together are never longer than the file.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from typing import Any

__all__ = ["MAGIC", "RecordError", "Records"]

MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = 30  # bytes, followed by the name and an extra field


class RecordError(Exception):
    """A zip that is damaged, or that torch.save did not write."""


class Records:
    """The records of an open file, by their names without the folder that contains all of them."""

    def __init__(self, file: Any) -> None:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
            raise RecordError(f"it is not a whole zip of torch.save: {error}") from None
        except UnicodeError:
            raise RecordError("it is not a whole zip of torch.save: a name is not UTF-8") from None
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self._unread = self._size
        self._infos: dict[str, zipfile.ZipInfo] = {}
        infos = archive.infolist()
        pickles = [info.filename for info in infos if info.filename.endswith("/data.pkl")]
        if not pickles:
            raise RecordError("it is a zip, but not of torch.save: it has no data.pkl")
        if len(pickles) > 1:
            raise RecordError(f"it is a damaged zip: {len(pickles)} records are called data.pkl")
        prefix = pickles[0].removesuffix("data.pkl")
        for info in infos:
            name = info.filename.removeprefix(prefix)
            if name in self._infos:
                raise RecordError(f"it is a damaged zip: two records are called {name!r}")
            self._infos[name] = info

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def __iter__(self) -> Any:
        return iter(self._infos)

    def size(self, name: str) -> int:
        """Return the number of bytes of a record."""
        return self._info(name).file_size

    def _info(self, name: str) -> zipfile.ZipInfo:
        if name not in self._infos:
            raise RecordError(f"there is no record {name!r}")
        return self._infos[name]

    def position(self, name: str) -> int:
        """Return where the bytes of a record are in the file. Raises: RecordError if they are not inside it."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise RecordError(f"the record {name!r} is compressed, which torch.save never does")
        if info.flag_bits & 1:
            raise RecordError(f"the record {name!r} is encrypted, which torch.save never does")
        header = b""
        if 0 <= info.header_offset < self._size:
            self._file.seek(info.header_offset)
            header = self._file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != MAGIC:
            raise RecordError(f"it is a damaged zip: no record {name!r} at {info.header_offset}")
        lengths = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
        start: int = info.header_offset + _LOCAL_HEADER + sum(lengths)
        local_name = self._file.read(lengths[0])
        if local_name != info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437"):
            raise RecordError(f"it is a damaged zip: the record {name!r} has two names")
        if start + info.file_size > self._size:
            raise RecordError(
                f"it is a damaged zip: the record {name!r} has {info.file_size} bytes from {start} on, "
                f"and the file has {self._size}"
            )
        return start

    def read(self, name: str, limit: int | None = None) -> bytes:
        """Return the bytes of a record."""
        size = self.size(name)
        if limit is not None and size > limit:
            raise RecordError(f"the record {name!r} has {size} bytes; at most {limit} are expected")
        self.position(name)  # checks the size
        content = bytearray(size)
        self.read_into(name, memoryview(content))
        return bytes(content)

    def read_into(self, name: str, memory: memoryview) -> None:
        """Read a record into memory of its size. Raises: RecordError if its checksum is another."""
        start = self.position(name)
        self._unread -= len(memory)
        if self._unread < 0:
            raise RecordError("it is a damaged zip: its records overlap")
        self._file.seek(start)
        remainder = memory
        while remainder:
            count = self._file.readinto(remainder)
            if not count:
                raise RecordError("the file became shorter while it was read")
            remainder = remainder[count:]
        if zlib.crc32(memory) != self._info(name).CRC:
            raise RecordError(f"the record {name!r} is damaged: its checksum is another")
