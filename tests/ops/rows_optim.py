"""Operators on all tensors of a list. Steps of optimizers are tested in tests/engine/optim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from table import Row, Sample, array


def lists(dtype: str) -> Iterator[Sample]:
    several = [array(dtype, 3, 4), array(dtype, 2, 1, 5, seed=1), array(dtype, seed=2)]
    for order in (2, 1, float("inf"), 3.0):
        yield Sample((several, order), name=f"order {order}")


def norms(tensors: list[np.ndarray], order: float) -> list[Any]:
    return [np.linalg.norm(np.ravel(t), order) for t in tensors]


ROWS = [Row("_foreach_norm", norms, lists, ("float32", "float64"))]
