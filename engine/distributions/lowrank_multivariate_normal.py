"""LowRankMultivariateNormal: normal vectors whose covariance is a diagonal plus a low-rank matrix."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution
from engine.distributions.utils import (
    lazy_property,
    standard_normal,
)
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with the covariance cov_factor cov_factor^T + diag(cov_diag); inverses have the low rank.

    >>> import engine
    >>> m = LowRankMultivariateNormal(engine.zeros(2), engine.ones(2, 1), engine.ones(2))
    >>> m.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _event_dims: dict[str, int] = {}

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batch_shape = engine.broadcast_shapes(
            loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
        )
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        rank = cov_factor.shape[-1]
        capacitance = scaled @ cov_factor + engine.eye(rank, dtype=cov_factor.dtype)
        self._capacitance_tril = engine.linalg.cholesky(capacitance)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new.cov_factor = self.cov_factor.expand(batch_shape + self.cov_factor.shape[-2:])
        new.cov_diag = self.cov_diag.expand(batch_shape + self.event_shape)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1)
        return (squares + self._unbroadcasted_cov_diag).expand(
            self._batch_shape + self._event_shape
        )

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        # Cov = D^(1/2) (I + D^(-1/2) W W^T D^(-1/2)) D^(1/2): the middle is well conditioned.
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        n = self._event_shape[0]
        middle = scaled @ scaled.mT + engine.eye(n, dtype=scaled.dtype)
        tril = root * engine.linalg.cholesky(middle)
        return tril.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        covariance = factor @ factor.mT + engine.diag_embed(self._unbroadcasted_cov_diag)
        return covariance.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by the Woodbury identity."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        a = engine.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        precision = engine.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - a.mT @ a
        return precision.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        low_rank = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        full = standard_normal(shape, self.loc)
        product = (self._unbroadcasted_cov_factor @ low_rank.unsqueeze(-1)).squeeze(-1)
        return self.loc + product + self._unbroadcasted_cov_diag.sqrt() * full

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        difference = value - self.loc
        mahalanobis = lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            difference,
            self._capacitance_tril,
        )
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self.log_det() + mahalanobis)

    def log_det(self) -> Tensor:
        """Return the logarithm of the covariance's determinant."""
        diagonal = self._capacitance_tril.diagonal(dim1=-2, dim2=-1)
        return 2 * diagonal.log().sum(-1) + self._unbroadcasted_cov_diag.log().sum(-1)

    def entropy(self) -> Tensor:
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self.log_det())
        return entropy.expand(self._batch_shape)


def lowrank_mahalanobis(
    factor: Tensor, diag: Tensor, x: Tensor, capacitance_tril: Tensor
) -> Tensor:
    """Return x^T (W W^T + D)^-1 x, by the Woodbury identity."""
    projected = (factor.mT / diag.unsqueeze(-2)) @ x.unsqueeze(-1)
    correction = engine.linalg.solve_triangular(capacitance_tril, projected, upper=False)
    return (x.pow(2) / diag).sum(-1) - correction.pow(2).sum((-2, -1))
