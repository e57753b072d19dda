"""The log-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions import constraints
from engine.distributions.normal import Normal
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import ExpTransform
from engine.tensor import Tensor

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution of numbers whose logarithms are normal with mean `loc` and standard deviation `scale`.

    >>> LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        loc: Tensor = self.base_dist.loc
        return loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        scale: Tensor = self.base_dist.scale
        return scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.base_dist.variance / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.base_dist.variance).exp()

    @property
    def variance(self) -> Tensor:
        return self.mean.square() * self.base_dist.variance.expm1()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
