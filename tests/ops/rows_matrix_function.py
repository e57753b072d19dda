"""Functions of whole matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rows_lapack import DTYPES, square
from table import Array, Bad, Row, Sample, array


def orders(dtype: str) -> Iterator[Sample]:
    for p in (None, 2, -2, 1, -1, float("inf"), "fro", "nuc"):
        yield Sample((square(dtype, 2, 3, 3), p), {}, str(p))


def cond(a: np.ndarray, p: Any) -> np.ndarray:
    return np.linalg.cond(a, 2) if p is None else np.array([np.linalg.cond(item, p) for item in a])


def matrices(dtype: str) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4, 4), (0, 0), (1, 1)):
        yield Sample((array(dtype, *shape, low=-1, high=1),), {}, str(shape))
    yield Sample((Array(np.zeros((2, 2), dtype), dtype),), {}, "zero")
    unit = array(dtype, 4, 5, 5, low=-1, high=1).values
    for power in (-27, -13, -7, -4, -2, 2):  # one for each degree, and several squarings
        yield Sample((Array(unit * 2.0**power, dtype),), {}, f"times 2^{power}")
    scales = np.array([0.0625, 0.5, 2, 4], unit.real.dtype)[:, None, None]
    yield Sample((Array(unit * scales, dtype),), {}, "several norms")


def exponential(a: np.ndarray) -> np.ndarray:
    """Return the series of a small part, multiplied with itself."""
    result = term = np.eye(a.shape[-1]) + np.zeros_like(a)
    for k in range(1, 30):
        term = term @ a / 64 / k
        result = result + term
    return np.linalg.matrix_power(result, 64) if a.size else result


NORM = Bad(lambda m: m.linalg.cond(m.eye(2), "x"), RuntimeError, "invalid norm type")
WHOLE = Bad(lambda m: m.matrix_exp(m.eye(2, dtype=m.int64)), RuntimeError, "floating point")

ROWS = [
    Row("linalg.cond", cond, orders, DTYPES, bad=(NORM,)),
    Row("linalg.matrix_exp", exponential, matrices, DTYPES, bad=(WHOLE,)),
    Row("matrix_exp", exponential, matrices, DTYPES),
]
