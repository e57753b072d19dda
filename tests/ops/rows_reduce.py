"""Reductions: every layout that the fold treats differently, every kind of dim argument."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import ALL, FLOATS, NUMBERS, Bad, Row, Sample, array

LAYOUTS: list[tuple[tuple[int, ...], Any]] = [
    ((), None), ((7,), None), ((7,), 0), ((3, 4), 0), ((3, 4), 1), ((3, 4), -2), ((2, 3, 4), (0, 2)),
    ((2, 3, 4), 1), ((2, 3, 4), (0, 1, 2)), ((130, 70), 0), ((70, 130), 1), ((5, 1, 6), 1), ((3000,), None),
]  # fmt: skip


def samples(
    empty: bool = True, several: bool = True, high: float = 4, max_numel: int = 10**6
) -> Callable[[str], Iterator[Sample]]:
    def make(dtype: str) -> Iterator[Sample]:
        layouts = LAYOUTS + ([((0, 3), 0), ((0, 3), 1), ((0,), None)] if empty else [])
        for shape, dim in layouts:
            if (isinstance(dim, tuple) and not several) or np.prod(shape, dtype=int) > max_numel:
                continue
            x = array(dtype, *shape, high=high)
            for keepdim in (False, True):
                if dim is None and keepdim:
                    continue
                kwargs = {} if dim is None else {"dim": dim, "keepdim": keepdim}
                yield Sample((x,), kwargs, f"{shape}{dim}{'k' if keepdim else ''}")

    return make


def reference(f: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
        return f(x, axis=dim, keepdims=keepdim)

    return call


def _add(x: np.ndarray, axis: Any, keepdims: bool) -> Any:
    return np.sum(
        x, axis=axis, keepdims=keepdims, dtype=np.int64 if x.dtype.kind in "biu" else None
    )


def _multiply(x: np.ndarray, axis: Any, keepdims: bool) -> Any:
    return np.prod(
        x, axis=axis, keepdims=keepdims, dtype=np.int64 if x.dtype.kind in "biu" else None
    )


def _mean(x: np.ndarray, axis: Any, keepdims: bool) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns about the mean of nothing
        return np.mean(x, axis=axis, keepdims=keepdims)


def _along(name: str, arg: str) -> Callable[..., Any]:
    def call(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        f, g = getattr(np, name), getattr(np, arg)
        if x.ndim == 0:
            return x, np.int64(0)
        return f(x, axis=dim, keepdims=keepdim), g(x, axis=dim, keepdims=keepdim)

    return call


def _pairs(dtype: str) -> Iterator[Sample]:
    return (s for s in samples(empty=False, several=False)(dtype) if "dim" in s.kwargs)


def _plain(dtype: str) -> Iterator[Sample]:
    return (s for s in samples(empty=False)(dtype) if "dim" not in s.kwargs)


RANGE = Bad(
    lambda m: m.ones(2, 3).sum(2), IndexError, r"(?i)dimension out of range.*\[-2, 1\], but got 2"
)
TWICE = Bad(lambda m: m.ones(2, 3).sum((0, 0)), RuntimeError, "dim 0 appears multiple times")
INT_MEAN = Bad(lambda m: m.ones(2, dtype=m.int64).mean(), RuntimeError, "Got: Long")
EMPTY_MAX = Bad(
    lambda m: m.ones(0).max(), RuntimeError, r"max\(\): Expected reduction dim to be specified"
)
EMPTY_DIM = Bad(
    lambda m: m.ones(0, 2).max(0),
    IndexError,
    r"max\(\): Expected reduction dim 0 to have non-zero size",
)
EMPTY_AMAX = Bad(
    lambda m: m.ones(0, 2).amax(0),
    IndexError,
    r"amax\(\): Expected reduction dim 0 to have non-zero",
)
EMPTY_ARGMAX = Bad(
    lambda m: m.ones(0).argmax(), IndexError, r"argmax\(\): Expected reduction dim to be specified"
)
BOOL_ARGMAX = Bad(
    lambda m: m.tensor([True]).argmax(), RuntimeError, r"argmax\(\): does not support bool input"
)


def _hash(x: np.ndarray, axis: Any, keepdims: bool) -> Any:
    bits = x.astype(np.float64).view(np.int64) if x.dtype.kind == "f" else x.astype(np.int64)
    return np.bitwise_xor.reduce(bits, axis=axis, keepdims=keepdims)


ROWS = [
    Row("sum", reference(_add), samples(), ALL, "sum", out=True, bad=(RANGE, TWICE)),
    Row("mean", reference(_mean), samples(), FLOATS, out=True, bad=(INT_MEAN,)),
    Row("prod", reference(_multiply), samples(several=False, high=1, max_numel=200), ALL, "sum"),
    Row("amax", reference(np.max), samples(empty=False), ALL, out=True, bad=(EMPTY_AMAX,)),
    Row("amin", reference(np.min), samples(empty=False), ALL, out=True),
    Row("argmax", reference(np.argmax), samples(empty=False, several=False), NUMBERS, "int64", out=True,
        bad=(EMPTY_ARGMAX, BOOL_ARGMAX)),
    Row("argmin", reference(np.argmin), samples(empty=False, several=False), NUMBERS, "int64", out=True),
    Row("all", reference(np.all), samples(), [d for d in ALL if d != "uint8"], "bool", out=True),
    Row("any", reference(np.any), samples(), [d for d in ALL if d != "uint8"], "bool", out=True),
    Row("hash_tensor", reference(_hash), samples(empty=False), ALL, "int64", out=True, torch=False),
    Row("max", np.max, _plain, ALL, bad=(EMPTY_MAX, EMPTY_DIM)),
    Row("min", np.min, _plain, ALL),
    Row("max", _along("max", "argmax"), _pairs, ALL, "values and int64"),
    Row("min", _along("min", "argmin"), _pairs, ALL, "values and int64"),
]  # fmt: skip
