"""Decompositions that are unique only up to signs: their factors make the matrix again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine

SHAPES = [(3, 3), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0), (0, 2, 2), (40, 30)]
DTYPES = ["float32", "float64", "complex64", "complex128"]


def matrix(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape) + 1j * rng.standard_normal(shape) * dtype.startswith("c")
    return (values if dtype.startswith("c") else values.real).astype(dtype)


def adjoint(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def arrays(*tensors: Any) -> list[np.ndarray]:
    return [
        np.array(t.tolist(), dtype=str(t.dtype).rpartition(".")[2]).reshape(tuple(t.shape))
        for t in tensors
    ]


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    far = 1e-4 if actual.dtype in (np.float32, np.complex64) else 1e-11
    np.testing.assert_allclose(actual, expected, rtol=far, atol=far * 10)


def assert_orthonormal(q: np.ndarray) -> None:
    eye = np.eye(q.shape[-1]) + np.zeros((*q.shape[:-2], 1, 1))
    assert_close(adjoint(q) @ q, eye.astype(q.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_makes_the_matrix(shape: tuple[int, ...], dtype: str, mode: str) -> None:
    a = matrix(dtype, *shape)
    q, r = arrays(*engine.linalg.qr(engine.tensor(a), mode=mode))
    assert_close(q @ r, a)
    assert_orthonormal(q)
    assert not np.tril(r, -1).any(), "R is not an upper triangle"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("full", [True, False])
def test_svd_makes_the_matrix(shape: tuple[int, ...], dtype: str, full: bool) -> None:
    a = matrix(dtype, *shape)
    u, s, vh = arrays(*engine.linalg.svd(engine.tensor(a), full_matrices=full))
    k = min(shape[-2:])
    assert_close((u[..., :k] * s[..., None, :].astype(dtype)) @ vh[..., :k, :], a)
    assert_orthonormal(u)
    assert_orthonormal(adjoint(vh))
    assert (s >= 0).all(), "a singular value is negative"
    assert (np.diff(s, axis=-1) <= 0).all(), "singular values do not fall"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 0), (30, 30)], ids=str)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_makes_the_matrix_and_reads_one_triangle(shape: Any, dtype: str, uplo: str) -> None:
    a = matrix(dtype, *shape)
    a = a + adjoint(a)
    seen = np.tril(a) if uplo == "L" else np.triu(a)
    values, vectors = arrays(*engine.linalg.eigh(engine.tensor(seen), uplo))
    assert_close((vectors * values[..., None, :].astype(dtype)) @ adjoint(vectors), a)
    assert_orthonormal(vectors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 5), (0, 0)], ids=str)
def test_eig_finds_directions_that_stay(shape: tuple[int, ...], dtype: str) -> None:
    a = matrix(dtype, *shape)
    values, vectors = arrays(*engine.linalg.eig(engine.tensor(a)))
    assert_close(a @ vectors, vectors * values[..., None, :])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl_factors_solve(dtype: str, hermitian: bool) -> None:
    a, b = matrix(dtype, 2, 4, 4), matrix(dtype, 2, 4, 3, seed=1)
    a = a + (adjoint(a) if hermitian else np.swapaxes(a, -1, -2))
    factors = engine.linalg.ldl_factor(engine.tensor(a), hermitian=hermitian)
    (x,) = arrays(engine.linalg.ldl_solve(*factors, engine.tensor(b), hermitian=hermitian))
    assert_close(a @ x, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(dtype: str, driver: str) -> None:
    a, b = matrix(dtype, 6, 3), matrix(dtype, 6, 2, seed=1)
    actual = engine.linalg.lstsq(engine.tensor(a), engine.tensor(b), driver=driver)
    (x,) = arrays(actual.solution)
    assert_close(x, np.linalg.lstsq(a, b, rcond=None)[0].astype(dtype))


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 7, 33])
def test_least_squares_of_many_sizes(columns: int, dtype: str, driver: str) -> None:
    """Small tall matrices are solved by small_matrix_loops.h, others by LAPACK."""
    for m, n in ((1, 1), (4, 4), (5, 3), (17, 16), (32, 8), (40, 3), (3, 5)):
        a, b = matrix(dtype, 3, m, n) + 3 * np.eye(m, n, dtype=dtype), matrix(dtype, 3, m, columns)
        actual = engine.linalg.lstsq(engine.tensor(a), engine.tensor(b), driver=driver)
        expected = np.linalg.pinv(a.astype("float64")) @ b
        assert_close(arrays(actual.solution)[0], expected.astype(dtype))
        if driver != "gels":
            assert actual.rank.tolist() == [min(m, n)] * 3
        if m > n and driver != "gelsy":
            remainder = ((a.astype("float64") @ expected - b) ** 2).sum(-2)
            assert_close(arrays(actual.residuals)[0], remainder.astype(dtype))


def test_least_squares_without_full_rank() -> None:
    a, b = matrix("float64", 7, 8, 5), matrix("float64", 7, 8, 2)
    a[1] = 0
    a[2, :, 3] = a[2, :, 0]
    a[3] *= 1e-200
    a[4] *= 1e200
    a[5, :, 4] *= 1e-30  # below rcond
    actual = engine.linalg.lstsq(engine.tensor(a), engine.tensor(b))
    assert actual.rank.tolist() == [5, 0, 4, 5, 5, 4, 5]
    for i in (0, 2, 3, 4, 5, 6):
        unit = {3: 1e200, 4: 1e-200}.get(i, 1.0)
        expected = np.linalg.lstsq(a[i] * unit, b[i], rcond=None)[0] * unit
        np.testing.assert_allclose(actual.solution[i].numpy(), expected, 1e-9, 1e-12 * unit)
    loose = engine.linalg.lstsq(engine.tensor(a[:1]), engine.tensor(b[:1]), rcond=0.9)
    assert loose.rank.item() < 5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lu_by_blocks(dtype: str) -> None:
    """Blocks of 32 columns from 96 on, the last of 32 to 63: every rest, and a batch."""
    for shape in ((95, 95), *((n, n) for n in (96, 97, 127, 128, 129, 160, 351)), (3, 130, 130)):
        a = matrix(dtype, *shape)
        p, low, up = engine.linalg.lu(engine.tensor(a))
        factors = arrays(p, low, up)
        size = np.abs(factors[1]).astype("float64") @ np.abs(factors[2])
        error = np.abs(factors[0] @ factors[1].astype("float64") @ factors[2] - a)
        assert (error <= 8 * np.finfo(dtype).eps * (factors[0] @ size)).all(), shape
        assert (np.abs(factors[1]) <= 1).all()
        assert (np.tril(factors[1], -1) + np.eye(shape[-1]) == factors[1]).all()
        assert (np.triu(factors[2]) == factors[2]).all()
        x = engine.linalg.solve(engine.tensor(a).double(), engine.tensor(a).double())
        np.testing.assert_allclose(x.numpy(), np.eye(shape[-1]) + 0 * a, atol=1e-9)


@pytest.mark.parametrize("column", [0, 31, 32, 70, 129])
def test_lu_names_the_first_pivot_that_is_zero(column: int) -> None:
    a = matrix("float64", 130, 130)
    a[:, column] = 0
    a[:, 129] = 0
    factors, _, info = engine.linalg.lu_factor_ex(engine.tensor(a))
    assert info.item() == column + 1
    assert factors.isfinite().all()
    with pytest.raises(RuntimeError, match="singular"):
        engine.linalg.solve(engine.tensor(a), engine.ones(130, dtype=engine.float64))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjointed", [True, False])
def test_lu_solve_on_either_side(dtype: str, left: bool, adjointed: bool) -> None:
    a, b = matrix(dtype, 3, 4, 4), matrix(dtype, *((4, 2) if left else (2, 4)), seed=1)
    factors = engine.linalg.lu_factor(engine.tensor(a))
    (x,) = arrays(engine.linalg.lu_solve(*factors, engine.tensor(b), left=left, adjoint=adjointed))
    used = adjoint(a) if adjointed else a
    assert_close(used @ x if left else x @ used, b + np.zeros_like(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 4, 5, 8, 9, 16, 17, 32, 33])  # up to 32 without LAPACK
@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1, 1e30])  # LAPACK scales the smallest and largest
def test_all_sizes_and_scales(n: int, dtype: str, scale: float) -> None:
    a = matrix(dtype, 3, n, n) + 2 * n**0.5 * np.eye(n, dtype=dtype)
    a, x = np.asarray(a * scale, dtype), engine.tensor(np.asarray(a * scale, dtype))
    unit = np.asarray(1 / scale, dtype)
    for shape in ((n, n), (n, (n + 1) // 2), ((n + 1) // 2, n)):
        part = slice(None), slice(shape[0]), slice(shape[1])
        q, r = arrays(*engine.linalg.qr(x[part]))
        expected_q, expected_r = np.linalg.qr(a[part])  # the signs are LAPACK's
        assert_close(q, expected_q)
        assert_close(r * unit, expected_r * unit)
        (s,) = arrays(engine.linalg.svdvals(x[part]))
        assert_close(s * unit, np.linalg.svd(a[part], compute_uv=False) * unit)
    values, vectors = arrays(*engine.linalg.eigh(x))
    assert_close(values * unit, np.linalg.eigh(a)[0] * unit)
    assert_orthonormal(vectors)
    assert_close(arrays(engine.linalg.eigvalsh(x))[0] * unit, values * unit)
    assert_close(arrays(engine.linalg.inv(x))[0] / unit, np.linalg.inv(a * unit))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tiny", [0, 1e-22, 1e-40])
def test_qr_of_a_column_whose_squares_underflow(dtype: str, tiny: float) -> None:
    if dtype == "float64":
        tiny = tiny**7.5
    a = np.array([[1, 0, 0], [0, 3 * tiny, 0], [0, 4 * tiny, 2]], dtype)
    q, r = arrays(*engine.linalg.qr(engine.tensor(a)))
    assert_orthonormal(q)
    assert_close(np.abs(r[1, 1]), np.hypot(a[1, 1], a[2, 1]))
    if tiny:
        assert_close(q[:, 1], np.array([0, -0.6, -0.8], dtype))
        assert abs(r[1, 1] + 5 * tiny) < 1e-3 * tiny
    else:
        np.testing.assert_array_equal(q, np.eye(3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 3, 7, 16, 32])
def test_inv_finds_a_repeated_row(n: int, dtype: str) -> None:
    a = matrix(dtype, n, n)
    a[-1] = a[0]
    assert engine.linalg.inv_ex(engine.tensor(a)).info == n


def test_a_bad_matrix_of_a_batch_is_named() -> None:
    batch = engine.stack([engine.eye(2), engine.zeros(2, 2)])
    with pytest.raises(engine.linalg.LinAlgError, match=r"\(Batch element 1\)"):
        engine.linalg.inv(batch)
    with pytest.raises(engine.linalg.LinAlgError, match=r"\(Batch element 1\)"):
        engine.linalg.cholesky(batch)
    assert engine.linalg.inv_ex(batch).info.tolist() == [0, 1]


def test_what_is_not_finite_never_hangs() -> None:
    for value in (engine.nan, engine.inf):
        bad = engine.full((3, 3), value)
        for compute in (engine.linalg.svd, engine.linalg.eigh, engine.linalg.eig, engine.linalg.qr):
            try:
                compute(bad)
            except RuntimeError:
                continue


def test_the_gradient_of_eigenvectors_is_symmetric_like_the_matrix() -> None:
    a = engine.tensor(
        [[2, 1, 0.5], [1, 3, -1], [0.5, -1, 5]], dtype=engine.float64, requires_grad=True
    )
    weights = engine.tensor([[1, 2, 4], [3, -1, 2], [0, 5, 1]], dtype=engine.float64)
    (gradient,) = engine.autograd.grad((engine.linalg.eigh(a)[1] ** 2 * weights).sum(), a)
    assert engine.allclose(gradient, gradient.t())
    step = 1e-6 * engine.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=engine.float64)
    with engine.no_grad():
        above, below = (
            (engine.linalg.eigh(a + sign * step)[1] ** 2 * weights).sum() for sign in (1, -1)
        )
    assert abs((above - below) / 2e-6 - 2 * gradient[0, 1]) < 1e-7
