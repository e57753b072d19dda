"""The Cauchy distribution."""

from __future__ import annotations

import math

import engine
from engine.distributions.distribution import LocationScale, Shape
from engine.tensor import Tensor

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """The Cauchy distribution with median `loc` and half width at half height `scale`. It has no mean.

    >>> Cauchy(0.0, 1.0).cdf(engine.tensor(1.0))
    tensor(0.7500)
    """

    _mean, _variance = math.nan, math.inf
    _entropy = math.log(4 * math.pi)

    def _draw(self, shape: Shape) -> Tensor:
        return engine.empty(shape, dtype=self.loc.dtype).cauchy_()

    def _log_density(self, z: Tensor) -> Tensor:
        return -z.square().log1p() - math.log(math.pi)

    def _probability(self, z: Tensor) -> Tensor:
        return z.atan() / math.pi + 0.5

    def _quantile(self, q: Tensor) -> Tensor:
        return (math.pi * (q - 0.5)).tan()
