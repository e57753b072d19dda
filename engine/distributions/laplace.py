"""The Laplace distribution."""

from __future__ import annotations

import math

import engine
from engine.distributions.distribution import LocationScale, Shape
from engine.tensor import Tensor

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """The Laplace distribution: exponential on either side of `loc`, with the mean distance `scale` from it.

    >>> Laplace(0.0, 2.0).stddev
    tensor(2.8284)
    """

    _mean, _variance = 0.0, 2.0
    _entropy = 1 + math.log(2)

    def _draw(self, shape: Shape) -> Tensor:
        distance = engine.empty(shape, dtype=self.loc.dtype).exponential_()
        return distance * (2 * engine.empty_like(distance).bernoulli_(0.5) - 1)

    def _log_density(self, z: Tensor) -> Tensor:
        return -z.abs() - math.log(2)

    def _probability(self, z: Tensor) -> Tensor:
        below = (-z.abs()).exp() / 2
        return engine.where(z < 0, below, 1 - below)

    def _quantile(self, q: Tensor) -> Tensor:
        from_median = q - 0.5
        return -from_median.sign() * (-2 * from_median.abs()).log1p()
