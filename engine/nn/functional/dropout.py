"""Dropout: elements or whole channels set to zero at random, while training."""

from __future__ import annotations

from engine._generated import ops
from engine.tensor import Tensor


def _checked(p: float) -> float:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability `p`, the others scaled by 1 / (1 - p).

    The input itself when not `training`. Raises: ValueError unless 0 <= p <= 1.

    >>> import engine
    >>> engine.nn.functional.dropout(engine.ones(2), training=False)
    tensor([1., 1.])
    """
    if inplace:
        return ops.dropout_(input, _checked(p), training)
    return ops.dropout(input, _checked(p), training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for networks of `selu`: dropped elements take its negative limit; mean and variance stay."""
    made = ops.alpha_dropout(input, _checked(p), training)
    return input.copy_(made) if inplace else made


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels."""
    made = ops.feature_alpha_dropout(input, _checked(p), training)
    return input.copy_(made) if inplace else made


def _channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    source = input if batched else input.unsqueeze(0)
    made = ops.feature_dropout(source, _checked(p), training)
    made = made if batched else made.squeeze(0)
    return input.copy_(made) if inplace else made


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) set to 0 with probability `p`.

    Raises: RuntimeError for other numbers of dimensions.
    """
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: expected 2D or 3D input, but received a {input.dim()}D input"
        )
    return _channels(input, p, training, inplace, input.dim() == 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of (N, C, H, W) set to 0 with probability `p`; (C, H, W) counts as (N, C, L)."""
    return _channels(input, p, training, inplace, True)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) set to 0 with probability `p`."""
    return _channels(input, p, training, inplace, input.dim() == 5)
