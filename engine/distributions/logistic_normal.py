"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions import constraints
from engine.distributions.normal import Normal
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import StickBreakingTransform
from engine.tensor import Tensor

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Probabilities of n + 1 classes: stick-breaking of n normal draws, the last dimension of `loc` and
    `scale`.

    >>> import engine
    >>> LogisticNormal(engine.zeros(2), engine.ones(2)).sample().sum()
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal draws."""
        loc: Tensor = self.base_dist.base_dist.loc
        return loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal draws."""
        scale: Tensor = self.base_dist.base_dist.scale
        return scale
