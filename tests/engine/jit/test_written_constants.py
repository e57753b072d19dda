"""Tensors that a graph holds as constants, and writes: no pass takes what is in them for known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import engine
from engine import jit
from engine.nn import functional as F

Made = Callable[[engine.Tensor], engine.Tensor]
SIZE = 256  # of a weight that is large enough for products to be made together


def products() -> tuple[Made, engine.Tensor]:
    w, v = engine.ones(SIZE, SIZE), engine.ones(SIZE, SIZE)

    def run(x: engine.Tensor) -> engine.Tensor:
        result = F.linear(x, w) + F.linear(x, v)
        w.add_(1.0)
        return result

    return run, engine.ones(2, SIZE)


def written_before() -> tuple[Made, engine.Tensor]:
    w, v = engine.ones(SIZE, SIZE), engine.ones(SIZE, SIZE)

    def run(x: engine.Tensor) -> engine.Tensor:
        v.add_(1.0)
        return F.linear(x, w) + F.linear(x, v)

    return run, engine.ones(2, SIZE)


def normalised() -> tuple[Made, engine.Tensor]:
    mean, variance, weight = engine.ones(4), engine.ones(4), engine.ones(4, 3, 1, 1)

    def run(x: engine.Tensor) -> engine.Tensor:
        result = F.batch_norm(F.conv2d(x, weight), mean, variance, None, None, False)
        mean.add_(1.0)
        return result

    return run, engine.ones(2, 3, 5, 5)


def folded() -> tuple[Made, engine.Tensor]:
    retained = engine.ones(4)

    def run(x: engine.Tensor) -> engine.Tensor:
        result = retained * 2 + x
        retained.add_(1.0)
        return result

    return run, engine.ones(4)


def pooled() -> tuple[Made, engine.Tensor]:
    a, b = engine.ones(4), engine.ones(4)

    def run(x: engine.Tensor) -> engine.Tensor:
        result = x * a + (x + 1) * b
        a.add_(1.0)
        return result

    return run, engine.ones(4)


@pytest.mark.parametrize("program", [products, written_before, normalised, folded, pooled])
def test_every_call_reads_what_was_written(
    program: Callable[[], tuple[Made, engine.Tensor]],
) -> None:
    run, x = program()
    run(x)  # as the trace does
    expected = [run(x) for _ in range(5)]
    traced, x = program()
    traced = jit.trace(traced, (x,), check_trace=False)
    for item in expected:  # general code first, then specialised
        assert engine.allclose(traced(x), item)
