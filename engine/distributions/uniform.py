"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.tensor import Tensor

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    >>> Uniform(0.0, 4.0).cdf(engine.tensor(1.0))
    tensor(0.2500)
    """

    has_rsample = True
    _event_dims: ClassVar[dict[str, int]] = {"low": 0, "high": 0}
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Any:
        return {
            "low": constraints.less_than(vars(self).get("high")),
            "high": constraints.greater_than(vars(self).get("low")),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def _width(self) -> Tensor:
        return self.high - self.low

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return self.high * math.nan  # every value is equally likely

    @property
    def variance(self) -> Tensor:
        return self._width.square() / 12

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        u = engine.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + u * self._width

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        is_inside = (self.low <= value) & (value < self.high)
        return engine.where(is_inside, -self._width.log(), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return ((self._checked(value) - self.low) / self._width).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return self.low + value * self._width

    def entropy(self) -> Tensor:
        return self._width.log()
