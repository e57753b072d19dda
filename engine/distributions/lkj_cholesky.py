"""LKJCholesky: Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.beta import Beta
from engine.distributions.distribution import Distribution
from engine.distributions.utils import (
    broadcast_all,
    standard_normal,
)
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L of correlation matrices with a density proportional to det(L L^T)^(concentration - 1).

    Draws are built row by row ("onion"): a beta number is the squared length below the diagonal.

    >>> import engine
    >>> LKJCholesky(3, 0.5).sample().shape
    engine.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _event_dims = {"concentration": 0}

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch_shape = self.concentration.size()
        marginal = self.concentration + 0.5 * (self.dim - 2)
        offset = engine.arange(self.dim - 1, dtype=self.concentration.dtype)
        offset = engine.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(batch_shape, Size((dim, dim)), validate_args)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new.dim = self.dim
        new._beta = self._beta.expand(batch_shape + (self.dim,))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with engine.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            u = standard_normal(self._extended_shape(sample_shape), self.concentration).tril(-1)
            u = u / u.norm(dim=-1, keepdim=True)
            u[..., 0, :] = 0.0
            w = engine.sqrt(y) * u
            eps = engine.finfo(w.dtype).tiny
            diagonal = engine.clamp(1 - engine.sum(w**2, dim=-1), min=eps).sqrt()
            return w + engine.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = engine.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = engine.sum(order * diagonal.log(), dim=-1)
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        denominator = engine.lgamma(alpha) * m
        numerator = engine.mvlgamma(alpha - 0.5, m)
        normalize = 0.5 * m * math.log(math.pi) + numerator - denominator
        return unnormalized - normalize
