"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.categorical import Categorical
from engine.distributions.distribution import Distribution, Shape
from engine.tensor import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A draw of one of the components, the last dimension of the batch of `component_distribution`.

    >>> from engine.distributions import Normal
    >>> halves = Categorical(engine.ones(2))
    >>> MixtureSameFamily(halves, Normal(engine.tensor([-1.0, 1.0]), 1.0)).variance
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        mixture, component = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution"
            )
        batch = component.batch_shape[:-1]
        for size, other in zip(reversed(mixture.batch_shape), reversed(batch), strict=False):
            if 1 not in (size, other) and size != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        count, of_components = mixture.param_shape[-1], component.batch_shape[-1]
        if count != of_components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({of_components})"
            )
        self._mixture_distribution, self._component_distribution = mixture, component
        super().__init__(batch, component.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the number of the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        component = self._component_distribution
        count = component.batch_shape[-1]
        expanded._component_distribution = component.expand((*batch_shape, count))
        expanded._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return expanded

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Tensor:
        """Return the probabilities of the components (batch, components, 1 for each dimension of an event)."""
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * len(self.event_shape))

    @property
    def _component_dim(self) -> int:
        return -1 - len(self.event_shape)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(self._component_dim)

    @property
    def variance(self) -> Tensor:
        component, weights, dim = self._component_distribution, self._weights(), self._component_dim
        between = (component.mean - self.mean.unsqueeze(dim)).square()
        return (weights * (component.variance + between)).sum(dim)

    def cdf(self, value: Tensor) -> Tensor:
        of_components = self._component_distribution.cdf(
            self._checked(value).unsqueeze(self._component_dim)
        )
        return (of_components * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        of_components = self._component_distribution.log_prob(
            self._checked(value).unsqueeze(self._component_dim)
        )
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return (of_components + weights).logsumexp(-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            draws = self._component_distribution.sample(sample_shape)
            number = self._mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            number = number.reshape(*number.shape, *[1] * (1 + len(self.event_shape)))
            number = number.expand(
                *number.shape[: number.dim() + self._component_dim], 1, *self.event_shape
            )
            return draws.gather(self._component_dim, number).squeeze(self._component_dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution!r},\n  {self._component_distribution!r})"
