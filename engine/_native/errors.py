"""From the library's last error to the exception class that PyTorch raises for it."""

from __future__ import annotations

import itertools
from typing import NoReturn

from engine._native.library import ffi, lib


class LinAlgError(RuntimeError):
    """A matrix does not have what was asked for: an inverse, a factor, a solution."""


LinAlgError.__module__ = "engine.linalg"


class ScriptError(RuntimeError):
    """A scripted program raised an exception, or an assertion of it failed."""


ScriptError.__name__ = ScriptError.__qualname__ = "Error"
ScriptError.__module__ = "engine.jit"

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
    11: ScriptError,
}
_FOREIGN = 10  # a Python exception from a callback


# Exceptions that were raised inside a callback from the core, on their way through it.
_passing: dict[str, BaseException] = {}
_tokens = itertools.count(1)


def pass_on(error: BaseException) -> None:
    """For callbacks: `error` becomes this thread's last error and comes out of the C function that called back."""
    token = str(next(_tokens))
    _passing[token] = error
    lib.uh_raise(token.encode())


def last_error() -> BaseException:
    """The exception for this thread's last failing call."""
    text = ffi.string(lib.uh_last_error()).decode("utf-8", "replace")
    if lib.uh_last_error_kind() == _FOREIGN:
        return _passing.pop(text, SystemError(f"an exception of a callback was lost: {text}"))
    return _CLASSES.get(lib.uh_last_error_kind(), SystemError)(text)


def raise_last() -> NoReturn:
    """Raises this thread's last error; to be called when a C function has returned its failure."""
    raise last_error()
