"""Ctrl+C during long native calls: the core polls regularly, and Python runs its signal handlers then."""

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
    # Python runs pending signal handlers on entry to this function, which propagates their exceptions.
    return 0


@cache
def listen() -> None:
    """Register the poll function for the rest of the process."""
    lib.uh_set_interrupt(lib.uh_py_interrupted)
    atexit.register(lib.uh_set_interrupt, ffi.NULL)
