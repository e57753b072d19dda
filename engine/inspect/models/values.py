"""The elements of a tensor, their statistics, and which of them the last line changed.

A trace has small writes in full and samples of large ones, so a number can be unknown. Statistics
leave out unknown numbers; the model has their count.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine._generated.codes import DTYPES, DTypeInfo
from engine.inspect.layout import Extent
from engine.inspect.models._contents import Contents, once
from engine.inspect.models._focus import cursor, focus, missed
from engine.inspect.models._grid import LISTED, Grid, GridCell, grid_of
from engine.inspect.models._numbers import dtype_of, exact, magnitude
from engine.inspect.models._sparse import sparse_words

if TYPE_CHECKING:
    import numpy as np

    from engine.inspect.history import History
    from engine.inspect.selection import Selection

SIGMAS = 3  # the scale of the shades ends this many standard deviations from the mean


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the known elements that were read (complex ones by absolute value); None if
    undefined."""

    numel: int
    read: int  # elements that were read: fewer than numel in a very large tensor
    known: int  # of those read
    nan: int
    inf: int
    minimum: float | None  # of the finite ones, as the others below
    maximum: float | None
    mean: float | None
    deviation: float | None
    low: float | None  # the ends of the scale of shades
    high: float | None
    clipped: int  # finite numbers outside that scale


@dataclass(frozen=True, slots=True)
class Recorded:
    """The statistics that the engine recorded for a write that was too large to record in full."""

    moment: int
    numel: int
    sampled: int
    step: int
    nan: int
    inf: int
    minimum: float
    maximum: float
    mean: float


@dataclass(frozen=True, slots=True)
class ValueCell:
    index: tuple[int, ...]
    byte: int
    text: str
    exact: str
    kind: str  # "number" | "nan" | "inf" | "-inf" | "unknown"
    share: float | None  # 0..1: a number's position on the scale; None if all are equal
    clipped: int  # -1 below the scale, 1 above it
    selected: bool
    changed: str  # "" | "changed" | "learned" (not known before)
    before: str  # the exact previous number, "" if equal or unknown


@dataclass(frozen=True)
class ValuesModel:
    """Everything the values view shows. `tensor` 0: nothing to show, and `why`."""

    why: str = ""
    tensor: int = 0
    label: str = ""
    dtype: str = ""
    sizes: tuple[int, ...] = ()
    storage: int = 0
    regions: tuple[str, ...] = ()  # in which the tensor was created, outermost first
    grid: Grid | None = None
    statistics: Statistics | None = None
    recorded: Recorded | None = None
    before: int = -1  # the moment of the comparison; -1: the memory is newer
    changed: int | None = None  # elements that differ from then, of those read
    earlier: Contents | None = None
    cells: tuple[tuple[ValueCell, ...], ...] = ()  # of the slice, around the cursor
    top: int = 0  # row and column of the first of them
    left: int = 0

    def row(self, row: int, first: int, count: int) -> tuple[ValueCell, ...]:
        """Return the cells [first, first + count) of a row of the slice."""
        if self.grid is None:
            return ()
        return tuple(self.cell(cell) for cell in self.grid.row(row, first, count))

    def cell(self, cell: GridCell) -> ValueCell:
        """Return a cell of the slice with all details of the values view."""
        assert self.grid is not None
        assert self.statistics is not None
        dtype = dtype_of(self.dtype)
        value = self.grid.contents.value(dtype, cell.byte)
        kind, share, clipped = _shade(dtype, value, self.statistics)
        changed, before = self._change(dtype, cell.byte, value)
        return ValueCell(
            index=cell.index,
            byte=cell.byte,
            text=cell.text,
            exact=cell.exact,
            kind=kind,
            share=share,
            clipped=clipped,
            selected=cell.selected,
            changed=changed,
            before=before,
        )

    def _change(self, dtype: DTypeInfo, byte: int, value: Any) -> tuple[str, str]:
        if self.earlier is None or value is None:
            return "", ""
        old = self.earlier.value(dtype, byte)
        if old is None:
            return "learned", ""
        return ("", "") if old.tobytes() == value.tobytes() else ("changed", exact(dtype, old))


def project(history: History, moment: int, selection: Selection) -> ValuesModel:
    """Return the selected tensor's numbers at a moment, compared with the moment before the last line."""
    tensor = focus(history, moment, selection)
    if tensor is None:
        return ValuesModel(why="No tensor is alive at this moment: step forward.")
    if explanation := sparse_words(history, moment, tensor):
        return ValuesModel(why=explanation)
    storage = history.storage(tensor.storage, moment)
    if storage is None:
        return ValuesModel(why=f"Tensor {tensor.id} has no storage at this moment.")
    dtype, extent = dtype_of(tensor.dtype), tensor.extent
    contents = Contents.of(history, storage.id, moment, storage.nbytes)
    inside = extent.span[0] >= 0 and extent.span[1] <= storage.nbytes
    read = contents.elements(dtype, extent) if inside else None
    before, earlier = _earlier(history, storage, moment)
    changed = None
    if earlier is not None and read is not None and extent.span[1] <= earlier.nbytes:
        changed = _changed(read, earlier.elements(dtype, extent))
    hole = missed(tensor, selection)
    grid = grid_of(tensor, extent, contents, cursor(tensor, selection), hole)
    model = ValuesModel(
        tensor=tensor.id,
        label=history.label(tensor.id, moment),
        dtype=tensor.dtype,
        sizes=tuple(tensor.sizes),
        storage=storage.id,
        regions=tuple(region.name for region in history.regions_of(tensor.id)),
        grid=grid,
        statistics=_statistics(dtype, extent, read),
        recorded=_recorded(history, storage.id, moment, extent),
        before=before,
        changed=changed,
        earlier=earlier,
        top=max(0, min(grid.at_row - LISTED // 2, grid.rows - LISTED)),
        left=max(0, min(grid.at_column - LISTED // 2, grid.columns - LISTED)),
    )
    cells = tuple(tuple(model.cell(cell) for cell in row) for row in grid.cells)
    return replace(model, cells=cells)


def _earlier(history: History, storage: Any, moment: int) -> tuple[int, Contents | None]:
    """Return the moment before the last line, and what the storage held then."""
    before = history.previous(moment, "line")
    old = history.storage(storage.id, before) if before < moment else None
    if old is None:
        return -1, None
    return before, Contents.of(history, storage.id, before, old.nbytes)


def _changed(current: tuple[np.ndarray, np.ndarray], then: tuple[np.ndarray, np.ndarray]) -> int:
    """Return the number of elements that are known at both moments and differ in bits."""
    import numpy as np

    (values, known), (old, old_known) = current, then
    size = values.dtype.itemsize
    changed = values.view("u1").reshape(-1, size) != old.view("u1").reshape(-1, size)
    return int(np.count_nonzero(changed.any(axis=1) & known & old_known))


def _statistics(
    dtype: DTypeInfo, extent: Extent, read: tuple[np.ndarray, np.ndarray] | None
) -> Statistics:
    import numpy as np

    nothing = Statistics(extent.numel, 0, 0, 0, 0, None, None, None, None, None, None, 0)
    if read is None:
        return nothing
    values, known = read
    # an element that stride 0 repeats is read once and counted as often as it is shown
    times = extent.numel // max(1, math.prod(once(extent)))
    sure = magnitude(dtype, values[known]).astype(np.float64)
    finite = sure[np.isfinite(sure)]
    nan = int(np.isnan(sure).sum())
    counted = replace(
        nothing,
        read=len(values) * times,
        known=len(sure) * times,
        nan=nan * times,
        inf=(len(sure) - len(finite) - nan) * times,
    )
    if not len(finite):
        return counted
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(finite.mean()), float(finite.std())
    low, high = float(finite.min()), float(finite.max())
    begin, end = low, high
    if math.isfinite(deviation) and math.isfinite(mean):
        begin, end = max(low, mean - SIGMAS * deviation), min(high, mean + SIGMAS * deviation)
    return replace(
        counted,
        minimum=low,
        maximum=high,
        mean=mean,
        deviation=deviation,
        low=begin,
        high=end,
        clipped=int(np.count_nonzero((finite < begin) | (finite > end))) * times,
    )


def _recorded(history: History, storage: int, moment: int, extent: Extent) -> Recorded | None:
    """Return the newest write, if it covers the whole tensor and was sampled (Note [Sampled values])."""
    table = history.tables.values
    row = table.last("storage", storage, moment)
    lo, hi = extent.span
    if row < 0 or int(table.mode[row]) != 1 or table.lo[row] > lo or table.hi[row] < hi:
        return None
    blob = history.trace.blob(int(table.event[row]))
    if len(blob) < 64:
        return None
    code, numel, nan, inf, minimum, maximum, mean, step = struct.unpack("<qqqqdddq", blob[:64])
    if not 0 <= code < len(DTYPES) or step < 1:
        return None
    retained = (len(blob) - 64) // DTYPES[code].itemsize
    return Recorded(int(table.since[row]), numel, retained, step, nan, inf, minimum, maximum, mean)


def _shade(dtype: DTypeInfo, value: Any, statistics: Statistics) -> tuple[str, float | None, int]:
    """Return (kind, place on the scale, which end of the scale it is beyond)."""
    if value is None:
        return "unknown", None, 0
    number = float(magnitude(dtype, value))
    if not math.isfinite(number):
        return ("nan" if math.isnan(number) else "inf" if number > 0 else "-inf"), None, 0
    low, high = statistics.low, statistics.high
    if low is None or high is None or low == high:
        return "number", None, 0
    clipped = (number > high) - (number < low)
    share = 0.5 * (number / (high / 2 - low / 2) - low / (high / 2 - low / 2))
    return "number", min(1.0, max(0.0, share)), clipped
