"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.bernoulli import log_likelihood
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Binary
from engine.distributions.sampling import sample_binomial
from engine.tensor import Tensor

__all__ = ["Binomial", "log_choose"]


def log_choose(n: Tensor, k: Tensor) -> Tensor:
    """Return the logarithm of the number of ways to choose `k` of `n`."""
    return (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()


class Binomial(Binary):
    """The number of successes in `total_count` trials. Takes `probs` or `logits`.

    >>> Binomial(10, probs=engine.tensor(0.5)).variance
    tensor(2.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_form(validate_args, probs, logits, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with engine.no_grad():
            return sample_binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        k, n = self._checked(value), self.total_count
        return log_choose(n, k) + log_likelihood(k, n - k, self.logits)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(expand=False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        largest = int(self.total_count.max())
        if not (self.total_count == largest).all():
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        return self._enumerate(engine.arange(largest + 1, dtype=self.total_count.dtype), expand)
