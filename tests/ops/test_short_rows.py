"""Reductions of rows of every length around the lanes of the loops, which take their first elements in several ways."""

from __future__ import annotations

import numpy as np
import pytest

import engine

LENGTHS = [
    *range(1, 70),
    *range(120, 136),
    190,
    191,
    192,
    193,
    250,
    255,
    256,
    257,
    320,
    4096,
    4160,
    4161,
]
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_length(dtype: str) -> None:
    random = np.random.default_rng(1)
    for length in LENGTHS:
        values = random.integers(-100, 100, (3, length)).astype(dtype)
        values[1] = values[1] != 0  # sparse bytes
        values[2, :] = 0
        values[2, -1] = 1  # in the last place only
        x = engine.tensor(values)
        if dtype != "bool":
            assert x.amax(1).tolist() == values.max(1).tolist(), length
            assert x.amin(1).tolist() == values.min(1).tolist(), length
            assert x.argmax(1).tolist() == values.argmax(1).tolist(), length
        assert x.any(1).tolist() == values.any(1).tolist(), length
        assert x.all(1).tolist() == values.all(1).tolist(), length
        assert (
            x.sum(1).tolist()
            == values.sum(1, dtype=values.dtype if dtype.startswith("f") else "int64").tolist()
        ), length


def test_a_nan_in_any_place_of_a_row_is_its_extreme() -> None:
    for length in (1, 15, 16, 63, 64, 65, 127, 128, 129):
        x = engine.zeros(length, length).fill_diagonal_(engine.nan)
        assert x.amax(1).isnan().all()
        assert x.amin(1).isnan().all()
