"""FisherSnedecor: the ratio of two mean squares."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution
from engine.distributions.gamma import Gamma
from engine.distributions.utils import (
    broadcast_all,
)
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two Chi2 numbers, each divided by its degrees of freedom.

    >>> import engine
    >>> FisherSnedecor(engine.tensor([1.0]), engine.tensor([4.0])).mean
    tensor([2.])
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _event_dims = {"df1": 0, "df2": 0}

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new._gamma1, new._gamma2 = (
            self._gamma1.expand(batch_shape),
            self._gamma2.expand(batch_shape),
        )

    @property
    def mean(self) -> Tensor:
        df2 = engine.where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return engine.where(self.df1 <= 2, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        df2 = engine.where(self.df2 <= 4, math.nan, self.df2)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x1 = self._gamma1.rsample(sample_shape).view(shape)
        x2 = self._gamma2.rsample(sample_shape).view(shape)
        return x1 / x2.clamp(min=engine.finfo(x2.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2 = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        return (
            (half1 + half2).lgamma()
            - half1.lgamma()
            - half2.lgamma()
            + half1 * ratio.log()
            + (half1 - 1) * value.log()
            - (half1 + half2) * engine.log1p(ratio * value)
        )
