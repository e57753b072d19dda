"""The LKJ distribution of the Cholesky factors of matrices of correlations."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.beta import Beta
from engine.distributions.distribution import Distribution, Shape
from engine.tensor import Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of `dim` x `dim` correlations R, with a density proportional to det(R)**(concentration -
    1).

    Lewandowski, Kurowicka and Joe (2009).

    >>> LKJCholesky(3, 1.0).sample()[0]
    tensor([1., 0., 0.])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        self._set_parameters(validate_args, (dim, dim), concentration=concentration)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draw row by row, by the onion method: a direction, and its share of the length 1."""
        shape, size = self._extended_shape(sample_shape), self.dim
        with engine.no_grad():
            noise = engine.randn(shape, dtype=self.concentration.dtype).tril(-1)
            length = engine.linalg.vector_norm(noise, dim=-1, keepdim=True)
            direction = noise / length.clamp(min=engine.finfo(noise.dtype).tiny)
            before = engine.arange(1, size, dtype=noise.dtype)  # entries in front of the diagonal
            below = self.concentration.unsqueeze(-1) + (size - 1 - before) / 2
            share = Beta(before / 2, below, validate_args=False).sample(sample_shape)
            share = engine.nn.functional.pad(share, (1, 0)).unsqueeze(-1)
            return direction * share.sqrt() + (1 - share).sqrt().squeeze(-1).diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = self._checked(value).diagonal(dim1=-2, dim2=-1)[..., 1:]
        rows = engine.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        powers = 2 * (self.concentration.unsqueeze(-1) - 1) + self.dim - rows
        return (powers * diagonal.log()).sum(-1) - self._log_norm()

    def _log_norm(self) -> Tensor:
        # A row with k entries in front of the diagonal contributes the integral over a ball of k dimensions
        # of (1 - |x|**2) to the power that the diagonal has there.
        k = engine.arange(1, self.dim, dtype=self.concentration.dtype)
        top = self.concentration.unsqueeze(-1) + (self.dim - 1 - k) / 2
        of_rows = k / 2 * math.log(math.pi) + top.lgamma() - (top + k / 2).lgamma()
        return of_rows.sum(-1)
