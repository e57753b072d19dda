"""The beta distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions import constraints
from engine.distributions.dirichlet import draw_simplex
from engine.distributions.distribution import Distribution, Shape
from engine.distributions.probs_or_logits import clamp_probs
from engine.tensor import Tensor

__all__ = ["Beta"]


class Beta(Distribution):
    """The beta distribution, of probabilities; its density is x**(concentration1 - 1) (1 - x)**(concentration0 - 1).

    >>> Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _repr_shows_parameters = False
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(
            validate_args, concentration1=concentration1, concentration0=concentration0
        )

    @property
    def _total(self) -> Tensor:
        return self.concentration1 + self.concentration0

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / self._total

    @property
    def mode(self) -> Tensor:
        a, b = ((x - 1).clamp(min=0) for x in (self.concentration1, self.concentration0))
        at_ends = (self.concentration1 < 1) & (self.concentration0 < 1)
        return (a / (a + b)).masked_fill(at_ends, 1.0)  # both ends are modes: PyTorch returns 1

    @property
    def variance(self) -> Tensor:
        return self.mean * (self.concentration0 / self._total) / (self._total + 1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        a, b = self.concentration1.expand(shape), self.concentration0.expand(shape)
        return clamp_probs(draw_simplex(a, b))

    def _log_norm(self) -> Tensor:
        log_gammas = self.concentration1.lgamma() + self.concentration0.lgamma()
        return log_gammas - self._total.lgamma()

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        up, down = self.concentration1 - 1, self.concentration0 - 1
        return up.xlogy(x) + down.xlogy(1 - x) - self._log_norm()

    def entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self._total
        slopes = (a - 1) * a.digamma() + (b - 1) * b.digamma() - (total - 2) * total.digamma()
        return self._log_norm() - slopes
