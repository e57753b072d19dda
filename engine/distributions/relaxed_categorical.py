"""RelaxedOneHotCategorical: a differentiable OneHotCategorical."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.categorical import Categorical
from engine.distributions.distribution import Distribution
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import (
    ExpTransform,
)
from engine.distributions.utils import (
    broadcast_all,
    clamp_probs,
)
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a RelaxedOneHotCategorical vector: log_softmax((logits + Gumbel noise) / temperature)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _event_dims: dict[str, int] = {}

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The log-probabilities of the categories."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        uniforms = clamp_probs(
            engine.rand(shape, dtype=self.logits.dtype, device=self.logits.device)
        )
        scores = (self.logits - (-(uniforms.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        count = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        temperature = engine.as_tensor(self.temperature, dtype=logits.dtype)
        log_scale = math.lgamma(count) - temperature.log().mul(-(count - 1))
        score = logits - value.mul(temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that approach a one-hot vector as the temperature falls (Gumbel softmax).

    >>> import engine
    >>> RelaxedOneHotCategorical(engine.tensor([2.2]), engine.tensor([0.1, 0.9])).event_shape
    engine.Size([2])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _event_dims: dict[str, int] = {}

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log-probabilities of the categories."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self.base_dist.probs
