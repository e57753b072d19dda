"""The iterations of a training program, for those who count them: an optimizer ends one with each step.

PyTorch's profiler takes the same for an iteration when it is told to record some of them (its KinetoStepTracker).
"""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[int], None]] = []
"""Called with a number that differs between optimizers."""


def end_iteration(requester: int) -> None:
    """Call every listener: the requester has ended an iteration."""
    for listener in (*listeners,):
        listener(requester)
