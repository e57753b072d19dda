"""MixtureSameFamily: a component chosen by a Categorical, then a draw of it."""

from __future__ import annotations

from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.categorical import Categorical
from engine.distributions.distribution import Distribution
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dimension of `component_distribution`.

    >>> import engine
    >>> from engine.distributions.normal import Normal
    >>> parts = Normal(engine.tensor([-1.0, 3.0]), engine.ones(2))
    >>> MixtureSameFamily(Categorical(engine.ones(2)), parts).mean
    tensor(1.)
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution"
            )
        expected = mixture_distribution.batch_shape
        actual = component_distribution.batch_shape[:-1]
        for size1, size2 in zip(reversed(expected), reversed(actual), strict=False):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({expected}) is not "
                    "compatible with `component_distribution.batch_shape`"
                    f"({actual})"
                )
        km, kc = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if km != kc:
            raise ValueError(
                f"`mixture_distribution component` ({km}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({kc})"
            )
        self._num_component = km
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(actual, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch_shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        event_shape = new._component_distribution.event_shape
        Distribution.__init__(new, batch_shape, event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The weights of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        return self._pad_mixture_dimensions(self.mixture_distribution.probs)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        weights, dim = self._weights(), -1 - self._event_ndims
        within = (weights * self.component_distribution.variance).sum(dim=dim)
        distance = self.component_distribution.mean - self._pad(self.mean)
        return within + (weights * distance.pow(2.0)).sum(dim=dim)

    def cdf(self, x: Tensor) -> Tensor:
        return (
            self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs
        ).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_component = self.component_distribution.log_prob(self._pad(x))
        log_weights = engine.log_softmax(self.mixture_distribution.logits, dim=-1)
        return engine.logsumexp(log_component + log_weights, dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with engine.no_grad():
            sample_shape = Size(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            chosen_component = self.mixture_distribution.sample(sample_shape)
            index = chosen_component.reshape(
                chosen_component.shape + (1,) * (self._event_ndims + 1)
            )
            draws = self.component_distribution.sample(sample_shape)
            index = index.expand(index.shape[: dim + 1] + self.event_shape)
            return engine.gather(draws, dim, index).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = x.shape
        return x.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
