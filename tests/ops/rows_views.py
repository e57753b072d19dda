"""Views that need no more than a line of NumPy, and tensors joined from several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from table import ALL, Bad, Row, Sample, array


def calls(
    *cases: tuple[Any, ...], shape: tuple[int, ...] = (2, 3, 4)
) -> Callable[[str], Iterator[Sample]]:
    """Yield the operator on a tensor of one shape, once for every tuple of further arguments."""

    def samples(dtype: str) -> Iterator[Sample]:
        for more in cases:
            yield Sample((array(dtype, *shape), *more), {}, str(more))

    return samples


def like(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for own, other in shapes:
            yield Sample((array(dtype, *own), array(dtype, *other)), {}, f"{own} {other}")

    return samples


def several(*shapes: tuple[int, ...]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        yield Sample(tuple(array(dtype, *s, seed=i) for i, s in enumerate(shapes)), {}, str(shapes))

    return samples


def pieces(x: np.ndarray, size: int, dim: int = 0) -> list[np.ndarray]:
    return np.split(x, range(size, x.shape[dim], size), dim)


def chunks(x: np.ndarray, count: int, dim: int = 0) -> list[np.ndarray]:
    return pieces(x, -(-x.shape[dim] // count), dim)


def of_sizes(x: np.ndarray, sizes: list[int], dim: int = 0) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes)[:-1], dim)


def _unflatten(x: np.ndarray, dim: int, sizes: tuple[int, ...]) -> np.ndarray:
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def _block_diag(*arrays: np.ndarray) -> np.ndarray:
    blocks = [np.atleast_2d(x) for x in arrays]
    out = np.zeros(np.sum([b.shape for b in blocks], 0), blocks[0].dtype)
    row = column = 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return out


SIZES = Bad(lambda m: m.ones(4).split_with_sizes((1, 2)), RuntimeError, "split_with_sizes")
PIECES = Bad(lambda m: m.ones(4).chunk(0), RuntimeError, "chunk")
UNEVEN = Bad(lambda m: m.ones(4).unflatten(0, (3, 2)), RuntimeError, "invalid for input of size")

FLAT = (((3, 4), (3, 4)), ((2, 1, 3), (2, 3)), ((0, 2), (0,)))
WIDE = (((3, 1), (2, 3, 4)), ((), (2,)))

ROWS = [
    Row("detach", lambda x: x, calls(()), ALL, view=True),
    Row("swapaxes", np.swapaxes, calls((0, 2), (-1, 1)), ALL, view=True),
    Row("swapdims", np.swapaxes, calls((0, 2), (-1, 1)), ALL, view=True),
    Row("moveaxis", np.moveaxis, calls((0, 2), ((0, 1), (-1, 0))), ALL, view=True),
    Row("unflatten", _unflatten, calls((2, (2, 2)), (-1, (4, 1))), ALL, view=True, bad=(UNEVEN,)),
    Row("ravel", np.ravel, calls(()), ALL),
    Row("chunk", chunks, calls((2,), (2, 1), (3, -1), (5, 2)), ALL, bad=(PIECES,)),
    Row("split_with_sizes", of_sizes, calls(([1, 1],), ([1, 0, 3], -1)), ALL, bad=(SIZES,)),
    Row("expand_as", lambda x, y: np.broadcast_to(x, y.shape), like(*WIDE), ALL, method=True),
    Row("view_as", lambda x, y: x.reshape(y.shape), like(*FLAT), ALL, method=True, torch=False),
    Row("cartesian_prod", lambda *x: np.array(list(product(*x)), x[0].dtype), several((2,), (3,), (2,)), ALL),
    Row("block_diag", _block_diag, several((2, 3), (2,), (1, 2), ()), ALL),
]  # fmt: skip
