"""Wishart: covariance matrices of normal vectors."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.exp_family import ExponentialFamily
from engine.distributions.multivariate_normal import (
    precision_to_scale_tril,
)
from engine.distributions.sampling import standard_gamma
from engine.distributions.utils import (
    lazy_property,
    standard_normal,
)
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Positive definite matrices: sums of `df` outer products of normal vectors, for integers `df`.

    Draws are products of Bartlett's triangular factors.

    >>> import engine
    >>> Wishart(engine.tensor(3.0), engine.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _event_dims = {"df": 0, "scale_tril": 2, "covariance_matrix": 2, "precision_matrix": 2}

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        present = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(present) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        name, matrix = present[0]
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        df = df if isinstance(df, Tensor) else engine.tensor(df, dtype=matrix.dtype)
        batch_shape = engine.broadcast_shapes(matrix.shape[:-2], df.shape)
        event_shape = matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        self._event_shape = event_shape
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}."
            )
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = engine.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._event_shape = self._event_shape

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        tril = self._unbroadcasted_scale_tril
        return self._expanded(tril @ tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._expanded(engine.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = engine.where(factor <= 0, math.nan, factor)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view(self._batch_shape + (1, 1)) * (v.pow(2) + outer)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        p = self._event_shape[-1]
        shape = sample_shape + self._batch_shape
        degrees = self.df.unsqueeze(-1) - engine.arange(p, dtype=self.df.dtype)
        diagonal = (2 * standard_gamma((0.5 * degrees).expand(shape + (p,)))).sqrt()
        below = standard_normal(shape + self._event_shape, self.df).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (below + engine.diag_embed(diagonal))
        return factor @ factor.mT

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        solved = engine.cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -nu * (p * math.log(2) / 2 + self._half_log_det())
            - engine.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * engine.linalg.slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        halves = (nu.unsqueeze(-1) - engine.arange(p, dtype=nu.dtype)) / 2
        digammas = engine.digamma(halves).sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + self._half_log_det())
            + engine.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * digammas
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        degrees = y + (p + 1) / 2
        log_det = -engine.linalg.slogdet(-2 * x).logabsdet
        return degrees * (log_det + math.log(2) * p) + engine.mvlgamma(degrees, p=p)
