"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape, as_tensors
from engine.distributions.gumbel import EULER
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import AffineTransform, PowerTransform, Transform
from engine.distributions.uniform import Uniform
from engine.tensor import Tensor

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Probabilities with the cdf 1 - (1 - x**concentration1)**concentration0: similar to the beta distribution,
    with a cdf in closed form.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        tensors = as_tensors({"concentration1": concentration1, "concentration0": concentration0})
        self.concentration1, self.concentration0 = engine.broadcast_tensors(*tensors.values())
        base = Uniform(
            engine.zeros_like(self.concentration0),
            engine.ones_like(self.concentration0),
            validate_args=validate_args,
        )
        super().__init__(base, self._parts(), validate_args=validate_args)

    def _parts(self) -> list[Transform]:
        return [
            PowerTransform(1 / self.concentration0),
            AffineTransform(1.0, -1.0),
            PowerTransform(1 / self.concentration1),
        ]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        expanded.transforms = expanded._parts()
        return expanded

    def _moment(self, n: int) -> Tensor:
        """Return the mean of the n-th power: b B(1 + n / a, b)."""
        b, shift = self.concentration0, 1 + n / self.concentration1
        return (shift.lgamma() + (1 + b).lgamma() - (shift + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        peak = ((a - 1) / (a * b - 1)) ** (1 / a)
        return peak.masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - (a * b).log()
