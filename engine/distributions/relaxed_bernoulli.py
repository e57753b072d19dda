"""The relaxed Bernoulli distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape
from engine.distributions.probs_or_logits import Binary, clamp_probs
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import SigmoidTransform
from engine.tensor import Tensor

__all__ = ["LogitRelaxedBernoulli", "Relaxed", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Binary):
    """The logits of relaxed Bernoulli draws: logistic draws around `logits`, over `temperature`."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_form(validate_args, probs, logits)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = clamp_probs(engine.rand(shape, dtype=self.param_dtype)).logit()
        return (noise + self.logits) / self.temperature

    @property
    def param_dtype(self) -> Any:
        """The dtype of the parameter that was passed."""
        return self.logits.dtype

    def log_prob(self, value: Tensor) -> Tensor:
        # The logistic density at t * x - logits, stretched by t.
        z = self._checked(value) * self.temperature - self.logits
        softplus = engine.nn.functional.softplus
        return self.temperature.log() - softplus(z) - softplus(-z)


class Relaxed(TransformedDistribution):
    """Draws between the values of a discrete distribution; a lower temperature moves them closer to these."""

    has_rsample = True

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        temperature: Tensor = self.base_dist.temperature
        return temperature

    @property
    def logits(self) -> Tensor:
        """The logits of the discrete distribution."""
        logits: Tensor = self.base_dist.logits
        return logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the discrete distribution."""
        probs: Tensor = self.base_dist.probs
        return probs


class RelaxedBernoulli(Relaxed):
    """Numbers between 0 and 1 for Bernoulli draws; differentiable (Maddison et al., 2017; Jang et al., 2017).

    >>> RelaxedBernoulli(engine.tensor(0.5), probs=engine.tensor(0.5)).log_prob(engine.tensor(0.5))
    tensor(-0.6931)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
