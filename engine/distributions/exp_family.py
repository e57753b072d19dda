"""ExponentialFamily: densities exp(<t(x), theta> - F(theta) + k(x)), whose entropy follows from F."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import engine
from engine.distributions.distribution import Distribution
from engine.tensor import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters theta and a log-normalizer F."""

    if TYPE_CHECKING:
        _mean_carrier_measure: Any
    else:

        @property
        def _mean_carrier_measure(self) -> float:
            raise NotImplementedError

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return -E[k(x)] + F(theta) - <theta, grad F(theta)>."""
        result: Any = -self._mean_carrier_measure
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        with engine.enable_grad():
            normalizer = self._log_normalizer(*parameters)
            gradients = engine.autograd.grad(normalizer.sum(), parameters, create_graph=True)
        result = result + normalizer
        for parameter, gradient in zip(parameters, gradients, strict=True):
            term = parameter * gradient
            result = result - term.reshape(self._batch_shape + (-1,)).sum(-1)
        return result
