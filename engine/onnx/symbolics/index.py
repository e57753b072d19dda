"""Reading and writing elements by tensors of indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


@symbolic("embedding")
def embedding(g: Builder, weight: Value, indices: Value, **options: Any) -> Any:
    """Returns the rows of a table."""
    return g.op("Gather", weight, indices, axis_i=0)


@symbolic("embedding_bag")
def embedding_bag(
    g: Builder,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Returns sums, means or maxima of rows of a table, of each bag: by how many bags begin before each index."""
    if include_last_offset or padding_idx >= 0:
        raise SymbolicValueError("include_last_offset and padding_idx have no form here")
    rows = g.op("Gather", weight, indices, axis_i=0)
    if per_sample_weights is not None:
        rows = rows * g.unsqueeze(per_sample_weights, 1)
    zero, step = g.constant(np.array(0)), g.constant(np.array(1))
    positions = g.op("Range", zero, g.cast(g.size_of(indices, 0), dtypes.int64), step)
    started = g.unsqueeze(g.cast(offsets, dtypes.int64), 0) <= g.unsqueeze(positions, 1)
    bag = g.reduce("ReduceSum", g.cast(started, dtypes.int64), [1], False) - 1
    bags = g.op("Range", zero, g.cast(g.size_of(offsets, 0), dtypes.int64), step)
    member = g.unsqueeze(bags, 1).equals(g.unsqueeze(bag, 0))
    weights = g.cast(member, weight.dtype)
    if mode == 2:
        lowest = g.cast(-3e38, weight.dtype)
        spread = g.op("Where", g.unsqueeze(member, 2), g.unsqueeze(rows, 0), lowest)
        result = g.reduce("ReduceMax", spread, [1], False)
    else:
        result = g.op("MatMul", weights, rows)
        if mode == 1:
            counts = g.reduce("ReduceSum", weights, [1], True)
            result = result / g.op("Max", counts, g.cast(1.0, weight.dtype))
    return result, bag, g.reduce("ReduceSum", g.cast(member, dtypes.int64), [1], False), bag


@symbolic("gather")
def gather(g: Builder, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> Any:
    """Returns one element of each line."""
    return g.op("GatherElements", self, index, axis_i=g.axis(self, dim))


@symbolic("index_select")
def index_select(g: Builder, self: Value, dim: int, index: Value) -> Any:
    """Returns slices of an axis."""
    return g.op("Gather", self, index, axis_i=g.axis(self, dim))


@symbolic("take")
def take(g: Builder, self: Value, index: Value) -> Any:
    """Returns elements by their position."""
    return g.op("Gather", g.op("Reshape", self, [-1]), index, axis_i=0)


@symbolic("scatter")
def scatter(
    g: Builder,
    self: Value,
    dim: int,
    index: Value,
    src: Any = None,
    value: Any = None,
    reduce: str = "",
) -> Any:
    """Writes elements by an index."""
    if reduce:
        raise SymbolicValueError("scatter with reduce has no form here; scatter_add has")
    source = (
        src if src is not None else g.op("Expand", g.cast(value, self.dtype), g.shape_of(index))
    )
    return g.op("ScatterElements", self, index, source, axis_i=g.axis(self, dim))


@symbolic("scatter_add")
def scatter_add(g: Builder, self: Value, dim: int, index: Value, src: Value) -> Any:
    """Adds elements by an index."""
    g.require(16, "ScatterElements with reduction")
    return g.op("ScatterElements", self, index, src, axis_i=g.axis(self, dim), reduction_s="add")


@symbolic("one_hot")
def one_hot(g: Builder, self: Value, num_classes: int = -1) -> Any:
    """Returns rows with a one at the label."""
    if num_classes < 0:
        raise SymbolicValueError("one_hot needs num_classes")
    return g.op("OneHot", self, num_classes, [0, 1], axis_i=-1)


@symbolic("nonzero")
def nonzero(g: Builder, self: Value) -> Any:
    """Returns the positions of elements that are not zero."""
    return g.transpose(g.op("NonZero", self), 1, 0)


def _advanced(g: Builder, self: Value, indices: list[Any]) -> tuple[Value, Value, bool]:
    """Returns the tensor with its indexed axes first, the indices in one, and whether the result moves back."""
    axes = [i for i, index in enumerate(indices) if index is not None]
    tensors = [indices[i] for i in axes]
    if any(x.dtype == dtypes.bool_ for x in tensors):
        if len(tensors) != 1:
            raise SymbolicValueError("a mask with other indices has no form here")
        mask = tensors[0]
        count = g.rank_of(mask)
        positions = g.transpose(g.op("NonZero", mask), 1, 0)
        axes = list(range(axes[0], axes[0] + count))
    else:
        shape: Value | None = None
        for tensor in tensors[1:]:
            zeros = tensors[0] * 0 if shape is None else shape
            shape = zeros + tensor * 0
        parts = []
        for axis, tensor in zip(axes, tensors, strict=True):
            size = g.cast(g.size_of(self, axis), tensor.dtype)
            wrapped = g.op("Where", tensor < 0, tensor + size, tensor)
            parts.append(wrapped if shape is None else wrapped + shape)
        positions = g.op("Concat", *(g.unsqueeze(p, g.rank_of(p)) for p in parts), axis_i=-1)
    order = [*axes, *(i for i in range(g.rank_of(self)) if i not in axes)]
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    moved = self if order == sorted(order) else g.transpose(self, *order)
    return moved, positions, adjacent and axes[0] > 0


@symbolic("index")
def index(g: Builder, self: Value, indices: list[Any]) -> Any:
    """Returns elements by tensors of indices, or a mask."""
    used = [i for i, x in enumerate(indices) if x is not None]
    if len(used) == 1 and indices[used[0]].dtype != dtypes.bool_:
        return g.op("Gather", self, indices[used[0]], axis_i=used[0])
    moved, positions, back = _advanced(g, self, indices)
    result = g.op("GatherND", moved, positions)
    if not back:
        return result
    width, first = g.rank_of(positions) - 1, used[0]
    order = [*range(width, width + first), *range(width), *range(width + first, g.rank_of(result))]
    return g.transpose(result, *order)


@symbolic("index_put")
def index_put(
    g: Builder,
    self: Value,
    indices: list[Any],
    values: Value,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Any:
    """Writes elements by tensors of indices, or a mask."""
    moved, positions, back = _advanced(g, self, indices)
    if back:
        raise SymbolicValueError("writes by an index of a later axis have no form here")
    axes = [i for i, x in enumerate(indices) if x is not None]
    if g.rank_of(positions) == 2 and indices[axes[0]].dtype == dtypes.bool_ and values.shape == ():
        return g.op(
            "Where", _wide(g, indices[axes[0]], self, axes[0]), g.cast(values, self.dtype), self
        )
    target = g.op("Shape", g.op("GatherND", moved, positions))
    filled = g.op("Expand", g.cast(values, self.dtype), target)
    options: dict[str, Any] = {"reduction_s": "add"} if accumulate else {}
    if accumulate:
        g.require(16, "ScatterND with reduction")
    written = g.op("ScatterND", moved, positions, filled, **options)
    order = [*axes, *(i for i in range(g.rank_of(self)) if i not in axes)]
    if order == sorted(order):
        return written
    return g.transpose(written, *(order.index(i) for i in range(len(order))))


def _wide(g: Builder, mask: Value, like: Value, axis: int) -> Value:
    after = g.rank_of(like) - g.rank_of(mask) - axis
    return g.unsqueeze(mask, *range(g.rank_of(mask), g.rank_of(mask) + after)) if after else mask


@symbolic("masked_select")
def masked_select(g: Builder, self: Value, mask: Value) -> Any:
    """Returns the elements where a mask is true."""
    wide = g.op("Expand", mask, g.shape_of(self))
    return g.op("GatherND", self, g.transpose(g.op("NonZero", wide), 1, 0))
