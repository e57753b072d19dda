"""Rulebooks: for each kernel offset, which input row feeds which output row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.sparse_conv.library import operators
from engine.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Rulebook:
    """The pairs of a convolution, by kernel offset, with the sites on both sides.

    The pairs of offset k are `in_rows[starts[k]:starts[k + 1]]` and the same part of `out_rows`. Among the pairs of
    one offset no row occurs twice.
    """

    in_indices: Tensor
    out_indices: Tensor
    in_rows: Tensor
    out_rows: Tensor
    starts: Tensor
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    submanifold: bool

    @property
    def offsets(self) -> int:
        """The number of kernel offsets."""
        return self.starts.numel() - 1

    def pairs(self, k: int) -> tuple[Tensor, Tensor]:
        """Return the input rows and the output rows of kernel offset k.

        Raises: IndexError when there is no such offset.
        """
        if not 0 <= k < self.offsets:
            raise IndexError(
                f"pairs: offset {k} is out of range; the kernel has {self.offsets} offsets"
            )
        first, last = self.starts[k : k + 2].tolist()
        return self.in_rows[first:last], self.out_rows[first:last]

    def inverse(self) -> Rulebook:
        """Return the rulebook that leads from the outputs back to the inputs."""
        return Rulebook(
            in_indices=self.out_indices,
            out_indices=self.in_indices,
            in_rows=self.out_rows,
            out_rows=self.in_rows,
            starts=self.starts,
            in_shape=self.out_shape,
            out_shape=self.in_shape,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            submanifold=self.submanifold,
        )

    def __repr__(self) -> str:
        kind = "submanifold" if self.submanifold else "regular"
        return (
            f"Rulebook({kind}, kernel_size={self.kernel_size}, "
            f"{self.in_indices.size(0)} -> {self.out_indices.size(0)} sites, {self.in_rows.numel()} pairs)"
        )


def build_rulebook(
    indices: Tensor,
    batch_size: int,
    spatial_shape: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    submanifold: bool = False,
    table: str = "auto",
) -> Rulebook:
    """Find the pairs of a convolution over active sites.

    `indices` has a row per site: its sample and a coordinate per dimension. A submanifold convolution has the sites of
    its input and is padded so that sizes stay; a regular one has every site that some input reaches, ordered by sample
    and coordinates. `table` chooses how sites are found: a `grid` with an entry per cell, a `hash` table with an entry
    per site, or `auto`, the cheaper of the two.

    Raises: ValueError for sizes that do not fit and for duplicate sites; IndexError for a site outside of the shape;
    TypeError for indices that are not int32 or int64.

    >>> import engine
    >>> from engine.sparse_conv import build_rulebook
    >>> build_rulebook(engine.tensor([[0, 1], [0, 2]]), 1, [4], [3], submanifold=True).pairs(0)
    (tensor([0]), tensor([1]))
    """
    dims = len(spatial_shape)
    stride = tuple(stride or (1,) * dims)
    padding = tuple(padding or (0,) * dims)
    dilation = tuple(dilation or (1,) * dims)
    out_indices, in_rows, out_rows, starts = operators().rulebook(
        indices,
        batch_size,
        list(spatial_shape),
        list(kernel_size),
        list(stride),
        list(padding),
        list(dilation),
        submanifold,
        table,
    )
    if submanifold:
        out_shape = tuple(spatial_shape)
    else:
        out_shape = tuple(
            (size + 2 * pad - step * (kernel - 1) - 1) // jump + 1
            for size, kernel, jump, pad, step in zip(
                spatial_shape, kernel_size, stride, padding, dilation, strict=True
            )
        )
    return Rulebook(
        in_indices=indices,
        out_indices=indices if submanifold else out_indices,
        in_rows=in_rows,
        out_rows=out_rows,
        starts=starts,
        in_shape=tuple(spatial_shape),
        out_shape=out_shape,
        kernel_size=tuple(kernel_size),
        stride=stride,
        padding=padding,
        dilation=dilation,
        submanifold=submanifold,
    )
