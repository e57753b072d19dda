"""Dropout: sets random elements or channels to zero in training."""

from __future__ import annotations

from engine._generated import ops
from engine.arguments import check_tensor
from engine.tensor import Tensor


def _checked(p: float) -> float:
    if p < 0.0 or p > 1.0:  # the operator rejects NaN
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def _written(input: Tensor, result: Tensor) -> Tensor:
    """Copy dropout's result into its input, unless it is the input itself because nothing was dropped."""
    return input if result is input else input.copy_(result)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to 0 with probability `p`, and scale the others by 1 / (1 - p).

    Returns the input itself unless `training`. Raises: ValueError unless 0 <= p <= 1.

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
    """Apply dropout for `selu` networks: dropped elements become its negative limit; mean and variance are kept."""
    result = ops.alpha_dropout(input, _checked(p), training)
    return _written(input, result) if inplace else result


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Apply `alpha_dropout` to entire channels."""
    result = ops.feature_alpha_dropout(input, _checked(p), training)
    return _written(input, result) if inplace else result


def _channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    source = input if batched else input.unsqueeze(0)
    result = ops.feature_dropout(source, _checked(p), training)
    if inplace and result is source:
        return input
    result = result if batched else result.squeeze(0)
    return input.copy_(result) if inplace else result


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set entire channels of (N, C, L) or (C, L) to 0 with probability `p`.

    Raises: RuntimeError for other numbers of dimensions.
    """
    check_tensor("dropout1d", "input", input)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: expected 2D or 3D input, but received a {input.dim()}D input"
        )
    return _channels(input, p, training, inplace, input.dim() == 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set entire channels of (N, C, H, W) to 0 with probability `p`; (C, H, W) counts as (N, C, L)."""
    return _channels(input, p, training, inplace, True)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set entire channels of (N, C, D, H, W) or (C, D, H, W) to 0 with probability `p`."""
    check_tensor("dropout3d", "input", input)
    return _channels(input, p, training, inplace, input.dim() == 5)
