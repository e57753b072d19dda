"""Indexing by tensors and masks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from table import ALL, Array, Bad, Row, Sample, array


def indices(values: object) -> Array:
    return Array(np.asarray(values, np.int64), "int64")


def _select(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 3, 4, 5)
    for dim in (0, 1, -1):
        yield Sample((x, dim, indices([2, 0, 2])), {}, str(dim))
    yield Sample((x, 1, indices(np.zeros(0))), {}, "none")


def _gather(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 3, 4)
    yield Sample((x, 0, indices([[0, 2, 1, 0], [2, 2, 0, 1]])), {}, "0")
    yield Sample((x, 1, indices([[3, 0], [1, 1], [2, 3]])), {}, "1")
    yield Sample((x, -1, indices(np.zeros((3, 0)))), {}, "none")
    yield Sample(
        (array(dtype, 40, 50), 1, indices(np.arange(800).reshape(40, 20) % 50)), {}, "large"
    )


def _take(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4), indices([[0, 11], [-1, 5]])), {}, "2d")
    yield Sample((array(dtype, 3, 4), indices(np.zeros(0))), {}, "none")


def _masked(dtype: str) -> Iterator[Sample]:
    for a, b in (
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((4,), (3, 1)),
        ((0, 2), (2,)),
        ((2000,), (2000,)),
    ):
        yield Sample((array(dtype, *a), array("bool", *b, seed=3)), {}, f"{a}{b}")


def _nonzero(dtype: str) -> Iterator[Sample]:
    for shape in ((5,), (3, 4), (2, 3, 4), (0, 3), (1500,)):
        yield Sample((array(dtype, *shape, low=-1, high=1),), {}, str(shape))


def _take_along(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    saved = tuple(slice(None) if d == dim % x.ndim else slice(n) for d, n in enumerate(index.shape))
    return np.take_along_axis(x[saved], index, dim)


def _masked_select(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


OUTSIDE = Bad(
    lambda m: m.ones(3)[m.tensor([0, 3])],
    IndexError,
    "index 3 is out of bounds for dimension 0 with size 3",
)
MASK = Bad(
    lambda m: m.ones(3)[m.tensor([True, False])],
    IndexError,
    r"he shape of the mask \[2\] at index 0 does not match",
)
SHAPES = Bad(
    lambda m: m.ones(3, 3)[m.tensor([0, 1]), m.tensor([0, 1, 2])],
    IndexError,
    r"could not be broadcast together with shapes \[2\], \[3\]",
)
MANY = Bad(
    lambda m: m.ones(3)[m.tensor([0]), m.tensor([0])],
    IndexError,
    "too many indices for tensor of dimension 1",
)
FLOAT = Bad(lambda m: m.ones(3)[m.tensor([0.0])], IndexError, "tensors used as indices must be")
GATHER = Bad(
    lambda m: m.ones(3).gather(0, m.tensor([3])),
    (RuntimeError, IndexError),
    "index 3 is out of bounds for dimension 0 with size 3",
)  # type: ignore[arg-type]
LARGE = Bad(
    lambda m: m.ones(2, 2).gather(0, m.zeros(1, 3, dtype=m.int64)),
    RuntimeError,
    r"Size does not match at dimension 1 expected index \[1, 3\]",
)
PUT = Bad(
    lambda m: m.ones(3).index_put_((m.tensor([0, 1]),), m.ones(3)), RuntimeError, "shape mismatch"
)

ROWS = [
    Row("index_select", lambda x, d, i: np.take(x, i, d), _select, ALL, out=True, bad=(OUTSIDE, MASK, SHAPES, MANY, FLOAT, PUT)),
    Row("gather", _take_along, _gather, ALL, out=True, bad=(GATHER, LARGE)),
    Row("take", np.take, _take, ALL, out=True),
    Row("masked_select", _masked_select, _masked, ALL, out=True),
    Row("nonzero", lambda x: np.stack(np.nonzero(x), -1), _nonzero, ALL, "int64"),
]  # fmt: skip
