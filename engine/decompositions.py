"""Decompositions built from other operators: `lu` as a tuple, low-rank approximations."""

from __future__ import annotations

import warnings
from typing import Any

from engine._generated import ops
from engine.arguments import check_outs
from engine.dtypes import get_default_dtype
from engine.overloads import METHODS, function, method
from engine.return_types import structure
from engine.tensor import Tensor


def _lu(input: Tensor, pivot: bool, get_infos: bool) -> tuple[Tensor, ...]:
    """Return LU, pivots and, if requested, infos. As in PyTorch, a zero on U's diagonal is not an error."""
    warnings.warn(
        "lu is deprecated in favor of linalg.lu_factor / linalg.lu_factor_ex", stacklevel=3
    )
    factors, pivots, infos = ops.linalg_lu_factor_ex(input, pivot=pivot)
    return (factors, pivots, infos) if get_infos else (factors, pivots)


@function
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Return the LU factorisation of matrices with L and U in one tensor. Deprecated: `linalg.lu_factor` is the same.

    Formula: A = P L U; the first result has the unit lower triangular L below its diagonal, and U on and above it.
    Shape: (*, m, n) gives LU (*, m, n) and pivots (*, min(m, n)), and with `get_infos` infos (*): 0, or the position
    of the first zero on U's diagonal. Dtype: floating or complex; pivots and infos int32.
    Memory: new tensors, or the tuple `out`. Gradient: that of LU.
    Raises: RuntimeError for a tensor of fewer than 2 dimensions; TypeError when `out` has another length.
    """
    results = _lu(A, pivot, get_infos)
    if out is None:
        return (
            structure("_lu_with_info", ("LU", "pivots", "info"))(*results) if get_infos else results
        )
    check_outs("lu", out, len(results))
    for target, result in zip(out, results, strict=True):
        target.resize_as_(result).copy_(result)
    return out


@method
def _lu_method(input: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Return the LU factorisation, see `engine.lu`."""
    return _lu(input, pivot, get_infos)


METHODS["lu"] = METHODS.pop("_lu_method")


def _without_mean(A: Tensor, M: Tensor | None, factor: Tensor) -> Tensor:
    """Return (A - M) @ factor, without a tensor for A - M."""
    product = ops.matmul(A, factor)
    return product if M is None else product - ops.matmul(M, factor)


def _range(A: Tensor, M: Tensor | None, q: int, niter: int) -> Tensor:
    """Return q orthonormal columns whose span approximates the range of A - M, from products with random vectors."""
    from engine.random_factories import randn

    floating = A.is_floating_point() or A.is_complex()
    dtype = A.dtype if floating else get_default_dtype()
    columns = randn(A.shape[-1], q, dtype=dtype, device=A.device)
    Q = ops.linalg_qr(_without_mean(A, M, columns))[0]
    for _ in range(niter):
        Q = ops.linalg_qr(_without_mean(A.mH, None if M is None else M.mH, Q))[0]
        Q = ops.linalg_qr(_without_mean(A, M, Q))[0]
    return Q


# A power iteration converges within a few steps; a far larger number would never return.
_MAX_ITERATIONS = 10_000


@function
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the q largest singular values of matrices and their vectors (Halko, Martinsson, Tropp 2011).

    Formula: A - M is about U diag(S) V^H, computed from products with q random vectors; each of the `niter`
    multiplications by A and its adjoint improves them.
    Shape: (*, m, n) gives U (*, m, q), S (*, q) and V (*, n, q); M broadcasts to A. Dtype: that of A.
    Memory: new tensors, none as large as A. Raises: RuntimeError for a q above min(m, n),
    ValueError for a niter above 10,000.

    >>> import engine
    >>> A = engine.tensor([[3., 0., 0.], [0., 2., 0.]])
    >>> engine.svd_lowrank(A, q=2)[1].round()
    tensor([3., 2.])
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    if niter > _MAX_ITERATIONS:
        raise ValueError(f"niter(={niter}) must not be greater than {_MAX_ITERATIONS}")
    if A.dim() < 2:
        raise ValueError(
            f"svd_lowrank: A must have at least 2 dimensions, got shape {tuple(A.shape)}"
        )
    if M is not None:
        M = ops.expand(M, *A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = _range(A, M, q, niter)
    inner = ops.matmul(Q.mH, A)
    if M is not None:
        inner = inner - ops.matmul(Q.mH, M)
    U, S, Vh = ops.linalg_svd(inner, full_matrices=False)
    U, V = ops.matmul(Q, U), Vh.mH
    return (V, S, U) if wide else (U, S, V)


@function
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the q principal components of rows.

    Formula: U diag(S) V^H is about A minus the mean of its rows (`center`), as `svd_lowrank` computes it; V's columns
    are the principal directions, S ** 2 / (m - 1) the variances along them, A @ V the components.
    Shape: (*, m, n), m samples of n features, gives U (*, m, q), S (*, q) and V (*, n, q).
    Memory: new tensors.
    Raises: ValueError for a niter that is negative or above 10,000, or a q that is not within 0 and min(m, n);
    it defaults to min(6, m, n).

    >>> import engine
    >>> A = engine.tensor([[1., 1.], [2., 2.], [3., 3.]])
    >>> engine.pca_lowrank(A, q=1)[1].round()
    tensor([2.])
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    centered = A - ops.mean(A, -2, keepdim=True) if center else A
    return svd_lowrank(centered, q, niter)
