"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, Shape
from engine.tensor import Tensor

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around `loc`, in radians, with a density proportional to exp(concentration * cos(x -
    loc)).

    >>> VonMises(engine.tensor(1.0), engine.tensor(4.0)).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the length of the mean of the unit vectors."""
        special = engine.special
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        cosine = engine.cos(self._checked(value) - self.loc)
        norm = engine.special.i0e(self.concentration).log() + math.log(2 * math.pi)
        return self.concentration * (cosine - 1) - norm

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draw by rejection from wrapped Cauchy angles (Best and Fisher, 1979)."""
        shape = self._extended_shape(sample_shape)
        with engine.no_grad():
            k = self.concentration.expand(shape).double().reshape(-1)
            tau = 1 + (1 + 4 * k.square()).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            # For small k the difference above cancels; the limit is 1 / k.
            r = engine.where(k < 1e-5, 1 / k + k, (1 + rho.square()) / (2 * rho))
            angle, pending = engine.empty_like(k), engine.arange(k.numel())
            while pending.numel():
                u = engine.rand(3, pending.numel(), dtype=k.dtype)
                z, rp, kp = (math.pi * u[0]).cos(), r[pending], k[pending]
                f = ((1 + rp * z) / (rp + z)).clamp(-1, 1)
                c = kp * (rp - f)
                is_accepted = (c * (2 - c) > u[1]) | ((c / u[1]).log() + 1 >= c)
                side = (u[2] - 0.5).sign()
                angle[pending[is_accepted]] = (side * f.acos())[is_accepted]
                pending = pending[~is_accepted]
            centred = angle.reshape(shape).to(self.loc.dtype) + self.loc
            return (centred + math.pi) % (2 * math.pi) - math.pi
