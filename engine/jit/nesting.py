"""Limits of nesting: functions that follow a program's structure recurse as deep as it is nested.

Python's own limit of 1,000 frames is some 300 `elif`s or 100 functions that call each other. Within
`deeply` there are more, and a program that needs more than these is an error that says so.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# More than 500 blocks within each other need; within a C stack of 1 MB.
_FRAMES = 12_000

# As deep as blocks of a graph may be: as deep as a file is read (csrc/jit/text/parse.cpp).
MAX_BLOCKS = 500

_lock = threading.Lock()
_threads = 0
_before = 0


@contextmanager
def deeply(error: type[RuntimeError], task: str) -> Iterator[None]:
    """More frames than usual; `error` where these are not enough.

    The limit is that of all threads: it goes back when the last of them is done.
    """
    global _threads, _before
    with _lock:
        if _threads == 0:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(_before + _FRAMES)
        _threads += 1
    try:
        yield
    except RecursionError:
        raise error(
            f"jit: {task} is nested too deeply.\n"
            "Hint: write long expressions as several statements, and long rows of calls or "
            "branches as a loop"
        ) from None
    finally:
        with _lock:
            _threads -= 1
            if _threads == 0:
                sys.setrecursionlimit(_before)
