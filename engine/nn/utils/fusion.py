"""Fusion of a layer with the batch normalization that follows it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

import engine
from engine.nn.parameter import Parameter
from engine.tensor import Tensor

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def _check_evaluating(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution that includes the batch normalization that follows it.

    Both must be in evaluation mode. Raises: AssertionError in training mode, or without running statistics.
    """
    _check_evaluating(conv, bn)
    fused = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight * s and (bias - mean) * s + shift, with s = scale / sqrt(variance + eps).

    `transpose`: the second dimension of the weights is the output.
    """
    channel = 1 if transpose else 0
    shape = [-1 if d == channel else 1 for d in range(conv_w.dim())]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer that includes the batch normalization that follows it.

    Both must be in evaluation mode. Raises: AssertionError in training mode, for sizes that differ (a single
    feature broadcasts), or without running statistics.
    """
    _check_evaluating(linear, bn)
    fused = copy.deepcopy(linear)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Fuse the weights of a linear layer, as `fuse_conv_bn_weights` does for a convolution."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    dtypes = weight.dtype, (weight if bias is None else bias).dtype
    with engine.no_grad():
        factor = engine.rsqrt(variance + eps)
        if scale is not None:
            factor = factor * scale
        offset = (-mean if bias is None else bias - mean) * factor
        if shift is not None:
            offset = offset + shift
        fused = (weight * factor.reshape(shape)).to(dtypes[0]), offset.to(dtypes[1])
    trained = weight.requires_grad, weight.requires_grad if bias is None else bias.requires_grad
    return Parameter(fused[0], trained[0]), Parameter(fused[1], trained[1])
