"""Distributions with `probs` or `logits` as parameters; the other form is computed on its first
use."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, derived
from engine.tensor import Tensor

__all__ = ["Binary", "Classes", "clamp_probs"]


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities that are at least eps away from 0 and 1, so that logarithms are finite."""
    eps = engine.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def _check_form(probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Binary(Distribution):
    """Distributions of trials that succeed with a probability: `logits` is log(p / (1 - p))."""

    @derived
    def probs(self) -> Tensor:
        return self.logits.sigmoid()

    @derived
    def logits(self) -> Tensor:
        probs = clamp_probs(self.probs)
        return probs.log() - (-probs).log1p()

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was passed."""
        return self.probs.shape if "probs" in vars(self) else self.logits.shape

    def _set_form(self, validate_args: bool | None, probs: Any, logits: Any, **others: Any) -> None:
        _check_form(probs, logits)
        self._set_parameters(validate_args, probs=probs, logits=logits, **others)


class Classes(Distribution):
    """Distributions over classes, the last dimension of `probs` (which add up to 1) or of `logits`."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    @derived
    def probs(self) -> Tensor:
        return self.logits.softmax(-1)

    @derived
    def logits(self) -> Tensor:
        return clamp_probs(self.probs).log()

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was passed, with the classes."""
        return self.probs.shape if "probs" in vars(self) else self.logits.shape

    @property
    def _num_events(self) -> int:
        count: int = self.param_shape[-1]
        return count

    def _set_form(
        self, validate_args: bool | None, probs: Any, logits: Any, is_event: bool = False
    ) -> None:
        """Normalise the form that was passed; `is_event`: a draw has the dimension of the classes."""
        _check_form(probs, logits)
        name, form = ("probs", probs) if logits is None else ("logits", logits)
        if form.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if logits is None:
            probs = probs / probs.sum(-1, keepdim=True)
        else:
            logits = logits - logits.logsumexp(-1, keepdim=True)
        event = form.shape[-1:] if is_event else ()
        self._set_parameters(validate_args, event, probs=probs, logits=logits)
