"""The number of threads that large operators may use."""

from __future__ import annotations

from engine._native import lib


def set_num_threads(n: int) -> None:
    """Set the number of threads that large operators may use. Raises: RuntimeError unless n > 0."""
    if n < 1:
        raise RuntimeError(f"set_num_threads: expects a positive number of threads, got {n}")
    lib.uh_set_num_threads(n)


def get_num_threads() -> int:
    """Return the number of threads that large operators may use."""
    return int(lib.uh_get_num_threads())
