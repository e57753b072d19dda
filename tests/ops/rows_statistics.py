"""Moments, norms, scans, order statistics and histograms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import ALL, FLOATS, INTS, NUMBERS, Bad, Row, Sample, array

WIDE = ("float32", "float64")
SHAPES: list[tuple[tuple[int, ...], Any]] = [
    ((7,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((2, 3, 4), -1), ((130, 70), 0), ((70, 130), 1), ((3000,), 0),
]  # fmt: skip


def along(
    *more: Any, several: bool = False, none: bool = False, **options: Any
) -> Callable[..., Any]:
    """Samples that take one dimension (or several, or none) and further arguments."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shape, dim in SHAPES:
            yield Sample((array(dtype, *shape), *more, dim), options, f"{shape}{dim}")
        if several:
            yield Sample((array(dtype, 2, 3, 4), *more, (0, 2)), options, "two")
        if none:
            yield Sample((array(dtype, 3, 4), *more), options, "all")

    return samples


def keeping(samples: Callable[[str], Iterator[Sample]]) -> Callable[[str], Iterator[Sample]]:
    def both(dtype: str) -> Iterator[Sample]:
        for s in samples(dtype):
            yield s
            if len(s.args) > 1:
                yield Sample(s.args, {**s.kwargs, "keepdim": True}, f"{s.name}k")

    return both


def _moment(f: Callable[..., Any], several: bool = False) -> Callable[..., Any]:
    def call(
        x: np.ndarray, dim: Any = None, *, correction: float = 1, keepdim: bool = False
    ) -> Any:
        result = f(x, axis=dim, ddof=correction, keepdims=keepdim)
        return (result, np.mean(x, axis=dim, keepdims=keepdim)) if several else result

    return call


def _moments(dtype: str) -> Iterator[Sample]:
    for correction in (0, 1):
        for s in keeping(along(several=True, none=True))(dtype):
            yield Sample(s.args, {**s.kwargs, "correction": correction}, f"{s.name}{correction}")


def _norm(x: np.ndarray, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Any:
    size = np.abs(x)
    if ord == 0:
        return np.sum(x != 0, axis=dim, keepdims=keepdim).astype(np.float64)
    if math.isinf(ord):
        return (np.max if ord > 0 else np.min)(size, axis=dim, keepdims=keepdim)
    return np.sum(size**ord, axis=dim, keepdims=keepdim) ** (1 / ord)


def _norms(dtype: str) -> Iterator[Sample]:
    for ord in (2, 1, 0, math.inf, -math.inf, 3):
        for s in along(ord, several=True, none=True)(dtype):
            yield Sample(s.args, s.kwargs, f"{s.name} {ord}")


def _matrix_norm(x: np.ndarray, ord: Any, dim: Any = (-2, -1)) -> Any:
    return np.linalg.norm(x, ord, axis=dim)


def _matrices(dtype: str) -> Iterator[Sample]:
    for ord in ("fro", 1, -1, math.inf, -math.inf):
        yield Sample((array(dtype, 3, 4), ord), {}, f"{ord}")
        yield Sample((array(dtype, 2, 3, 4), ord, (0, 2)), {}, f"{ord} apart")


def _sums(x: np.ndarray, dim: int) -> Any:
    return np.cumsum(x, dim, dtype=np.int64 if x.dtype.kind in "biu" else None)


def _products(dtype: str) -> Iterator[Sample]:
    for shape, dim in (((7,), 0), ((3, 4), 0), ((3, 9), 1), ((2, 3, 4), 1)):
        yield Sample((array(dtype, *shape, low=-2, high=2), dim), {}, f"{shape}{dim}")


def _running(name: str) -> Callable[..., Any]:
    def call(x: np.ndarray, dim: int) -> Any:
        values = getattr(np, name).accumulate(x, dim)
        index = np.arange(x.shape[dim]).reshape(
            [-1 if d == dim % x.ndim else 1 for d in range(x.ndim)]
        )
        # the last place so far at which the best value stands
        return values, np.maximum.accumulate(np.where(x == values, index, 0), dim)

    return call


def _log_sums(x: np.ndarray, dim: int) -> Any:
    return np.logaddexp.accumulate(x, dim)


def _log_sum(x: np.ndarray, dim: Any, keepdim: bool = False) -> Any:
    return np.log(np.sum(np.exp(x), axis=dim, keepdims=keepdim))


def _count(x: np.ndarray, dim: Any = None) -> Any:
    return np.count_nonzero(x, axis=dim)


def _diffs(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 4, 6)
    yield Sample((x,), {}, "last")
    yield Sample((x, 2, 0), {}, "twice")
    yield Sample((x, 1, 1, array(dtype, 4, 2, seed=1), array(dtype, 4, 1, seed=2)), {}, "joined")


def _diff(x: np.ndarray, n: int = 1, dim: int = -1, *ends: Any) -> Any:
    before, after = ends or (None, None)
    joined = [part for part in (before, x, after) if part is not None]
    return np.diff(np.concatenate(joined, dim), n, dim)


def _curves(dtype: str) -> Iterator[Sample]:
    y = array(dtype, 3, 5)
    yield Sample((y,), {}, "steps")
    yield Sample((y, array(dtype, 5, seed=1)), {}, "points")
    yield Sample((y,), {"dx": 0.5, "dim": 0}, "dx")


def _area(y: np.ndarray, x: Any = None, dx: float = 1, dim: int = -1) -> Any:
    y = np.moveaxis(y, dim, -1)
    steps = dx if x is None else np.diff(x)
    return np.sum((y[..., 1:] + y[..., :-1]) * steps, -1) / 2


def _areas(y: np.ndarray, x: Any = None, dx: float = 1, dim: int = -1) -> Any:
    y = np.moveaxis(y, dim, -1)
    steps = dx if x is None else np.diff(x)
    return np.moveaxis(np.cumsum((y[..., 1:] + y[..., :-1]) * steps, -1) / 2, -1, dim)


def _middle(x: np.ndarray, rank: Callable[[int], int]) -> Callable[[int], Any]:
    def call(dim: int, keepdim: bool = False) -> Any:
        order = np.sort(x, axis=dim)
        value = np.take(order, [rank(x.shape[dim])], axis=dim)
        index = np.argmax(x == value, axis=dim)
        return (value if keepdim else value.squeeze(dim)), (
            np.expand_dims(index, dim) if keepdim else index
        )

    return call


def _median(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return np.sort(x, axis=None)[(x.size - 1) // 2]
    return _middle(x, lambda n: (n - 1) // 2)(dim, keepdim)


def distinct(dtype: str, *shape: int) -> Any:
    """Values that differ, so that an order statistic has one place."""
    x = array(dtype, *shape)
    x.values[...] = np.random.default_rng(5).permutation(x.values.size).reshape(shape)
    return x


def _orders(*more: Any) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for shape, dim in (((9,), 0), ((4, 5), 0), ((4, 6), 1), ((2, 3, 4), 1)):
            yield Sample((distinct(dtype, *shape), *more, dim), {}, f"{shape}{dim}")
            yield Sample((distinct(dtype, *shape), *more, dim, True), {}, f"{shape}{dim}k")

    return samples


def _kth(x: np.ndarray, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return _middle(x, lambda _: k - 1)(dim, keepdim)


def _modes(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Any:
    def mode_of(line: np.ndarray) -> np.ndarray:
        values, counts = np.unique(line, return_counts=True)
        best = values[np.argmax(counts)]
        return np.array([best, np.flatnonzero(line == best)[-1]])

    result = np.apply_along_axis(mode_of, dim, x)
    value, index = np.take(result, [0], dim), np.take(result, [1], dim).astype(np.int64)
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


def _quantiles(dtype: str) -> Iterator[Sample]:
    for way in ("linear", "lower", "higher", "midpoint", "nearest"):
        yield Sample((array(dtype, 4, 7), 0.25), {"interpolation": way}, way)
        yield Sample((array(dtype, 5, 6), 0.5, 1), {"interpolation": way}, f"{way} 1")
        yield Sample((array(dtype, 5, 6), 0.75, 0, True), {"interpolation": way}, f"{way} 0k")


def _quantile(
    x: np.ndarray, q: float, dim: Any = None, keepdim: bool = False, *, interpolation: str
) -> Any:
    return np.quantile(x, q, axis=dim, keepdims=keepdim, method=interpolation)


def _bins(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 300), 10, -3, 3), {}, "range")
    yield Sample((array(dtype, 20, 20), 5), {}, "own range")


def _histc(x: np.ndarray, bins: int, min: float = 0, max: float = 0) -> Any:
    ends = (min, max) if min != max else (x.min(), x.max())
    return np.histogram(x, bins, ends)[0].astype(np.float64)


def _tables(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 20),), {}, "matrix")
    yield Sample((array(dtype, 9),), {}, "row")


def _distances(dtype: str) -> Iterator[Sample]:
    for p in (2, 1, math.inf):
        yield Sample((array(dtype, 3, 4), array(dtype, 4, seed=1), p), {}, str(p))


def _shrink(x: np.ndarray, p: float, dim: int, max_norm: float) -> Any:
    remainder = tuple(d for d in range(x.ndim) if d != dim)
    size = _norm(x, p, remainder, True)
    return x * np.where(size > max_norm, max_norm / (size + 1e-7), 1)


def _renorms(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4), 2, 0, 3.0), {}, "rows")
    yield Sample((array(dtype, 3, 4, 2), 1, 1, 5.0), {}, "middle")


def _ends(x: np.ndarray, dim: Any = None) -> Any:
    return np.min(x, axis=dim), np.max(x, axis=dim)


def _end_samples(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 5, 6),), {}, "all")
    yield Sample((array(dtype, 5, 6),), {"dim": 1}, "1")


INT_VAR = Bad(lambda m: m.ones(3, dtype=m.int64).var(), RuntimeError, "floating point and complex")
INT_NORM = Bad(lambda m: m.linalg.vector_norm(m.ones(3, dtype=m.int64)), RuntimeError, "Got Long")
EMPTY_NORM = Bad(lambda m: m.linalg.vector_norm(m.ones(0), math.inf), RuntimeError, "identity")
NO_ORDER = Bad(
    lambda m: m.linalg.matrix_norm(m.ones(2, 2), 3), RuntimeError, "Order 3 not supported"
)
SUM_RANGE = Bad(lambda m: m.ones(3).cumsum(1), IndexError, "(?i)dimension out of range")
NUMBER_DIFF = Bad(lambda m: m.diff(m.tensor(1)), RuntimeError, "at least one-dimensional")
POINTS = Bad(lambda m: m.trapezoid(m.ones(3), m.ones(2)), RuntimeError, "one `x` value")
BOOL_MEDIAN = Bad(lambda m: m.tensor([True]).median(), NotImplementedError, "'Bool'")
NO_K = Bad(lambda m: m.ones(3).kthvalue(4), RuntimeError, "out of range")
BAD_Q = Bad(lambda m: m.ones(3).quantile(2.0), RuntimeError, r"range \[0, 1\]")
NO_BINS = Bad(lambda m: m.ones(3).histc(0), RuntimeError, "bins must be > 0")
DIMS = Bad(lambda m: m.cov(m.ones(2, 2, 2)), RuntimeError, "two or fewer dimensions")

PAIR = "values and int64"
ROWS = [
    Row("var", _moment(np.var), _moments, FLOATS, out=True, bad=(INT_VAR,)),
    Row("std", _moment(np.std), _moments, FLOATS, out=True),
    Row("var_mean", _moment(np.var, True), _moments, WIDE, method=False),
    Row("std_mean", _moment(np.std, True), _moments, WIDE, method=False),
    Row("cov", np.cov, _tables, WIDE, bad=(DIMS,)),
    Row("corrcoef", np.corrcoef, _tables, WIDE),
    Row("norm", _norm, _norms, WIDE),
    Row("linalg.vector_norm", _norm, _norms, FLOATS, bad=(INT_NORM, EMPTY_NORM)),
    Row("linalg.matrix_norm", _matrix_norm, _matrices, WIDE, bad=(NO_ORDER,)),
    Row("linalg.norm", _matrix_norm, _matrices, WIDE),
    Row("dist", lambda x, y, p: _norm(x - y, p), _distances, WIDE),
    Row("renorm", _shrink, _renorms, WIDE, inplace=True),
    Row("aminmax", _ends, _end_samples, ALL),
    Row("count_nonzero", _count, along(several=True, none=True), ALL, "int64"),
    Row("nansum", lambda x, dim=None: np.nansum(x, axis=dim), along(several=True, none=True), FLOATS),
    Row("nanmean", lambda x, dim=None: np.nanmean(x, axis=dim), along(several=True, none=True), FLOATS),
    Row("logsumexp", _log_sum, keeping(along(several=True)), FLOATS, out=True),
    Row("special.logsumexp", _log_sum, along(), WIDE),
    Row("cumsum", _sums, along(), ALL, "sum", out=True, bad=(SUM_RANGE,)),
    Row("cumprod", np.cumprod, _products, WIDE, out=True),
    Row("cummax", _running("maximum"), along(), NUMBERS, PAIR),
    Row("cummin", _running("minimum"), along(), NUMBERS, PAIR),
    Row("logcumsumexp", _log_sums, along(), WIDE, out=True),
    Row("diff", _diff, _diffs, INTS + FLOATS, bad=(NUMBER_DIFF,)),
    Row("trapezoid", _area, _curves, WIDE, bad=(POINTS,)),
    Row("trapz", _area, _curves, WIDE),
    Row("cumulative_trapezoid", _areas, _curves, WIDE),
    Row("median", _median, _orders(), NUMBERS, PAIR, bad=(BOOL_MEDIAN,)),
    Row("nanmedian", _median, _orders(), NUMBERS, PAIR),
    Row("kthvalue", _kth, _orders(2), NUMBERS, PAIR, bad=(NO_K,)),
    Row("mode", _modes, along(), NUMBERS, PAIR, torch=False),
    Row("quantile", _quantile, _quantiles, WIDE, bad=(BAD_Q,)),
    Row("nanquantile", _quantile, _quantiles, WIDE),
    Row("histc", _histc, _bins, WIDE, bad=(NO_BINS,)),
    Row("histogram", lambda x, bins: np.histogram(x, bins),
        lambda dtype: iter([Sample((array(dtype, 200), 7), {}, "even")]), WIDE),
    Row("frobenius_norm", lambda x, dim: _norm(x, 2, dim), along(), WIDE),
    Row("nuclear_norm", lambda x: np.linalg.norm(x, "nuc"),
        lambda dtype: iter([Sample((array(dtype, 3, 4),), {}, "matrix")]), WIDE),
]  # fmt: skip
