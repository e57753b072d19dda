"""Gamma: sums of waiting times."""

from __future__ import annotations

from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.exp_family import ExponentialFamily
from engine.distributions.sampling import standard_gamma
from engine.distributions.utils import (
    broadcast_all,
)
from engine.tensor import Tensor

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Density proportional to x^(concentration - 1) exp(-rate * x) for x > 0.

    Draws are differentiable: the gradient is implicit, through the cumulative distribution function.

    >>> import engine
    >>> Gamma(engine.tensor([3.0]), engine.tensor([2.0])).mean
    tensor([1.5000])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _event_dims = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=engine.finfo(value.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = engine.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            engine.xlogy(self.concentration, self.rate)
            + engine.xlogy(self.concentration - 1, value)
            - self.rate * value
            - engine.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return engine.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - engine.log(self.rate)
            + engine.lgamma(self.concentration)
            + (1.0 - self.concentration) * engine.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return engine.lgamma(x + 1) + (x + 1) * engine.log(-y.reciprocal())
