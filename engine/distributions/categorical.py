"""The distribution over classes."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Classes
from engine.tensor import Tensor

__all__ = ["Categorical", "draw_classes"]


def draw_classes(probs: Tensor, count: int) -> Tensor:
    """Return `count` draws (count, batch) from the probabilities (batch, classes)."""
    rows = probs.reshape(-1, probs.shape[-1])
    if not count or not rows.shape[0]:
        return engine.empty((count, *probs.shape[:-1]), dtype=engine.int64)
    return engine.multinomial(rows, count, True).t().reshape(count, *probs.shape[:-1])


class Categorical(Classes):
    """The index of a class along the last dimension of `probs` or `logits`.

    >>> Categorical(logits=engine.zeros(4)).entropy()
    tensor(1.3863)
    """

    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_form(validate_args, probs, logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return engine.full(self._batch_shape, math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            draws = draw_classes(self.probs, math.prod(sample_shape))
            return draws.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        classes = self._checked(value).long()
        shape = engine.broadcast_shapes(classes.shape, self._batch_shape)
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, classes.expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=engine.finfo(self.logits.dtype).min)  # 0 * log(0) is 0
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate(engine.arange(self._num_events), expand)
