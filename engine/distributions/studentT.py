"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import LocationScale, Shape
from engine.distributions.sampling import standard_gamma
from engine.tensor import Tensor

__all__ = ["StudentT"]


class StudentT(LocationScale):
    """Student's t-distribution with `df` degrees of freedom, shifted by `loc` and stretched by `scale`.

    >>> StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    df: Tensor

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return engine.where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        df = self.df
        finite = self.scale.square() * df / (df - 2)
        return engine.where(df > 2, finite, engine.where(df > 1, math.inf, math.nan).to(df.dtype))

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def _draw(self, shape: Shape) -> Tensor:
        half = self.df.expand(shape) / 2
        return engine.randn(shape, dtype=self.df.dtype) * (half / standard_gamma(half)).sqrt()

    def _log_density(self, z: Tensor) -> Tensor:
        return -(self.df + 1) / 2 * (z.square() / self.df).log1p() - self._log_norm()

    def _log_norm(self) -> Tensor:
        """Return log(sqrt(df) B(df / 2, 1 / 2))."""
        half = self.df / 2
        log_beta = half.lgamma() + math.log(math.pi) / 2 - (half + 0.5).lgamma()
        return self.df.log() / 2 + log_beta

    def entropy(self) -> Tensor:
        half = self.df / 2
        spread = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + self._log_norm() + spread
