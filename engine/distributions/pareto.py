"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape, as_tensors
from engine.distributions.exponential import Exponential
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.transforms import AffineTransform, ExpTransform
from engine.tensor import Tensor

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Numbers from `scale` on, with a density proportional to x**-(alpha + 1).

    >>> Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "alpha": constraints.positive,
        "scale": constraints.positive,
    }
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        tensors = as_tensors({"scale": scale, "alpha": alpha})
        self.scale, self.alpha = engine.broadcast_tensors(*tensors.values())
        self._stretch(Exponential(self.alpha, validate_args=validate_args), validate_args)

    def _stretch(self, base: Exponential, validate_args: bool | None) -> None:
        parts = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, parts, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        expanded.transforms = [ExpTransform(), AffineTransform(0, expanded.scale)]
        return expanded

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        return engine.where(self.alpha > 1, self.scale * self.alpha / (self.alpha - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha
        finite = (self.scale / (a - 1)).square() * a / (a - 2)
        return engine.where(a > 2, finite, math.inf)

    def entropy(self) -> Tensor:
        return 1 + 1 / self.alpha + (self.scale / self.alpha).log()
