"""The iterations of a training program: each step of an optimizer ends one and notifies listeners.

The schedule of PyTorch's profiler counts iterations in the same way (its KinetoStepTracker).
"""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[int], None]] = []
"""Called with a number that differs between optimizers."""


def end_iteration(requester: int) -> None:
    """Call every listener after an iteration of the requester."""
    for listener in (*listeners,):
        listener(requester)
