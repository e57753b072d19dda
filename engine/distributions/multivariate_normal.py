"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape, derived
from engine.tensor import Tensor

__all__ = ["MatrixForms", "MultivariateNormal", "log_diagonal", "whitened"]


def log_diagonal(triangle: Tensor) -> Tensor:
    """Return the logarithm of the determinant of a triangle with a positive diagonal."""
    return triangle.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def whitened(scale_tril: Tensor, vectors: Tensor) -> Tensor:
    """Return L**-1 x for vectors in the last dimension."""
    batch = engine.broadcast_shapes(scale_tril.shape[:-2], vectors.shape[:-1])
    x = vectors.expand((*batch, -1)).unsqueeze(-1)
    factor = scale_tril.expand((*batch, -1, -1))
    return engine.linalg.solve_triangular(factor, x, upper=False).squeeze(-1)


class MatrixForms(Distribution):
    """Distributions with a positive definite matrix, passed in one of three forms; the others are derived."""

    @derived
    def scale_tril(self) -> Tensor:
        """Return the lower triangle L of the matrix L Lᵀ."""
        return engine.linalg.cholesky(self.covariance_matrix)

    @derived
    def covariance_matrix(self) -> Tensor:
        if "scale_tril" in vars(self):
            return self.scale_tril @ self.scale_tril.mT
        return engine.cholesky_inverse(engine.linalg.cholesky(self.precision_matrix))

    @derived
    def precision_matrix(self) -> Tensor:
        """Return the inverse of the matrix."""
        return engine.cholesky_inverse(self.scale_tril)

    @staticmethod
    def _form(covariance_matrix: Any, precision_matrix: Any, scale_tril: Any) -> dict[str, Tensor]:
        """Return the form that was passed, by its name. Raises: ValueError if it is not exactly one matrix."""
        forms = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        passed = {name: matrix for name, matrix in forms.items() if matrix is not None}
        if len(passed) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        (name, matrix), *_ = passed.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        return passed


class MultivariateNormal(MatrixForms):
    """The normal distribution of vectors with the mean `loc` and a covariance matrix in one of three forms.

    >>> MultivariateNormal(engine.zeros(2), engine.eye(2)).entropy()
    tensor(2.8379)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

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
        form = self._form(covariance_matrix, precision_matrix, scale_tril)
        size = engine.broadcast_shapes(loc.shape[-1:], *(m.shape[-1:] for m in form.values()))
        loc = loc.expand((*loc.shape[:-1], *size))
        self._set_parameters(validate_args, size, loc=loc, **form)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.scale_tril.square().sum(-1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        noise = engine.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        z = whitened(self.scale_tril, self._checked(value) - self.loc)
        log_norm = 0.5 * self.event_shape[0] * math.log(2 * math.pi)
        return z.square().sum(-1) / -2 - log_diagonal(self.scale_tril) - log_norm

    def entropy(self) -> Tensor:
        of_one = 0.5 * math.log(2 * math.pi * math.e)
        return log_diagonal(self.scale_tril) + self.event_shape[0] * of_one
