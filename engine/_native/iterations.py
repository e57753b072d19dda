"""The iterations of a training program, for those who count them: an optimizer ends one with each step.

PyTorch's profiler takes the same for an iteration when it is told to record some of them (its KinetoStepTracker).
"""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[int], None]] = []
"""Called with a number that tells one optimizer from another."""


def end_iteration(requester: int) -> None:
    """Tell the listeners that the requester has ended an iteration."""
    for listener in (*listeners,):
        listener(requester)
