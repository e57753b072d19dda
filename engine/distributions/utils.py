"""Parts that distributions share: broadcasting, probabilities and logits, lazy attributes."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

import engine
from engine.nn import functional
from engine.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors; numbers take the dtype of the first tensor, or the default.

    Raises: ValueError for anything else.
    """
    if not all(isinstance(value, (Number, Tensor)) for value in values):
        raise ValueError("Input arguments must all be instances of Number or Tensor.")
    tensors = [value for value in values if isinstance(value, Tensor)]
    dtype = tensors[0].dtype if tensors else engine.get_default_dtype()
    device = tensors[0].device if tensors else None
    return tuple(
        engine.broadcast_tensors(
            *(
                value
                if isinstance(value, Tensor)
                else engine.tensor(value, dtype=dtype, device=device)
                for value in values
            )
        )
    )


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Draw standard normal numbers with the dtype and device of a tensor."""
    return engine.randn(shape, dtype=like.dtype, device=like.device)


def positive_uniform(shape: Any, like: Tensor) -> Tensor:
    """Draw numbers of (0, 1): neither their logarithm nor that of 1 - u is infinite."""
    info = engine.finfo(like.dtype)
    return engine.rand(shape, dtype=like.dtype, device=like.device).clamp(
        info.tiny, 1 - info.eps / 2
    )


def sum_rightmost(value: Any, dim: int) -> Any:
    """Sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[: value.dim() - dim] + (-1,)).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to [eps, 1 - eps] of their dtype."""
    eps = engine.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Convert log-odds (binary) or unnormalised log-probabilities to probabilities."""
    return engine.sigmoid(logits) if is_binary else functional.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Convert probabilities to log-odds (binary) or log-probabilities."""
    clamped = clamp_probs(probs)
    if is_binary:
        return engine.log(clamped) - engine.log1p(-clamped)
    return engine.log(clamped)


class lazy_property:
    """An attribute that is computed on first access, with gradients, and replaces itself."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with engine.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of the lower triangles, up to a diagonal, as vectors."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows = engine.arange(n, device=mat.device)
    mask = rows < rows.view(-1, 1) + (diag + 1)
    return mat[..., mask]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return lower triangular matrices, up to a diagonal, of vectors of their elements."""
    count = vec.shape[-1]
    n = (
        -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    ) / 2
    eps = engine.finfo(vec.dtype).eps
    if not engine.get_default_dtype().is_floating_point or round(n) - n > eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    size = round(n)
    result = vec.new_zeros(vec.shape[:-1] + (size, size))
    rows = engine.arange(size, device=vec.device)
    result[..., rows < rows.view(-1, 1) + (diag + 1)] = vec
    return result
