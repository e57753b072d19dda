"""From the library's last error to the exception class that PyTorch raises for it."""

from __future__ import annotations

from typing import NoReturn

from engine._native.library import ffi, lib


class LinAlgError(RuntimeError):
    """A matrix does not have what was asked for: an inverse, a factor, a solution."""


LinAlgError.__module__ = "engine.linalg"

# The codes of csrc/base/error.h. Running out of memory is a RuntimeError in PyTorch.
_CLASSES: dict[int, type[Exception]] = {
    1: RuntimeError,
    2: ValueError,
    3: TypeError,
    4: IndexError,
    5: NotImplementedError,
    6: RuntimeError,
    7: BufferError,
    8: SystemError,
    9: LinAlgError,
}


def last_error() -> Exception:
    """The exception for this thread's last failing call."""
    text = ffi.string(lib.uh_last_error()).decode("utf-8", "replace")
    return _CLASSES.get(lib.uh_last_error_kind(), SystemError)(text)


def raise_last() -> NoReturn:
    """Raises this thread's last error; to be called when a C function has returned its failure."""
    raise last_error()
