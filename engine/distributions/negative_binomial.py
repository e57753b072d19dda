"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.bernoulli import log_likelihood
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Binary
from engine.distributions.sampling import standard_gamma
from engine.tensor import Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Binary):
    """The number of successes, each of the probability `probs`, before `total_count` failures.

    >>> NegativeBinomial(3, probs=engine.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_form(validate_args, probs, logits, total_count=total_count)

    @property
    def _odds(self) -> Tensor:
        return self.logits.exp()

    @property
    def mean(self) -> Tensor:
        return self.total_count * self._odds

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self._odds).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 + self._odds)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            count = self.total_count.expand(self._extended_shape(sample_shape))
            return engine.poisson(standard_gamma(count) * self._odds)

    def log_prob(self, value: Tensor) -> Tensor:
        k, n = engine.broadcast_tensors(self._checked(value), self.total_count)
        ways = (n + k).lgamma() - (k + 1).lgamma() - n.lgamma()  # to order all but the last failure
        return ways.masked_fill(n + k == 0, 0.0) + log_likelihood(k, n, self.logits)
