"""Limits of nesting: functions that follow a program's structure recurse as deep as it is nested.

Python's own limit of 1,000 frames is some 300 `elif`s or 100 functions that call each other.
`deeply` raises the limit, and reports a program that exceeds it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Enough for 500 nested blocks, and within a C stack of 1 MB.
_FRAMES = 12_000

# The maximum nesting of blocks, the same as for reading a file (csrc/jit/text/parse.cpp).
MAX_BLOCKS = 500

_lock = threading.Lock()
_threads = 0
_before = 0


@contextmanager
def deeply(error: type[RuntimeError], task: str) -> Iterator[None]:
    """Raises the recursion limit inside the `with`. Raises: `error` if that is exceeded too.

    All threads share the limit: the last one to leave restores it.
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
