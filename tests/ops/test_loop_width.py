"""Loops that were written without branches so that compilers vectorise them: what they compute, and that they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from isa_level import level_in_use

import engine

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SPECIAL = (0.0, -0.0, 1.0, -7.0, 0.1, 1e-45, 1e-38, 3.4e38, np.inf, -np.inf, np.nan)


def any_floats(dtype: type[np.floating[Any]], seed: int, count: int = 20_000) -> np.ndarray:
    """Floats of any bits, so of any exponent, small integers, and the special ones."""
    generator = np.random.default_rng(seed)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    some = generator.integers(0, np.iinfo(bits).max, count, dtype=bits, endpoint=True).view(dtype)
    small = generator.integers(-30, 30, count).astype(dtype)
    return np.concatenate([some, small, small / dtype(10)])


def assert_same(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_array_equal(ours, theirs)
    numbers = ~np.isnan(theirs)
    np.testing.assert_array_equal(np.signbit(ours[numbers]), np.signbit(theirs[numbers]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainders_are_exact(dtype: type[np.floating[Any]]) -> None:
    special = np.array(SPECIAL, dtype)
    rows, columns = (x.ravel() for x in np.meshgrid(special, special))
    a = np.concatenate([any_floats(dtype, 1), rows])
    b = np.concatenate([any_floats(dtype, 2), columns])
    x, y = engine.tensor(a), engine.tensor(b)
    exact = np.fmod(a, b)
    assert_same(x.fmod(y).numpy(), exact)
    turned = (exact != 0) & ((exact < 0) != (b < 0))
    assert_same(x.remainder(y).numpy(), np.where(turned, exact + b, exact))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_any_number(dtype: str) -> None:
    limits = np.iinfo(dtype)
    generator = np.random.default_rng(3)
    a = generator.integers(limits.min, limits.max, 3000, dtype=dtype, endpoint=True)
    b = generator.integers(max(-3, limits.min), 70, 3000).astype(dtype)
    many = (b < 0) | (b >= limits.bits)
    left = [0 if out else int(x) << int(n) for x, n, out in zip(a, b, many, strict=True)]
    right = [int(x) >> (70 if out else int(n)) for x, n, out in zip(a, b, many, strict=True)]
    wrapped = np.array([x & (2**limits.bits - 1) for x in left], f"uint{limits.bits}").view(dtype)
    np.testing.assert_array_equal((engine.tensor(a) << engine.tensor(b)).numpy(), wrapped)
    np.testing.assert_array_equal((engine.tensor(a) >> engine.tensor(b)).numpy(), np.array(right))


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16])
def test_signs_of_every_16_bit_float(dtype: engine.dtype) -> None:
    bits = engine.arange(-(2**15), 2**15).to(engine.int16)
    x = bits.view(dtype)
    np.testing.assert_array_equal(
        x.abs().view(engine.int16).numpy(), (bits & 0x7FFF).numpy(), strict=True
    )
    np.testing.assert_array_equal(
        (-x).view(engine.int16).numpy(), (bits ^ -(2**15)).numpy(), strict=True
    )
    column = x[::2].abs().float().numpy()  # gathered into tiles
    np.testing.assert_array_equal(column, np.abs(x.float().numpy()[::2]))


@pytest.mark.parametrize("limits", [(3, None), (None, 50), (3, 50), (50, 3)])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float32"])
def test_clamp_with_either_limit(dtype: str, limits: tuple[int | None, int | None]) -> None:
    low, high = limits
    a = np.arange(-60, 61).astype(dtype)
    at_least = a if low is None else np.maximum(a, a.dtype.type(low))
    expected = at_least if high is None else np.minimum(at_least, a.dtype.type(high))
    np.testing.assert_array_equal(engine.tensor(a).clamp(low, high).numpy(), expected)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_extremes_of_small_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    a = np.random.default_rng(4).integers(limits.min, limits.max, (70, 131), dtype, endpoint=True)
    x = engine.tensor(a)
    for axis in (None, 0, 1):
        dim = () if axis is None else axis
        np.testing.assert_array_equal(x.amax(dim).numpy(), a.max(axis), strict=True)
        np.testing.assert_array_equal(x.amin(dim).numpy(), a.min(axis), strict=True)
        np.testing.assert_array_equal(x.argmax(axis).numpy(), a.argmax(axis))
        np.testing.assert_array_equal(x.argmin(axis).numpy(), a.argmin(axis))


def min_time(work: Callable[[], Any]) -> float:
    def once() -> float:
        begin = time.thread_time()
        work()
        return time.thread_time() - begin

    return min(once() for _ in range(30))


NUMBERS = engine.arange(30_000).remainder(100)
BYTES, INTS = NUMBERS.to(engine.uint8), NUMBERS.to(engine.int32)
FLOATS = NUMBERS.float().view(100, 300) + 1
# What once was not vectorised, and what takes about as long where it is.
SLOW: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "clamp of uint8": (lambda: BYTES.clamp(1, 50), lambda: engine.maximum(BYTES, BYTES)),
    "clamp of int32": (lambda: INTS.clamp(1, 50), lambda: engine.maximum(INTS, INTS)),
    "remainder of floats": (lambda: FLOATS.remainder(7), lambda: FLOATS.pow(1.7)),
    "minima of columns": (lambda: FLOATS.amin(0), lambda: FLOATS.sum(0)),
}


@pytest.mark.parametrize("name", SLOW)
def test_vectorised(name: str) -> None:
    if name == "remainder of floats" and level_in_use("") == "v2":
        pytest.skip("exact quotients need fused multiply-adds")
    slow, like = SLOW[name]
    assert min_time(slow) < 4 * min_time(like), name
