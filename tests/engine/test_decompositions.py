"""`lu` in its former shape, and approximations of low rank: what they are the factors of."""

from __future__ import annotations

from typing import Any

import pytest

import engine

pytestmark = pytest.mark.filterwarnings("ignore:lu is deprecated")


def matrix(*shape: int, dtype: Any = None) -> Any:
    engine.manual_seed(3)
    return engine.randn(*shape, dtype=dtype or engine.float64)


def close(a: Any, b: Any) -> bool:
    return bool(engine.allclose(a, b, atol=1e-10))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 2, 5)])
def test_lu_is_the_factorisation_of_its_matrix(shape: tuple[int, ...]) -> None:
    A = matrix(*shape)
    P, L, U = engine.lu_unpack(*engine.lu(A))
    assert close(P @ L @ U, A)
    assert close(A.lu()[0], engine.lu(A)[0])


def test_lu_of_a_singular_matrix_returns_with_and_without_infos() -> None:
    singular = engine.zeros(2, 2)
    assert [result.tolist() for result in engine.lu(singular)] == [[[0, 0], [0, 0]], [1, 2]]
    assert len(singular.lu()) == 2
    results = engine.lu(singular, get_infos=True)
    assert results.info.item() == 1
    assert results.LU is results[0]
    assert len(singular.lu(get_infos=True)) == 3
    out = (engine.empty(0), engine.empty(0, dtype=engine.int32))
    assert engine.lu(engine.eye(2), out=out) is out
    assert out[0].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(TypeError, match="expected tuple of 2 elements but got 1"):
        engine.lu(engine.eye(2), out=out[:1])
    for wrong in (0.5, out[0], (out[0], 1), "ab"):
        with pytest.raises(TypeError, match="argument 'out' must be tuple of Tensors"):
            engine.lu(engine.eye(2), out=wrong)
    with pytest.raises(RuntimeError):
        engine.lu(engine.ones(2))


def test_lu_says_that_it_is_deprecated() -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        engine.lu(engine.eye(2))


@pytest.mark.parametrize("name", ["svd_lowrank", "pca_lowrank"])
def test_more_iterations_than_any_needs_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must not be greater than 10000"):
        getattr(engine, name)(engine.eye(2), 1, niter=2**63 - 1)


@pytest.mark.parametrize("dtype", [engine.float64, engine.complex128])
@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (2, 7, 8)])
def test_svd_lowrank_finds_a_matrix_of_low_rank(shape: tuple[int, ...], dtype: Any) -> None:
    *batch, m, n = shape
    A = matrix(*batch, m, 3, dtype=dtype) @ matrix(*batch, 3, n, dtype=dtype)
    U, S, V = engine.svd_lowrank(A, q=3)
    assert (U.shape, S.shape, V.shape) == ((*batch, m, 3), (*batch, 3), (*batch, n, 3))
    assert close(U * S.unsqueeze(-2).to(dtype) @ V.mH, A)
    assert close(S, engine.linalg.svdvals(A)[..., :3])
    M = A.mean(-2, keepdim=True)
    U, S, V = engine.svd_lowrank(A, q=4, M=M)
    assert close(U * S.unsqueeze(-2).to(dtype) @ V.mH, A - M)


def test_pca_lowrank_takes_the_mean_away() -> None:
    A = matrix(20, 2) @ matrix(2, 5) + 7
    U, S, V = engine.pca_lowrank(A, q=2)
    assert close(U * S @ V.mT, A - A.mean(0))
    assert engine.pca_lowrank(A)[1].shape == (5,)
    assert close(engine.pca_lowrank(A, q=3, center=False)[1], engine.linalg.svdvals(A)[:3])


@pytest.mark.parametrize(("q", "niter", "message"), [(6, 2, "q"), (-1, 2, "q"), (2, -1, "niter")])
def test_pca_lowrank_refuses(q: int, niter: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine.pca_lowrank(matrix(7, 5), q=q, niter=niter)


def test_gradients_pass_through_all_of_them() -> None:
    A = matrix(4, 3).requires_grad_()
    for loss in (
        lambda: engine.lu(A)[0].sum(),
        lambda: engine.svd_lowrank(A, q=3)[1].sum(),
        lambda: engine.pca_lowrank(A, q=2)[1].sum(),
    ):
        (grad,) = engine.autograd.grad(loss(), A)
        assert grad.isfinite().all()
        assert grad.abs().sum() > 0
