"""Convolutions, and the rows of their windows."""

from __future__ import annotations

from typing import Any

from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


def _each(value: Any, rank: int) -> list[int]:
    listed = [value] if isinstance(value, int) else list(value)
    return listed * rank if len(listed) == 1 else listed


def _convolve(
    g: Builder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    rank = g.rank_of(weight) - 2
    kernel = [g.known_size(weight, 2 + i, "a convolution") for i in range(rank)]
    steps, spread = _each(stride, rank), _each(dilation, rank)
    if padding == "same":
        extra = [d * (k - 1) for d, k in zip(spread, kernel, strict=True)]
        pads = [*(e // 2 for e in extra), *(e - e // 2 for e in extra)]
    else:
        pads = [0] * (2 * rank) if padding == "valid" else _each(padding, rank) * 2
    options: dict[str, Any] = {
        "kernel_shape_i": kernel,
        "strides_i": steps,
        "pads_i": pads,
        "dilations_i": spread,
        "group_i": groups,
    }
    unbatched = input.rank == rank + 1
    operand = g.unsqueeze(input, 0) if unbatched else input
    if transposed:
        extra = _each(output_padding, rank)
        if any(extra):
            options["output_padding_i"] = extra
        result = g.op("ConvTranspose", operand, weight, bias, **options)
    else:
        result = g.op("Conv", operand, weight, bias, **options)
    return g.squeeze(result, 0) if unbatched else result


@symbolic("_convolution", "convolution")
def convolution(
    g: Builder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    **options: Any,
) -> Any:
    """Returns a convolution, or its transpose."""
    return _convolve(
        g, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


@symbolic("conv1d", "conv2d", "conv3d")
def conv(
    g: Builder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Returns a convolution; padding is sizes, "same" or "valid"."""
    return _convolve(g, input, weight, bias, stride, padding, dilation, False, 0, groups)


@symbolic("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    g: Builder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Returns a transposed convolution."""
    return _convolve(
        g, input, weight, bias, stride, padding, dilation, True, output_padding, groups
    )


@symbolic("im2col")
def im2col(
    g: Builder, self: Value, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    """Returns the windows as columns: a convolution with one weight per element of a window."""
    import numpy as np

    kernel = _each(kernel_size, 2)
    channels = g.known_size(self, 1, "unfold")
    size = kernel[0] * kernel[1]
    one_hot = np.tile(np.eye(size, dtype=np.float32).reshape(size, 1, *kernel), (channels, 1, 1, 1))
    weight = g.constant(one_hot, self.dtype)
    columns = _convolve(g, self, weight, None, stride, padding, dilation, False, 0, channels)
    return g.reshape(columns, [g.size_of(self, 0), channels * size, -1])


@symbolic("col2im")
def col2im(
    g: Builder,
    self: Value,
    output_size: Any,
    kernel_size: Any,
    dilation: Any,
    padding: Any,
    stride: Any,
) -> Any:
    """Returns the sum of columns at their windows."""
    g.require(18, "Col2Im")
    if self.rank != 3:
        raise SymbolicValueError("Col2Im of ONNX takes batches")
    pads = _each(padding, 2) * 2
    return g.op(
        "Col2Im",
        self,
        g.vector(_each(output_size, 2)),
        g.vector(_each(kernel_size, 2)),
        dilations_i=_each(dilation, 2),
        pads_i=pads,
        strides_i=_each(stride, 2),
    )
