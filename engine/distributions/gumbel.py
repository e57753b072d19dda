"""The Gumbel distribution."""

from __future__ import annotations

import math

import engine
from engine.distributions.distribution import LocationScale, Shape
from engine.tensor import Tensor

__all__ = ["Gumbel"]

EULER = 0.57721566490153286  # the Euler-Mascheroni constant


class Gumbel(LocationScale):
    """The Gumbel distribution, of the largest of many draws, with the mode `loc`.

    >>> Gumbel(0.0, 1.0).cdf(engine.tensor(0.0))
    tensor(0.3679)
    """

    _mean, _variance = EULER, math.pi**2 / 6
    _entropy = 1 + EULER

    def _draw(self, shape: Shape) -> Tensor:
        # The waiting time of a Poisson process is the exponential of a negated Gumbel draw.
        return -engine.empty(shape, dtype=self.loc.dtype).exponential_().log()

    def _log_density(self, z: Tensor) -> Tensor:
        return -(z + (-z).exp())

    def _probability(self, z: Tensor) -> Tensor:
        return (-(-z).exp()).exp()

    def _quantile(self, q: Tensor) -> Tensor:
        return -(-q.log()).log()
