"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape, as_tensors
from engine.distributions.exponential import Exponential
from engine.distributions.gumbel import EULER
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import AffineTransform, PowerTransform, Transform
from engine.tensor import Tensor

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Lifetimes: `scale` times an exponential draw to the power 1 / concentration.

    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        tensors = as_tensors({"scale": scale, "concentration": concentration})
        self.scale, self.concentration = engine.broadcast_tensors(*tensors.values())
        base = Exponential(engine.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._parts(), validate_args=validate_args)

    def _parts(self) -> list[Transform]:
        return [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        expanded.transforms = expanded._parts()
        return expanded

    def _moment(self, n: int) -> Tensor:
        """Return the mean of the n-th power, for the scale 1."""
        return (1 + n / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        return self.scale * (1 - 1 / self.concentration) ** (1 / self.concentration)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (self._moment(2) - self._moment(1).square())

    def entropy(self) -> Tensor:
        return 1 + EULER * (1 - 1 / self.concentration) + (self.scale / self.concentration).log()
