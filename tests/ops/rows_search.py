"""Looking things up: sorted sequences, membership, counting, tables, triangles of indices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from rows_index import indices
from table import ALL, FLOATS, INTS, NUMBERS, Array, Bad, Row, Sample, array


def _sequence(dtype: str, n: int) -> Array:
    return Array(np.sort(array(dtype, n).values), dtype)


def _search(dtype: str) -> Iterator[Sample]:
    for n in (1, 2, 9, 40):
        yield Sample((_sequence(dtype, n), array(dtype, 3, 5, seed=1)), {}, str(n))
        yield Sample((_sequence(dtype, n), array(dtype, 7, seed=2)), {"right": True}, f"{n} right")
    yield Sample((_sequence(dtype, 9), 2), {"side": "right"}, "a number")


def _insert(edges: np.ndarray, x: Any, right: bool = False, side: str = "left") -> np.ndarray:
    return np.searchsorted(edges, x, "right" if right or side == "right" else "left")


def _buckets(dtype: str) -> Iterator[Sample]:
    for right in (False, True):
        yield Sample((array(dtype, 4, 5), _sequence(dtype, 6)), {"right": right}, str(right))


def _isin(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 5, 6)
    yield Sample((x, array(dtype, 4, seed=1)), {}, "some")
    yield Sample((x, array(dtype, 2, 40, seed=1)), {"invert": True}, "not in many")
    yield Sample((x, 2), {}, "a number")
    yield Sample((x, array(dtype, 0)), {}, "nothing")


def _bincount(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 40, low=0, high=9)
    yield Sample((x,), {}, "counts")
    yield Sample((x,), {"minlength": 20}, "minlength")
    yield Sample((array(dtype, 0),), {"minlength": 2}, "nothing")


def _counted(x: np.ndarray, minlength: int = 0) -> np.ndarray:
    return np.bincount(x.astype(np.int64), minlength=minlength)


def _weighted(dtype: str) -> Iterator[Sample]:
    yield Sample((indices([0, 3, 3, 1]), array(dtype, 4)), {}, "weights")


def _tables(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 5, 3), indices([[4, 0], [1, 1]])), {}, "2d")
    yield Sample((array(dtype, 5, 3), indices(2)), {}, "0d")
    yield Sample((array(dtype, 5, 3), indices(np.zeros((0, 2)))), {}, "none")
    many = np.random.default_rng(0).integers(0, 90, 3000)
    yield Sample((array(dtype, 90, 40), indices(many)), {}, "large")


def _swapped(dtype: str) -> Iterator[Sample]:
    for sample in _tables(dtype):
        yield Sample((sample.args[1], sample.args[0]), {}, sample.name)


def _bags(dtype: str) -> Iterator[Sample]:
    for mode, width in itertools.product(("sum", "mean", "max"), (5, 16, 83)):
        table = array(dtype, 4, width)
        yield Sample((indices([[0, 1, 1], [2, 0, 3]]), table), {"mode": mode}, f"{mode} {width}")


def _bagged(index: np.ndarray, table: np.ndarray, mode: str) -> np.ndarray:
    return {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](table[index], 1)


def _renorm(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 4, 3), indices([0, 2, 0]), 1.5, 2.0), {}, "2-norm")
    yield Sample((array(dtype, 4, 3), indices([1]), 1.5, 1.0), {}, "1-norm")


def _shortened(x: np.ndarray, index: np.ndarray, max_norm: float, p: float) -> np.ndarray:
    out = x.copy()
    for row in np.unique(index):
        size = np.linalg.norm(x[row], p)
        out[row] = x[row] * (max_norm / (size + 1e-7)) if size > max_norm else x[row]
    return out


def _hot(dtype: str) -> Iterator[Sample]:
    yield Sample((indices([[0, 2], [1, 1]]),), {}, "found")
    yield Sample((indices([0, 2]), 5), {}, "given")


def _one_hot(x: np.ndarray, classes: int = -1) -> np.ndarray:
    return np.eye(x.max() + 1 if classes == -1 else classes, dtype=np.int64)[x]


def _triangles(dtype: str) -> Iterator[Sample]:
    for rows, columns in ((3, 3), (2, 5), (5, 2), (0, 3)):
        for offset in (0, 1, -2, 9, -9):
            yield Sample((rows, columns, offset), {}, f"{rows}x{columns} {offset}")


def _static(dtype: str) -> Iterator[Sample]:
    for size in (0, 3, 40):
        yield Sample((array(dtype, 4, 5, low=-1, high=1),), {"size": size}, str(size))


def _padded(x: np.ndarray, size: int) -> np.ndarray:
    result = np.argwhere(x)[:size]
    return np.concatenate([result, np.full((size - len(result), x.ndim), -1)])


def _along(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4), indices([[0, -1], [2, 3], [1, 1]]), 1), {}, "1")
    yield Sample((array(dtype, 3, 4), indices([[1], [0]]), 0), {}, "broadcast")
    yield Sample((array(dtype, 3, 4), indices([[5, 11]])), {}, "flat")


def _take_along(x: np.ndarray, index: np.ndarray, dim: int | None = None) -> np.ndarray:
    return np.take_along_axis(x, index.reshape(-1) if dim is None else index, dim)


SIDES = Bad(
    lambda m: m.searchsorted(m.ones(2), m.ones(2), right=True, side="left"),
    RuntimeError,
    "side and right can't be set to opposites",
)
MATCH = Bad(
    lambda m: m.searchsorted(m.ones(2, 3), m.ones(3, 3)),
    RuntimeError,
    "the first N-1 dimensions of boundaries tensor and input value tensor must match",
)
BELOW = Bad(
    lambda m: m.bincount(m.tensor([-1])), RuntimeError, "only supports 1-d non-negative integral"
)
ROW = Bad(
    lambda m: m.nn.functional.embedding(m.tensor([5]), m.ones(3, 2)),
    IndexError,
    "index (5 is )?out of (range|bounds)",
)
CLASSES = Bad(
    lambda m: m.nn.functional.one_hot(m.tensor([5]), 3),
    RuntimeError,
    "Class values must be smaller than num_classes",
)
SIZE = Bad(lambda m: m.tril_indices(-1, 2), RuntimeError, "row must be non-negative")

ROWS = [
    Row("searchsorted", _insert, _search, NUMBERS, "int64", bad=(SIDES, MATCH)),
    Row("bucketize", lambda x, e, right: _insert(e, x, right), _buckets, NUMBERS, "int64", out=True),
    Row("isin", np.isin, _isin, NUMBERS, "bool"),
    Row("bincount", _counted, _bincount, INTS, "int64", bad=(BELOW,)),
    Row("bincount", np.bincount, _weighted, ("float32", "float64"), "same"),
    Row("embedding", lambda w, i: w[i], _tables, ALL),
    Row("nn.functional.embedding", lambda i, w: w[i], _swapped, ALL, bad=(ROW,)),
    Row("nn.functional.embedding_bag", _bagged, _bags, FLOATS),
    Row("embedding_renorm_", _shortened, _renorm, ("float32", "float64")),
    Row("nn.functional.one_hot", _one_hot, _hot, ("int64",), bad=(CLASSES,)),
    Row("tril_indices", lambda r, c, o: np.stack(np.tril_indices(r, o, c)), _triangles, ("int64",), bad=(SIZE,)),
    Row("triu_indices", lambda r, c, o: np.stack(np.triu_indices(r, o, c)), _triangles, ("int64",)),
    Row("argwhere", np.argwhere, lambda t: (Sample((array(t, 3, 4, low=-1, high=1),)) for _ in range(1)), ALL, "int64"),
    Row("nonzero_static", _padded, _static, ALL, "int64", out=True),
    Row("take_along_dim", _take_along, _along, ALL, out=True),
]  # fmt: skip
