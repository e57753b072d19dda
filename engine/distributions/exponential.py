"""The exponential distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.tensor import Tensor

__all__ = ["Exponential"]


class Exponential(Distribution):
    """The exponential distribution: the waiting time for events that happen `rate` times per unit of time.

    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        return engine.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.mean.square()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        times = engine.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype)
        return times.exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self._checked(value) * self.rate

    def cdf(self, value: Tensor) -> Tensor:
        return -(self._checked(value) * -self.rate).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()
