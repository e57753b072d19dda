"""The continuous Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Binary
from engine.tensor import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Binary):
    """Numbers x in [0, 1] with a density proportional to exp(logits * x) (Loaiza-Ganem and Cunningham,
    2019).

    With A = log((exp(logits) - 1) / logits), the density is exp(logits * x - A), and the derivatives of A
    are the mean and the variance. Series replace them for probabilities between `lims`.

    >>> ContinuousBernoulli(0.5).variance
    tensor(0.0833)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        self._set_form(validate_args, probs, logits)

    def _by_slope(
        self, exact: Callable[[Tensor], Tensor], series: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return `series` of the logits near 0, else `exact` of them."""
        is_flat = (self.probs > self._lims[0]) & (self.probs < self._lims[1])
        apart = engine.where(is_flat, 1.0, self.logits)  # so that gradients are finite
        return engine.where(is_flat, series(self.logits), exact(apart))

    def _log_norm(self) -> Tensor:
        return self._by_slope(
            lambda t: (engine.expm1(t) / t).log(),
            lambda t: t / 2 + t.square() / 24 - t**4 / 2880,
        )

    @property
    def mean(self) -> Tensor:
        return self._by_slope(
            lambda t: -1 / engine.expm1(-t) - 1 / t, lambda t: 0.5 + t / 12 - t**3 / 720
        )

    @property
    def variance(self) -> Tensor:
        return self._by_slope(
            lambda t: t**-2 - (2 * (t / 2).sinh()) ** -2,
            lambda t: 1 / 12 - t.square() / 240 + t**4 / 6048,
        )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(engine.rand(shape, dtype=self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._checked(value) * self.logits - self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        below = self._by_slope(lambda t: engine.expm1(t * x) / engine.expm1(t), lambda t: x + 0 * t)
        return engine.where(x <= 0, 0.0, engine.where(x >= 1, 1.0, below))

    def icdf(self, value: Tensor) -> Tensor:
        return self._by_slope(
            lambda t: (value * engine.expm1(t)).log1p() / t, lambda t: value + 0 * t
        )

    def entropy(self) -> Tensor:
        return self._log_norm() - self.logits * self.mean
