"""Fisher and Snedecor's F-distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.distributions.sampling import standard_gamma
from engine.tensor import Tensor

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F-distribution: of the ratio of two mean squares with `df1` and `df2` degrees of freedom.

    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        return engine.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        peak = (1 - 2 / self.df1) * (self.df2 / (self.df2 + 2))
        return engine.where(self.df1 > 2, peak, math.nan)

    @property
    def variance(self) -> Tensor:
        n, d = self.df1, self.df2
        spread = 2 * (n + d - 2) / (n * (d - 4))
        return engine.where(d > 4, spread * (d / (d - 2)).square(), math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        halves = (df.expand(shape) / 2 for df in (self.df1, self.df2))
        numerator, denominator = (standard_gamma(half) / half for half in halves)
        tiny = engine.finfo(self.df1.dtype).tiny
        return (numerator / denominator.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        n, d = self.df1 / 2, self.df2 / 2
        odds = x * n / d  # odds / (1 + odds) has a beta distribution
        log_beta = n.lgamma() + d.lgamma() - (n + d).lgamma()
        return n * odds.log() - x.log() - (n + d) * odds.log1p() - log_beta
