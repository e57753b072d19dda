"""Writing by index: scatter and its kin, index_add and its kin, put, masks, parts of copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_index import indices
from table import ALL, FLOATS, INTS, NUMBERS, Array, Bad, Row, Sample, array

REDUCE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "add": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "multiply": lambda a, b: a * b,
    "mean": lambda a, b: a + b,
    "amax": np.fmax,
    "amin": np.fmin,
}


def _scattered(
    x: np.ndarray,
    dim: int,
    index: np.ndarray,
    src: Any,
    reduce: str = "",
    include_self: bool = True,
) -> np.ndarray:
    """One place after the other."""
    out = x.copy()
    hits = np.full(x.shape, int(include_self))
    with np.errstate(over="ignore"):
        for at in np.ndindex(*index.shape):
            to = (*at[:dim], index[at], *at[dim + 1 :])
            value = src[at] if isinstance(src, np.ndarray) else src
            fresh = not reduce or hits[to] == 0
            out[to] = value if fresh else REDUCE[reduce](out[to], value)
            hits[to] += 1
    if reduce == "mean":
        result = np.issubdtype(x.dtype, np.integer)
        seen = np.maximum(hits, 1)
        out = np.floor_divide(out, seen).astype(x.dtype) if result else out / seen
    return out


def _positions(*shape: int, size: int, seed: int = 5) -> Array:
    return indices(np.random.default_rng([seed, *shape]).integers(0, size, shape))


def _scatter(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 3, 4)
    rows = np.array([[0, 2, 1, 0], [2, 0, 0, 1]])
    yield Sample((x, 0, indices(rows), array(dtype, 2, 4, seed=1)), {}, "dim 0")
    yield Sample((x, 1, indices([[3, 0], [1, 2]]), array(dtype, 3, 4, seed=2)), {}, "part of src")
    yield Sample((x, 1, indices([[3], [1]]), 1), {}, "a number")
    yield Sample((x, 0, indices(np.zeros((0, 4))), array(dtype, 3, 4)), {}, "nothing")
    last = np.tile(np.arange(7), (60, 1))
    yield Sample((array(dtype, 60, 9), 1, indices(last), array(dtype, 60, 7)), {}, "rows")


def _scatter_word(dtype: str) -> Iterator[Sample]:
    x, index = array(dtype, 3, 4), indices([[0, 2, 1, 0], [2, 0, 0, 1]])
    for word in ("add", "multiply"):
        yield Sample((x, 0, index, array(dtype, 2, 4, seed=1)), {"reduce": word}, word)
        yield Sample((x, 0, index, 2), {"reduce": word}, f"{word} a number")


def _scatter_add(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 5), 0, indices([4, 0, 4, 4]), array(dtype, 4, seed=1)), {}, "1d")
    index = _positions(3, 6, size=4)
    yield Sample(
        (array(dtype, 3, 4), 1, index, array(dtype, 3, 6, seed=2, low=0, high=2)), {}, "2d"
    )


def _scatter_reduce(reductions: tuple[str, ...]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        x, src = array(dtype, 3, 4, low=0), array(dtype, 3, 3, seed=1, low=0)
        index = indices([[0, 3, 0], [1, 1, 1], [2, 3, 2]])
        for word in reductions:
            yield Sample((x, 1, index, src, word), {}, word)
            yield Sample((x, 1, index, src, word), {"include_self": False}, f"{word} alone")

    return samples


def _slices(
    x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str, alpha: float = 1,
    include_self: bool = True,
) -> np.ndarray:  # fmt: skip
    shape = [1] * x.ndim
    shape[dim] = index.size
    positions = np.broadcast_to(index.reshape(shape), src.shape)
    return _scattered(
        x, dim % x.ndim, positions, src * alpha if alpha != 1 else src, reduce, include_self
    )


def _index_add(dtype: str) -> Iterator[Sample]:
    index = indices([2, 0, 2])
    yield Sample((array(dtype, 3, 4), 0, index, array(dtype, 3, 4, seed=1)), {}, "0")
    yield Sample((array(dtype, 4, 3), 1, index, array(dtype, 4, 3, seed=1)), {}, "1")
    yield Sample(
        (array(dtype, 50, 30), 0, _positions(400, size=50), array(dtype, 400, 30)), {}, "large"
    )
    if dtype in NUMBERS:
        yield Sample((array(dtype, 3), 0, index, array(dtype, 3, seed=1)), {"alpha": 2}, "alpha")


def _index_copy(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 4, 3), 0, indices([2, 0]), array(dtype, 2, 3, seed=1)), {}, "0")
    yield Sample((array(dtype, 4, 3), -1, indices([1]), array(dtype, 4, 1, seed=1)), {}, "-1")


def _index_fill(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 4, 3), 0, indices([2, -4]), 1), {}, "0")
    yield Sample((array(dtype, 4, 3), 1, indices(np.zeros(0)), 1), {}, "nothing")


def _index_filled(x: np.ndarray, dim: int, index: np.ndarray, value: float) -> np.ndarray:
    out = x.copy()
    out[(slice(None),) * dim + (index,)] = value
    return out


def _index_reduce(dtype: str) -> Iterator[Sample]:
    x, src = array(dtype, 3, 2, low=0), array(dtype, 4, 2, seed=1, low=0)
    for word in ("prod", "mean", "amax", "amin"):
        yield Sample((x, 0, indices([2, 0, 2, 2]), src, word), {}, word)
        yield Sample(
            (x, 0, indices([2, 0, 2, 2]), src, word), {"include_self": False}, f"{word} alone"
        )


def _put(dtype: str) -> Iterator[Sample]:
    yield Sample(
        (array(dtype, 3, 4), indices([[0, -1], [5, 2]]), array(dtype, 2, 2, seed=1)), {}, "2d"
    )
    yield Sample((array(dtype, 3, 4), indices([3, 3]), array(dtype, 2, seed=1), True), {}, "added")


def _was_put(
    x: np.ndarray, index: np.ndarray, src: np.ndarray, accumulate: bool = False
) -> np.ndarray:
    flat = x.reshape(-1).copy()
    for item, value in zip(index.reshape(-1), src.reshape(-1), strict=True):
        flat[item] = flat[item] + value if accumulate else value
    return flat.reshape(x.shape)


def _masked_fill(dtype: str) -> Iterator[Sample]:
    for mask in ((3, 4), (4,), (3, 1), ()):
        yield Sample((array(dtype, 3, 4), array("bool", *mask, seed=3), 1), {}, str(mask))
    yield Sample((array(dtype, 300, 200), array("bool", 200, seed=3), 1), {}, "large")


def _masked_scatter(dtype: str) -> Iterator[Sample]:
    yield Sample(
        (array(dtype, 3, 4), array("bool", 3, 4, seed=3), array(dtype, 20, seed=1)), {}, "whole"
    )
    yield Sample(
        (array(dtype, 3, 4), array("bool", 4, seed=3), array(dtype, 3, 4, seed=1)), {}, "row"
    )


def _mask_scattered(x: np.ndarray, mask: np.ndarray, src: np.ndarray) -> np.ndarray:
    out, mask = x.copy(), np.broadcast_to(mask, x.shape)
    out[mask] = src.reshape(-1)[: mask.sum()]
    return out


def _parts(dtype: str, *tails: tuple[Any, ...]) -> Iterator[Sample]:
    for shape, *tail in tails:
        yield Sample((array(dtype, 4, 5), array(dtype, *shape, seed=1), *tail), {}, str(tail))


def _replaced(part: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, src: np.ndarray, *tail: Any) -> np.ndarray:
        out = x.copy()
        part(out, *tail)[...] = src
        return out

    return reference


def _diagonal(x: np.ndarray, offset: int = 0) -> np.ndarray:
    seen = x.diagonal(offset)
    seen.flags.writeable = True
    return seen


def _strided(x: np.ndarray, size: Any, stride: Any, offset: int = 0) -> np.ndarray:
    step = x.itemsize
    flat = x.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(flat, size, [s * step for s in stride])


OUTSIDE = Bad(
    lambda m: m.zeros(3).scatter(0, m.tensor([0, 3]), m.ones(2)),
    RuntimeError,
    "index 3 is out of bounds for dimension 0 with size 3",
)
NEGATIVE = Bad(
    lambda m: m.zeros(3).scatter_add_(0, m.tensor([-1]), m.ones(1)),
    RuntimeError,
    "index -1 is out of bounds for dimension 0 with size 3",
)
SRC_DTYPE = Bad(
    lambda m: m.zeros(3).scatter(0, m.tensor([0]), m.ones(1, dtype=m.float64)),
    RuntimeError,
    "Expected self.dtype to be equal to src.dtype",
)
WORD = Bad(
    lambda m: m.zeros(3).scatter_reduce(0, m.tensor([0]), m.ones(1), "median"),
    RuntimeError,
    "reduce argument must be",
)
SLICES = Bad(
    lambda m: m.zeros(3, 2).index_add(0, m.tensor([0, 1]), m.ones(2, 3)),
    RuntimeError,
    "source tensor shape must match self tensor shape",
)
COUNT = Bad(
    lambda m: m.zeros(3).index_copy(0, m.tensor([0, 1]), m.ones(3)),
    IndexError,
    r"Number of indices \(2\) should be equal to source.size\(dim\)",
)
FEW = Bad(
    lambda m: m.zeros(3).masked_scatter(m.tensor([True, True, False]), m.ones(1)),
    RuntimeError,
    "Number of elements of source < number of ones in mask",
)
MASK = Bad(
    lambda m: m.zeros(3).masked_fill(m.tensor([1, 0, 1]), 1),
    RuntimeError,
    "only supports boolean masks",
)
PART = Bad(
    lambda m: m.zeros(3, 2).select_scatter(m.ones(3), 0, 1),
    RuntimeError,
    "expected src to have a size equal to the slice of self",
)
ALL_WORDS = ("sum", "prod", "mean", "amax", "amin")

ROWS = [
    Row("scatter", _scattered, _scatter, ALL, inplace=True, out=True, bad=(OUTSIDE, SRC_DTYPE)),
    Row("scatter", _scattered, _scatter_word, NUMBERS, inplace=True, out=True),
    Row("scatter_add", lambda *a: _scattered(*a, "sum"), _scatter_add, NUMBERS, inplace=True, out=True, bad=(NEGATIVE,)),
    Row("scatter_reduce", _scattered, _scatter_reduce(ALL_WORDS), FLOATS, inplace=True, out=True, bad=(WORD,)),
    Row("scatter_reduce", _scattered, _scatter_reduce(("sum", "mean", "amax", "amin")), INTS, inplace=True, out=True),
    Row("index_add", lambda *a, **k: _slices(*a, "sum", **k), _index_add, NUMBERS, inplace=True, out=True, bad=(SLICES,)),
    Row("index_copy", lambda *a: _slices(*a, ""), _index_copy, ALL, inplace=True, out=True, bad=(COUNT,)),
    Row("index_fill", _index_filled, _index_fill, ALL, inplace=True, out=True),
    Row("index_reduce", _slices, _index_reduce, FLOATS, inplace=True, out=True),
    Row("put", _was_put, _put, NUMBERS, method=True, inplace=True),
    Row("masked_fill", lambda x, m, v: np.where(m, np.asarray(v, x.dtype), x), _masked_fill, ALL, inplace=True, bad=(MASK,)),
    Row("masked_scatter", _mask_scattered, _masked_scatter, ALL, inplace=True, bad=(FEW,)),
    Row("select_scatter", _replaced(lambda x, d, i: np.moveaxis(x, d, 0)[i]),
        lambda t: _parts(t, ((5,), 0, 2), ((4,), -1, -1)), ALL, out=True, bad=(PART,)),
    Row("slice_scatter", _replaced(lambda x, d, a, b, s=1: np.moveaxis(np.moveaxis(x, d, 0)[a:b:s], 0, d)),
        lambda t: _parts(t, ((2, 5), 0, 1, 3), ((4, 3), 1, 0, 5, 2)), ALL, out=True),
    Row("diagonal_scatter", _replaced(_diagonal), lambda t: _parts(t, ((4,),), ((3,), 2)), ALL, out=True),
    Row("as_strided_scatter", _replaced(_strided),
        lambda t: _parts(t, ((3,), (3,), (6,)), ((2, 2), (2, 2), (5, 1), 3)), ALL, out=True),
]  # fmt: skip
