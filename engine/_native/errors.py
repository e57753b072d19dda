"""The library's last error as a Python exception, of the class that PyTorch raises."""

from __future__ import annotations

import itertools
from typing import NoReturn

from engine._native.library import ffi, lib


class LinAlgError(RuntimeError):
    """A matrix has no inverse, factor or solution of the requested kind."""


LinAlgError.__module__ = "engine.linalg"


class ScriptError(RuntimeError):
    """An exception or a failed assertion of a scripted program."""


ScriptError.__name__ = ScriptError.__qualname__ = "Error"
ScriptError.__module__ = "engine.jit"


class OutOfMemoryError(RuntimeError):
    """A device is out of memory; a lack of main memory is a RuntimeError."""


OutOfMemoryError.__module__ = "engine"

_CLASSES: dict[int, type[Exception]] = {
    lib.UH_ERROR_RUNTIME: RuntimeError,
    lib.UH_ERROR_VALUE: ValueError,
    lib.UH_ERROR_TYPE: TypeError,
    lib.UH_ERROR_INDEX: IndexError,
    lib.UH_ERROR_NOT_IMPLEMENTED: NotImplementedError,
    lib.UH_ERROR_MEMORY: RuntimeError,
    lib.UH_ERROR_BUFFER: BufferError,
    lib.UH_ERROR_INTERNAL: SystemError,
    lib.UH_ERROR_LINALG: LinAlgError,
    lib.UH_ERROR_SCRIPT: ScriptError,
    lib.UH_ERROR_DEVICE_MEMORY: OutOfMemoryError,
}


# Exceptions of callbacks that the core has not reported yet.
_passing: dict[str, BaseException] = {}
_tokens = itertools.count(1)


def pass_on(error: BaseException) -> None:
    """Make a callback's exception this thread's last error: the C function that called back then raises it."""
    token = str(next(_tokens))
    _passing[token] = error
    lib.uh_raise(token.encode())


def last_error() -> BaseException:
    """Return the exception for this thread's last failing call, and forget that error.

    A finalizer may run before the error is read. Errors are a stack (Note [The last error]), so this error is on
    top again after the finalizer's calls, if every failure is read.
    """
    text = ffi.string(lib.uh_last_error()).decode("utf-8", "replace")
    kind = lib.uh_last_error_kind()
    lib.uh_forget_last_error()
    return exception_of(kind, text)


def exception_of(kind: int, text: str) -> BaseException:
    """Return the exception for an error of the core by its kind and text."""
    if kind == lib.UH_ERROR_FOREIGN:
        return _passing.pop(text, SystemError(f"an exception of a callback was lost: {text}"))
    return _CLASSES.get(kind, SystemError)(text)


def raise_last() -> NoReturn:
    """Raise this thread's last error, after a C function has returned its failure value."""
    raise last_error()
