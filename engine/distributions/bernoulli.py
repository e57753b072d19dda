"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Binary
from engine.tensor import Tensor

__all__ = ["Bernoulli", "log_likelihood"]


def log_likelihood(successes: Tensor, failures: Tensor, logits: Tensor) -> Tensor:
    """Return the logarithm of p**successes (1 - p)**failures, exact where a count is 0."""
    softplus = engine.nn.functional.softplus
    return -(successes * softplus(-logits) + failures * softplus(logits))


class Bernoulli(Binary):
    """A trial: 1 with the probability `probs`, else 0. Takes `probs` or `logits`.

    >>> Bernoulli(0.25).variance
    tensor(0.1875)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_form(validate_args, probs, logits)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        likelier = (self.probs > 0.5).to(self.probs.dtype)
        return likelier.masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs - self.probs.square()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            return self.probs.expand(self._extended_shape(sample_shape)).bernoulli()

    def log_prob(self, value: Tensor) -> Tensor:
        x, logits = engine.broadcast_tensors(self._checked(value), self.logits)
        return log_likelihood(x, 1 - x, logits)

    def entropy(self) -> Tensor:
        return -log_likelihood(self.probs, 1 - self.probs, self.logits)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate(engine.arange(2, dtype=self.probs.dtype), expand)
