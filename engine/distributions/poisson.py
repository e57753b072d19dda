"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.tensor import Tensor

__all__ = ["Poisson"]


class Poisson(Distribution):
    """The Poisson distribution: a number of events with the mean `rate`.

    >>> Poisson(2.0).log_prob(engine.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            return engine.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        count = self._checked(value)
        return engine.xlogy(count, self.rate) - (count + 1).lgamma() - self.rate
