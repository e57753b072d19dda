"""int64 becomes floating point with a single rounding, at every size and around every tie."""

from __future__ import annotations

import numpy as np

import engine


def _values() -> np.ndarray:
    random = np.random.default_rng(1)
    parts = [random.integers(-(2**63), 2**63 - 1, 20_000, dtype=np.int64, endpoint=True)]
    for k in range(1, 63):
        parts.append(random.integers(-(2**k), 2**k, 500, dtype=np.int64))
        half, double_half = 2 ** max(k - 24, 0), 2 ** max(k - 53, 0)  # of the last place
        ties = [0, half, 3 * half, double_half, 3 * double_half]
        near = [2**k + tie + d for tie in ties for d in (-2, -1, 0, 1, 2)]
        near = [x for x in near if x < 2**63]
        parts.append(np.array([*near, *(-x for x in near)], dtype=np.int64))
    parts.append(np.array([-(2**63), 2**63 - 1, 0]))
    return np.concatenate(parts)


def test_each_number_is_rounded_once() -> None:
    values = _values()
    x = engine.tensor(values)
    assert (x.double().numpy() == values.astype(np.float64)).all()
    assert (x.float().numpy() == values.astype(np.float32)).all()
    assert (x[::3].float().numpy() == values[::3].astype(np.float32)).all()
