"""Gradient clipping: by the norm of all gradients, or element by element."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

import engine
from engine._generated import ops
from engine.tensor import Tensor

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Compute the norm of all elements of all tensors, as one vector.

    Raises: RuntimeError with `error_if_nonfinite` if it is infinite or NaN.

    >>> get_total_norm([engine.tensor([3.0]), engine.tensor([[4.0]])])
    tensor(5.)
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not listed:
        return engine.tensor(0.0)
    with engine.no_grad():
        norms = engine.stack(ops._foreach_norm_Scalar(listed, norm_type))
        total: Tensor = engine.linalg.vector_norm(norms, norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Multiply every gradient by max_norm / total_norm if that is below 1."""
    grads = _gradients(parameters)
    if not grads:
        return
    with engine.no_grad():
        # Always multiply, even by 1: a comparison would have to wait for the norm.
        ops._foreach_mul_(grads, (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients in place so that their total norm is at most `max_norm`.

    Returns the previous norm. Raises: RuntimeError with `error_if_nonfinite` if that is not finite.
    """
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if isinstance(parameters, types.GeneratorType) and not listed:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2
        )
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Any, max_norm: float, *args: Any, **options: Any) -> Tensor:
    """Call `clip_grad_norm_`, under its deprecated name."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, *args, **options)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp every element of every gradient to [-clip_value, clip_value], in place."""
    clip_value = float(clip_value)
    with engine.no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(-clip_value, clip_value)


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    grads: list[Any] = [p.grad for p in listed]
    return [grad for grad in grads if grad is not None]
