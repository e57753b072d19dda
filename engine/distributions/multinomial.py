"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.binomial import log_choose
from engine.distributions.categorical import draw_classes
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Classes
from engine.tensor import Tensor

__all__ = ["Multinomial"]


class Multinomial(Classes):
    """The counts of the classes, along the last dimension of `probs` or `logits`, in `total_count` trials.

    >>> Multinomial(8, engine.tensor([1.0, 3.0])).mean
    tensor([2., 6.])
    """

    _repr_shows_parameters = False
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._set_form(validate_args, probs, logits, is_event=True)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with engine.no_grad():
            classes = draw_classes(self.probs.expand(shape), self.total_count).movedim(0, -1)
            counts = engine.zeros(shape, dtype=self.probs.dtype)
            return counts.scatter_add_(-1, classes, engine.ones_like(classes, dtype=counts.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        counts = self._checked(value)
        ways = (counts.sum(-1) + 1).lgamma() - (counts + 1).lgamma().sum(-1)
        return ways + (counts * self.logits).masked_fill(counts == 0, 0.0).sum(-1)

    def entropy(self) -> Tensor:
        n = engine.tensor(float(self.total_count), dtype=self.probs.dtype)
        of_trials = -n * self.probs.xlogy(self.probs).sum(-1)
        # The order of the trials is lost: log(n! / (k! ...)) less on average.
        k = engine.arange(1.0, self.total_count + 1, dtype=n.dtype).unsqueeze(-1)
        k = k.reshape(-1, *[1] * self.probs.dim())
        of_count = (log_choose(n, k) + k.xlogy(self.probs) + (n - k).xlogy(1 - self.probs)).exp()
        return of_trials - (n + 1).lgamma() + (of_count * (k + 1).lgamma()).sum((0, -1))
