"""The generalised Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.tensor import Tensor

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The excess of draws over a threshold `loc`: exponential for the concentration 0, heavy-tailed above it.

    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        end = engine.where(self.concentration < 0, end, math.inf)
        return constraints.interval(self.loc, end)

    def _slope(self) -> tuple[Tensor, Tensor]:
        """Return a mask of zero concentrations, and the concentration with ones in their place."""
        is_zero = self.concentration.abs() <= engine.finfo(self.concentration.dtype).eps
        return is_zero, self.concentration.masked_fill(is_zero, 1.0)

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        return engine.where(c < 1, self.loc + self.scale / (1 - c), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        finite = (self.scale / (1 - c)).square() / (1 - 2 * c)
        return engine.where(c < 0.5, finite, math.inf)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(engine.rand(shape, dtype=self.loc.dtype))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of draws above `value`."""
        z = (self._checked(value) - self.loc) / self.scale
        is_zero, c = self._slope()
        return engine.where(is_zero, -z, -(c * z).log1p() / c)

    def log_prob(self, value: Tensor) -> Tensor:
        return (1 + self.concentration) * self.log_survival_function(value) - self.scale.log()

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of `cdf(value)`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return -self.log_survival_function(value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        log_above = (-value).log1p()
        is_zero, c = self._slope()
        z = engine.where(is_zero, -log_above, (-c * log_above).expm1() / c)
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        return 1 + self.concentration + self.scale.log()
