"""Products with something added, and chains of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import ALL, FLOATS, INTS, Array, Bad, Row, Sample, array

DTYPES = INTS + FLOATS
WIDE = ("int64", "float32", "float64")
Shape = tuple[int, ...]


def shaped(*calls: tuple[Shape, ...], **options: Any) -> Callable[[str], Iterator[Sample]]:
    """One sample for each tuple of shapes."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shapes in calls:
            args = (array(dtype, *s, seed=i, low=-2, high=2) for i, s in enumerate(shapes))
            yield Sample(tuple(args), options, str(shapes))

    return samples


def numbered(*calls: tuple[Shape, Any]) -> Callable[[str], Iterator[Sample]]:
    """One tensor and one plain argument."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shape, value in calls:
            yield Sample((array(dtype, *shape, low=-2, high=2), value), {}, f"{shape} {value}")

    return samples


def addmm(c: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Any = 1, alpha: Any = 1) -> np.ndarray:
    return beta * c + alpha * (a @ b)


def addbmm(
    c: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Any = 1, alpha: Any = 1
) -> np.ndarray:
    return beta * c + alpha * (a @ b).sum(0)


def addr(c: np.ndarray, x: np.ndarray, y: np.ndarray, beta: Any = 1, alpha: Any = 1) -> np.ndarray:
    return beta * c + alpha * np.outer(x, y)


def linear(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    return x @ w.T + (0 if bias is None else bias)


def bilinear(x: np.ndarray, y: np.ndarray, w: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.einsum("...i,kij,...j->...k", x, w, y) + bias


def vander(x: np.ndarray, N: int | None = None) -> np.ndarray:
    return np.power(x[..., None], np.arange(N or x.shape[-1]))


def chain(dtype: str) -> Iterator[Sample]:
    for shapes in (((2, 3), (3, 4)), ((3,), (3, 4), (4, 2)), ((2, 5), (5, 1), (1, 6), (6, 2))):
        matrices = [array(dtype, *s, seed=i, low=-2, high=2) for i, s in enumerate(shapes)]
        yield Sample((matrices,), {}, str(shapes))


def tensordots(dtype: str) -> Iterator[Sample]:
    for a, b, dims in (
        ((2, 3), (3, 4), 1),
        ((2, 3, 4), (3, 4, 5), 2),
        ((2, 3), (4,), 0),
        ((2, 3, 4), (4, 2), ([0, 2], [1, 0])),
    ):
        x, y = (array(dtype, *s, seed=i, low=-2, high=2) for i, s in enumerate((a, b)))
        yield Sample((x, y), {"dims": dims}, f"{a}{b}{dims}")


EQUATIONS = (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...i,...i->...", (4, 3), (1, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("iij,j->i", (3, 3, 2), (2,)),
    (" a b , b -> a ", (2, 3), (3,)),
    ("ij,ij->ij", (2, 3), (1, 3)),
)


def einsums(dtype: str) -> Iterator[Sample]:
    for equation, *shapes in EQUATIONS:
        args = (array(dtype, *s, seed=i, low=-2, high=2) for i, s in enumerate(shapes))  # type: ignore[misc]
        yield Sample((equation, *args), {}, equation)


def einsum(equation: str, *operands: np.ndarray) -> np.ndarray:
    """NumPy's, which reads no sizes of 1 under a letter as broadcasting: they are expanded first."""
    if equation == "ij,ij->ij":
        operands = tuple(np.broadcast_arrays(*operands))
    return np.einsum(equation.replace(" ", ""), *operands)


def powers(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 2, 3, 3, low=-2, high=2)
    if dtype in FLOATS:
        x = Array(x.values / 4 + 2 * np.eye(3, dtype=x.values.dtype), dtype)
    for n in (0, 1, 2, 5) + ((-1, -2) if dtype in ("float32", "float64") else ()):
        yield Sample((x, n), {}, str(n))


def distances(dtype: str) -> Iterator[Sample]:
    x, y = array(dtype, 3, 5), array(dtype, 4, 5, seed=1)
    for p in (2.0, 1.0, 0.0, float("inf"), 3.0):
        yield Sample((x, y), {"p": p}, str(p))
    yield Sample((array(dtype, 2, 1, 3, 0), array(dtype, 4, 2, 0)), {}, "nothing to sum")
    yield Sample((array(dtype, 2, 3, 40), array(dtype, 2, 40, seed=1)), {}, "batch")


def norm(d: np.ndarray, p: float) -> np.ndarray:
    d = np.abs(d)
    if p == 0:
        return (d != 0).sum(-1)
    if p == float("inf"):
        return d.max(-1) if d.shape[-1] else d.sum(-1)
    return (d**p).sum(-1) ** (1 / p)


def cdist(x: np.ndarray, y: np.ndarray, p: float = 2.0) -> np.ndarray:
    return norm(x[..., :, None, :] - y[..., None, :, :], p)


def pdist(x: np.ndarray, p: float = 2.0) -> np.ndarray:
    return cdist(x, x, p)[np.triu_indices(len(x), 1)]


ADDMM = shaped(((2, 4), (2, 3), (3, 4)), ((4,), (20, 30), (30, 4)), ((2, 2), (2, 0), (0, 2)))
SCALED = shaped(((4,), (2, 3), (3, 4)), ((), (33, 17), (17, 40)), beta=2, alpha=3)


def addmms(dtype: str) -> Iterator[Sample]:
    yield from ADDMM(dtype)
    yield from SCALED(dtype)


RANKS = Bad(
    lambda m: m.addmm(m.ones(2), m.ones(2), m.ones(2, 2)), RuntimeError, "mat1 must be a matrix"
)
ADDEND = Bad(
    lambda m: m.addmm(m.ones(3), m.ones(2, 2), m.ones(2, 2)), RuntimeError, r"expand|broadcast|size"
)
LETTERS = Bad(lambda m: m.einsum("i1->i", m.ones(2, 2)), RuntimeError, "subscript")
SIZES = Bad(lambda m: m.einsum("ij,jk->ik", m.ones(2, 3), m.ones(4, 2)), RuntimeError, "broadcast")

ROWS = [
    Row("addmm", addmm, addmms, DTYPES, inplace=True, out=True, bad=(RANKS, ADDEND)),
    Row(
        "baddbmm",
        addmm,
        shaped(((2, 2, 4), (2, 2, 3), (2, 3, 4)), ((4,), (3, 5, 30), (3, 30, 4))),
        DTYPES,
        inplace=True,
        out=True,
    ),
    Row("addbmm", addbmm, shaped(((2, 4), (5, 2, 3), (5, 3, 4))), DTYPES, inplace=True, out=True),
    Row(
        "addmv",
        addmm,
        shaped(((2,), (2, 3), (3,)), ((40,), (40, 50), (50,)), ((1,), (2, 3), (3,))),
        DTYPES,
        inplace=True,
        out=True,
    ),
    Row("addr", addr, shaped(((2, 3), (2,), (3,)), ((3,), (2,), (3,))), DTYPES, inplace=True),
    Row("outer", np.outer, shaped(((2,), (3,)), ((0,), (3,))), ALL, out=True),
    Row("ger", np.outer, shaped(((2,), (3,))), ALL, out=True),
    Row("inner", np.inner, shaped(((3,), (3,)), ((2, 3), (4, 3)), ((), (2,))), WIDE, out=True),
    Row("trace", np.trace, shaped(((3, 3),), ((2, 4),), ((0, 2),)), DTYPES, "sum"),
    Row("kron", np.kron, shaped(((2, 3), (3, 2)), ((2,), (2, 2)), ((), (3,))), ALL, out=True),
    Row("tensordot", lambda a, b, dims: np.tensordot(a, b, dims), tensordots, WIDE),
    Row("einsum", einsum, einsums, WIDE, bad=(LETTERS, SIZES)),
    Row("chain_matmul", lambda *m: np.linalg.multi_dot(m), shaped(((2, 3), (3, 4), (4, 2))), WIDE, torch=False),
    Row("linalg.multi_dot", np.linalg.multi_dot, chain, WIDE),
    Row("linalg.matrix_power", np.linalg.matrix_power, powers, ("float32", "float64", "int64")),
    Row("matrix_power", np.linalg.matrix_power, powers, ("float32", "float64")),
    Row("linalg.matmul", np.matmul, shaped(((2, 3, 4), (4, 5))), WIDE),
    Row(
        "linalg.vecdot",
        lambda x, y: (x * y).sum(-1),
        shaped(((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))),
        ("float32", "float64"),
    ),
    Row("linalg.cross", np.cross, shaped(((3,), (3,)), ((2, 3), (2, 3))), DTYPES),
    Row("cross", np.cross, shaped(((3,), (3,)), ((2, 3), (2, 3))), DTYPES, out=True, torch=False),
    Row("linalg.vander", vander, shaped(((3,),), ((2, 3),)), ("int64", "float32", "float64")),
    Row(
        "nn.functional.linear",
        linear,
        shaped(((3,), (4, 3)), ((2, 3), (4, 3), (4,)), ((5, 2, 3), (4, 3), (4,)), ((2, 3), (3,))),
        DTYPES,
    ),
    Row(
        "nn.functional.bilinear",
        bilinear,
        shaped(((2, 3), (2, 4), (5, 3, 4), (5,)), ((2, 6, 3), (2, 6, 2), (1, 3, 2), (1,))),
        WIDE,
    ),
    Row("cdist", cdist, distances, ("float32", "float64")),
    Row("pdist", pdist, shaped(((4, 3),), ((1, 3),), ((3, 20),)), ("float32", "float64")),
    Row(
        "nn.functional.pairwise_distance",
        lambda x, y, p=2.0: norm(x - y + 1e-6, p),
        shaped(((4, 3), (4, 3)), ((3,), (3,))),
        ("float32", "float64"),
    ),
]  # fmt: skip
