"""Decompositions, equations, determinants. What is unique only up to signs is in test_lapack.py too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import Array, Bad, Row, Sample, array

DTYPES = ("float32", "float64")
INFO = "values and int32"  # the dtype of pivots and of info
SQUARES = ((3, 3), (2, 4, 4), (0, 0), (0, 2, 2), (1, 1))


def square(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Well-conditioned: the diagonal outweighs the rest."""
    x = array(dtype, *shape, seed=seed, low=-1, high=1)
    return Array(x.values + 4 * np.eye(shape[-1], dtype=x.values.dtype), dtype)


def symmetric(dtype: str, *shape: int) -> Array:
    x = square(dtype, *shape)
    return Array((x.values + np.swapaxes(x.values, -1, -2)) / 2, dtype)


def triangle(dtype: str, *shape: int) -> Array:
    return Array(np.tril(square(dtype, *shape).values), dtype)


def of(
    make: Callable[..., Array], *shapes: tuple[int, ...], **options: Any
) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for shape in shapes or SQUARES:
            yield Sample((make(dtype, *shape),), options, str(shape))

    return samples


def systems(dtype: str) -> Iterator[Sample]:
    for a, b in (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1)), ((2, 3, 3), (3, 2))):
        yield Sample((square(dtype, *a), array(dtype, *b, seed=1)), {}, f"{a}{b}")


def triangles(dtype: str) -> Iterator[Sample]:
    for a, b in (((3, 3), (3, 2)), ((2, 3, 3), (3, 1))):
        options = {"upper": False}
        yield Sample((triangle(dtype, *a), array(dtype, *b, seed=1)), options, f"{a}{b}")


def swapped(samples: Callable[[str], Iterator[Sample]]) -> Callable[[str], Iterator[Sample]]:
    def turned(dtype: str) -> Iterator[Sample]:
        for s in samples(dtype):
            yield Sample(s.args[::-1], s.kwargs, s.name)

    return turned


def solve(a: np.ndarray, b: np.ndarray, upper: bool = False) -> np.ndarray:
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)


def rotated(samples: Callable[[str], Iterator[Sample]]) -> Callable[[str], Iterator[Sample]]:
    """The last argument first."""

    def turned(dtype: str) -> Iterator[Sample]:
        for s in samples(dtype):
            yield Sample((s.args[-1], *s.args[:-1]), s.kwargs, s.name)

    return turned


def with_info(compute: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], Any]:
    return lambda a: (compute(a), np.zeros(a.shape[:-2], np.int32))


def unique_matrices(*shapes: tuple[int, ...]) -> Callable[[str], Iterator[Sample]]:
    """Matrices whose decompositions have no choice of signs: one positive number."""

    def samples(dtype: str) -> Iterator[Sample]:
        yield Sample((Array(np.full((1, 1), 4.0, dtype), dtype),), {}, "one number")

    return samples


def lu(a: np.ndarray) -> Any:
    """Factors of matrices whose largest elements are on the diagonal: no row is exchanged."""
    low, up = np.zeros_like(a) + np.eye(a.shape[-1]), a.copy()
    for j in range(a.shape[-1]):
        low[..., j + 1 :, j] = up[..., j + 1 :, j] / up[..., j : j + 1, j]
        up[..., j + 1 :, :] -= low[..., j + 1 :, j : j + 1] * up[..., j : j + 1, :]
    return np.zeros_like(a) + np.eye(a.shape[-1]), low, up


def packed(a: np.ndarray) -> Any:
    _, low, up = lu(a)
    order = np.broadcast_to(np.arange(1, a.shape[-1] + 1, dtype=np.int32), a.shape[:-1])
    return low + up - np.eye(a.shape[-1]), order


def without_exchanges(dtype: str) -> Iterator[Sample]:
    """Packed LU factors of matrices whose rows stay where they are, and pivots that say so."""
    for shape in ((3, 3), (2, 4, 4)):
        values, order = packed(square(dtype, *shape).reference)
        yield Sample(
            (Array(values.astype(dtype), dtype), Array(order.copy(), "int32")), {}, str(shape)
        )


def unpacked(values: np.ndarray, order: np.ndarray) -> Any:
    n = values.shape[-1]
    item = np.eye(n)
    return np.zeros_like(values) + item, np.tril(values, -1) + item, np.triu(values)


def factored(dtype: str) -> Iterator[Sample]:
    for sample in without_exchanges(dtype):
        n = sample.args[0].values.shape[-1]
        yield Sample((*sample.args, array(dtype, n, 2, seed=3)), {}, sample.name)


def solve_factored(values: np.ndarray, order: np.ndarray, b: np.ndarray) -> np.ndarray:
    _, low, up = unpacked(values, order)
    return np.linalg.solve(low @ up, b)


def reflectors(dtype: str) -> Iterator[Sample]:
    """Vectors below the diagonal, and factors that make their reflections orthogonal."""
    for m, n in ((3, 2), (4, 4)):
        v = array(dtype, m, n, low=-1, high=1).values
        lower = np.tril(v, -1).astype(np.float64) + np.eye(m, n)
        tau = (2 / (lower**2).sum(0)).astype(dtype)
        yield Sample((Array(v, dtype), Array(tau, dtype)), {}, f"{m}x{n}")


def orthogonal(v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    m, n = v.shape
    q = np.eye(m)
    for i in range(n):
        w = np.concatenate([np.zeros(i), [1.0], v[i + 1 :, i]])
        q = q @ (np.eye(m) - tau[i] * np.outer(w, w))
    return q


def reflected_columns(dtype: str) -> Iterator[Sample]:
    for sample in reflectors(dtype):
        m = sample.args[0].values.shape[0]
        yield Sample((*sample.args, array(dtype, m, 3, seed=5)), {}, sample.name)


def tensors(dtype: str) -> Iterator[Sample]:
    yield Sample((Array(square(dtype, 6, 6).values.reshape(2, 3, 6), dtype),), {}, "2x3 by 6")


def tensor_systems(dtype: str) -> Iterator[Sample]:
    a = Array(square(dtype, 6, 6).values.reshape(2, 3, 6), dtype)
    yield Sample((a, array(dtype, 2, 3, seed=1)), {}, "2x3")


def upper_systems(dtype: str) -> Iterator[Sample]:
    a = Array(np.triu(square(dtype, 3, 3).values), dtype)
    yield Sample((array(dtype, 3, 2, seed=1), a), {}, "3x3")


def diagonal(dtype: str) -> Iterator[Sample]:
    yield Sample((Array(np.diag([4.0, 2.0]).astype(dtype), dtype),), {}, "diagonal")


SINGULAR = Bad(lambda m: m.linalg.inv(m.zeros(2, 2)), RuntimeError, "singular")
NOT_SQUARE = Bad(lambda m: m.linalg.inv(m.zeros(2, 3)), RuntimeError, "square")
INTEGERS = Bad(
    lambda m: m.linalg.inv(m.zeros(2, 2, dtype=m.int64)), RuntimeError, "Expected a floating point"
)
HALVES = Bad(lambda m: m.linalg.inv(m.zeros(2, 2, dtype=m.float16)), RuntimeError, "Low precision")
NEGATIVE = Bad(lambda m: m.linalg.cholesky(-m.eye(2)), RuntimeError, "leading minor of order 1")
RIGHT = Bad(
    lambda m: m.linalg.solve(m.eye(2), m.ones(3, 1)),
    RuntimeError,
    r"Incompatible shapes of A and B for the equation AX = B \(2x2 and 3x1\)",
)
MODE = Bad(lambda m: m.linalg.qr(m.eye(2), mode="x"), RuntimeError, "unrecognized mode 'x'")
NAN = Bad(lambda m: m.linalg.eig(m.full((2, 2), m.nan)), RuntimeError, "infs or NaNs")
UPLO = Bad(lambda m: m.linalg.eigh(m.eye(2), "X"), RuntimeError, "'L' or 'U'")

TALL = ((3, 3), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0))
ROWS = [
    Row(
        "linalg.inv",
        np.linalg.inv,
        of(square),
        DTYPES,
        bad=(SINGULAR, NOT_SQUARE, INTEGERS, HALVES),
    ),
    Row("inverse", np.linalg.inv, of(square), DTYPES, out=True),
    Row("linalg.det", np.linalg.det, of(square), DTYPES),
    Row("det", np.linalg.det, of(square), DTYPES),
    Row("linalg.slogdet", np.linalg.slogdet, of(square), DTYPES),
    Row("slogdet", np.linalg.slogdet, of(square), DTYPES),
    Row("logdet", lambda a: np.log(np.linalg.det(a)), of(square), DTYPES),
    Row("linalg.solve", solve, systems, DTYPES, bad=(RIGHT,)),
    Row("linalg.solve_triangular", solve, triangles, DTYPES),
    Row("linalg.lu", lu, of(square, (3, 3), (2, 4, 4)), DTYPES),
    Row("linalg.cholesky", np.linalg.cholesky, of(symmetric), DTYPES, bad=(NEGATIVE,)),
    Row("cholesky", np.linalg.cholesky, of(symmetric), DTYPES, out=True, torch=False),
    Row(
        "cholesky_solve",
        lambda b, low: np.linalg.solve(low @ np.swapaxes(low, -1, -2), b),
        swapped(lambda d: (Sample(s.args, {}, s.name) for s in triangles(d))),
        DTYPES,
        out=True,
    ),
    Row(
        "cholesky_inverse",
        lambda low: np.linalg.inv(low @ np.swapaxes(low, -1, -2)),
        of(triangle),
        DTYPES,
        out=True,
    ),
    Row("linalg.eigvalsh", np.linalg.eigvalsh, of(symmetric), DTYPES),
    Row("linalg.eigh", np.linalg.eigh, unique_matrices(), DTYPES, bad=(UPLO,)),
    Row("linalg.qr", lambda a: (np.ones_like(a), a), unique_matrices(), DTYPES, bad=(MODE,)),
    Row("qr", lambda a: (np.ones_like(a), a), unique_matrices(), DTYPES, torch=False),
    Row("geqrf", lambda a: (a, np.zeros(1)), unique_matrices(), DTYPES),
    Row(
        "linalg.svd", lambda a: (np.ones_like(a), a[0], np.ones_like(a)), unique_matrices(), DTYPES
    ),
    Row("svd", lambda a: (np.ones_like(a), a[0], np.ones_like(a)), unique_matrices(), DTYPES),
    Row(
        "linalg.svdvals",
        lambda a: np.linalg.svd(a, compute_uv=False),
        of(array, (3, 3), (5, 3), (2, 3, 4), (0, 3)),
        DTYPES,
    ),
    Row("linalg.pinv", np.linalg.pinv, of(array, *TALL), DTYPES),
    Row("pinverse", np.linalg.pinv, of(array, (3, 3), (5, 3)), DTYPES),
    Row(
        "linalg.matrix_rank",
        np.linalg.matrix_rank,
        of(lambda d, *s: Array(np.ones(s, d), d), (3, 3), (2, 4, 3)),
        DTYPES,
        "int64",
    ),
    Row("lu_unpack", unpacked, without_exchanges, DTYPES),
    Row("linalg.lu_solve", solve_factored, factored, DTYPES),
    Row(
        "lu_solve", lambda b, f, p: solve_factored(f, p, b), rotated(factored), DTYPES, torch=False
    ),
    Row("linalg.tensorinv", np.linalg.tensorinv, tensors, DTYPES),
    Row("linalg.tensorsolve", np.linalg.tensorsolve, tensor_systems, DTYPES),
    Row(
        "triangular_solve",
        lambda b, a: (np.linalg.solve(a, b), a),
        upper_systems,
        DTYPES,
        torch=False,
    ),
    Row("linalg.eigvals", np.linalg.eigvals, unique_matrices(), DTYPES, "to complex", bad=(NAN,)),
    Row("linalg.eig", lambda a: (a[0], np.ones_like(a)), unique_matrices(), DTYPES, "to complex"),
    Row(
        "linalg.householder_product",
        lambda v, tau: orthogonal(v, tau)[:, : v.shape[1]],
        reflectors,
        DTYPES,
    ),
    Row("orgqr", lambda v, tau: orthogonal(v, tau)[:, : v.shape[1]], reflectors, DTYPES, out=True),
    Row("ormqr", lambda v, tau, c: orthogonal(v, tau) @ c, reflected_columns, DTYPES, out=True),
    Row("linalg.lu_factor", packed, of(square, (3, 3), (2, 4, 4)), DTYPES, INFO),
    Row(
        "linalg.lu_factor_ex",
        lambda a: (*packed(a), np.zeros(a.shape[:-2], np.int32)),
        of(square, (3, 3), (2, 4, 4)),
        DTYPES,
        INFO,
    ),
    Row("linalg.inv_ex", with_info(np.linalg.inv), of(square), DTYPES, INFO),
    Row("linalg.cholesky_ex", with_info(np.linalg.cholesky), of(symmetric), DTYPES, INFO),
    Row(
        "linalg.solve_ex",
        lambda a, b: (solve(a, b), np.zeros(a.shape[:-2], np.int32)),
        systems,
        DTYPES,
        INFO,
    ),
    Row("linalg.ldl_factor", lambda a: (a, np.arange(1, 3)), diagonal, DTYPES, INFO),
    Row("linalg.ldl_factor_ex", lambda a: (a, np.arange(1, 3), 0), diagonal, DTYPES, INFO),
]
