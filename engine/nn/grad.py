"""Gradients of convolutions as functions."""

from __future__ import annotations

from typing import Any

import engine
from engine.tensor import Tensor

__all__: list[str] = []


def _gradient(
    rank: int, position: int, input: Tensor, weight: Tensor, grad_output: Tensor, options: Any
) -> Tensor:
    stride, padding, dilation = (
        [value] * rank if isinstance(value, int) else list(value) for value in options[:3]
    )
    mask = [int(position == i) for i in range(3)]
    gradients = engine.ops.aten.convolution_backward(
        grad_output, input, weight, stride, padding, dilation, False, [0] * rank, options[3], mask
    )
    result: Tensor = gradients[position]
    return result


def _make(rank: int) -> tuple[Any, Any]:
    def of_input(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        input = grad_output.new_empty(1).expand(tuple(input_size))
        return _gradient(rank, 0, input, weight, grad_output, (stride, padding, dilation, groups))

    def of_weight(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        weight = grad_output.new_empty(1).expand(tuple(weight_size))
        return _gradient(rank, 1, input, weight, grad_output, (stride, padding, dilation, groups))

    for function, subject in ((of_input, "input"), (of_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{rank}d_{subject}"
        function.__doc__ = f"Return the gradient of conv{rank}d's {subject} by that of its output."
    return of_input, of_weight


conv1d_input, conv1d_weight = _make(1)
conv2d_input, conv2d_weight = _make(2)
conv3d_input, conv3d_weight = _make(3)
