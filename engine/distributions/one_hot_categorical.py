"""The distribution over classes with one-hot vectors as draws."""

from __future__ import annotations

import math

import engine
from engine.distributions import constraints
from engine.distributions.categorical import draw_classes
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Classes
from engine.tensor import Tensor

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Classes):
    """A class along the last dimension of `probs` or `logits`, as a one-hot vector.

    >>> OneHotCategorical(engine.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True
    _repr_shows_parameters = False

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_form(validate_args, probs, logits, is_event=True)

    def _vector(self, classes: Tensor) -> Tensor:
        return engine.nn.functional.one_hot(classes, self._num_events).to(self.probs.dtype)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vector(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs - self.probs.square()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            draws = draw_classes(self.probs, math.prod(sample_shape))
            return self._vector(draws.reshape((*sample_shape, *self._batch_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        classes = self._checked(value).argmax(-1, keepdim=True)
        batch = engine.broadcast_shapes(classes.shape[:-1], self._batch_shape)
        logits, classes = self.logits.expand((*batch, -1)), classes.expand((*batch, 1))
        return logits.gather(-1, classes).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=engine.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate(engine.eye(self._num_events, dtype=self.probs.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws pass their gradients to the probabilities unchanged."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
