"""Scripted loops of numbers, compared with plain Python; scripted calls, compared with eager ones.

`python benchmarks/scripted_loops.py [--json]`: both sides are timed in turn in one process; the figure is
Python's time / ours, the median over rounds. A loop of numbers should be at least 20 times faster. Loops whose
computation alone takes more than a twentieth of Python's time have a lower bound: libm's sine, with its exact
bits, takes 6 ns of Python's 50; a division that waits for the previous one 4 ns of 25. Ours take at most a
fifth longer than the same loops in C.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import engine
from engine import Tensor, jit

ROUNDS = 7
MIN_RATIO = 20.0


def half_sum(n: int) -> float:
    s = 0.0
    for i in range(n):
        s = s + i * 0.5
    return s


def collatz(n: int) -> int:
    best = 0
    for k in range(1, n):
        m = k
        steps = 0
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            steps += 1
        if steps > best:
            best = steps
    return best


def nested_sum(n: int) -> int:
    s = 0
    for i in range(n):
        for j in range(n):
            s = s + i * j if (i + j) % 3 == 0 else s - j
    return s


def count_primes(n: int) -> int:
    count = 0
    for k in range(2, n):
        prime = True
        d = 2
        while d * d <= k and prime:
            if k % d == 0:
                prime = False
            d += 1
        if prime:
            count += 1
    return count


def roots(n: int) -> float:
    s = 0.0
    for i in range(n):
        s += math.sqrt(i + 1.0)
    return s


def modular_powers(n: int) -> int:
    total = 0
    for i in range(n):
        base = i
        exponent = 65537
        power = 1
        while exponent > 0:
            if exponent % 2 == 1:
                power = power * base % 1000003
            base = base * base % 1000003
            exponent = exponent // 2
        total += power
    return total


def mandelbrot(n: int) -> int:
    inside = 0
    for i in range(n):
        for j in range(n):
            x = 3.0 * i / n - 2.0
            y = 2.0 * j / n - 1.0
            re = 0.0
            im = 0.0
            steps = 0
            while steps < 50 and re * re + im * im < 4.0:
                re, im = re * re - im * im + x, 2.0 * re * im + y
                steps += 1
            inside += steps
    return inside


def sines(n: int) -> float:
    s = 0.0
    for i in range(n):
        s += math.sin(i * 0.01) * math.sqrt(i + 1.0)
    return s


def exponentials(n: int) -> float:
    s = 0.0
    for i in range(n):
        s += math.exp(-i * 0.001) + math.log(i + 1.0)
    return s


def remainders(n: int) -> float:
    s = 0.0
    for i in range(1, n):
        s += (i * 3.7) % 1.3 + (i * 3.7) // 1.3
    return s


def common_divisors(n: int) -> int:
    total = 0
    for i in range(1, n):
        a, b = i, n
        while b:
            a, b = b, a % b
        total += a
    return total


def chain(x: Tensor, y: Tensor) -> Tensor:
    return (x * y + y).relu()


@dataclass(frozen=True)
class Figure:
    """Seconds of one call, Python's or eager's and ours, and how many times faster ours is."""

    name: str
    theirs: float
    ours: float
    faster: float
    min_ratio: float


def seconds(call: Callable[[], Any], times: int) -> float:
    begin = time.thread_time()  # of the processor: others that use the machine count little
    for _ in range(times):
        call()
    return (time.thread_time() - begin) / times


def figure(
    name: str, theirs: Callable[[], Any], ours: Callable[[], Any], times: int, min_ratio: float
) -> Figure:
    for _ in range(4):  # profiled, then specialised
        ours()
    pairs = [(seconds(theirs, times), seconds(ours, 4 * times)) for _ in range(ROUNDS)]
    return Figure(
        name,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
        min_ratio,
    )


def figures() -> list[Figure]:
    matches = []
    loops: list[tuple[Callable[[int], float], int, float]] = [
        (half_sum, 300_000, MIN_RATIO),
        (collatz, 4_000, MIN_RATIO),
        (nested_sum, 400, MIN_RATIO),
        (count_primes, 30_000, MIN_RATIO),
        (roots, 100_000, MIN_RATIO),
        (modular_powers, 3_000, MIN_RATIO),
        (mandelbrot, 60, MIN_RATIO),
        (exponentials, 60_000, 12),
        (sines, 60_000, 8),
        (remainders, 60_000, 8),
        (common_divisors, 6_000, 4),
    ]
    for fn, n, expected in loops:
        scripted = jit.script(fn)
        if scripted(n) != fn(n):
            raise SystemExit(f"{fn.__name__}({n}): {scripted(n)} scripted, {fn(n)} in Python")
        matches.append(figure(fn.__name__, partial(fn, n), partial(scripted, n), 1, expected))
    x, y = engine.rand(4), engine.rand(4)
    traced = jit.trace(chain, (x, y))
    name = "three operators, 4 floats"
    matches.append(figure(name, partial(chain, x, y), partial(traced, x, y), 3000, 1.0))
    return matches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    arguments = parser.parse_args()
    engine.set_num_threads(1)
    result = figures()
    if arguments.json:
        print(json.dumps([asdict(item) for item in result]))
    else:
        for entry in result:
            verdict = "ok" if entry.faster >= entry.min_ratio else "SLOW"
            print(
                f"{entry.name:<28} {entry.theirs * 1e6:12.1f} us {entry.ours * 1e6:10.1f} us"
                f" {entry.faster:8.1f} times  (at least {entry.min_ratio:g})  {verdict}"
            )
    return 0 if all(element.faster >= element.min_ratio for element in result) else 1


if __name__ == "__main__":
    sys.exit(main())
