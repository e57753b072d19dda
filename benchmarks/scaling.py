"""Two threads compared with one: our scaling and PyTorch's, for operators.py and broad.py."""

from __future__ import annotations

import contextlib
import math
import os
from typing import Any, NamedTuple

from run import Work, show_time, timed

ROUNDS = 15
BLOCK = 0.002  # seconds that one timed block lasts about
PROCESSORS = os.sched_getaffinity(0)


class Speedup(NamedTuple):
    """The time of a call on one thread, and how many times faster it is on two."""

    seconds: float
    factor: float

    def __str__(self) -> str:
        return f"{show_time(self.seconds)} x {self.factor:.2f}"


def place_threads() -> None:
    """Give the main thread one processor and the others another: on a busy machine they would share one."""
    first, second, *_ = sorted(PROCESSORS)
    for thread in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(thread, {first if thread == os.getpid() else second})


def speedup(work: Work, module: Any) -> Speedup:
    """Compare two threads with one, in turn, by the clock: the least time over rounds."""
    module.set_num_threads(2)
    work()
    place_threads()
    seconds = [math.inf, math.inf]
    for _ in range(ROUNDS):
        for threads in (1, 2):
            module.set_num_threads(threads)
            work()
            times = 1 if math.isinf(seconds[0]) else max(1, round(BLOCK / seconds[0]))
            seconds[threads - 1] = min(seconds[threads - 1], timed(work, times))
    module.set_num_threads(1)
    return Speedup(seconds[0], seconds[0] / seconds[1])
