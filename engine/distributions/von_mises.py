"""VonMises: angles around a direction."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution
from engine.distributions.utils import (
    broadcast_all,
    lazy_property,
)
from engine.tensor import Tensor

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles of [-pi, pi) with a density proportional to exp(concentration * cos(x - loc)).

    Draws are accepted from wrapped Cauchy numbers (Best and Fisher 1979), in float64.

    >>> import engine
    >>> VonMises(engine.tensor([1.0]), engine.tensor([1.0])).mean
    tensor([1.])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _event_dims = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _log_bessel(self, order: int) -> Tensor:
        scaled = engine.special.i1e if order else engine.special.i0e
        return scaled(self.concentration).log() + self.concentration

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_density = self.concentration * engine.cos(value - self.loc)
        return log_density - math.log(2 * math.pi) - self._log_bessel(0)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with engine.no_grad():
            shape = self._extended_shape(sample_shape)
            kappa = self.concentration.double().expand(shape).reshape(-1)
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = engine.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            result = engine.zeros_like(kappa)
            pending = engine.arange(kappa.numel())
            while pending.numel():
                u1, u2, u3 = engine.rand(3, pending.numel(), dtype=engine.float64)
                rp, kp = r[pending], kappa[pending]
                z = engine.cos(math.pi * u1)
                f = (1 + rp * z) / (rp + z)
                c = kp * (rp - f)
                is_accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angles = (u3 - 0.5).sign() * f.clamp(-1, 1).acos()
                result[pending[is_accepted]] = angles[is_accepted]
                pending = pending[~is_accepted]
            angles = result.reshape(shape) + self.loc.double() + math.pi
            return (angles % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - (self._log_bessel(1) - self._log_bessel(0)).exp()
