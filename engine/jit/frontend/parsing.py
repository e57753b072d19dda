"""Python's own parser, one thread at a time."""

from __future__ import annotations

import ast
import threading
from typing import Any

_lock = threading.Lock()


def parse(text: str, mode: str = "exec") -> Any:
    """Parses a source string with `ast.parse`, under a lock.

    CPython 3.11 counts the depth of a tree in one place for all threads: a thread that parses while
    another one does (a garbage collection between two nodes can switch threads) ends in
    "SystemError: AST constructor recursion depth mismatch".

    Raises: SyntaxError, ValueError (a null byte).
    """
    with _lock:
        return ast.parse(text, mode=mode)
