"""Settings of `load` that hold for the whole process."""

from __future__ import annotations

import sys
from enum import Enum

__all__ = [
    "LoadEndianness",
    "get_default_load_endianness",
    "load_byteorder",
    "set_default_load_endianness",
]


class LoadEndianness(Enum):
    """The order of bytes in files that do not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_default: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the order of bytes in files that do not say it; None for little-endian."""
    return _default


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes in files that do not say it."""
    global _default
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _default = endianness


def load_byteorder() -> str:
    """Return "little" or "big" for files that do not say it."""
    if _default is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _default is LoadEndianness.BIG else "little"
