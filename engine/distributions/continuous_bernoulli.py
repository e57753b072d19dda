"""ContinuousBernoulli: numbers of [0, 1] with a density proportional to Bernoulli's probabilities."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.exp_family import ExponentialFamily
from engine.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    positive_uniform,
    probs_to_logits,
)
from engine.dtypes import Size
from engine.nn import functional
from engine.tensor import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ExponentialFamily):
    """Density proportional to probs^x (1 - probs)^(1 - x) on [0, 1]; near probs = 1/2 a Taylor series is used.

    >>> import engine
    >>> ContinuousBernoulli(engine.tensor([0.5])).mean
    tensor([0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    _event_dims = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            checks = self._validate_args if validate_args is None else validate_args
            if checks and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new._lims = self._lims

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    def _is_stable(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        return engine.where(
            self._is_stable(), self.probs, self._lims[0] * engine.ones_like(self.probs)
        )

    def _cont_bern_log_norm(self) -> Tensor:
        cut = self._cut_probs()
        below = engine.where(cut <= 0.5, cut, engine.zeros_like(cut))
        above = engine.where(cut >= 0.5, cut, engine.ones_like(cut))
        log_norm = engine.log(engine.abs(engine.log1p(-cut) - engine.log(cut))) - engine.where(
            cut <= 0.5, engine.log1p(-2.0 * below), engine.log(2.0 * above - 1.0)
        )
        x = (self.probs - 0.5) ** 2
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return engine.where(self._is_stable(), log_norm, taylor)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        mus = cut / (2.0 * cut - 1.0) + 1.0 / (engine.log1p(-cut) - engine.log(cut))
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x
        return engine.where(self._is_stable(), mus, taylor)

    @property
    def stddev(self) -> Tensor:
        return engine.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        variances = (
            cut * (cut - 1.0) / (1.0 - 2.0 * cut) ** 2
            + 1.0 / (engine.log1p(-cut) - engine.log(cut)) ** 2
        )
        x = (self.probs - 0.5) ** 2
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return engine.where(self._is_stable(), variances, taylor)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(positive_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return (
            -functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
            + self._cont_bern_log_norm()
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        cdfs = (engine.pow(cut, value) * engine.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (
            2.0 * cut - 1.0
        )
        unbounded = engine.where(self._is_stable(), cdfs, value)
        return engine.where(
            value <= 0.0,
            engine.zeros_like(value),
            engine.where(value >= 1.0, engine.ones_like(value), unbounded),
        )

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        numerator = engine.log1p(-cut + value * (2.0 * cut - 1.0)) - engine.log1p(-cut)
        return engine.where(
            self._is_stable(), numerator / (engine.log(cut) - engine.log1p(-cut)), value
        )

    def entropy(self) -> Tensor:
        log_not = engine.log1p(-self.probs)
        log_odds = engine.log(self.probs) - log_not
        return self.mean * -log_odds - self._cont_bern_log_norm() - log_not

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        is_stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = engine.where(is_stable, x, (self._lims[0] - 0.5) * engine.ones_like(x))
        log_norm = engine.log(engine.abs(engine.special.expm1(cut))) - engine.log(engine.abs(cut))
        taylor = 0.5 * x + engine.pow(x, 2) / 24.0 - engine.pow(x, 4) / 2880.0
        return engine.where(is_stable, log_norm, taylor)
