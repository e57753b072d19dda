"""Poisson: the number of events in a time."""

from __future__ import annotations

from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.exp_family import ExponentialFamily
from engine.distributions.utils import (
    broadcast_all,
)
from engine.tensor import Tensor

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Counts with probability rate^k exp(-rate) / k!.

    >>> import engine
    >>> Poisson(engine.tensor([4.0])).variance
    tensor([4.])
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _event_dims = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with engine.no_grad():
            return engine.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return engine.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (engine.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return engine.exp(x)
