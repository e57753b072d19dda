"""Exponential families defined by their natural parameters."""

from __future__ import annotations

import engine
from engine.distributions.distribution import Distribution
from engine.tensor import Tensor

__all__ = ["ExponentialFamily", "natural_gradients"]


class ExponentialFamily(Distribution):
    """A base class for densities exp(t(x) . theta - F(theta) + k(x)); entropy and divergences come from F alone.

    A subclass defines `_natural_params`, theta; `_log_normalizer(*theta)`, F; and `_mean_carrier_measure`, the
    mean of k. The distributions of this package have closed forms instead.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not define _natural_params")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _log_normalizer")

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError(f"{type(self).__name__} does not define _mean_carrier_measure")

    def entropy(self) -> Tensor:
        params, log_norm, means = natural_gradients(self)
        result = log_norm - self._mean_carrier_measure
        for theta, mean in zip(params, means, strict=True):
            result = result - theta * mean
        return result


def natural_gradients(
    family: ExponentialFamily,
) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
    """Return theta, F and dF/dtheta, which are the means of t(x)."""
    params = [theta.detach().requires_grad_() for theta in family._natural_params]
    with engine.enable_grad():
        log_norm = family._log_normalizer(*params)
        means = engine.autograd.grad(log_norm.sum(), params, create_graph=True)
    return params, log_norm, means
