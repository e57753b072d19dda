"""GeneralizedPareto: excesses over a high threshold."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution
from engine.distributions.utils import (
    broadcast_all,
    positive_uniform,
)
from engine.tensor import Tensor

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Survival (1 + concentration * z)^(-1 / concentration) for z = (x - loc) / scale; exp(-z) at 0.

    >>> import engine
    >>> GeneralizedPareto(engine.tensor([0.0]), engine.tensor([1.0]), engine.tensor([0.5])).mean
    tensor([2.])
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _event_dims = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = self.loc - self.scale / self.concentration
        upper = engine.where(self.concentration < 0, upper, math.inf)
        return constraints.interval(self.loc, upper)

    def _is_exponential(self) -> Tensor:
        return engine.isclose(self.concentration, engine.zeros_like(self.concentration))

    def _safe_concentration(self) -> Tensor:
        return engine.where(
            self._is_exponential(), engine.ones_like(self.concentration), self.concentration
        )

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(positive_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, safe = self._z(value), self._safe_concentration()
        general = -(1 / safe + 1) * engine.log1p(safe * z)
        return engine.where(self._is_exponential(), -z, general) - engine.log(self.scale)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of larger values."""
        if self._validate_args:
            self._validate_sample(value)
        z, safe = self._z(value), self._safe_concentration()
        return engine.where(self._is_exponential(), -z, -engine.log1p(safe * z) / safe)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of the cdf."""
        return engine.log1p(-engine.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return engine.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        safe, log_survival = self._safe_concentration(), engine.log1p(-value)
        general = self.loc + self.scale * engine.expm1(-safe * log_survival) / safe
        return engine.where(self._is_exponential(), self.loc - self.scale * log_survival, general)

    @property
    def mean(self) -> Tensor:
        is_finite = self.concentration < 1
        safe = engine.where(is_finite, self.concentration, 0.5)
        return engine.where(is_finite, self.loc + self.scale / (1 - safe), math.inf)

    @property
    def variance(self) -> Tensor:
        is_finite = self.concentration < 0.5
        safe = engine.where(is_finite, self.concentration, 0.25)
        variance = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return engine.where(is_finite, variance, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return engine.log(self.scale) + self.concentration + 1
