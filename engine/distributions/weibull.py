"""Weibull: lifetimes."""

from __future__ import annotations

from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.exponential import Exponential
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import (
    AffineTransform,
    PowerTransform,
    Transform,
)
from engine.distributions.utils import (
    broadcast_all,
    euler_constant,
)
from engine.tensor import Tensor

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """cdf 1 - exp(-(x / scale)^concentration) for x > 0.

    >>> import engine
    >>> Weibull(engine.tensor([2.0]), engine.tensor([1.0])).mean
    tensor([2.])
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _event_dims = {"scale": 0, "concentration": 0, "concentration_reciprocal": 0}

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(engine.ones_like(self.scale), validate_args=validate_args)
        transforms: list[Transform] = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * engine.exp(engine.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        ratio = ((self.concentration - 1) / self.concentration).clamp(min=0)
        return self.scale * ratio**self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        second = engine.exp(engine.lgamma(1 + 2 * self.concentration_reciprocal))
        first = engine.exp(2 * engine.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (second - first)

    def entropy(self) -> Tensor:
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + engine.log(self.scale * self.concentration_reciprocal)
            + 1
        )
