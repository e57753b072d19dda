"""Pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.symbolics.convolution import _each
from engine.onnx.values import Value


def _batched(g: Builder, value: Value, rank: int) -> tuple[Value, bool]:
    unbatched = value.rank == rank + 1
    return (g.unsqueeze(value, 0) if unbatched else value), unbatched


def _average(rank: int) -> None:
    @symbolic(f"avg_pool{rank}d")
    def write(
        g: Builder,
        self: Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        kernel = _each(kernel_size, rank)
        operand, unbatched = _batched(g, self, rank)
        options: dict[str, Any] = {
            "kernel_shape_i": kernel,
            "strides_i": _each(stride, rank) if stride else kernel,
            "pads_i": _each(padding, rank) * 2,
            "ceil_mode_i": int(ceil_mode),
            "count_include_pad_i": int(count_include_pad or divisor_override is not None),
        }
        if divisor_override is not None and ceil_mode:
            raise SymbolicValueError("AveragePool of ONNX has no divisor_override with ceil_mode")
        result = g.op("AveragePool", operand, **options)
        if divisor_override is not None:
            result = result * (float(np.prod(kernel)) / divisor_override)
        return g.squeeze(result, 0) if unbatched else result


def _largest(rank: int) -> None:
    @symbolic(f"max_pool{rank}d", f"max_pool{rank}d_with_indices")
    def write(
        g: Builder,
        self: Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        kernel = _each(kernel_size, rank)
        operand, unbatched = _batched(g, self, rank)
        options: dict[str, Any] = {
            "kernel_shape_i": kernel,
            "strides_i": _each(stride, rank) if stride else kernel,
            "pads_i": _each(padding, rank) * 2,
            "dilations_i": _each(dilation, rank),
            "ceil_mode_i": int(ceil_mode),
        }
        if g.origin is None or not g.origin.kind.endswith("_indices"):
            result = g.op("MaxPool", operand, **options)
            return g.squeeze(result, 0) if unbatched else result
        result, positions = g.op("MaxPool", operand, outputs=2, **options)
        return result, _in_plane(g, operand, positions, rank, unbatched)


def _in_plane(g: Builder, value: Value, positions: Value, rank: int, unbatched: bool) -> Value:
    """Converts indices: the engine counts within a plane, ONNX within the tensor."""
    plane = g.reduce("ReduceProd", g.slice(g.shape_of(value), 0, 2, 2 + rank), None, False)
    result: Value = g.op("Mod", positions, plane)
    return g.squeeze(result, 0) if unbatched else result


def _adaptive(rank: int, kind: str) -> None:
    @symbolic(f"adaptive_{kind}_pool{rank}d")
    def write(g: Builder, self: Value, output_size: Any) -> Any:
        operand, unbatched = _batched(g, self, rank)
        targets = _each(output_size, rank)
        operator = "AveragePool" if kind == "avg" else "MaxPool"
        if all(size == 1 for size in targets):
            if kind == "avg":
                result = g.op("GlobalAveragePool", operand)
                return g.squeeze(result, 0) if unbatched else result
            return _global_max(g, operand, rank, unbatched)
        kernel = []
        for i, target in enumerate(targets):
            size = g.known_size(operand, 2 + i, "adaptive pooling to more than one element")
            if target is None:
                target = size
            if size % target:
                raise SymbolicValueError(
                    f"adaptive pooling of size {size} to {target}: ONNX has windows of one size only"
                )
            kernel.append(size // target)
        options: dict[str, Any] = {"kernel_shape_i": kernel, "strides_i": kernel}
        if kind == "avg":
            result = g.op(operator, operand, **options)
            return g.squeeze(result, 0) if unbatched else result
        result, positions = g.op(operator, operand, outputs=2, **options)
        in_plane = _in_plane(g, operand, positions, rank, unbatched)
        return (g.squeeze(result, 0) if unbatched else result), in_plane


def _global_max(g: Builder, value: Value, rank: int, unbatched: bool) -> Any:
    result = g.op("GlobalMaxPool", value)
    sizes = [g.size_of(value, 0), g.size_of(value, 1)]
    flat = g.reshape(value, [*sizes, -1])
    positions = g.op("ArgMax", flat, axis_i=2, keepdims_i=1)
    positions = g.reshape(positions, [*sizes, *[1] * rank])
    return (g.squeeze(result, 0), g.squeeze(positions, 0)) if unbatched else (result, positions)


for _rank in (1, 2, 3):
    _average(_rank)
    _largest(_rank)
    _adaptive(_rank, "avg")
    _adaptive(_rank, "max")
