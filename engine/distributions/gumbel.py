"""Gumbel: largest values of many numbers."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import (
    AffineTransform,
    ExpTransform,
    Transform,
)
from engine.distributions.uniform import Uniform
from engine.distributions.utils import (
    broadcast_all,
    euler_constant,
)
from engine.tensor import Tensor

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """cdf exp(-exp(-(x - loc) / scale)).

    >>> import engine
    >>> Gumbel(engine.tensor([1.0]), engine.tensor([2.0])).mode
    tensor([1.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _event_dims = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = engine.finfo(self.loc.dtype)
        low, high = engine.full_like(self.loc, info.tiny), engine.full_like(self.loc, 1 - info.eps)
        base = Uniform(low, high, validate_args=validate_args)
        transforms: list[Transform] = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-engine.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
