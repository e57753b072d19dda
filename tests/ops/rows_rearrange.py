"""Triangles, diagonals, repetition, stacks and pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from rows_arrange import unary
from table import Bad, Row, Sample, array


def many(*cases: tuple[tuple[int, ...], ...]) -> Callable[[str], Iterator[Sample]]:
    """Samples of a list of tensors with these shapes."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shapes in cases:
            parts = [array(dtype, *shape, seed=i) for i, shape in enumerate(shapes)]
            yield Sample((parts,), {}, f"{shapes}")

    return samples


def _diag_embed(x: np.ndarray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> np.ndarray:
    side = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], side, side), x.dtype)
    rows = np.arange(x.shape[-1]) + max(-offset, 0)
    out[..., rows, rows + offset] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def _combinations(x: np.ndarray, r: int = 2, again: bool = False) -> np.ndarray:
    from itertools import combinations, combinations_with_replacement

    selected = (combinations_with_replacement if again else combinations)(range(len(x)), r)
    return x[np.array(list(selected), dtype=np.int64).reshape(-1, r)]


def _tile(x: np.ndarray, *counts: int) -> np.ndarray:
    return np.tile(x, counts)


def _tensor_split(x: np.ndarray, at: int | tuple[int, ...], dim: int = 0) -> tuple[np.ndarray, ...]:
    return tuple(np.array_split(x, at, dim))


MATRICES = unary(
    ((3, 4), ()),
    ((3, 4), (1,)),
    ((4, 3), (-2,)),
    ((2, 3, 3), (0,)),
    ((2, 3), (9,)),
    ((2, 3), (-9,)),
    ((0, 3), ()),
    ((2, 0), ()),
    ((40, 33), (3,)),
)
FLAT = Bad(lambda m: m.ones(3).tril(), RuntimeError, "at least 2 dimensions")
CUBE = Bad(lambda m: m.ones(2, 2, 2).diag(), RuntimeError, "1D or 2D")
SAME = Bad(lambda m: m.diag_embed(m.ones(2), 0, 1, 1), RuntimeError, "cannot be identical")
NEGATIVE = Bad(lambda m: m.ones(2).repeat_interleave(-1), RuntimeError, "(?i)negative")
COUNTS = Bad(
    lambda m: m.ones(3).repeat_interleave(m.tensor([1, 2])), RuntimeError, "same size as input"
)
UNEVEN = Bad(lambda m: m.ones(5).hsplit(2), RuntimeError, "not divisible")
NO_SECTIONS = Bad(lambda m: m.ones(5).tensor_split(0), RuntimeError, "larger than 0")
PLANE = Bad(lambda m: m.ones(2, 2).rot90(1, (0, 0)), RuntimeError, "to be different")
LINE = Bad(lambda m: m.ones(2).fliplr(), RuntimeError, "2-d")
NONE = Bad(lambda m: m.hstack([]), (RuntimeError, ValueError), "non-empty")  # type: ignore[arg-type]

ROWS = [
    Row("tril", np.tril, MATRICES, inplace=True, out=True, bad=(FLAT,)),
    Row("triu", np.triu, MATRICES, inplace=True, out=True),
    Row("diag", np.diag, unary(((3,), ()), ((3,), (1,)), ((3, 4), ()), ((3, 4), (-1,)), ((3, 4), (9,)), ((0,), ())), out=True,
        bad=(CUBE,)),
    Row("diag_embed", _diag_embed, unary(((3,), ()), ((2, 3), (1,)), ((2, 3), (-2, 0, 1)), ((2, 0), ()), ((2, 3), (0, 0, 2))),
        bad=(SAME,)),
    Row("diagflat", np.diagflat, unary(((2, 2), ()), ((3,), (1,)))),
    Row("repeat_interleave", np.repeat, unary(((3,), (2,)), ((2, 3), (2, 1)), ((2, 3), (3,)), ((2,), (0,)), ((), (3,))),
        bad=(NEGATIVE, COUNTS)),
    Row("tile", _tile, unary(((2,), (3,)), ((2, 3), (2,)), ((2,), (2, 2)), ((2, 3, 2), (2, 1)))),
    Row("hstack", np.hstack, many(((2,), (3,)), ((2, 3), (2, 1)), ((), ())), out=True, bad=(NONE,)),
    Row("vstack", np.vstack, many(((2,), (2,)), ((2, 3), (1, 3)), ((), ())), out=True),
    Row("dstack", np.dstack, many(((2,), (2,)), ((2, 3), (2, 3)), ((), ())), out=True),
    Row("column_stack", np.column_stack, many(((2,), (2,)), ((2, 3), (2,))), out=True),
    Row("atleast_1d", np.atleast_1d, unary(((), ()), ((2,), ()))),
    Row("atleast_2d", np.atleast_2d, unary(((), ()), ((2,), ()), ((2, 3), ()))),
    Row("atleast_3d", np.atleast_3d, unary(((), ()), ((2,), ()), ((2, 3), ()), ((2, 3, 4), ()))),
    Row("combinations", _combinations, unary(((4,), ()), ((4,), (3,)), ((4,), (2, True)), ((2,), (3,)), ((0,), (2,)))),
    Row("rot90", np.rot90, unary(((2, 3), ()), ((2, 3), (2,)), ((2, 3, 4), (-1, (1, 2))), ((2, 3), (4,))), bad=(PLANE,)),
    Row("fliplr", np.fliplr, unary(((2, 3), ())), bad=(LINE,)),
    Row("flipud", np.flipud, unary(((2, 3), ()), ((3,), ()))),
    Row("tensor_split", _tensor_split, unary(((5, 2), (3,)), ((5, 2), ((1, 3),)), ((2, 5), (2, 1)), ((2,), (4,))), bad=(NO_SECTIONS,)),
    Row("hsplit", lambda x, at: tuple(np.hsplit(x, at)), unary(((4,), (2,)), ((2, 4), (2,)), ((2, 4), ((1, 2),))), bad=(UNEVEN,)),
    Row("vsplit", lambda x, at: tuple(np.vsplit(x, at)), unary(((4, 2), (2,)), ((4, 2), ((1, 2),)))),
    Row("dsplit", lambda x, at: tuple(np.dsplit(x, at)), unary(((1, 2, 4), (2,)), ((1, 2, 4), ((1, 3),)))),
    Row("narrow_copy", lambda x, d, s, n: np.take(x, range(s, s + n), d), unary(((5, 2), (0, 1, 3)), ((5, 2), (1, 0, 1)))),
]  # fmt: skip
