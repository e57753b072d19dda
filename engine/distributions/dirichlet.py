"""Dirichlet: shares that sum to 1."""

from __future__ import annotations

from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.exp_family import ExponentialFamily
from engine.distributions.sampling import standard_gamma
from engine.nn import functional
from engine.tensor import Tensor

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Points of the simplex with a density proportional to the product of x_i^(concentration_i - 1).

    A draw is a vector of gamma draws divided by its sum.

    >>> import engine
    >>> Dirichlet(engine.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _event_dims = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        is_corner = (self.concentration < 1).all(dim=-1).unsqueeze(-1)
        corner = functional.one_hot(mode.nan_to_num().argmax(dim=-1), self.concentration.shape[-1])
        return engine.where(is_corner, corner.to(mode), mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        draws = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return draws / draws.sum(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            engine.xlogy(self.concentration - 1.0, value).sum(-1)
            + engine.lgamma(self.concentration.sum(-1))
            - engine.lgamma(self.concentration).sum(-1)
        )

    def entropy(self) -> Tensor:
        count = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            engine.lgamma(self.concentration).sum(-1)
            - engine.lgamma(total)
            - (count - total) * engine.digamma(total)
            - ((self.concentration - 1.0) * engine.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - engine.lgamma(x.sum(-1))
