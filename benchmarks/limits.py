"""Workloads of broad.py compared with the limits of this machine: `python benchmarks/limits.py [REGEX]`.

Three limits are measured in the same process: how fast the C library moves and reads as many bytes as the
workload must (in the same caches), the most operations per second of any product of matrices, and the cost of
calling a function of Python's that does nothing. A figure is the share of its limit that a workload reaches: 1 is
as fast as possible.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import math
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from run import Work, show_time, timed
from workloads import COLUMNS, ROWS, workloads

ROUNDS = 9
BLOCK = 0.01  # seconds that one timed block lasts about
N = ROWS * COLUMNS  # elements of most workloads
LIBC = ctypes.CDLL(None)


def shortest(work: Work) -> float:
    """Seconds of one call: the least over rounds."""
    timed(work, 2)
    times = max(1, round(BLOCK / max(timed(work, 1), 1e-8)))
    return min(timed(work, times, time.process_time) for _ in range(ROUNDS))


def filled(count: int) -> Any:
    """Return a buffer whose pages are memory; without a write, all would be one page of zeros."""
    return ctypes.create_string_buffer(b"1" * count, count)


def beyond_call(work: Work, nothing: Work) -> float:
    return max(shortest(work) - shortest(nothing), 1e-9)


@cache
def seconds_to_move(count: int) -> float:
    """To read half of `count` bytes and write the other half."""
    source, target = filled(count // 2), filled(count // 2)
    return beyond_call(
        lambda: LIBC.memcpy(target, source, count // 2), lambda: LIBC.memcpy(target, source, 0)
    )


@cache
def seconds_to_read(count: int) -> float:
    first, second = filled(count // 2), filled(count // 2)
    return beyond_call(
        lambda: LIBC.memcmp(first, second, count // 2), lambda: LIBC.memcmp(first, second, 0)
    )


@cache
def operations_per_second(dtype: str) -> float:
    """Return the best of square products of several sizes; a multiplication and an addition are two."""
    m: Any = importlib.import_module("engine")

    def rate(n: int) -> float:
        x = m.ones(n, n, dtype=getattr(m, dtype))
        return 2 * n**3 / shortest(lambda: x @ x)

    return max(rate(n) for n in (192, 256, 384, 512, 768))


@cache
def seconds_of_a_call() -> float:
    return shortest(lambda: len(()))


@dataclass(frozen=True)
class Limit:
    """`seconds()` is the least time that any program would need on this machine."""

    kind: str
    seconds: Callable[[], float]


def moves(count: int) -> Limit:
    return Limit("bytes moved", lambda: seconds_to_move(count))


def reads(count: int) -> Limit:
    return Limit("bytes read", lambda: seconds_to_read(count))


def computes(operations: float, dtype: str = "float32") -> Limit:
    return Limit("operations", lambda: operations / operations_per_second(dtype))


CALL = Limit("a call", seconds_of_a_call)

# A Fourier transform's additions and multiplications cannot all be paired: half of the rate.
FFT = 16 * 5 * 1024 * math.log2(1024)
# Four passes over 32-bit keys with their indices.
RADIX_SORT = 4 * 2 * 8 * N

LIMITS: dict[str, Limit] = {
    "unary/abs, float32, dense": moves(8 * N),
    "unary/exp, float32, dense": moves(8 * N),
    "unary/sqrt, float64, dense": moves(16 * N),
    "unary/exp, float32, columns": moves(8 * N),
    "binary/add, float32, dense": moves(12 * N),
    "binary/add, int8, dense": moves(3 * N),
    "binary/mul, uint8, column": moves(2 * N),
    "binary/mul, float16, dense": moves(6 * N),
    "binary/add, float32, transposed": moves(12 * N),
    "reduction/sum, float32, all": reads(4 * N),
    "reduction/sum, float32, dim 0": reads(4 * N),
    "reduction/sum, float32, dim 1": reads(4 * N),
    "reduction/sum, bfloat16, dim 1": reads(2 * N),
    "reduction/argmax, float32, dim 1": reads(4 * N),
    "copy/contiguous of transposed, float32": moves(8 * N),
    "copy/cat rows, float32": moves(16 * N),
    "copy/clamp, float32": moves(8 * N),
    "copy/index rows, float32": moves(8 * 100 * COLUMNS),
    "conversion/float32 to bfloat16": moves(6 * N),
    "product/mm 64, float32": computes(2 * 64**3),
    "product/mm 256, float32": computes(2 * 256**3),
    "product/mm 256, bfloat16": computes(2 * 256**3, "bfloat16"),
    "product/mm 256, float64": computes(2 * 256**3, "float64"),
    "product/matvec, float32": reads(4 * 1000 * 1001),
    "product/bmm 32, float32": computes(2 * 64 * 32**3),
    "convolution/2-d kernel 3, 32 to 32, image 33": computes(2 * 4 * 32 * 32 * 33**2 * 9),
    "convolution/2-d kernel 1, 64 to 64, image 28": computes(2 * 4 * 64 * 64 * 28**2),
    "convolution/2-d kernel 3, 64 to 64, image 28 groups 64": computes(2 * 4 * 64 * 28**2 * 9),
    "convolution/3-d kernel 3, 8 to 16, image 12": computes(2 * 4 * 8 * 16 * 12**3 * 27),
    "fft/fft, 16x1024": computes(2 * FFT),
    "scan and sort/sort, float32, dim 1": moves(RADIX_SORT),
    "overhead/add": CALL,
    "overhead/t": CALL,
    "overhead/view": CALL,
    "overhead/zeros": CALL,
    "overhead/shape": CALL,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pattern", nargs="?", default="", help="only names that match")
    pattern = re.compile(parser.parse_args().pattern)
    m: Any = importlib.import_module("engine")
    m.set_num_threads(1)
    selected = [w for w in workloads() if str(w) in LIMITS and pattern.search(str(w))]
    unknown = LIMITS.keys() - {str(w) for w in workloads()}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    large = 1 << 28
    print(f"moving bytes, from memory   {large / seconds_to_move(large) / 1e9:8.1f} GB/s")
    print(f"moving bytes, cached        {2 * N * 4 / seconds_to_move(8 * N) / 1e9:8.1f} GB/s")
    print(f"reading bytes, cached       {4 * N / seconds_to_read(4 * N) / 1e9:8.1f} GB/s")
    for dtype in ("float32", "float64", "bfloat16"):
        rate = operations_per_second(dtype) / 1e9
        print(f"operations on {dtype:<13} {rate:8.1f} thousand million a second")
    print(f"a call                      {show_time(seconds_of_a_call())}\n")
    print(f"{'':<58} {'limit':>11} {'ours':>11}  share  of")
    for workload in selected:
        limit, ours = LIMITS[str(workload)], shortest(workload.make(m))
        bound = limit.seconds()
        print(
            f"{workload!s:<58} {show_time(bound)} {show_time(ours)} {bound / ours:6.2f}  {limit.kind}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
