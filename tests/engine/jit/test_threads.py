"""One compiled function that several threads call at once, also while it is recorded."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine
from engine import Tensor, jit
from engine.inspect.recorder import record

THREADS, TRIPS = 4, 40


def weighted(x: Tensor, y: Tensor, n: int) -> Tensor:
    weight = 0.0
    for i in range(n):
        weight += i * 0.5
    if n < 0:
        raise ValueError("n is negative")
    z = (x * y + weight).sigmoid() * x
    return (z - y).relu().sum(-1)


def inputs(thread: int, trip: int) -> tuple[Tensor, Tensor, int]:
    """Five kinds of inputs, one more than an executor specialises for."""
    kind = (thread + trip // 4) % 5
    dtype = engine.float64 if kind == 1 else engine.float32
    sizes = {2: (6,), 4: (2, 2, 3)}.get(kind, (2 + trip % 3, 3))
    x = engine.arange(engine.Size(sizes).numel(), dtype=dtype).reshape(sizes) / (thread + 2)
    return x.requires_grad_(kind == 3), x.detach() * 0.25 + trip % 5, trip % 7


def in_threads(body: Callable[[int], None]) -> None:
    """Run `body(thread)` in all threads at once; raise what one of them raised."""
    begin = threading.Barrier(THREADS)
    failed: list[BaseException] = []

    def run(thread: int) -> None:
        begin.wait()
        try:
            body(thread)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(t,)) for t in range(THREADS)]
    for item in threads:
        item.start()
    for item in threads:
        item.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("recorded", [False, True])
def test_threads_that_call_one_function(tmp_path: Path, recorded: bool) -> None:
    scripted = jit.script(weighted)

    def body(thread: int) -> None:
        for trip in range(TRIPS):
            x, y, n = inputs(thread, trip)
            actual, reference = scripted(x, y, n), weighted(x, y, n)
            assert engine.allclose(actual, reference)
            if x.requires_grad:
                (gradient,) = engine.autograd.grad(actual.sum(), x)
                (expected,) = engine.autograd.grad(reference.sum(), x)
                assert engine.allclose(gradient, expected)
            if trip % 5 == thread:
                with pytest.raises(jit.Error, match="n is negative"):
                    scripted(x, y, -1)

    recording: Any = (
        record(tmp_path / "t.uht", lines=False) if recorded else contextlib.nullcontext()
    )
    with recording:
        in_threads(body)


def test_threads_that_compile() -> None:
    """Each its own function, side by side: what compilers share is shared."""

    def body(thread: int) -> None:
        for _ in range(3):
            x, y, n = inputs(thread, 3)
            traced = jit.trace(lambda a, b: (a * b + 1.0).tanh() * a, (x, y))
            scripted = jit.script(weighted)
            for _ in range(4):
                assert engine.allclose(traced(x, y), (x * y + 1.0).tanh() * x)
                assert engine.allclose(scripted(x, y, n), weighted(x, y, n))

    in_threads(body)
