"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import engine
from engine.distributions.cauchy import Cauchy
from engine.distributions.half_normal import Folded
from engine.tensor import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The distribution of |x| for Cauchy draws x around 0. It has no finite mean.

    >>> HalfCauchy(1.0).cdf(engine.tensor(1.0))
    tensor(0.5000)
    """

    _family = Cauchy

    @property
    def mean(self) -> Tensor:
        return engine.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
