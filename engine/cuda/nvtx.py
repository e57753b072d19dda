"""`torch.cuda.nvtx`: named ranges of a program, which the explorer shows once `engine.opencl.alias_cuda()` was called.

Before that they raise PyTorch's RuntimeError of a build without CUDA.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine import dtypes, regions

_pushed: list[int] = []  # regions, innermost last
_started: dict[int, int] = {}  # regions by the number of their range
_numbers = itertools.count(1)


def _needs_alias() -> None:
    if "cuda" not in dtypes.device_aliases:
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> int:
    """Begin a range, and return how many others it is inside."""
    _needs_alias()
    _pushed.append(regions.begin(msg))
    return len(_pushed) - 1


def range_pop() -> int:
    """End the innermost range, and return how many others it was inside; -2, as in NVTX, if there is none."""
    _needs_alias()
    if not _pushed:
        return -2
    regions.end(_pushed.pop())
    return len(_pushed)


def range_start(msg: str) -> int:
    """Begin a range that may overlap others, and return its number."""
    _needs_alias()
    number = next(_numbers)
    _started[number] = regions.begin(msg)
    return number


def range_end(range_id: int) -> None:
    """End a range by its number."""
    _needs_alias()
    regions.end(_started.pop(range_id, 0))


def mark(msg: str) -> None:
    """Record a range without length."""
    _needs_alias()
    regions.end(regions.begin(msg))


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Return a context, or decorator, that is a range called `msg.format(*args, **kwargs)`."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
