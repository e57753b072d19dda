"""Kumaraswamy: numbers of (0, 1) with a closed cumulative distribution function."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import (
    AffineTransform,
    PowerTransform,
    Transform,
)
from engine.distributions.uniform import Uniform
from engine.distributions.utils import (
    broadcast_all,
    euler_constant,
)
from engine.tensor import Tensor

__all__ = ["Kumaraswamy"]


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """Return the n-th moment: b B(1 + n/a, b)."""
    first = 1 + n / a
    log_beta = engine.lgamma(first) + engine.lgamma(b) - engine.lgamma(first + b)
    return b * engine.exp(log_beta)


class Kumaraswamy(TransformedDistribution):
    """cdf 1 - (1 - x^concentration1)^concentration0 on (0, 1).

    >>> import engine
    >>> Kumaraswamy(engine.tensor([1.0]), engine.tensor([1.0])).mean
    tensor([0.5000])
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _event_dims = {"concentration1": 0, "concentration0": 0}

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            engine.full_like(self.concentration0, 0),
            engine.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms: list[Transform] = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(1 / a)
        return engine.where((a < 1) | (b < 1), math.nan, mode)

    @property
    def variance(self) -> Tensor:
        second = _moment(self.concentration1, self.concentration0, 2)
        return second - engine.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        t1 = 1 - self.concentration1.reciprocal()
        t0 = 1 - self.concentration0.reciprocal()
        harmonic = engine.digamma(self.concentration0 + 1) + euler_constant
        return (
            t0 + t1 * harmonic - engine.log(self.concentration1) - engine.log(self.concentration0)
        )
