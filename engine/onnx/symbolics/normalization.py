"""Normalisation: over batches, layers, groups and instances."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


def _filled(g: Builder, value: Value | None, like: Value, size: int, number: float) -> Value:
    """Returns a weight, or one that changes nothing."""
    if value is not None:
        return value
    return g.constant(np.full(size, number, dtype=np.float32), like.dtype)


@symbolic("batch_norm")
def batch_norm(
    g: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: Any = None,
) -> Any:
    """Normalises by the running statistics."""
    if training or running_mean is None or running_var is None:
        raise SymbolicValueError(
            "normalises by the statistics of the batch, and would update its own; export it with eval()"
        )
    channels = g.known_size(running_mean, 0, "batch_norm")
    scale = _filled(g, weight, running_mean, channels, 1.0)
    shift = _filled(g, bias, running_mean, channels, 0.0)
    return g.op("BatchNormalization", input, scale, shift, running_mean, running_var, epsilon_f=eps)


@symbolic("instance_norm")
def instance_norm(
    g: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: Any = None,
) -> Any:
    """Normalises by the statistics of each channel of each element of the batch."""
    if not use_input_stats:
        return batch_norm(g, input, weight, bias, running_mean, running_var, False, momentum, eps)
    channels = g.known_size(input, 1, "instance_norm")
    scale = _filled(g, weight, input, channels, 1.0)
    shift = _filled(g, bias, input, channels, 0.0)
    return g.op("InstanceNormalization", input, scale, shift, epsilon_f=eps)


@symbolic("group_norm")
def group_norm(
    g: Builder,
    input: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enabled: Any = None,
) -> Any:
    """Normalises by the statistics of each group: an instance_norm of the groups as channels."""
    channels = g.known_size(input, 1, "group_norm")
    sizes = g.sizes_of(input)
    grouped = g.reshape(input, [sizes[0], num_groups, -1])
    scale, shift = (_filled(g, None, input, num_groups, x) for x in (1.0, 0.0))
    normal = g.op("InstanceNormalization", grouped, scale, shift, epsilon_f=eps)
    result = g.op("Reshape", normal, g.shape_of(input))
    result.shape = input.shape
    after = range(1, g.rank_of(input) - 1)
    for operator, parameter in (("Mul", weight), ("Add", bias)):
        if parameter is not None:
            wide = g.unsqueeze(parameter, *after) if len(after) else parameter
            result = g.arithmetic(operator, result, wide)
    assert channels
    return result


@symbolic("layer_norm")
def layer_norm(
    g: Builder,
    input: Value,
    normalized_shape: Any,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: Any = None,
) -> Any:
    """Normalises by the statistics of the last axes."""
    axes = [-i for i in range(len(normalized_shape), 0, -1)]
    if g.opset >= 17:
        ones = np.ones(tuple(normalized_shape), dtype=np.float32)
        scale = weight if weight is not None else g.constant(ones, input.dtype)
        return g.op("LayerNormalization", input, scale, bias, axis_i=axes[0], epsilon_f=eps)
    centred = input - g.reduce("ReduceMean", input, axes, True)
    variance = g.reduce("ReduceMean", centred * centred, axes, True)
    result = centred / g.op("Sqrt", variance + eps)
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


@symbolic("rms_norm")
def rms_norm(
    g: Builder,
    input: Value,
    normalized_shape: Any,
    weight: Value | None = None,
    eps: float | None = None,
) -> Any:
    """Normalises by the root of the mean square of the last axes."""
    axes = [-i for i in range(len(normalized_shape), 0, -1)]
    assert input.dtype is not None
    epsilon = dtypes.finfo(input.dtype).eps if eps is None else eps
    mean = g.reduce("ReduceMean", input * input, axes, True)
    result = input / g.op("Sqrt", mean + float(epsilon))
    return result if weight is None else result * weight
