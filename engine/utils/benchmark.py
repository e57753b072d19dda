"""Timer: measures the time of a statement, by default on one thread."""

from __future__ import annotations

import statistics
import time
import timeit as _timeit
from collections.abc import Callable
from typing import Any

from engine._native.namespace import namespace
from engine.threads import get_num_threads, set_num_threads

__all__ = ["Measurement", "Timer", "timer"]

timer = time.perf_counter
_UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))


class Measurement:
    """The times of several runs of a statement, each the mean of `number_per_run` executions."""

    def __init__(self, number_per_run: int, raw_times: list[float], task_spec: str) -> None:
        self.number_per_run, self.raw_times, self.task_spec = number_per_run, raw_times, task_spec
        self.metadata: dict[str, Any] | None = None

    @property
    def times(self) -> list[float]:
        """The seconds of one execution, by run."""
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the runs, in seconds."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the runs, in seconds."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles of the runs, in seconds."""
        if len(self.times) < 2:
            return 0.0
        lower, _, upper = statistics.quantiles(self.times, n=4, method="inclusive")
        return upper - lower

    def __repr__(self) -> str:
        scale, unit = next(((s, u) for s, u in reversed(_UNITS) if self.median >= s), _UNITS[0])
        runs = f"{len(self.times)} measurement{'s' if len(self.times) > 1 else ''}"
        return (
            f"<{namespace()}.utils.benchmark.Measurement>\n{self.task_spec}\n"
            f"  Median: {self.median / scale:.2f} {unit}\n"
            f"  IQR:    {self.iqr / scale:.2f} {unit}\n"
            f"  {runs}, {self.number_per_run} runs per measurement"
        )


class Timer:
    """Measures a statement, as Python's `timeit.Timer` does, with a number of threads and repeated runs.

    >>> Timer("x + 1", globals={"x": 1}).timeit(10).number_per_run
    10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language) not in ("python", "py", "Language.PYTHON") or global_setup:
            raise NotImplementedError("benchmark.Timer is not supported for C++ statements")
        self._timer = _timeit.Timer(stmt, setup, timer, {**(globals or {})})
        self._threads = num_threads
        self._name = ": ".join(filter(None, (label or stmt, sub_label, description)))

    def _run(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Execute the statement `number` times in one run, after a few warm-up executions."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._name)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Repeat runs for `min_run_time` seconds; a run is long enough for the clock to be negligible."""
        number, seconds = 1, self._run(1)
        while seconds < min_run_time / 1000:
            number *= 10
            seconds = self._run(number)
        runs: list[float] = []
        while sum(runs) < min_run_time:
            runs.append(self._run(number))
            if callback is not None:
                callback(number, runs[-1])
        return Measurement(number, runs, self._name)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Any = None,
    ) -> Measurement:
        """Repeat runs until their spread is below `threshold` of the median, or for `max_run_time` seconds."""
        measurement = self.blocked_autorange(callback, min_run_time)
        while (
            measurement.iqr > threshold * measurement.median
            and sum(measurement.raw_times) < max_run_time
        ):
            measurement.raw_times.append(self._run(measurement.number_per_run))
        return measurement
