"""Samplers of the gamma and binomial distributions, composed of operators."""

from __future__ import annotations

from typing import Any

import engine
from engine.autograd.function import Function
from engine.tensor import Tensor

__all__ = ["sample_binomial", "standard_gamma"]

_MIN_SPLIT = 16
"""Fewer trials than this are drawn one by one."""


class _StandardGamma(Function):
    """Gamma draws of rate 1. The gradient is implicit: dx/da = -(dF(x; a)/da) / f(x; a)."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        sample = _marsaglia_tsang(concentration)
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        concentration, sample = ctx.saved_tensors
        a, x = concentration.double(), sample.double()
        step = 1e-5 * a.clamp(max=1.0)
        slope = engine.special.gammainc(a + step, x) - engine.special.gammainc(a - step, x)
        density = engine.exp(engine.xlogy(a - 1, x) - x - engine.lgamma(a))
        implicit = -slope / (2 * step) / density
        # The tails, where both vanish: x ~ (F a Gamma(a))^(1/a) near 0, and the normal limit above.
        near_zero = -x / a * (x.log() - engine.digamma(a + 1))
        implicit = engine.where(x < 1e-3 * a.clamp(max=1.0), near_zero, implicit)
        implicit = engine.where(engine.isfinite(implicit), implicit, 1 + (x - a) / (2 * a))
        return grad * implicit.to(grad.dtype)


def standard_gamma(concentration: Tensor) -> Tensor:
    """Draw from the gamma distribution of rate 1; differentiable in the concentration."""
    result: Tensor = _StandardGamma.apply(concentration)
    return result


def _marsaglia_tsang(concentration: Tensor) -> Tensor:
    """Draw by rejection from squeezed normals (Marsaglia and Tsang 2000), in float64."""
    alpha = concentration.double().reshape(-1)
    small = alpha < 1
    d = engine.where(small, alpha + 1, alpha) - 1 / 3
    c = 1 / engine.sqrt(9 * d)
    result = engine.zeros_like(alpha)
    pending = engine.arange(alpha.numel())
    while pending.numel():
        dp, cp = d[pending], c[pending]
        x = engine.randn(pending.numel(), dtype=engine.float64)
        u = engine.rand(pending.numel(), dtype=engine.float64)
        v = (1 + cp * x) ** 3
        bound = 0.5 * x * x + dp - dp * v + dp * engine.log(v.clamp(min=1e-300))
        is_accepted = (v > 0) & (engine.log(u.clamp(min=1e-300)) < bound)
        is_accepted |= dp.isnan()
        accepted = pending[is_accepted]
        result[accepted] = (dp * v)[is_accepted]
        pending = pending[~is_accepted]
    u = engine.rand(alpha.numel(), dtype=engine.float64).clamp(min=1e-300)
    result = engine.where(small, result * u ** (1 / alpha), result)
    kind = concentration.dtype
    return result.reshape(concentration.shape).to(kind).clamp(min=engine.finfo(kind).tiny)


def sample_binomial(count: Tensor, prob: Tensor) -> Tensor:
    """Draw the number of successes in `count` trials, exactly, by halving the trials at a beta draw.

    The i-th smallest of n uniform numbers is Beta(i, n + 1 - i); on either side of it the others are uniform.
    """
    n, p = count.double().clone(), prob.double().clone()
    # An infinite count is never halved away.
    result = engine.where(n.isfinite(), 0.0, engine.nan)
    n = n.nan_to_num(0.0, 0.0, 0.0)
    while bool((n >= _MIN_SPLIT).any()):
        is_split = n >= _MIN_SPLIT
        i = engine.floor(n / 2) + 1
        first = standard_gamma(engine.where(is_split, i, engine.ones_like(i)))
        second = standard_gamma(engine.where(is_split, n + 1 - i, engine.ones_like(i)))
        x = first / (first + second)
        is_below = x <= p
        result = engine.where(is_split & is_below, result + i, result)
        n_next = engine.where(is_below, n - i, i - 1)
        p_next = engine.where(is_below, (p - x) / (1 - x), p / x).clamp(0, 1)
        n, p = engine.where(is_split, n_next, n), engine.where(is_split, p_next, p)
    trials = engine.arange(_MIN_SPLIT, dtype=engine.float64)
    draws = engine.rand(*n.shape, _MIN_SPLIT, dtype=engine.float64) < p.unsqueeze(-1)
    result = result + (draws & (trials < n.unsqueeze(-1))).sum(-1)
    return result.to(prob.dtype)
