"""Orders: sort, argsort, msort, topk, distinct elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from table import ALL, FLOATS, NUMBERS, Array, Bad, Row, Sample, array, numpy_dtype


def _special(dtype: str, n: int) -> Array:
    """NaN, infinities, both zeros and equal numbers, in no order."""
    values = np.array([np.nan, -np.inf, 0.0, -0.0, np.inf, 1.5, -1.5, 1.5])
    selected = np.random.default_rng(n).integers(0, len(values), n)
    return Array(values[selected].astype(numpy_dtype(dtype)), dtype)


def _key(x: np.ndarray, descending: bool) -> np.ndarray:
    """Numbers that sort as the elements do; bools have no minus."""
    wide = x.astype(np.float64)
    return np.where(np.isnan(wide), -np.inf, -wide) if descending else wide


def _argsort(
    x: np.ndarray, dim: int = -1, descending: bool = False, stable: bool = True
) -> np.ndarray:
    if x.ndim == 0:
        return np.zeros((), np.int64)
    # NaN before infinity in a descending order: by a second key.
    order = np.argsort(_key(x, descending), dim, kind="stable")
    if descending and np.isnan(x.astype(np.float64)).any():
        nan_last = ~np.isnan(np.take_along_axis(x.astype(np.float64), order, dim))
        order = np.take_along_axis(order, np.argsort(nan_last, dim, kind="stable"), dim)
    return order


def _sort_reference(
    x: np.ndarray, dim: int = -1, descending: bool = False, **_: Any
) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    order = _argsort(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


def _orders(dtype: str) -> Iterator[Sample]:
    for shape, dim in (((7,), -1), ((3, 40), 1), ((40, 3), 0), ((0, 3), 0), ((), -1)):
        yield Sample((array(dtype, *shape), dim), {}, f"{shape} {dim}")
        yield Sample((array(dtype, *shape), dim, True), {}, f"{shape} {dim} descending")
    for n in (130, 1000, 9000):  # by comparison, by digits of 8 bits, of 11
        yield Sample((array(dtype, n, low=-30, high=30),), {}, str(n))
    yield Sample((array(dtype, 300),), {"stable": True, "descending": True}, "stable")
    yield Sample((Array(np.sort(array(dtype, 200).values), dtype),), {}, "in order")
    if dtype in FLOATS:
        for n in (9, 400, 9000):
            yield Sample((_special(dtype, n),), {}, f"special {n}")
            yield Sample((_special(dtype, n), 0, True), {}, f"special {n} descending")


def _wide(dtype: str) -> Iterator[Sample]:
    """Yield all digits of the keys, and both signs."""
    if dtype in FLOATS:
        return
    limits = np.iinfo(numpy_dtype(dtype))
    for n in (50, 500, 9000):
        values = np.random.default_rng(n).integers(
            limits.min, limits.max, n, endpoint=True, dtype=limits.dtype
        )
        yield Sample((Array(values, dtype),), {}, str(n))


def _sort_ints(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sort(x, kind="stable"), np.argsort(x, kind="stable")


def _msort(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 30, 4),), {}, "2d")


def _topk(dtype: str) -> Iterator[Sample]:
    rng = np.random.default_rng(1)
    for n, k in ((10, 3), (200, 5), (1000, 10), (1000, 900), (5, 5), (4, 0)):
        values = np.stack([rng.permutation(n) % 251 for _ in range(3)])
        distinct = values if n <= 200 else np.stack([rng.permutation(n) for _ in range(3)])
        if dtype in ("uint8", "int8", "float16", "bfloat16") and n > 100:
            continue  # fewer distinct numbers than that
        x = Array(distinct.astype(numpy_dtype(dtype)), dtype)
        yield Sample((x, k), {}, f"{k} of {n}")
        yield Sample((x, k, 1, False), {}, f"smallest {k} of {n}")
    yield Sample(
        (Array(np.arange(12).reshape(6, 2)[::-1].astype(numpy_dtype(dtype)), dtype), 2, 0),
        {},
        "dim 0",
    )


def _best(
    x: np.ndarray, k: int, dim: int = -1, largest: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    order = np.take(_argsort(x, dim, largest), np.arange(k), dim)
    return np.take_along_axis(x, order, dim), order


def _unique(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 4, 30)
    yield Sample((x,), {}, "values")
    yield Sample((x, True, True, True), {}, "all")
    rows = Array(array(dtype, 3, 2).values[[2, 0, 2, 1]], dtype)
    yield Sample((rows,), {"dim": 0, "return_inverse": True, "return_counts": True}, "rows")
    yield Sample((array(dtype, 0),), {}, "none")


def _distinct(x: np.ndarray, *_: Any, **options: Any) -> Any:
    if "dim" not in options:
        result = np.unique(x, return_inverse=True, return_counts=True)
        return (result[0], result[1].reshape(x.shape), result[2]) if _ else result[0]
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=0)
    return values, inverse.reshape(-1), counts


def _runs(dtype: str) -> Iterator[Sample]:
    x = Array(np.repeat(array(dtype, 6).values, [1, 3, 2, 1, 4, 1]), dtype)
    yield Sample((x,), {"return_inverse": True, "return_counts": True}, "runs")


def _consecutive(x: np.ndarray, **_: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    new = np.concatenate([[True], x[1:] != x[:-1]])
    return x[new], np.cumsum(new) - 1, np.diff(np.append(np.flatnonzero(new), x.size))


COMPLEX = Bad(
    lambda m: m.sort(m.zeros(2, dtype=m.complex64)), RuntimeError, "does not support complex"
)
MANY = Bad(lambda m: m.ones(3).topk(4), RuntimeError, "selected index k out of range")
EMPTY = Bad(lambda m: m.unique(m.zeros(3, 0), dim=0), RuntimeError, "There are 0 sized dimensions")

# torch=False: where equals stand, an unstable sort is free to choose; the conformance run compares these.
ROWS = [
    Row("sort", _sort_reference, _orders, ALL, "values and int64", torch=False, bad=(COMPLEX,)),
    Row("sort", _sort_ints, _wide, ("uint8", "int8", "int16", "int32", "int64"), "values and int64", torch=False),
    Row("argsort", _argsort, _orders, ALL, "int64", torch=False),
    Row("msort", lambda x: np.sort(x, 0), _msort, ALL, out=True),
    Row("topk", _best, _topk, NUMBERS, "values and int64", bad=(MANY,)),
    Row("unique", _distinct, _unique, ALL, "values and int64", bad=(EMPTY,)),
    Row("unique_consecutive", _consecutive, _runs, ALL, "values and int64"),
]  # fmt: skip
