"""A tensor of any rank as a table: the last two dimensions are rows and columns, the others a slice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine._generated.codes import DTypeInfo
from engine.inspect.layout import Extent
from engine.inspect.models._contents import Contents
from engine.inspect.models._numbers import dtype_of, exact, short

LISTED = 16  # rows and columns that a model lists; `row` computes others


@dataclass(frozen=True, slots=True)
class GridCell:
    index: tuple[int, ...]
    byte: int  # in the storage
    text: str  # "" when unknown
    exact: str
    known: bool
    selected: bool  # its bytes are selected; with stride 0, several cells' may be


@dataclass(frozen=True)
class Grid:
    """The slice through a tensor that contains the cursor."""

    rank: int
    lead: tuple[int, ...]  # the indices of all dimensions but the last two
    lead_sizes: tuple[int, ...]
    rows: int
    columns: int
    at_row: int  # the cursor; -1 in an empty tensor
    at_column: int
    dtype: str
    extent: Extent
    byte: int  # the selected byte, -1 when none
    hole: int  # the selected byte if no index of this tensor leads to it, else -1
    contents: Contents
    cells: tuple[tuple[GridCell, ...], ...] = ()

    def index(self, row: int, column: int) -> tuple[int, ...]:
        """Return the tensor's index at a place of the table."""
        return (*self.lead, row, column)[-self.rank :] if self.rank else ()

    def row(self, row: int, first: int, count: int) -> tuple[GridCell, ...]:
        """Return the cells [first, first + count) of a row, computed from the layout."""
        if not 0 <= row < self.rows:
            return ()
        columns = range(max(0, first), min(first + count, self.columns))
        if not columns:
            return ()
        dtype, byte = dtype_of(self.dtype), self.extent.byte(self.index(row, columns.start))
        stride = self.extent.strides[-1] if self.rank else 0
        values = self.contents.values(dtype, byte, stride, len(columns))
        return tuple(
            self._cell(self.index(row, column), dtype, byte + number * stride, value)
            for number, (column, value) in enumerate(zip(columns, values, strict=True))
        )

    def cell(self, index: tuple[int, ...]) -> GridCell:
        dtype, byte = dtype_of(self.dtype), self.extent.byte(index)
        return self._cell(index, dtype, byte, self.contents.value(dtype, byte))

    def _cell(self, index: tuple[int, ...], dtype: DTypeInfo, byte: int, value: Any) -> GridCell:
        return GridCell(
            index=index,
            byte=byte,
            text="" if value is None else short(dtype, value),
            exact="" if value is None else exact(dtype, value),
            known=value is not None,
            selected=byte <= self.byte < byte + dtype.itemsize,
        )


def grid_of(
    tensor: Any, extent: Extent, contents: Contents, at: tuple[int, ...] | None, hole: int = -1
) -> Grid:
    """Return the table with index `at` (empty for an empty tensor); `hole`: see Grid.hole."""
    sizes = tuple(tensor.sizes)
    rank = len(sizes)
    current = at if at is not None else (0,) * rank
    grid = Grid(
        rank=rank,
        lead=current[:-2],
        lead_sizes=sizes[:-2],
        rows=sizes[-2] if rank > 1 else 1,
        columns=sizes[-1] if rank else 1,
        at_row=-1 if at is None else at[-2] if rank > 1 else 0,
        at_column=-1 if at is None else at[-1] if rank else 0,
        dtype=tensor.dtype,
        extent=extent,
        byte=hole if hole >= 0 else -1 if at is None else extent.byte(at),
        hole=hole,
        contents=contents,
    )
    if at is None:
        return grid
    top = max(0, min(grid.at_row - LISTED // 2, grid.rows - LISTED))
    left = max(0, min(grid.at_column - LISTED // 2, grid.columns - LISTED))
    listed = range(top, min(top + LISTED, grid.rows))
    return replace(grid, cells=tuple(grid.row(row, left, LISTED) for row in listed))
