"""Recording chosen steps of a program: `underhood record --steps 3:5 train.py`.

A step ends when an optimizer's `step` or `engine.inspect.step` returns. With several optimizers, the largest count
is the number of steps, as in PyTorch's profiler.
"""

from __future__ import annotations

import os
from collections import Counter

from engine._native.iterations import end_iteration, listeners
from engine.inspect import sink
from engine.inspect.ring import Ring


def step() -> None:
    """End a step of this program, in a loop without an optimizer: see `underhood record --steps`."""
    end_iteration(0)


def parse_steps(text: str) -> tuple[int, int | None]:
    """Parse a slice of steps: `3:5` is steps 3 and 4, counted from 0; `3:` all from 3 on, `3` only that one.

    Raises: ValueError for anything else.
    """
    first, colon, last = text.partition(":")
    try:
        begin = int(first or "0") if colon else int(first)
        end = (int(last) if last else None) if colon else begin + 1
    except ValueError:
        raise ValueError(f"expected FIRST:LAST such as 3:5, got {text!r}") from None
    if begin < 0 or (end is not None and end <= begin):
        raise ValueError(f"expected 0 <= FIRST < LAST, got {text!r}")
    return begin, end


class ChosenSteps:
    """Records this process into a ring from the end of step `first - 1` until the end of step `last - 1`."""

    def __init__(self, ring: Ring, argv: list[str], module: str, first: int, last: int | None):
        self._ring, self._argv, self._module = ring, argv, module
        self._first, self._last = first, last
        self._ended: Counter[int] = Counter()
        self._pid = os.getpid()
        self._sink: sink.RingSink | None = None
        ring.header.note = self._too_short()
        listeners.append(self._end_step)
        if first == 0:
            self._start()

    def _end_step(self, requester: int) -> None:
        if os.getpid() != self._pid:  # a forked child is not recorded
            return
        self._ended[requester] += 1
        steps = max(self._ended.values())
        if self._last is not None and steps >= self._last:
            self._finish()
        elif steps >= self._first and self._sink is None:
            self._start()
        elif self._sink is None:
            self._ring.header.note = self._too_short()

    def _start(self) -> None:
        self._ring.header.note = ""
        self._sink = sink.start(self._ring, self._argv, self._module)

    def _finish(self) -> None:
        listeners.remove(self._end_step)
        if self._sink is not None:
            self._sink.stop(None)

    def _too_short(self) -> str:
        steps = max(self._ended.values(), default=0)
        return (
            f"the program ended {steps} steps, and step {self._first} was to be the first; "
            "a step ends with Optimizer.step() or engine.inspect.step()"
        )

    def stop(self, exit_code: int | None) -> str:
        """End the recording with the program; return its message, "" if all went well."""
        return self._sink.stop(exit_code) if self._sink is not None else ""
