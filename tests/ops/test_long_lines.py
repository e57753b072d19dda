"""Sorts of lines that are long enough for several threads: the same order for any number of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import engine

LENGTHS = (16_384, 16_385, 50_001)
DTYPES = ("uint8", "int16", "int64", "float32", "float64", "bfloat16")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = engine.get_num_threads()
    yield
    engine.set_num_threads(before)


def lines(dtype: str, length: int) -> Iterator[engine.Tensor]:
    random = np.random.default_rng(length)
    kind = getattr(engine, dtype)
    yield engine.tensor(random.integers(0, 200, length)).to(kind)  # digits that all keys share
    yield engine.arange(length).to(kind)
    yield engine.arange(length, 0, -1).to(kind)
    if not kind.is_floating_point:
        yield engine.tensor(random.integers(-(2**62), 2**62, length)).to(kind)
        return
    x = random.standard_normal(length) * 10.0 ** random.integers(-30, 30, length)
    yield engine.tensor(x).to(kind)
    x[::7], x[::11], x[::13], x[5], x[9] = 0.0, -0.0, np.nan, np.inf, -np.inf
    yield engine.tensor(x).to(kind)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_line_on_one_thread_and_on_several(length: int, dtype: str) -> None:
    for x in lines(dtype, length):
        array = x.double().numpy() if x.is_floating_point() else x.numpy()
        for descending in (False, True):
            if descending:  # NaN first, and equal elements in their order
                order = length - 1 - np.argsort(array[::-1], kind="stable")[::-1]
            else:
                order = np.argsort(array, kind="stable")
            for count in (1, 2, 3, 16):
                engine.set_num_threads(count)
                values, indices = x.sort(descending=descending, stable=True)
                assert np.array_equal(indices.numpy(), order), count
                assert values.view(engine.uint8).equal(x[indices].view(engine.uint8)), count


def test_a_sort_of_each_line_of_a_few() -> None:
    x = engine.randn(3, 20_000)
    engine.set_num_threads(1)
    expected = x.sort(1)
    engine.set_num_threads(2)
    actual = x.sort(1)
    assert actual.values.equal(expected.values)
    assert actual.indices.equal(expected.indices)
