"""Machine code of fused groups: the same bits as eager, on whatever processor the tests run.

`tests/native` searches for faults too, but is built for the least instruction set, which has no blocks.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import engine
import engine.nn.functional as F
from engine import Tensor

UNARY: list[Callable[[Any], Any]] = [
    lambda a: a.relu(),
    lambda a: a.sigmoid(),
    lambda a: a.tanh(),
    lambda a: a.erf(),
    lambda a: a.neg(),
    lambda a: a.abs(),
    lambda a: (a * a + 0.1).sqrt(),
    lambda a: (a * a + 1).rsqrt(),
    lambda a: a.floor(),
    lambda a: a.trunc(),
    lambda a: a.round(),
    lambda a: a.frac(),
    lambda a: a.clamp(-0.5, 0.75),
    lambda a: a.clamp(min=0.1),
    lambda a: a * 0.3 + 1.7,
    lambda a: 2 - a,
    lambda a: engine.add(a, a, alpha=0.7),
    F.silu,
    F.gelu,
    lambda a: F.gelu(a, approximate="tanh"),
    F.hardswish,
    F.hardsigmoid,
    F.softshrink,
    F.hardshrink,
    lambda a: F.leaky_relu(a, 0.02),
    lambda a: F.threshold(a, 0.1, -3.0),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (b.abs() + 0.5),
    lambda a, b: engine.sub(a, b, alpha=0.3),
    lambda a, b: engine.addcmul(a, a, b, value=0.6),
    lambda a, b: engine.addcdiv(a, b, b * b + 1, value=-1.5),
]


def program(seed: int) -> Callable[[Any, Any], Any]:
    """Return a function of two tensors: a random walk over what has been computed so far."""
    choose = random.Random(seed)
    steps = [
        (choose.choice(BINARY), choose.random(), choose.random())
        if choose.random() < 0.5
        else (choose.choice(UNARY), choose.random(), None)
        for _ in range(choose.randrange(2, 30))
    ]

    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, first, second in steps:
            operands = [values[int(f * len(values))] for f in (first, second) if f is not None]
            values.append(step(*operands))
        return values[-1] + values[-2]

    return function


def numbers(n: int, dtype: Any, seed: int) -> Tensor:
    choose = random.Random(seed)
    special = [0.0, -0.0, float("inf"), float("-inf"), 1e-40, 3e38, 104.5, -104.5]
    values = [
        choose.choice(special) if choose.random() < 0.05 else choose.gauss(0, 2) for _ in range(n)
    ]
    return engine.tensor(values, dtype=dtype)


def same_bits(actual: Tensor, expected: Tensor) -> bool:
    numbers_differ = actual.ne(expected) & ~(actual.isnan() & expected.isnan())
    zeros_differ = actual.eq(0) & expected.eq(0) & actual.signbit().ne(expected.signbit())
    return not bool((numbers_differ | zeros_differ).any())


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("dtype", [engine.float32, engine.float64], ids=["float32", "float64"])
def test_a_fused_group_gives_the_bits_of_eager(dtype: Any, seed: int) -> None:
    threads = engine.get_num_threads()
    engine.set_num_threads(1)
    try:
        n = random.Random(seed).choice([1, 7, 16, 191, 193, 512, 1000])
        x, y = numbers(n, dtype, seed), numbers(n, dtype, seed + 1000)
        function = program(seed)
        traced = engine.jit.trace(function, (x, y), check_trace=False)
        expected = function(x, y)
        for _ in range(4):
            assert same_bits(traced(x, y), expected)
        assert "prim::FusionGroup" in str(traced.graph_for(x, y))
    finally:
        engine.set_num_threads(threads)
