"""The half-normal distribution, and the base of folded symmetric distributions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.normal import Normal
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import AbsTransform
from engine.tensor import Tensor

__all__ = ["Folded", "HalfNormal"]


class Folded(TransformedDistribution):
    """The absolute value of draws of a distribution that is symmetric around 0."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _family: Any

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._family(0, scale, validate_args=False), AbsTransform())
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args and not (self.scale > 0).all():
            raise ValueError(
                f"Expected parameter scale (Tensor of shape {tuple(self.scale.shape)}) of distribution "
                f"{type(self).__name__}() to satisfy the constraint {constraints.positive!r}, but found "
                f"invalid values:\n{self.scale}"
            )

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution that is folded."""
        scale: Tensor = self.base_dist.scale
        return scale

    @property
    def mode(self) -> Tensor:
        return engine.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(engine.as_tensor(value, dtype=self.scale.dtype))
        return engine.where(x >= 0, self.base_dist.log_prob(x) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((1 + value) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Folded):
    """The distribution of |x| for normal x around 0 with the standard deviation `scale`.

    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _family = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)
