"""The normal distribution of vectors with a covariance of low rank and a diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.distributions.multivariate_normal import log_diagonal, whitened
from engine.tensor import Tensor

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with the covariance W Wᵀ + D: W is `cov_factor` (n, rank), `cov_diag` the diagonal of D.

    Time and memory grow with n * rank: densities need the Cholesky factor of the capacitance matrix
    I + Wᵀ D**-1 W only.

    >>> normal = LowRankMultivariateNormal(engine.zeros(2), engine.ones(2, 1), engine.ones(2))
    >>> normal.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor
    cov_factor: Tensor
    cov_diag: Tensor

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        size = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != size:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {size[0]} x m")
        if cov_diag.shape[-1:] != size:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {tuple(size)}")
        self._set_parameters(validate_args, size, loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)

    @property
    def _weighted(self) -> Tensor:
        """Wᵀ D**-1, (rank, n)."""
        return (self.cov_factor / self.cov_diag.unsqueeze(-1)).mT

    @property
    def _capacitance_tril(self) -> Tensor:
        capacitance = self._weighted @ self.cov_factor
        one = engine.eye(capacitance.shape[-1], dtype=capacitance.dtype)
        return engine.linalg.cholesky(capacitance + one)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.cov_factor.square().sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Tensor:
        """W Wᵀ + D."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return engine.linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's identity."""
        a = engine.linalg.solve_triangular(self._capacitance_tril, self._weighted, upper=False)
        return (1 / self.cov_diag).diag_embed() - a.mT @ a

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        own = engine.randn(shape, dtype=self.loc.dtype) * self.cov_diag.sqrt()
        common = engine.randn(*shape[:-1], self.cov_factor.shape[-1], 1, dtype=self.loc.dtype)
        return self.loc + own + (self.cov_factor @ common).squeeze(-1)

    @property
    def _log_det(self) -> Tensor:
        return self.cov_diag.log().sum(-1) + 2 * log_diagonal(self._capacitance_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value) - self.loc
        explained = whitened(self._capacitance_tril, (self._weighted @ x.unsqueeze(-1)).squeeze(-1))
        distance = (x.square() / self.cov_diag).sum(-1) - explained.square().sum(-1)
        return -(distance + self._log_det + self.event_shape[0] * math.log(2 * math.pi)) / 2

    def entropy(self) -> Tensor:
        return (self._log_det + self.event_shape[0] * math.log(2 * math.pi * math.e)) / 2
