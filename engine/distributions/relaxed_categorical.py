"""The relaxed distribution over classes."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape
from engine.distributions.gumbel import Gumbel
from engine.distributions.probs_or_logits import Classes
from engine.distributions.relaxed_bernoulli import Relaxed
from engine.distributions.transforms import ExpTransform
from engine.tensor import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Classes):
    """The logarithms of relaxed draws: log_softmax of Gumbel draws around `logits`, over `temperature`."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_form(validate_args, probs, logits, is_event=True)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = Gumbel(engine.zeros_like(self.logits), 1.0).sample(shape[: len(sample_shape)])
        return ((noise + self.logits) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        count = engine.tensor(float(self._num_events), dtype=self.logits.dtype)
        scores = (self.logits - self._checked(value) * self.temperature).log_softmax(-1)
        return scores.sum(-1) + count.lgamma() + (count - 1) * self.temperature.log()


class RelaxedOneHotCategorical(Relaxed):
    """Probabilities near the corners for draws of a class; differentiable (Maddison et al., 2017; Jang et al., 2017).

    >>> t = engine.tensor(0.5)
    >>> RelaxedOneHotCategorical(t, engine.ones(3)).rsample().sum()
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = Classes.arg_constraints
    support = constraints.simplex

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
