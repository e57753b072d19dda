"""Tensors from sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine import dtypes
from engine.onnx.builder import Builder, onnx_dtype
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


def full_of(g: Builder, sizes: Any, value: Any, kind: Any) -> Any:
    """Returns a tensor of one number."""
    number = g.cast(value, kind)
    constant = number.array is not None and all(isinstance(s, int) for s in sizes)
    if constant and number.array is not None and math.prod(sizes) <= 1 << 16:
        return g.constant(np.full(tuple(sizes), number.array.item()), kind)
    result = g.op("Expand", number, g.vector(sizes))
    if result.array is None:
        known = [s.size if isinstance(s, Value) else s for s in sizes]
        result.shape = tuple(s if s is not None else g.unknown_size() for s in known)
    return result


def _constant(name: str, value: float) -> None:
    @symbolic(name, f"new_{name}")
    def write(g: Builder, size: Any, self: Any = None, dtype: Any = None, **options: Any) -> Any:
        kind = dtype or (self.dtype if self is not None else dtypes.get_default_dtype())
        return full_of(g, size, value, kind)

    @symbolic(f"{name}_like")
    def write_like(g: Builder, self: Value, dtype: Any = None, **options: Any) -> Any:
        return full_of(g, g.sizes_of(self), value, dtype or self.dtype)


_constant("zeros", 0)
_constant("ones", 1)
_constant("empty", 0)


@symbolic("full", "new_full")
def full(
    g: Builder, size: Any, fill_value: Any, self: Any = None, dtype: Any = None, **options: Any
) -> Any:
    """Returns a tensor of one number."""
    kind = dtype or (self.dtype if self is not None else g.result_dtype)
    if kind is None:
        kind = g.promoted(fill_value)
        kind = dtypes.get_default_dtype() if kind.is_floating_point else kind
    return full_of(g, size, fill_value, kind)


@symbolic("full_like")
def full_like(g: Builder, self: Value, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    """Returns a tensor of one number, of the sizes of another."""
    return full_of(g, g.sizes_of(self), fill_value, dtype or self.dtype)


@symbolic("arange")
def arange(
    g: Builder, end: Any, start: Any = 0, step: Any = 1, dtype: Any = None, **options: Any
) -> Any:
    """Returns numbers in steps."""
    kind = dtype or g.result_dtype
    if kind is None:
        real = any(isinstance(x, float) for x in (start, end, step))
        kind = dtypes.get_default_dtype() if real else dtypes.int64
    bounds = [g.cast(x, kind) for x in (start, end, step)]
    bounds = [x if x.shape == () else g.op("Reshape", x, []) for x in bounds]
    result = g.op("Range", *bounds)
    if start == 0 and step == 1 and isinstance(end, Value) and end.size is not None:
        result.shape = (end.size,)
    return result


@symbolic("scalar_tensor")
def scalar_tensor(g: Builder, s: Any, dtype: Any = None, **options: Any) -> Any:
    """Returns a number as a tensor."""
    return g.cast(s, dtype or g.result_dtype or dtypes.get_default_dtype())


@symbolic("tensor", "as_tensor")
def tensor(g: Builder, data: Any, dtype: Any = None, **options: Any) -> Any:
    """Returns a tensor of numbers."""
    if isinstance(data, list) and any(isinstance(x, Value) for x in data):
        return g.cast(g.vector(data), dtype)
    if isinstance(data, Value):
        copied = Value(g, data.name, data.dtype, data.shape, data.array)
        return g.cast(copied, dtype) if dtype else copied
    array = np.array(data)
    kind = dtype or {"f": dtypes.get_default_dtype(), "b": dtypes.bool_}.get(
        array.dtype.kind, dtypes.int64
    )
    return g.constant(array, kind)


@symbolic("eye")
def eye(g: Builder, n: Any, m: Any = None, dtype: Any = None, **options: Any) -> Any:
    """Returns an identity matrix."""
    if not isinstance(n, int) or isinstance(m, Value):
        raise SymbolicValueError("eye of a size that is not constant")
    return g.constant(np.eye(n, m), dtype or dtypes.get_default_dtype())


def _random(name: str, operator: str) -> None:
    @symbolic(name)
    def write(g: Builder, size: Any, dtype: Any = None, **options: Any) -> Any:
        kind = onnx_dtype(dtype or dtypes.get_default_dtype())
        return g.op(operator, full_of(g, size, 0, dtypes.float32), dtype_i=kind)

    @symbolic(f"{name}_like")
    def write_like(g: Builder, self: Value, dtype: Any = None, **options: Any) -> Any:
        return g.op(operator, self, dtype_i=onnx_dtype(dtype or self.dtype or dtypes.float32))


_random("rand", "RandomUniformLike")
_random("randn", "RandomNormalLike")
