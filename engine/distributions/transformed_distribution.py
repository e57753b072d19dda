"""Distributions of transformed draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape, sum_last
from engine.distributions.independent import Independent
from engine.distributions.transforms import ComposeTransform, Transform
from engine.tensor import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of draws of `base_distribution` after all `transforms`, applied in order.

    >>> from engine.distributions import Normal
    >>> from engine.distributions.transforms import ExpTransform
    >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).cdf(engine.tensor(1.0))
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {}
    base_dist: Any

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list) or not all(
            isinstance(part, Transform) for part in transforms
        ):
            raise ValueError(
                f"transforms must be a Transform or list of Transforms, but was {transforms}"
            )
        self.transforms = list(transforms)
        composed = ComposeTransform(self.transforms)
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        needed = composed.domain.event_dim
        if len(batch) + len(event) < needed:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {needed}, but got {(*batch, *event)}."
            )
        # Maps may broadcast the batch, and may take dimensions of it as one event.
        shape = composed.forward_shape((*batch, *event))
        base_shape = composed.inverse_shape(shape)
        base = base_distribution.expand(base_shape[: len(base_shape) - len(event)])
        joined = needed - len(event)
        self.base_dist = Independent(base, joined) if joined > 0 else base
        event_dim = composed.codomain.event_dim + max(len(event) - needed, 0)
        split = len(shape) - event_dim
        super().__init__(shape[:split], shape[split:], validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        composed = ComposeTransform(self.transforms)
        shape = composed.inverse_shape((*batch_shape, *self.event_shape))
        expanded.base_dist = self.base_dist.expand(
            shape[: len(shape) - len(self.base_dist.event_shape)]
        )
        return expanded

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        region = self.transforms[-1].codomain
        extra = len(self.event_shape) - region.event_dim
        return constraints.independent(region, extra) if extra > 0 else region

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    def _map(self, x: Tensor) -> Tensor:
        for part in self.transforms:
            x = part(x)
        return x

    def _unmap(self, y: Tensor) -> Tensor:
        for part in reversed(self.transforms):
            y = part.inv(y)
        return y

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with engine.no_grad():
            return self._map(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._map(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        y = self._checked(value)
        event_dim = len(self.event_shape)
        stretched: Any = 0.0
        for part in reversed(self.transforms):
            x = part.inv(y)
            event_dim += part.domain.event_dim - part.codomain.event_dim
            jacobian = part.log_abs_det_jacobian(x, y)
            stretched = stretched + sum_last(jacobian, event_dim - part.domain.event_dim)
            y = x
        of_base = self.base_dist.log_prob(y)
        return sum_last(of_base, event_dim - len(self.base_dist.event_shape)) - stretched

    @property
    def _sign(self) -> Any:
        return ComposeTransform(self.transforms).sign

    def _mirrored(self, q: Tensor) -> Tensor:
        """Return q, or 1 - q if the composition of the maps is decreasing."""
        sign = self._sign
        return q if isinstance(sign, int) and sign == 1 else sign * (q - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        return self._mirrored(self.base_dist.cdf(self._unmap(self._checked(value))))

    def icdf(self, value: Tensor) -> Tensor:
        return self._map(self.base_dist.icdf(self._mirrored(value)))
