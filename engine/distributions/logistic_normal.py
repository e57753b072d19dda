"""LogisticNormal: normal vectors on the simplex."""

from __future__ import annotations

from typing import Any

from engine.distributions import constraints
from engine.distributions.normal import Normal
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import (
    StickBreakingTransform,
)
from engine.tensor import Tensor

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """A normal vector of n numbers as a point of the simplex with n + 1 coordinates.

    >>> import engine
    >>> LogisticNormal(engine.zeros(3), engine.ones(3)).sample().shape
    engine.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _event_dims: dict[str, int] = {}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the normal vector."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal vector."""
        return self.base_dist.base_dist.scale
