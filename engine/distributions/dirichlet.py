"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.distributions.sampling import standard_gamma
from engine.tensor import Tensor

__all__ = ["Dirichlet"]


def draw_simplex(*concentrations: Tensor) -> Tensor:
    """Return gamma draws divided by their sum."""
    draws = [standard_gamma(a) for a in concentrations]
    return draws[0] / sum(draws)


class Dirichlet(Distribution):
    """The Dirichlet distribution, of probabilities of the classes along the last dimension of `concentration`.

    >>> Dirichlet(engine.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self._set_parameters(validate_args, concentration.shape[-1:], concentration=concentration)

    @property
    def _total(self) -> Tensor:
        return self.concentration.sum(-1, keepdim=True)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self._total

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0)
        shares = excess / excess.sum(-1, keepdim=True)
        # Where all are below 1 every corner is a mode: PyTorch returns the first.
        corner = engine.eye(shares.shape[-1], dtype=shares.dtype)[0]
        return engine.where((self.concentration < 1).all(-1, keepdim=True), corner, shares)

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 - self.mean) / (self._total + 1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        draws = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return draws / draws.sum(-1, keepdim=True)

    def _log_norm(self) -> Tensor:
        return self.concentration.lgamma().sum(-1) - self._total.squeeze(-1).lgamma()

    def log_prob(self, value: Tensor) -> Tensor:
        return (self.concentration - 1).xlogy(self._checked(value)).sum(-1) - self._log_norm()

    def entropy(self) -> Tensor:
        a, total, size = self.concentration, self._total.squeeze(-1), self.concentration.shape[-1]
        slopes = ((a - 1) * a.digamma()).sum(-1)
        return self._log_norm() + (total - size) * total.digamma() - slopes
