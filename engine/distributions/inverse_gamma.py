"""InverseGamma: reciprocals of gamma numbers."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.gamma import Gamma
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import (
    PowerTransform,
)
from engine.tensor import Tensor

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The reciprocal of a number of Gamma(concentration, rate).

    >>> import engine
    >>> InverseGamma(engine.tensor([2.0]), engine.tensor([3.0])).mean
    tensor([3.])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _event_dims: dict[str, int] = {}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        transform = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, transform, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The concentration of the gamma number."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma number."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1)
        return engine.where(self.concentration > 1, mean, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return engine.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
