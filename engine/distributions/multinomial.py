"""Multinomial: counts of categories in several draws."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.binomial import Binomial
from engine.distributions.categorical import Categorical
from engine.distributions.distribution import Distribution
from engine.distributions.utils import (
    broadcast_all,
)
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The counts of the categories in `total_count` draws of a Categorical.

    >>> import engine
    >>> Multinomial(10, engine.tensor([1.0, 3.0])).mean
    tensor([2.5000, 7.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int
    _event_dims: dict[str, int] = {}

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new.total_count, new._binomial = self.total_count, self._binomial
        new._categorical = self._categorical.expand(batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The log-probabilities of the categories."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        samples = self._categorical.sample(Size((self.total_count,)) + sample_shape)
        samples = samples.permute(*range(1, samples.dim()), 0)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, samples, engine.ones_like(samples).type_as(counts))
        return counts

    def entropy(self) -> Tensor:
        n = engine.tensor(self.total_count)
        cat_entropy = self._categorical.entropy()
        first = n * cat_entropy - engine.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        binomial_probs = engine.exp(self._binomial.log_prob(support))
        weights = engine.lgamma(support + 1)
        return first + (binomial_probs * weights).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone()
        log_factorial_n = engine.lgamma(value.sum(-1) + 1)
        log_factorial_xs = engine.lgamma(value + 1).sum(-1)
        logits = engine.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return log_factorial_n - log_factorial_xs + (logits * value).sum(-1)
