"""Copies of views, sizes taken from elsewhere, and vectors that follow from their indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_arrange import windows
from rows_complex import from_pairs, to_pairs
from rows_views import calls, chunks, like, of_sizes, pieces
from table import ALL, COMPLEX, FLOATS, INTS, Bad, Row, Sample, array

OUTSIDE = Bad(lambda m: m.unsqueeze_copy(m.ones(2), 4), IndexError, "out of range")
UNEQUAL = Bad(lambda m: m.view_copy(m.ones(3), (2,)), RuntimeError, "shape|size")
LARGER = Bad(lambda m: m.ones(2).sum_to_size(3), RuntimeError, "not expandable")
FLAT = Bad(lambda m: m.ones(2).fill_diagonal_(1), RuntimeError, "larger than 1")
ODD = Bad(lambda m: m.ones(2, 3, 2).fill_diagonal_(1), RuntimeError, "equal length")
BELOW = Bad(lambda m: m.hann_window(-1), RuntimeError, "non-negative")
WHOLE = Bad(lambda m: m.hann_window(3, dtype=m.int64), RuntimeError, "floating")
STEPS = Bad(lambda m: m.logspace(0, 1, -1), RuntimeError, "non-negative")
SQUARE = Bad(lambda m: m.vander(m.ones(2, 2)), RuntimeError, "one-dimensional")
MANY = Bad(lambda m: m.empty_permuted((2, 3), (0,)), RuntimeError, "does not match")
TWICE = Bad(lambda m: m.empty_permuted((2, 3), (0, 0)), RuntimeError, "Duplicate")
CHUNKS = Bad(lambda m: m.ones(3).unsafe_chunk(0), RuntimeError, "chunk")


def _diagonal_filled(x: np.ndarray, value: float, wrap: bool = False) -> np.ndarray:
    out = x.copy()
    np.fill_diagonal(out, value, wrap)
    return out


def _slices(x: np.ndarray, dim: int = 0) -> list[np.ndarray]:
    return list(np.moveaxis(x, dim, 0))


def _summed(x: np.ndarray, *size: int) -> np.ndarray:
    out = x.sum(tuple(range(x.ndim - len(size))))
    return out.sum(tuple(d for d, n in enumerate(size) if n == 1), keepdims=True).reshape(size)


def window(shape: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return a reference from NumPy's windows, which are the ones that are not periodic."""

    def reference(n: int, periodic: bool = True, *more: float, dtype: Any = None) -> np.ndarray:
        return shape(n + 1, *more)[:n] if periodic and n > 1 else shape(n, *more)

    return reference


def lengths(*more: tuple[float, ...]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for arguments in (
            (0,),
            (1,),
            (2,),
            (7,),
            (6, False),
            *((5, True, *remainder) for remainder in more),
        ):
            yield Sample(arguments, {}, str(arguments))

    return samples


def _hamming(n: int, alpha: float = 0.54, beta: float = 0.46) -> np.ndarray:
    return alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1)) if n > 1 else np.ones(n)


def _kaiser(n: int, beta: float = 12.0) -> np.ndarray:
    return np.kaiser(n, beta)


def _vander(x: np.ndarray, n: int | None = None, increasing: bool = False) -> np.ndarray:
    return np.vander(x.astype(np.int64) if x.dtype.kind in "biu" else x, n, increasing)


def numbers(*cases: tuple[Any, ...]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for item in cases:
            yield Sample(item, {}, str(item))

    return samples


def square(dtype: str) -> Iterator[Sample]:
    for shape, more in (((3, 3), (1,)), ((7, 3), (1, True)), ((7, 3), (1,)), ((2, 2, 2), (1,))):
        yield Sample((array(dtype, *shape), *more), {}, f"{shape} {more}")


SINGLE = ("float32",)
COPIES = [
    Row("alias_copy", lambda x: x, calls(()), ALL, out=True),
    Row("detach_copy", lambda x: x, calls(()), ALL, out=True),
    Row("view_copy", np.reshape, calls(((6, 4),), ((-1,),)), ALL, out=True, bad=(UNEQUAL,)),
    Row("as_strided_copy", lambda x, size, stride, first=0: np.lib.stride_tricks.as_strided(
        x.ravel()[first:], size, [s * x.itemsize for s in stride]),
        calls(((2, 3), (1, 2)), ((3,), (4,), 5)), ALL, out=True),
    Row("diagonal_copy", np.diagonal, calls((), (1,), (-1, 2, 1)), ALL, out=True),
    Row("expand_copy", np.broadcast_to, calls(((2, 2, 3, 4),)), ALL, out=True),
    Row("permute_copy", np.transpose, calls(((2, 0, 1),)), ALL, out=True),
    Row("transpose_copy", np.swapaxes, calls((0, 2), (-1, 1)), ALL, out=True),
    Row("t_copy", np.transpose, calls((), shape=(2, 3)), ALL, out=True),
    Row("squeeze_copy", np.squeeze, calls((), (0,), shape=(1, 3, 1)), ALL, out=True),
    Row("unsqueeze_copy", np.expand_dims, calls((0,), (-1,)), ALL, out=True, bad=(OUTSIDE,)),
    Row("select_copy", lambda x, dim, i: np.take(x, i, dim), calls((0, 1), (2, -1)), ALL, out=True),
    Row("slice_copy", lambda x, dim, a, b, step=1: x[(slice(None),) * dim + (slice(a, b, step),)],
        calls((0, 1, 2), (2, 0, 4, 3)), ALL, out=True),
    Row("unfold_copy", windows, calls((2, 2, 1), (2, 3, 2)), ALL, out=True),
    Row("view_as_real_copy", to_pairs, calls(()), COMPLEX, "real", out=True),
    Row("view_as_complex_copy", from_pairs, calls((), shape=(3, 2)), ("float32", "float64"),
        "to complex", out=True),
    Row("unbind_copy", _slices, calls((), (2,)), ALL),
    Row("split_copy", pieces, calls((1,), (3, 2)), ALL),
    Row("split_with_sizes_copy", of_sizes, calls(([1, 1],), ([1, 0, 3], 2)), ALL),
    Row("unsafe_split", pieces, calls((1,), (3, 2)), ALL),
    Row("unsafe_split_with_sizes", of_sizes, calls(([1, 1],), ([1, 0, 3], 2)), ALL),
    Row("unsafe_chunk", chunks, calls((2,), (3, 2)), ALL, bad=(CHUNKS,)),
]  # fmt: skip
ROWS = [
    *COPIES,
    Row("sum_to_size", _summed, calls((3, 4), (3, 1), (4,), (2, 1, 4)), INTS + FLOATS, "sum",
        method=True, bad=(LARGER,)),
    Row("reshape_as", lambda x, y: x.reshape(y.shape), like(((2, 3), (3, 2)), ((4,), (2, 2))), ALL,
        method=True, torch=False),
    Row("resize_as_", lambda x, y: x.ravel()[: y.size].reshape(y.shape),
        like(((2, 3), (3, 2)), ((4,), (1, 2))), ALL, method=True, torch=False),
    Row("fill_diagonal_", _diagonal_filled, square, ALL, method=True, bad=(FLAT, ODD)),
    Row("linalg.diagonal", lambda x: np.diagonal(x, axis1=-2, axis2=-1), calls(()), ALL, view=True),
    Row("hann_window", window(lambda n: _hamming(n, 0.5, 0.5)), lengths(), SINGLE, bad=(BELOW, WHOLE)),
    Row("hamming_window", window(_hamming), lengths((0.6,), (0.6, 0.4)), SINGLE),
    Row("bartlett_window", window(np.bartlett), lengths(), SINGLE),
    Row("blackman_window", window(np.blackman), lengths(), SINGLE),
    Row("kaiser_window", window(_kaiser), lengths((3.0,), (0.0,)), SINGLE),
    Row("logspace", lambda a, b, n, base=10.0: np.logspace(a, b, n, base=base),
        numbers((0, 2, 5), (1.5, -1.0, 4, 2.0), (1, 1, 1), (0, 1, 0)), SINGLE, bad=(STEPS,)),
    Row("vander", _vander, calls((), (2,), (3, True), (0,), shape=(4,)),
        (*INTS, "float32", "float64"), "sum", bad=(SQUARE,)),
    Row("unravel_index", lambda x, shape: list(np.unravel_index(x, shape)),
        lambda dtype: iter([Sample((array(dtype, 5, low=0, high=5), (2, 3)), {}, "2x3")]), ("int64",)),
    Row("gradient", lambda x: np.gradient(x) if x.ndim > 1 else [np.gradient(x)],
        lambda dtype: iter([Sample((array(dtype, *s),), {}, str(s)) for s in ((4,), (3, 4))]),
        ("float32", "float64")),
]  # fmt: skip
