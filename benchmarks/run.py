"""The engine's times, compared with PyTorch's if it is installed: `python benchmarks/run.py [--json]`.

A figure is the ratio of our time to PyTorch's: below 1, the engine is faster. Both run in turn (A B A B) in one
process, on one thread, and the shortest of several rounds counts. CPU time is measured, so that other
processes do not disturb it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Work = Callable[[], Any]
ROUNDS = 9
BLOCK = 0.02  # approximate length of one timed block, in seconds


@dataclass(frozen=True)
class Figure:
    """One line of the table: our time in seconds, PyTorch's (None if it is absent), and the bound on the ratio."""

    name: str
    ours: float
    theirs: float | None
    ratio: float | None
    bound: float | None

    def __str__(self) -> str:
        line = f"{self.name:<50} {show_time(self.ours)}"
        if self.theirs is None or self.ratio is None:
            return line
        verdict = "" if self.bound is None else f"  {'ok' if self.ratio <= self.bound else 'OVER'}"
        bound = "" if self.bound is None else f"  (at most {self.bound})"
        return f"{line} {show_time(self.theirs)} {self.ratio:7.2f}{bound}{verdict}"


def show_time(seconds: float) -> str:
    for unit, size in (("s ", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:8.2f} {unit}"
    return f"{seconds * 1e9:8.0f} ns"


def timed(work: Work, times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of one call, averaged over a block of `times` calls."""
    begin = clock()
    for _ in range(times):
        work()
    return (clock() - begin) / times


def compare(
    name: str,
    make: Callable[[Any], Work],
    peers: list[Any],
    bound: float | None = None,
    *,
    rounds: int = ROUNDS,
    block: float = BLOCK,
) -> Figure:
    """Time the engine and PyTorch in turn; the shortest of `rounds` blocks of about `block` seconds counts."""
    works = [make(module) for module in peers]
    for work in works:
        timed(work, 2)
    times = max(1, round(block / max(timed(works[0], 1), 1e-8)))
    seconds = [[timed(work, times, time.process_time) for work in works] for _ in range(rounds)]
    ours, *theirs = (max(min(column), 1e-9) for column in zip(*seconds, strict=True))
    if not theirs:
        return Figure(name, ours, None, None, bound)
    return Figure(name, ours, theirs[0], ours / theirs[0], bound)


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


# ---- calls on small tensors: their time is the way from Python to the kernel and back


def call_add(m: Any) -> Work:
    x, y = m.ones(4), m.ones(4)
    return lambda: x + y


def call_t(m: Any) -> Work:
    x = m.ones(4, 4)
    return lambda: x.t()


def call_index(m: Any) -> Work:
    x = m.ones(4, 4)
    return lambda: x[1]


def call_zeros(m: Any) -> Work:
    return lambda: m.zeros(4)


def call_mul_(m: Any) -> Work:
    x = m.ones(4)
    return lambda: x.mul_(1.0)


CALLS = {
    "x + y": call_add,
    "x.t()": call_t,
    "x[1]": call_index,
    "zeros(4)": call_zeros,
    "x.mul_(1.0)": call_mul_,
}


# ---- loops over 4,000,000 floats, and matrix products


def unary(name: str) -> Callable[[Any], Work]:
    def make(m: Any) -> Work:
        x = m.linspace(0.1, 4.0, 4_000_000)
        function = getattr(m, name)
        return lambda: function(x)

    return make


def binary(name: str) -> Callable[[Any], Work]:
    def make(m: Any) -> Work:
        x, y = m.linspace(0.1, 4.0, 4_000_000), m.linspace(-1.0, 1.0, 4_000_000)
        function = getattr(m, name)
        return lambda: function(x, y)

    return make


POINTWISE = {
    **{name: (binary(name), 1.0) for name in ("add", "mul", "maximum")},
    **{name: (unary(name), 0.5) for name in ("exp", "tanh", "erf")},
    **{name: (unary(name), 1.0) for name in ("sqrt", "sigmoid", "log", "sin", "neg", "sum")},
}


def matmul(m: Any) -> Work:
    x = m.linspace(-1.0, 1.0, 1024 * 1024).view(1024, 1024)
    y = x.t().contiguous()
    return lambda: x @ y


def has_avx512() -> bool:
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and "avx512f" in cpu.read_text()


def engine_figures() -> Iterator[Figure]:
    import engine

    peers: list[Any] = [engine]
    if importlib.util.find_spec("torch"):
        peers.append(importlib.import_module("torch"))
    for module in peers:
        module.set_num_threads(1)
    for name, make in CALLS.items():
        yield compare(name, make, peers, 0.6)
    for name, (make, bound) in POINTWISE.items():
        yield compare(f"{name}, 4e6 floats", make, peers, bound)
    yield compare("matmul 1024 x 1024", matmul, peers, 0.6 if has_avx512() else 1.0)


# ---- processes: importing


def import_time(module: str) -> float:
    """Return the seconds of a Python process that imports `module` and ends, the shortest of several."""
    command = [sys.executable, "-c", f"import {module}"]
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        subprocess.run(command, check=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    figures = []

    def report(figure: Figure) -> None:
        figures.append(figure)
        if not options.json:
            print(figure, flush=True)

    if not options.json:
        print(f"{'':<50} {'ours':>11} {'theirs':>11} {'ratio':>7}")
    for figure in engine_figures():
        report(figure)
    report(Figure("python -c 'import engine'", import_time("engine"), None, None, None))
    if options.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
