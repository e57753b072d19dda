"""Conversion of C results: a string, an integer, or the last error."""

from __future__ import annotations

from typing import Any

from engine._native import ffi
from engine._native.errors import raise_last


def c_string(pointer: Any) -> str:
    """Converts a C function's string result. Raises: the last error for a null pointer."""
    if pointer == ffi.NULL:
        raise_last()
    return ffi.string(pointer).decode("utf-8", "replace")


def c_integer(result: int) -> int:
    """Returns a C function's integer result. Raises: the last error for -1."""
    if result < 0:
        raise_last()
    return result
