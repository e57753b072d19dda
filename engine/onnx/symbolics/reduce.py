"""Sums, means, extremes and norms over axes."""

from __future__ import annotations

import math
from typing import Any

from engine import dtypes
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.symbolics.pointwise import real
from engine.onnx.values import Value


def axes_of(g: Builder, value: Value, dim: Any) -> list[int] | None:
    """Returns the axes counted from the beginning; None for all."""
    if dim is None or dim == []:
        return None
    listed = [dim] if isinstance(dim, int) else list(dim)
    return listed if value.shape is None else [g.axis(value, d) for d in listed]


@symbolic("sum")
def sum_(g: Builder, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Returns the sum; of integers and bools as int64."""
    exact = self.dtype is not None and self.dtype.is_floating_point
    operand = g.cast(self, dtype or (self.dtype if exact else dtypes.int64))
    return g.reduce("ReduceSum", operand, axes_of(g, self, dim), keepdim)


@symbolic("mean")
def mean(g: Builder, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Returns the mean."""
    return g.reduce("ReduceMean", g.cast(self, dtype), axes_of(g, self, dim), keepdim)


@symbolic("prod")
def prod(g: Builder, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Returns the product."""
    return g.reduce("ReduceProd", g.cast(self, dtype), axes_of(g, self, dim), keepdim)


@symbolic("logsumexp")
def logsumexp(g: Builder, self: Value, dim: Any, keepdim: bool = False) -> Any:
    """Returns log of the sum of exp."""
    return g.reduce("ReduceLogSumExp", self, axes_of(g, self, dim), keepdim)


@symbolic("amax")
def amax(g: Builder, self: Value, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns the largest element."""
    return g.reduce("ReduceMax", self, axes_of(g, self, dim), keepdim)


@symbolic("amin")
def amin(g: Builder, self: Value, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns the smallest element."""
    return g.reduce("ReduceMin", self, axes_of(g, self, dim), keepdim)


def _extreme(name: str, reduction: str, search: str, pairwise: str) -> None:
    @symbolic(name)
    def write(
        g: Builder, self: Value, dim: Any = None, keepdim: bool = False, other: Any = None
    ) -> Any:
        if other is not None:
            return g.arithmetic(pairwise, self, other)
        if dim is None:
            return g.reduce(reduction, self, None, False)
        axis = g.axis(self, dim)
        position = g.op(search, self, axis_i=axis, keepdims_i=int(keepdim))
        return g.reduce(reduction, self, [axis], keepdim), position

    @symbolic(f"arg{name}")
    def write_position(g: Builder, self: Value, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is not None:
            return g.op(search, self, axis_i=g.axis(self, dim), keepdims_i=int(keepdim))
        return g.op(search, g.op("Reshape", self, [-1]), axis_i=0, keepdims_i=0)


_extreme("max", "ReduceMax", "ArgMax", "Max")
_extreme("min", "ReduceMin", "ArgMin", "Min")


@symbolic("any")
def any_(g: Builder, self: Value, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns True if any element is."""
    bits = g.cast(g.cast(self, dtypes.bool_), dtypes.int32)
    return g.cast(g.reduce("ReduceMax", bits, axes_of(g, self, dim), keepdim), dtypes.bool_)


@symbolic("all")
def all_(g: Builder, self: Value, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns True if all elements are."""
    bits = g.cast(g.cast(self, dtypes.bool_), dtypes.int32)
    return g.cast(g.reduce("ReduceMin", bits, axes_of(g, self, dim), keepdim), dtypes.bool_)


def count(g: Builder, value: Value, axes: list[int] | None) -> Any:
    """Returns the number of elements along axes: an int, or a Value."""
    total: Any = 1
    for axis in range(g.rank_of(value)) if axes is None else axes:
        size = g.size_of(value, axis)
        total = size if total == 1 and not isinstance(total, Value) else size * total
    return total


def variance(
    g: Builder, value: Value, axes: list[int] | None, correction: Any, keep: bool
) -> tuple[Value, Value]:
    """Returns variance and mean."""
    centre = g.reduce("ReduceMean", value, axes, True)
    squares = (value - centre) * (value - centre)
    mean_of_squares = g.reduce("ReduceMean", squares, axes, keep)
    if correction:
        n = count(g, value, axes)
        ratio: Any
        if isinstance(n, Value):
            real_count = g.cast(n, value.dtype)
            ratio = real_count / (real_count - float(correction))
        else:
            ratio = n / (n - correction) if n > correction else math.nan
        mean_of_squares = mean_of_squares * ratio
    return mean_of_squares, g.reduce("ReduceMean", value, axes, keep)


def _correction(unbiased: Any, correction: Any) -> Any:
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


@symbolic("var")
def var(
    g: Builder,
    self: Value,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    correction: Any = None,
) -> Any:
    """Returns the variance."""
    return variance(g, self, axes_of(g, self, dim), _correction(unbiased, correction), keepdim)[0]


@symbolic("std")
def std(
    g: Builder,
    self: Value,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    correction: Any = None,
) -> Any:
    """Returns the standard deviation."""
    return g.op("Sqrt", var(g, self, dim, unbiased, keepdim, correction))


@symbolic("var_mean", "std_mean")
def var_mean(
    g: Builder,
    self: Value,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    correction: Any = None,
) -> Any:
    """Returns variance, or its root, and mean."""
    pair = variance(g, self, axes_of(g, self, dim), _correction(unbiased, correction), keepdim)
    is_root = g.origin is not None and g.origin.kind.endswith("std_mean")
    return (g.op("Sqrt", pair[0]), pair[1]) if is_root else pair


@symbolic("norm", "linalg_vector_norm")
def norm(
    g: Builder,
    self: Value,
    p: Any = 2,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Any:
    """Returns the p-norm."""
    order = 2 if p is None and ord is None else (ord if ord is not None else p)
    operand = real(g, g.cast(self, dtype))
    return p_norm(g, operand, float(order), axes_of(g, self, dim), keepdim)


def p_norm(g: Builder, value: Value, p: float, axes: list[int] | None, keep: bool) -> Value:
    """Returns the p-norm over axes."""
    if p == 1:
        return g.reduce("ReduceL1", value, axes, keep)
    if p == 2:
        return g.reduce("ReduceL2", value, axes, keep)
    size = g.op("Abs", value)
    if math.isinf(p):
        return g.reduce("ReduceMax" if p > 0 else "ReduceMin", size, axes, keep)
    if p == 0:
        return g.reduce("ReduceSum", g.cast(size > 0.0, value.dtype), axes, keep)
    return g.reduce("ReduceSum", size**p, axes, keep) ** (1.0 / p)


@symbolic("cumsum")
def cumsum(g: Builder, self: Value, dim: int, dtype: Any = None) -> Any:
    """Returns the sums up to each element."""
    exact = self.dtype is not None and self.dtype.is_floating_point
    operand = g.cast(self, dtype or (self.dtype if exact else dtypes.int64))
    return g.op("CumSum", operand, g.constant(g.axis(self, dim)))


@symbolic("topk")
def topk(
    g: Builder, self: Value, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    """Returns the k largest or smallest elements, and where they are."""
    return g.op(
        "TopK", self, g.vector([k]), outputs=2, axis_i=dim, largest_i=int(largest), sorted_i=1
    )


@symbolic("sort")
def sort(
    g: Builder, self: Value, dim: int = -1, descending: bool = False, stable: Any = None
) -> Any:
    """Returns all elements in order, and where they were."""
    size = g.size_of(self, g.axis(self, dim))
    options = {"axis_i": dim, "largest_i": int(descending), "sorted_i": 1}
    return g.op("TopK", self, g.vector([size]), outputs=2, **options)


@symbolic("argsort")
def argsort(
    g: Builder, self: Value, dim: int = -1, descending: bool = False, **options: Any
) -> Any:
    """Returns the positions of the elements in order."""
    return sort(g, self, dim, descending)[1]


@symbolic("median", "mode", "kthvalue", "cummax", "cummin", "cumprod")
def without_form(g: Builder, **operands: Any) -> Any:
    """Refuses: ONNX has no operator for it."""
    raise SymbolicValueError("ONNX has no operator for it")
