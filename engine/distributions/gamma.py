"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.distributions.sampling import standard_gamma
from engine.tensor import Tensor

__all__ = ["Gamma"]


class Gamma(Distribution):
    """The gamma distribution with the shape `concentration` and `rate`.

    >>> Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / self.rate

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        draws = standard_gamma(self.concentration.expand(shape)) / self.rate
        return draws.clamp(min=engine.finfo(draws.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        a, rate = self.concentration, self.rate
        scaled = self._checked(engine.as_tensor(value, dtype=rate.dtype)) * rate
        # The density of rate * x, times the rate.
        return engine.xlogy(a - 1, scaled) - scaled - a.lgamma() + rate.log()

    def cdf(self, value: Tensor) -> Tensor:
        return engine.special.gammainc(self.concentration, self._checked(value) * self.rate)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + a.lgamma() - (a - 1) * a.digamma() - self.rate.log()
