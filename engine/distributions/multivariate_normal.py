"""MultivariateNormal: normal vectors with a covariance."""

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

__all__ = ["MultivariateNormal"]


def batch_mahalanobis(tril: Tensor, x: Tensor) -> Tensor:
    """Return x^T (L L^T)^-1 x for vectors and triangular matrices; batches broadcast."""
    shape = engine.broadcast_shapes(tril.shape[:-2], x.shape[:-1])
    size = x.shape[-1]
    columns = x.unsqueeze(-1).expand(shape + (size, 1))
    solved = engine.linalg.solve_triangular(tril.expand(shape + (size, size)), columns, upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse, of the factor of the matrix with reversed rows and columns."""
    reversed_factor = engine.linalg.cholesky(engine.flip(precision, (-2, -1)))
    inverse = engine.flip(reversed_factor, (-2, -1)).mT
    identity = engine.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return engine.linalg.solve_triangular(inverse, identity.expand_as(inverse), upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors; the covariance is set by itself, its inverse or its Cholesky factor.

    >>> import engine
    >>> MultivariateNormal(engine.zeros(2), engine.eye(2)).log_prob(engine.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _event_dims = {"loc": 1, "scale_tril": 2, "covariance_matrix": 2, "precision_matrix": 2}

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
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
                f"{name} matrix must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = engine.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = engine.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

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
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        mahalanobis = batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        size = self._event_shape[0]
        return -0.5 * (size * math.log(2 * math.pi) + mahalanobis) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)
