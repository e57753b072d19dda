"""Ctrl+C reaches long native calls: the core asks now and then, and Python's handlers run while it does."""

from __future__ import annotations

import atexit
from functools import cache
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import pass_on


def _pass_on(kind: Any, error: BaseException, traceback: Any) -> None:
    pass_on(error)


@ffi.def_extern(error=-1, onerror=_pass_on)
def uh_py_interrupted() -> int:
    # A signal's handler runs where this function is entered, and what it raises leaves here.
    return 0


@cache
def listen() -> None:
    """From now on, until the end of the process."""
    lib.uh_set_interrupt(lib.uh_py_interrupted)
    atexit.register(lib.uh_set_interrupt, ffi.NULL)
