"""Copies, creation from another tensor, joins, and the views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_views import pieces
from table import Bad, Row, Sample, array


def unary(
    *cases: tuple[tuple[int, ...], tuple[Any, ...]],
) -> Callable[[str], Iterator[Sample]]:
    """Samples with one tensor of a shape and further arguments."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shape, remainder in cases:
            yield Sample((array(dtype, *shape), *remainder), {}, f"{shape}{remainder}")

    return samples


def lists(*cases: tuple[tuple[tuple[int, ...], ...], int]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for shapes, dim in cases:
            parts = [array(dtype, *shape, seed=i) for i, shape in enumerate(shapes)]
            yield Sample((parts, dim), {}, f"{shapes}{dim}")

    return samples


PLAIN = unary(((), ()), ((3, 4), ()), ((0, 2), ()), ((2, 3, 4), ()))


def _cat(parts: list[np.ndarray], dim: int) -> np.ndarray:
    return np.concatenate([p for p in parts if p.shape != (0,)] or parts, dim)


def windows(x: np.ndarray, dim: int, size: int, step: int) -> np.ndarray:
    result = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return result[(slice(None),) * dim + (slice(None, None, step),)]


def _masked_fill(x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    return np.where(mask, np.asarray(value).astype(x.dtype), x)


def _masks(dtype: str) -> Iterator[Sample]:
    for a, b in (
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((4,), (3, 1)),
        ((0, 2), (2,)),
        ((100,), (100,)),
    ):
        yield Sample((array(dtype, *a), array("bool", *b, seed=3), 1), {}, f"{a}{b}")


EMPTY_LIST = Bad(
    lambda m: m.cat([]), (ValueError, RuntimeError), "expected a non-empty list of Tensors"
)  # type: ignore[arg-type]
SIZES = Bad(
    lambda m: m.cat([m.ones(2, 3), m.ones(2, 4)]),
    RuntimeError,
    "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1",
)
RANKS = Bad(
    lambda m: m.cat([m.ones(2, 3), m.ones(2)]),
    RuntimeError,
    "must have same number of dimensions: got 2 and 1",
)
UNEQUAL = Bad(
    lambda m: m.stack([m.ones(2), m.ones(3)]),
    RuntimeError,
    r"expects each tensor to be equal size, but got \[2\] at entry 0 and \[3\] at entry 1",
)
VIEW = Bad(lambda m: m.ones(2, 3).t().view(6), RuntimeError, "(?i)view")
COUNT = Bad(lambda m: m.ones(2, 3).reshape(4), RuntimeError, r"\[4\].*invalid for input of size 6")
EXPAND = Bad(lambda m: m.ones(2, 3).expand(4, 3), RuntimeError, r"(?s)expanded size.*4.*2")
SELECT = Bad(lambda m: m.ones(3).select(0, 3), IndexError, "out of (range|bounds)")
NOT_MASK = Bad(
    lambda m: m.ones(2).masked_fill_(m.ones(2), 1), RuntimeError, "only supports boolean masks"
)
VALUE = Bad(
    lambda m: m.ones(2, dtype=m.uint8).fill_(300),
    RuntimeError,
    "cannot be converted to type uint8_t without overflow",
)
COPY_EXPANDED = Bad(
    lambda m: m.ones(1).expand(2).copy_(m.ones(2)),
    RuntimeError,
    "more than one element of the written-to tensor",
)
COPY_SHAPE = Bad(lambda m: m.ones(2).copy_(m.ones(3)), RuntimeError, r"(?i)3.*2|2.*3")

ROWS = [
    Row("clone", np.copy, PLAIN),
    Row("contiguous", np.copy, PLAIN, method=True),
    Row("zeros_like", np.zeros_like, PLAIN),
    Row("ones_like", np.ones_like, PLAIN),
    Row("full_like", lambda x, v: np.full_like(x, v), unary(((2, 3), (1,)), ((0,), (1,)))),
    Row("masked_fill", _masked_fill, _masks, bad=(NOT_MASK, VALUE, COPY_EXPANDED, COPY_SHAPE)),
    Row("cat", _cat, lists((((2, 3), (4, 3)), 0), (((2, 3), (2, 1)), -1), (((2,), (0,), (3,)), 0), (((0, 3), (2, 3)), 0),
        (((2, 3, 4), (2, 1, 4)), 1)), out=True, bad=(EMPTY_LIST, SIZES, RANKS)),
    Row("stack", np.stack, lists((((2, 3), (2, 3)), 0), (((2, 3), (2, 3)), 1), (((2, 3), (2, 3)), -1), (((), ()), 0),
        (((0, 2), (0, 2)), 1)), out=True, bad=(UNEQUAL,)),
    Row("flip", np.flip, unary(((5,), (0,)), ((2, 3), ((0, 1),)), ((2, 3, 4), ((-1,),)), ((0, 2), (0,)))),
    Row("roll", np.roll, unary(((5,), (2,)), ((2, 3), (-1,)), ((2, 3), (1, 1)), ((3, 4), ((1, -2), (0, 1))), ((0, 2), (1,)))),
    Row("repeat", lambda x, *r: np.tile(x, r), unary(((2,), (3,)), ((2, 3), (2, 1)), ((2,), (2, 2)), ((), (3,)), ((2,), (0,))),
        method=True),
    # Views, which have no memory. The other tests pass copies of them to every operator.
    Row("reshape", np.reshape, unary(((2, 6), ((3, 4),)), ((2, 6), ((-1,),)), ((0, 3), ((3, 0),)), ((), ((1, 1),))), bad=(COUNT, VIEW)),
    Row("t", np.transpose, unary(((2, 3), ()), ((3,), ()), ((), ())), view=True),
    Row("transpose", np.swapaxes, unary(((2, 3, 4), (0, 2)), ((2, 3), (-1, 0))), view=True),
    Row("permute", np.transpose, unary(((2, 3, 4), ((2, 0, 1),)), ((2, 3), ((1, 0),))), view=True),
    Row("expand", lambda x, *s: np.broadcast_to(x, s), unary(((3, 1), (3, 4)), ((3,), (2, 3)), ((), (2,))), method=True, view=True,
        bad=(EXPAND,)),
    Row("squeeze", np.squeeze, unary(((1, 3, 1), ()), ((1, 3), (0,))), view=True),
    Row("unsqueeze", np.expand_dims, unary(((3,), (0,)), ((3, 2), (-1,)), ((), (0,))), view=True),
    Row("select", lambda x, d, i: np.take(x, i, d), unary(((3, 4), (0, 1)), ((3, 4), (1, -1))), view=True, bad=(SELECT,)),
    Row("narrow", lambda x, d, s, n: np.take(x, range(s, s + n), d), unary(((5, 2), (0, 1, 3)), ((5, 2), (1, 0, 1))), view=True),
    Row("diagonal", np.diagonal, unary(((3, 4), ()), ((3, 4), (1,)), ((3, 4), (-1,)), ((2, 3, 4), (0, 1, 2))), view=True),
    Row("unfold", windows, unary(((7,), (0, 3, 2)), ((3, 6), (1, 2, 2))), method=True, view=True),
    Row("movedim", np.moveaxis, unary(((2, 3, 4), (0, 2)), ((2, 3, 4), ((0, 1), (1, 2)))), view=True),
    Row("flatten", lambda x: x.reshape(-1), unary(((2, 3), ()), ((), ()), ((0, 2), ()))),
    Row("split", pieces, unary(((5, 2), (2, 0)), ((5, 2), (1, 1)))),
    Row("unbind", lambda x, d: tuple(np.moveaxis(x, d, 0)), unary(((3, 2), (0,)), ((3, 2), (1,)))),
]  # fmt: skip
