"""Functions composed of other operators: copies of views with out=, gradients, histograms of points."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from engine._generated import ops
from engine.arguments import INTEGER, SCALAR, accepts, check_tensor, type_word
from engine.overloads import Number, both, function
from engine.tensor import Tensor

# ---- copies of several views


def _copy_into_out(views: Sequence[Tensor], out: Any, name: str) -> None:
    """Copy each view into the tensor of `out` at the same index."""
    if len(out) != len(views):
        raise RuntimeError(f"{name}: expected {len(views)} tensors in out, got {len(out)}")
    for view, target in zip(views, out, strict=True):
        ops.alias_copy_out(view, out=target)


@function
def unbind_copy(input: Tensor, dim: int = 0, *, out: Any = None) -> tuple[Tensor, ...] | None:
    """Copy the slices along `dim` into new tensors, or into the list `out`.

    >>> import engine
    >>> [one.item() for one in engine.unbind_copy(engine.tensor([1, 2]))]
    [1, 2]
    """
    if out is None:
        return tuple(ops.unbind_copy(input, dim))
    _copy_into_out(ops.unbind(input, dim), out, "unbind_copy")
    return None


@function
def split_copy(
    input: Tensor, split_size: int, dim: int = 0, *, out: Any = None
) -> tuple[Tensor, ...] | None:
    """Copy pieces of `split_size` along `dim` into new tensors, or into the list `out`.

    >>> import engine
    >>> [len(one) for one in engine.split_copy(engine.arange(5), 2)]
    [2, 2, 1]
    """
    if out is None:
        return tuple(ops.split_copy(input, split_size, dim))
    _copy_into_out(ops.split(input, split_size, dim), out, "split_copy")
    return None


@function
def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Any = None
) -> tuple[Tensor, ...] | None:
    """Copy pieces of the given sizes along `dim` into new tensors, or into the list `out`.

    >>> import engine
    >>> [one.tolist() for one in engine.split_with_sizes_copy(engine.arange(3), (1, 2))]
    [[0], [1, 2]]
    """
    if out is None:
        return tuple(ops.split_with_sizes_copy(input, split_sizes, dim))
    views = ops.split_with_sizes(input, split_sizes, dim)
    _copy_into_out(views, out, "split_with_sizes_copy")
    return None


# ---- differences


def _cut(input: Tensor, dim: int, start: int | None, end: int | None) -> Tensor:
    return ops.slice(input, dim, start, end)


def _weighted(input: Tensor, dim: int, first: int, weights: Sequence[Any]) -> Tensor:
    """Return the weighted sum of neighbouring slices of size 1, starting at `first`."""
    parts = [
        ops.mul(ops.narrow(input, dim, first + i, 1), weight) for i, weight in enumerate(weights)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = ops.add(total, part)
    return total


def _slopes(input: Tensor, dim: int, steps: Tensor | Number, edge_order: int) -> Tensor:
    """Estimate the derivative along one dimension; `steps` is the distance of neighbours, or a tensor of them."""
    size = input.shape[dim]
    near: list[Any]  # the two distances at each end
    far: list[Any]
    if isinstance(steps, Tensor):
        shape = [1] * input.dim()
        shape[dim] = -1
        before = ops.reshape(_cut(steps, 0, None, -1), shape)
        after = ops.reshape(_cut(steps, 0, 1, None), shape)
        near = [steps[0], steps[min(1, size - 2)]]
        far = [steps[max(size - 3, 0)], steps[-1]]
    else:
        before = after = steps
        near = far = [steps, steps]
    both_steps = before + after
    if isinstance(steps, Tensor):
        center = (
            _cut(input, dim, None, -2) * (-after / (before * both_steps))
            + _cut(input, dim, 1, -1) * ((after - before) / (before * after))
            + _cut(input, dim, 2, None) * (before / (after * both_steps))
        )
    else:
        center = (_cut(input, dim, 2, None) - _cut(input, dim, None, -2)) / both_steps
    if (
        edge_order == 1
    ):  # subtract first: the difference of similar neighbours is small and loses little to rounding
        first = _weighted(input, dim, 0, (-1, 1)) / near[0]
        last = _weighted(input, dim, size - 2, (-1, 1)) / far[1]
    else:
        a, b = near
        weights = (-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b)))
        first = _weighted(input, dim, 0, weights)
        a, b = far
        weights = (b / (a * (a + b)), -(a + b) / (a * b), (2 * b + a) / (b * (a + b)))
        last = _weighted(input, dim, size - 3, weights)
    return ops.cat([first, center, last], dim)


def _number(value: Any) -> Number:
    """Convert a distance to a Python number; NumPy scalars and 0-d tensors are accepted."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    has_item = accepts(SCALAR, value) or type(value).__module__ == "numpy"
    if not has_item or value.ndim or getattr(value, "requires_grad", False):
        raise TypeError(f"gradient(): argument 'spacing' must be Number, not {type_word(value)}")
    number: Number = value.item()
    return number


@function
def gradient(
    input: Tensor,
    *,
    spacing: Any = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Estimate the derivatives along dimensions from the differences of neighbours.

    Formula: (input[i + 1] - input[i - 1]) / (2 spacing) inside; one-sided at the ends, with two
    elements, or three for `edge_order` 2. A list of tensors gives the coordinates of each dimension.
    Shape: that of `input`, one tensor per dimension. Dtype: floating; integers become the default float.
    Memory: new tensors.
    Raises: RuntimeError for fewer than edge_order + 1 elements along a dimension, another edge_order,
    a dimension named twice, or a spacing whose length does not fit.

    >>> import engine
    >>> engine.gradient(engine.tensor([1., 4., 9., 16.]))
    (tensor([3., 4., 6., 7.]),)
    """
    check_tensor("gradient", "input", input)
    rank = input.dim()
    if str(input.dtype).endswith("uint8"):
        raise RuntimeError("gradient: does not support uint8 input")
    if not accepts(INTEGER, edge_order):
        raise TypeError(
            f"gradient(): argument 'edge_order' must be int, not {type_word(edge_order)}"
        )
    if edge_order not in (1, 2):
        raise RuntimeError(
            f"gradient: only supports edge_order=1 and edge_order=2, got {edge_order}"
        )
    listed_dims: list[Any] = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    for entry in listed_dims if dim is not None else ():
        if not accepts(INTEGER, entry):
            raise TypeError(f"gradient(): argument 'dim' must be int, not {type_word(entry)}")
    dims = list(range(rank)) if dim is None else [index(entry) for entry in listed_dims]
    for axis in dims:
        if not -rank <= axis < rank:
            raise IndexError(f"gradient: dim {axis} is out of range for {rank} dimensions")
    dims = [axis % rank for axis in dims]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"gradient: dim {dims} appears multiple times in the list of dims")
    for axis in dims:
        if input.shape[axis] < edge_order + 1:
            raise RuntimeError(
                "gradient: expected each dimension size to be at least edge_order+1 = "
                f"{edge_order + 1}, got {input.shape[axis]} at dimension {axis}"
            )
    spacing = 1 if spacing is None else spacing
    listed = isinstance(spacing, (list, tuple))
    coordinates = listed and any(isinstance(entry, Tensor) for entry in spacing)
    steps = list(spacing) if listed else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(
            f"gradient: expected spacing to be unspecified, a scalar or a list of length {len(dims)}, "
            f"got {len(steps)} elements"
        )
    derivatives = []
    for axis, step in zip(dims, steps, strict=True):
        if coordinates:
            check_tensor("gradient", "spacing", step)
            if step.dim() != 1 or step.shape[0] != input.shape[axis]:
                raise RuntimeError(
                    f"gradient: expected coordinates of {input.shape[axis]} elements for dimension "
                    f"{axis}, got the shape {tuple(step.shape)}"
                )
            step = ops.diff(step)
        else:
            step = _number(step)
        derivatives.append(_slopes(input, axis, step, edge_order))
    return tuple(derivatives)


# ---- histograms of points


def _edges(column: Tensor, bins: int, ends: tuple[float, float] | None) -> Tensor:
    """Return bins + 1 edges between two ends; without `ends`, between the smallest and largest coordinate."""
    if bins <= 0:
        raise RuntimeError(f"histogramdd(): bins must be > 0, but got {bins}")
    if ends is None:
        ends = (column.min().item(), column.max().item()) if column.numel() else (0.0, 1.0)
    low, high = ends
    if not low <= high or high - low in (float("inf"), float("nan")):
        raise RuntimeError(f"histogramdd: min should not exceed max, got the range [{low}, {high}]")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return ops.linspace(low, high, bins + 1, dtype=column.dtype)


@both
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Count the points in each cell of a grid.

    Formula: hist[i, j] = the number (or sum of weights) of rows with edges_0[i] <= row[0] < edges_0[i + 1],
    edges_1[j] <= row[1] < edges_1[j + 1]; the last cell includes its right end. With `density` divided by the
    total and the cell's volume.
    Shape: (*, d) points; `bins` is a number, d numbers, or d tensors of edges. Dtype: floating.
    Memory: new tensors, as (hist, bin_edges).
    Raises: RuntimeError for bins, a range or weights that do not fit the points.

    >>> import engine
    >>> engine.histogramdd(engine.tensor([[0., 1.], [1., 0.], [2., 2.]]), 2).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    from engine.return_types import structure

    check_tensor("histogramdd", "input", input)
    if not isinstance(bins, (int, list, tuple)):
        raise TypeError(f"histogramdd(): argument 'bins' must be int or list, got {bins!r}")
    for entry in bins if isinstance(bins, (list, tuple)) else ():
        if not isinstance(entry, (int, Tensor)):
            raise TypeError(
                f"histogramdd(): argument 'bins' must hold ints or tensors, got {entry!r}"
            )
    if weight is not None:
        check_tensor("histogramdd", "weight", weight)
    if input.dim() < 2:
        raise RuntimeError(
            f"histogramdd: input tensor should have at least 2 dimensions, but got {input.dim()}"
        )
    width = input.shape[-1]
    points = input.reshape(-1, width)
    bins_by_dim = [bins] * width if isinstance(bins, int) else list(bins)
    if len(bins_by_dim) != width:
        raise RuntimeError(
            f"histogramdd: expected {width} sequences of bin edges for a {width}-dimensional "
            f"histogram, but got {len(bins_by_dim)}"
        )
    if range is not None and len(range) != 2 * width:
        raise RuntimeError(
            f"histogramdd: for a {width}-dimensional histogram range should have {2 * width} "
            f"elements, but got {len(range)}"
        )
    if weight is not None and tuple(weight.shape) != tuple(input.shape[:-1]):
        raise RuntimeError(
            "histogramdd: weight should have the shape of input without its last dimension, but got "
            f"{tuple(weight.shape)} and {tuple(input.shape)}"
        )
    edges = []
    for axis, entry in enumerate(bins_by_dim):
        ends = None if range is None else (range[2 * axis], range[2 * axis + 1])
        edges.append(entry if isinstance(entry, Tensor) else _edges(points[:, axis], entry, ends))
    shape = [len(column_edges) - 1 for column_edges in edges]
    flat_cell: Any = 0
    inside: Any = None
    for axis, column_edges in enumerate(edges):
        column = points[:, axis].contiguous()
        cell = ops.sub(ops.searchsorted(column_edges, column, right=True), 1)
        cell = ops.where(ops.eq(column, column_edges[-1]), shape[axis] - 1, cell)
        fits = ops.logical_and(ops.ge(column, column_edges[0]), ops.le(column, column_edges[-1]))
        inside = fits if inside is None else ops.logical_and(inside, fits)
        flat_cell = cell + flat_cell * shape[axis]
    total = 1
    for size in shape:
        total *= size
    hist = ops.zeros((total,), dtype=input.dtype)
    values = (
        ops.ones((points.shape[0],), dtype=input.dtype) if weight is None else weight.reshape(-1)
    )
    hist.index_add_(0, flat_cell[inside], values[inside])
    hist = hist.reshape(shape)
    if density:
        hist = hist / hist.sum()
        for axis, column_edges in enumerate(edges):
            sizes = [1] * width
            sizes[axis] = -1
            hist = hist / ops.diff(column_edges).reshape(sizes)
    return structure("histogramdd", ("hist", "bin_edges"))(hist, tuple(edges))
