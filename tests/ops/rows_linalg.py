"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from table import FLOATS, INTS, Bad, Row, Sample, array

DTYPES = INTS + FLOATS


def pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for a, b in shapes:
            x = array(dtype, *a, seed=1, low=-2, high=2)
            y = array(dtype, *b, seed=2, low=-2, high=2)
            yield Sample((x, y), {}, f"{a}{b}")

    return samples


MATRICES = (
    ((2, 3), (3, 4)),
    ((1, 5), (5, 1)),
    ((33, 17), (17, 40)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((64, 130), (130, 9)),
)
BATCHES = (((2, 3, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((3, 20, 30), (3, 30, 25)))
ANY = (
    *MATRICES, *BATCHES, ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)),
    ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 5)), ((7, 20, 30), (30, 20)), ((2, 5, 1, 30), (30, 20)), ((100,), (100,)),
)  # fmt: skip

INNER = Bad(
    lambda m: m.ones(2, 3).mm(m.ones(4, 5)),
    RuntimeError,
    r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)",
)
INNER_MATMUL = Bad(
    lambda m: m.ones(2, 3) @ m.ones(4, 5),
    RuntimeError,
    r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)",
)
NO_MATRIX = Bad(lambda m: m.ones(2).mm(m.ones(2, 2)), RuntimeError, "must be a matrix")
NUMBER = Bad(
    lambda m: m.matmul(m.tensor(1.0), m.ones(2, 2)),
    RuntimeError,
    "both arguments to matmul need to be at least 1D, but they are 0D and 2D",
)
MIXED = Bad(
    lambda m: m.ones(2, 2) @ m.ones(2, 2, dtype=m.float64),
    RuntimeError,
    "same dtype, but got: float != double",
)
LENGTHS = Bad(
    lambda m: m.ones(3).dot(m.ones(4)),
    RuntimeError,
    r"inconsistent tensor size, expected tensor \[3\] and src \[4\]",
)
VECTOR = Bad(lambda m: m.ones(2, 3).mv(m.ones(4)), RuntimeError, "size mismatch, got input")
BATCH = Bad(
    lambda m: m.ones(2, 3, 4).bmm(m.ones(2, 5, 4)),
    RuntimeError,
    r"batch2 tensor to be: \[2, 4\] but got: \[2, 5\]",
)

ROWS = [
    Row("mm", np.matmul, pairs(*MATRICES), DTYPES, out=True, bad=(INNER, NO_MATRIX)),
    Row("bmm", np.matmul, pairs(*BATCHES), DTYPES, out=True, bad=(BATCH,)),
    Row(
        "mv",
        np.matmul,
        pairs(((3, 4), (4,)), ((50, 40), (40,)), ((0, 2), (2,)), ((2, 0), (0,))),
        DTYPES,
        out=True,
        bad=(VECTOR,),
    ),
    Row(
        "dot",
        np.dot,
        pairs(((4,), (4,)), ((1000,), (1000,)), ((0,), (0,))),
        DTYPES,
        out=True,
        bad=(LENGTHS,),
    ),
    Row("matmul", np.matmul, pairs(*ANY), DTYPES, out=True, bad=(INNER_MATMUL, NUMBER, MIXED)),
]
