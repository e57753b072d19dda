"""Sizes, views and arrangement."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Dim, Value


@symbolic("size", "sym_size")
def size(g: Builder, self: Value, dim: int | None = None) -> Any:
    """Returns one size, or all."""
    return g.sizes_of(self) if dim is None else g.size_of(self, dim)


@symbolic("dim", "ndim", "ndimension")
def dim_(g: Builder, self: Value) -> Any:
    """Returns the number of dimensions."""
    return g.rank_of(self)


@symbolic("numel")
def numel(g: Builder, self: Value) -> Any:
    """Returns the number of elements."""
    sizes = g.sizes_of(self)
    if all(isinstance(s, int) for s in sizes):
        return int(np.prod(sizes, dtype=np.int64))
    count = g.op("Size", self)
    count.is_number = True
    return count


@symbolic("is_floating_point")
def is_floating_point(g: Builder, self: Value) -> Any:
    """Returns True for floating point numbers."""
    return self.dtype is not None and self.dtype.is_floating_point


@symbolic("prim::NumToTensor")
def num_to_tensor(g: Builder, a: Any) -> Any:
    """Returns a number as a tensor; it stays a number for dtypes."""
    return g.value(a)


@symbolic("view", "reshape", "_unsafe_view", "_reshape_copy")
def reshape(g: Builder, self: Value, size: Any = None, shape: Any = None) -> Any:
    """Returns the operand with other sizes."""
    return g.reshape(self, size if size is not None else shape)


@symbolic("view_as", "reshape_as")
def view_as(g: Builder, self: Value, other: Value) -> Any:
    """Returns the operand with the sizes of another."""
    return g.reshape(self, g.sizes_of(other))


@symbolic("flatten")
def flatten(g: Builder, self: Value, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Merges several axes into one."""
    if g.rank_of(self) == 0:
        return g.reshape(self, [1])
    start, end = g.axis(self, start_dim), g.axis(self, end_dim)
    sizes = g.sizes_of(self)
    return g.reshape(self, [*sizes[:start], -1, *sizes[end + 1 :]])


@symbolic("unflatten")
def unflatten(g: Builder, self: Value, dim: int, sizes: Any) -> Any:
    """Splits an axis into several."""
    axis, before = g.axis(self, dim), g.sizes_of(self)
    return g.reshape(self, [*before[:axis], *sizes, *before[axis + 1 :]])


@symbolic("permute")
def permute(g: Builder, self: Value, dims: Any) -> Any:
    """Reorders the axes."""
    return g.transpose(self, *(g.axis(self, d) for d in dims))


@symbolic("transpose", "swapaxes", "swapdims")
def transpose(g: Builder, self: Value, dim0: int, dim1: int) -> Any:
    """Exchanges two axes."""
    order = list(range(g.rank_of(self)))
    a, b = (g.axis(self, d) for d in (dim0, dim1))
    if order:
        order[a], order[b] = order[b], order[a]
    return g.transpose(self, *order) if order else self


@symbolic("t", "numpy_T", "mT")
def t(g: Builder, self: Value) -> Any:
    """Returns a matrix with rows as columns."""
    rank = g.rank_of(self)
    return self if rank < 2 else g.transpose(self, *range(rank - 2), rank - 1, rank - 2)


@symbolic("movedim")
def movedim(g: Builder, self: Value, source: Any, destination: Any) -> Any:
    """Moves axes to other positions."""
    sources = [g.axis(self, d) for d in ([source] if isinstance(source, int) else source)]
    targets = [
        g.axis(self, d) for d in ([destination] if isinstance(destination, int) else destination)
    ]
    remaining = iter(d for d in range(g.rank_of(self)) if d not in sources)
    moved = dict(zip(targets, sources, strict=True))
    return g.transpose(
        self, *(moved[i] if i in moved else next(remaining) for i in range(g.rank_of(self)))
    )


@symbolic("unsqueeze")
def unsqueeze(g: Builder, self: Value, dim: int) -> Any:
    """Inserts an axis of size one."""
    return g.unsqueeze(self, dim if dim >= 0 else dim + g.rank_of(self) + 1)


@symbolic("squeeze")
def squeeze(g: Builder, self: Value, dim: Any = None) -> Any:
    """Removes axes of size one."""
    axes = range(g.rank_of(self)) if dim is None else [dim] if isinstance(dim, int) else dim
    selected = []
    for axis in (g.axis(self, d) for d in axes):
        known = g.size_of(self, axis)
        if not isinstance(known, int):
            raise SymbolicValueError(f"squeeze of axis {axis}, whose size is dynamic")
        if known == 1:
            selected.append(axis)
    return g.squeeze(self, *selected) if selected else self


@symbolic("expand", "broadcast_to")
def expand(g: Builder, self: Value, size: Any, implicit: bool = False) -> Any:
    """Repeats along axes of size one."""
    extra = len(size) - g.rank_of(self)
    target = [1 if s == -1 and not isinstance(s, Value) else s for s in size]
    result = g.op("Expand", self, g.vector(target))
    if result.shape is not None and self.shape is not None and result.array is None:
        known = [s.size if isinstance(s, Value) else s for s in size]
        result.shape = tuple(
            (self.shape[i - extra] if k == -1 else k if k is not None else r)
            for i, (k, r) in enumerate(zip(known, result.shape, strict=True))
        )
    return result


@symbolic("expand_as")
def expand_as(g: Builder, self: Value, other: Value) -> Any:
    """Repeats to the sizes of another."""
    return g.op("Expand", self, g.shape_of(other))


@symbolic("repeat", "tile")
def repeat(g: Builder, self: Value, repeats: Any = None, dims: Any = None) -> Any:
    """Copies along each axis."""
    times = repeats if repeats is not None else dims
    extra = len(times) - g.rank_of(self)
    operand = g.unsqueeze(self, *range(extra)) if extra > 0 else self
    times = [1] * max(-extra, 0) + list(times)
    return g.op("Tile", operand, g.vector(times))


def _joined_sequence(g: Builder, tensors: Value, dim: int, new_axis: bool) -> Value:
    """Returns the tensors of a sequence in one."""
    result: Value = g.op("ConcatFromSequence", tensors, axis_i=dim, new_axis_i=int(new_axis))
    if tensors.shape is not None:
        sizes: list[Dim] = list(tensors.shape)
        axis = dim + len(sizes) + new_axis if dim < 0 else dim
        sizes[axis : axis + (not new_axis)] = [g.unknown_size()]
        result.shape = tuple(sizes)
    return result


@symbolic("cat", "concat", "concatenate")
def cat(g: Builder, tensors: Any, dim: int = 0) -> Any:
    """Joins along an axis."""
    if isinstance(tensors, Value):
        return _joined_sequence(g, tensors, dim, False)
    filled = [t for t in tensors if t.shape != (0,)]
    kind = g.result_dtype or g.promoted(*filled)
    return g.op("Concat", *(g.cast(x, kind) for x in filled), axis_i=g.axis(filled[0], dim))


@symbolic("stack")
def stack(g: Builder, tensors: Any, dim: int = 0) -> Any:
    """Joins along a new axis."""
    if isinstance(tensors, Value):
        return _joined_sequence(g, tensors, dim, True)
    axis = dim if dim >= 0 else dim + g.rank_of(tensors[0]) + 1
    kind = g.result_dtype or g.promoted(*tensors)
    return g.op("Concat", *(g.unsqueeze(g.cast(x, kind), axis) for x in tensors), axis_i=axis)


@symbolic("chunk")
def chunk(g: Builder, self: Value, chunks: int, dim: int = 0) -> Any:
    """Returns the number of parts of equal size."""
    axis = g.axis(self, dim)
    total = g.known_size(self, axis, "chunk")
    return split(g, self, -(-total // chunks), axis)


@symbolic("split", "split_with_sizes")
def split(
    g: Builder, self: Value, split_size: Any = None, dim: int = 0, split_sizes: Any = None
) -> Any:
    """Returns parts of these sizes."""
    axis = g.axis(self, dim)
    sizes = split_sizes if split_sizes is not None else split_size
    if isinstance(sizes, int):
        total = g.known_size(self, axis, "split")
        sizes = [min(sizes, total - start) for start in range(0, total, sizes)] or [0]
    return g.split(self, axis, sizes)


@symbolic("unbind")
def unbind(g: Builder, self: Value, dim: int = 0) -> Any:
    """Returns the slices of an axis."""
    axis = g.axis(self, dim)
    count = g.known_size(self, axis, "unbind")
    return [g.squeeze(part, axis) for part in g.split(self, axis, [1] * count)]


@symbolic("select")
def select(g: Builder, self: Value, dim: int, index: Any) -> Any:
    """Returns one slice of an axis."""
    return g.op("Gather", self, g.value(index), axis_i=g.axis(self, dim))


@symbolic("slice")
def slice_(
    g: Builder,
    self: Any = None,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    **of_list: Any,
) -> Any:
    """Returns a range of an axis, or of a list."""
    items = self if self is not None else of_list["l"]
    if not isinstance(items, Value):
        if any(isinstance(x, Value) for x in (start, end)):
            raise SymbolicValueError("the slice of a list is not constant")
        return items[start:end:step]
    last = (1 << 63) - 1
    if start in (None, 0) and end in (None, last) and step == 1:
        return items
    axis = g.axis(items, dim)
    return g.slice(items, axis, 0 if start is None else start, last if end is None else end, step)


@symbolic("narrow")
def narrow(g: Builder, self: Value, dim: int, start: Any, length: Any) -> Any:
    """Returns a range of an axis by its length."""
    return g.slice(self, g.axis(self, dim), start, start + length)


@symbolic("flip")
def flip(g: Builder, self: Value, dims: Any) -> Any:
    """Reverses axes."""
    result = self
    for dim in dims:
        result = g.slice(result, g.axis(self, dim), -1, -(1 << 63), -1)
    return result


@symbolic("roll")
def roll(g: Builder, self: Value, shifts: Any, dims: Any = ()) -> Any:
    """Rolls axes."""
    if not dims:
        raise SymbolicValueError("roll of all elements has no form here; flatten() before")
    result = self
    for shift, dim in zip(shifts, dims, strict=True):
        axis = g.axis(self, dim)
        parts = [g.slice(result, axis, -shift, (1 << 63) - 1), g.slice(result, axis, 0, -shift)]
        result = g.op("Concat", *parts, axis_i=axis) if shift else result
    return result


@symbolic("pad")
def padded(g: Builder, self: Value, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Adds elements at the ends of the last axes."""
    rank, count = g.rank_of(self), len(pad) // 2
    before = [*([0] * (rank - count)), *list(pad)[::2][::-1]]
    after = [*([0] * (rank - count)), *list(pad)[1::2][::-1]]
    if mode == "circular":
        result = self
        for axis, (left, right) in enumerate(zip(before, after, strict=True)):
            parts = [g.slice(result, axis, -left, (1 << 63) - 1)] if left > 0 else []
            parts.append(result)
            parts += [g.slice(result, axis, 0, right)] if right > 0 else []
            result = g.op("Concat", *parts, axis_i=axis) if len(parts) > 1 else result
        return result
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    filler = g.cast(0 if value is None else value, self.dtype) if mode == "constant" else None
    return g.op("Pad", self, g.vector([*before, *after]), filler, mode_s=modes[mode])


@symbolic("constant_pad_nd")
def constant_pad(g: Builder, self: Value, pad: Any, value: Any = 0) -> Any:
    """Adds a number at the ends of the last axes."""
    return padded(g, self, pad, "constant", value)


def _padding(names: tuple[str, ...], mode: str) -> None:
    @symbolic(*names)
    def write(g: Builder, self: Value, padding: Any) -> Any:
        return padded(g, self, padding, mode)


_padding(("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"), "reflect")
_padding(("replication_pad1d", "replication_pad2d", "replication_pad3d"), "replicate")


@symbolic("unfold")
def unfold(g: Builder, self: Value, dimension: int, size: int, step: int) -> Any:
    """Returns the windows of an axis, as a new last axis."""
    axis = g.axis(self, dimension)
    total = g.size_of(self, axis)
    last = g.rank_of(self)
    parts = []
    for offset in range(size):
        end = total - (size - 1) + offset
        parts.append(g.unsqueeze(g.slice(self, axis, offset, end, step), last))
    return g.op("Concat", *parts, axis_i=last)


@symbolic("pixel_shuffle")
def pixel_shuffle(g: Builder, self: Value, upscale_factor: int) -> Any:
    """Rearranges channels as more pixels."""
    return g.op("DepthToSpace", self, blocksize_i=upscale_factor, mode_s="CRD")


@symbolic("pixel_unshuffle")
def pixel_unshuffle(g: Builder, self: Value, downscale_factor: int) -> Any:
    """Rearranges pixels as more channels."""
    r = downscale_factor
    batch, channels, height, width = g.sizes_of(self)
    if not isinstance(height, int) or not isinstance(width, int) or not isinstance(channels, int):
        raise SymbolicValueError("pixel_unshuffle of dynamic sizes")
    split_ = g.reshape(self, [batch, channels, height // r, r, width // r, r])
    moved = g.transpose(split_, 0, 1, 3, 5, 2, 4)
    return g.reshape(moved, [batch, channels * r * r, height // r, width // r])


@symbolic("channel_shuffle")
def channel_shuffle(g: Builder, self: Value, groups: int) -> Any:
    """Interleaves the channels of groups."""
    sizes = g.sizes_of(self)
    channels = g.known_size(self, 1, "channel_shuffle")
    grouped = g.reshape(self, [sizes[0], groups, channels // groups, -1])
    result = g.op("Reshape", g.transpose(grouped, 0, 2, 1, 3), g.shape_of(self))
    result.shape = self.shape
    return result


@symbolic("tril", "triu")
def triangle(g: Builder, self: Value, diagonal: int = 0) -> Any:
    """Returns the part of matrices below or above a diagonal."""
    g.require(14, "Trilu")
    upper = g.origin is not None and "triu" in g.origin.kind
    is_bool = self.dtype == dtypes.bool_
    operand = g.cast(self, dtypes.int64) if is_bool else self
    result = g.op("Trilu", operand, g.constant(diagonal), upper_i=int(upper))
    return g.cast(result, dtypes.bool_) if is_bool else result


@symbolic("meshgrid")
def meshgrid(g: Builder, tensors: Any, indexing: str = "ij") -> Any:
    """Repeats each vector along the axes of the others."""
    if indexing != "ij":
        raise SymbolicValueError("meshgrid with indexing='xy' has no form here")
    count = len(tensors)
    sizes = g.vector([g.size_of(x, 0) for x in tensors])
    return [
        g.op("Expand", g.reshape(x, [-1 if j == i else 1 for j in range(count)]), sizes)
        for i, x in enumerate(tensors)
    ]
