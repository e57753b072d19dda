"""Shifts by every count, also negative and too large ones, of every integer dtype."""

from __future__ import annotations

import numpy as np
import pytest

import engine


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_shifts_by_every_count(dtype: str) -> None:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(1)
    x = random.integers(limits.min, limits.max, (50, 67), dtype=dtype, endpoint=True)
    counts = random.integers(-3 if limits.min else 0, limits.bits + 3, (50, 67)).astype(dtype)
    inside = (counts >= 0) & (counts < limits.bits)
    count = np.where(inside, counts, 0).astype(dtype)
    left = np.where(inside, x << count, 0)
    right = np.where(inside, x >> count, np.where(x < 0, -1, 0))
    a, b = engine.tensor(x), engine.tensor(counts)
    assert (a << b).tolist() == left.tolist()
    assert (a >> b).tolist() == right.tolist()
    assert (a.t() >> b.t()).t().tolist() == right.tolist()
    assert (a[:, ::2] << b[:, ::2]).tolist() == left[:, ::2].tolist()
    assert (a >> 3).tolist() == (x >> 3).tolist()
