"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.bernoulli import log_likelihood
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Binary
from engine.tensor import Tensor

__all__ = ["Geometric"]


class Geometric(Binary):
    """The number of failures before the first success. Takes `probs` or `logits`.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_form(validate_args, probs, logits)
        if self._validate_args and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                f"to be positive but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return engine.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.mean / self.probs

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            # The whole part of an exponential waiting time.
            waiting = engine.empty(self._extended_shape(sample_shape), dtype=self.probs.dtype)
            return (waiting.exponential_() / -(-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        failures, logits = engine.broadcast_tensors(self._checked(value), self.logits)
        return log_likelihood(engine.ones_like(failures), failures, logits)

    def entropy(self) -> Tensor:
        return -log_likelihood(self.probs, 1 - self.probs, self.logits) / self.probs
