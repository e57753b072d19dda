"""HalfCauchy: absolute values of Cauchy numbers."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.cauchy import Cauchy
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import (
    AbsTransform,
)
from engine.tensor import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The absolute value of a centred Cauchy number.

    >>> import engine
    >>> HalfCauchy(engine.tensor([1.0])).cdf(engine.tensor([1.0]))
    tensor([0.5000])
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _event_dims: dict[str, int] = {}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(
            Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    @property
    def scale(self) -> Tensor:
        """The scale of the Cauchy number."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return engine.full_like(self.scale, math.inf)

    @property
    def mode(self) -> Tensor:
        return engine.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = engine.as_tensor(value, dtype=self.base_dist.scale.dtype)
        return engine.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
