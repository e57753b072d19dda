"""The normal distribution."""

from __future__ import annotations

import math

import engine
from engine.distributions.distribution import LocationScale, Shape
from engine.tensor import Tensor

__all__ = ["Normal"]


class Normal(LocationScale):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    >>> Normal(engine.tensor([0.0, 1.0]), 1.0).log_prob(engine.tensor([0.0, 0.0]))
    tensor([-0.9189, -1.4189])
    """

    _mean, _variance = 0.0, 1.0
    _entropy = 0.5 * math.log(2 * math.pi * math.e)

    def _draw(self, shape: Shape) -> Tensor:
        return engine.randn(shape, dtype=self.loc.dtype)

    def _log_density(self, z: Tensor) -> Tensor:
        return z.square() * -0.5 - 0.5 * math.log(2 * math.pi)

    def _probability(self, z: Tensor) -> Tensor:
        return engine.erfc(z * -(0.5**0.5)) / 2

    def _quantile(self, q: Tensor) -> Tensor:
        return engine.erfinv(2 * q - 1) * 2**0.5
