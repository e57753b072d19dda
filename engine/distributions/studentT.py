"""StudentT: normal numbers divided by an estimate of their deviation."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.chi2 import Chi2
from engine.distributions.distribution import Distribution
from engine.distributions.utils import (
    broadcast_all,
    standard_normal,
)
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale * z / sqrt(Chi2(df) / df) for a standard normal z.

    >>> import engine
    >>> StudentT(engine.tensor([4.0])).variance
    tensor([2.])
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _event_dims = {"df": 0, "loc": 0, "scale": 0}

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new._chi2 = self._chi2.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        return engine.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self.scale.pow(2) * self.df / (self.df - 2)
        variance = engine.where(self.df > 2, variance, math.inf)
        return engine.where(self.df <= 1, math.nan, variance)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = standard_normal(self._extended_shape(sample_shape), self.df)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * engine.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + engine.lgamma(0.5 * self.df)
            - engine.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * engine.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        log_beta = (
            engine.lgamma(0.5 * self.df) + math.lgamma(0.5) - engine.lgamma(0.5 * (self.df + 1))
        )
        difference = engine.digamma(0.5 * (self.df + 1)) - engine.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * difference + 0.5 * self.df.log() + log_beta
