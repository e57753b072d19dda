"""One Storage: its cells, their contents, and every live tensor over them.

A storage is bytes, without rows, columns or tensors. A *lane* shows which cells one tensor uses, and
as which elements. Two tensors alias if and only if a byte belongs to both: tensors on one storage
may not (`x[0]` and `x[1]` are disjoint), and tensors on different storages may (two storages over
one NumPy array).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from engine._generated.codes import DTypeInfo
from engine.inspect.history.facts import WriteFact
from engine.inspect.layout import MAX_MARKED, Extent, Hit, covered
from engine.inspect.models._contents import Contents
from engine.inspect.models._focus import cursor, element_type, focus, layout_of
from engine.inspect.models._numbers import dtype_of, exact, short
from engine.inspect.models._sparse import sparse_words
from engine.inspect.models._wording import writer

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

MAX_LANES = 32  # maximum tensors that are compared with each other; more are only counted
LISTED = 64  # cells that the model lists; `row` computes others


@dataclass(frozen=True, slots=True)
class Lane:
    """A live tensor over this memory. Byte counts are None if counting would take too long."""

    tensor: int
    label: str
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int  # in elements, into its own storage
    storage: int  # differs from the model's when two storages share memory
    pattern: str
    extent: Extent  # in bytes of this storage
    touched: int | None  # different bytes it uses
    holes: int | None  # bytes between its first and its last that it does not use
    repeats: bool | None  # whether some byte belongs to more than one of its elements
    aliases: tuple[int, ...]  # the tensors that have a byte in common with it
    undecided: tuple[int, ...]  # those for which that was too expensive to decide


@dataclass(frozen=True, slots=True)
class Touch:
    """A cell belongs to an element of a tensor; `more` counts further elements on the same cell."""

    tensor: int
    index: tuple[int, ...]
    part: int  # 0: the element starts here; n: its n-th following cell
    more: int
    counted: bool = True  # whether `more` is exact; else it is at least that


@dataclass(frozen=True, slots=True)
class Cell:
    number: int
    byte: int
    address: int
    text: str  # "" when unknown
    exact: str
    known: bool
    written: bool  # by the last write
    selected: bool
    touches: tuple[Touch, ...]  # in the order of the lanes


@dataclass(frozen=True, slots=True)
class LastWrite(WriteFact):
    """The newest write, with a description of its author."""

    label: str  # of the tensor it went through
    by: str  # its author, in words
    file: int
    line: int


@dataclass(frozen=True)
class StorageModel:
    """Everything the storage view shows. `storage` 0: nothing to show, and `why`."""

    why: str = ""
    storage: int = 0
    address: int = 0
    nbytes: int = 0
    allocator: str = ""
    device: str = ""
    version: int = 0
    counters: int = 0  # version counters over it; 1 unless it was shared without a view
    dtype: str = ""  # of a cell
    itemsize: int = 0
    count: int = 0  # cells
    tensor: int = 0  # the tensor in focus
    byte: int = -1  # the selected byte
    unused: int | None = None  # bytes that no tensor uses
    lanes: tuple[Lane, ...] = ()
    more_tensors: int = 0  # beyond MAX_LANES
    last_write: LastWrite | None = None
    contents: Contents | None = None
    first: int = 0  # number of the first listed cell
    cells: tuple[Cell, ...] = ()

    def row(self, first: int, count: int) -> tuple[Cell, ...]:
        """Return the cells [first, first + count), computed from the layouts: the storage may be
        huge."""
        last = min(first + count, self.count)
        if first >= last or self.contents is None:
            return ()
        touches = [_touches(lane, first, last, self.itemsize) for lane in self.lanes]
        kind = dtype_of(self.dtype)
        return tuple(
            self._cell(
                number, kind, tuple(matches[number] for matches in touches if number in matches)
            )
            for number in range(first, last)
        )

    def _cell(self, number: int, dtype: DTypeInfo, touches: tuple[Touch, ...]) -> Cell:
        assert self.contents is not None
        byte = number * self.itemsize
        end, write = byte + self.itemsize, self.last_write
        value = self.contents.value(dtype, byte)
        return Cell(
            number=number,
            byte=byte,
            address=self.address + byte,
            text="" if value is None else short(dtype, value),
            exact="" if value is None else exact(dtype, value),
            known=value is not None,
            written=write is not None and write.reaches(Extent.stretch(byte, end)),
            selected=byte <= self.byte < end,
            touches=touches,
        )


def project(history: History, moment: int, selection: Selection) -> StorageModel:
    """Return the storage of the selected tensor, or the selected storage itself, as it is at a moment."""
    tensor = focus(history, moment, selection)
    if tensor is not None and (explanation := sparse_words(history, moment, tensor)):
        return StorageModel(why=explanation)
    number = tensor.storage if tensor is not None else selection.storage
    storage = history.storage(number, moment) if number else None
    if storage is None:
        return StorageModel(why="No storage is alive at this moment: step forward.")
    placed = _placed(history, moment, storage)
    lanes, more = _lanes(history, moment, placed, tensor)
    cell = _cell_type([other for other, _ in placed], tensor)
    contents = Contents.of(history, storage.id, moment, storage.nbytes)
    counters = sorted({other.counter for other, _ in placed if other.storage == storage.id})
    byte = _selected_byte(storage, tensor, selection)
    count = -(-storage.nbytes // cell.itemsize)
    first = max(0, min(byte // cell.itemsize - LISTED // 2, count - LISTED)) if byte >= 0 else 0
    model = StorageModel(
        storage=storage.id,
        address=storage.address,
        nbytes=storage.nbytes,
        allocator=storage.allocator,
        device=storage.device,
        version=max((history.version(counter, moment) for counter in counters), default=0),
        counters=len(counters),
        dtype=cell.name,
        itemsize=cell.itemsize,
        count=count,
        tensor=tensor.id if tensor is not None else 0,
        byte=byte,
        unused=None if more else _unused(storage.nbytes, lanes),
        lanes=lanes,
        more_tensors=more,
        last_write=_last_write(history, storage.id, moment),
        contents=contents,
        first=first,
    )
    return replace(model, cells=model.row(first, LISTED))


def _placed(history: History, moment: int, storage: Any) -> list[tuple[Any, int]]:
    """Return every live tensor over this memory, with its storage's offset from this one."""
    placed = [(tensor, 0) for tensor in history.tensors_on(storage.id, moment)]
    for other, shift in _others(history, moment, storage):
        for tensor in history.tensors_on(other, moment):
            lo, hi = tensor.extent.moved(shift).span
            if lo < storage.nbytes and hi > 0:
                placed.append((tensor, shift))
    return sorted(placed, key=lambda pair: pair[0].id)


def _others(history: History, moment: int, storage: Any) -> list[tuple[int, int]]:
    """Return storages whose memory overlaps this one's, with their offsets from its start.

    The engine allocates separate memory for every storage, but two can share one NumPy array.
    """
    if not storage.address:
        return []
    table = history.tables.storages
    rows = table.at(moment)
    start = table.address[rows]
    meets = (start < storage.address + storage.nbytes) & (
        start + table.nbytes[rows] > storage.address
    )
    meets &= (start != 0) & (table.id[rows] != storage.id)
    return [(int(table.id[row]), int(table.address[row]) - storage.address) for row in rows[meets]]


def _lanes(
    history: History, moment: int, placed: Sequence[tuple[Any, int]], selected: Any
) -> tuple[tuple[Lane, ...], int]:
    """Return a lane per tensor, always including the selected one, and the number of omitted
    tensors."""
    retained = list(placed[:MAX_LANES])
    if selected is not None and all(tensor.id != selected.id for tensor, _ in retained):
        retained[-1:] = [pair for pair in placed if pair[0].id == selected.id]
    extents = {tensor.id: tensor.extent.moved(shift) for tensor, shift in retained}
    meets: dict[tuple[int, int], bool | None] = {}
    ids = list(extents)
    for at, item in enumerate(ids):
        for other in ids[at + 1 :]:
            meets[item, other] = meets[other, item] = extents[item].meets(extents[other])
    lanes = []
    for tensor, _ in retained:
        extent = extents[tensor.id]
        lo, hi = extent.span
        touched = extent.distinct()
        answers = {other: meets[tensor.id, other] for other in ids if other != tensor.id}
        lanes.append(
            Lane(
                tensor=tensor.id,
                label=history.label(tensor.id, moment),
                dtype=tensor.dtype,
                sizes=tuple(tensor.sizes),
                strides=tuple(tensor.strides),
                offset=tensor.offset,
                storage=tensor.storage,
                pattern=layout_of(history, tensor).pattern,
                extent=extent,
                touched=touched,
                holes=None if touched is None else hi - lo - touched,
                repeats=extent.repeats,
                aliases=tuple(other for other, answer in answers.items() if answer),
                undecided=tuple(other for other, answer in answers.items() if answer is None),
            )
        )
    return tuple(lanes), len(placed) - len(retained)


def _cell_type(tensors: Sequence[Any], selected: Any) -> DTypeInfo:
    """Return the selected tensor's dtype, unless another tensor of the storage has smaller elements."""
    kinds = [element_type(tensor) for tensor in tensors]
    if selected is not None:
        kinds.insert(0, element_type(selected))
    return min(kinds, key=lambda kind: kind.itemsize) if kinds else dtype_of("uint8")


def _selected_byte(storage: Any, tensor: Any, selection: Selection) -> int:
    """Return the selected byte of this storage; selecting an index of the tensor selects its first byte."""
    cell = selection.cell
    if cell is None:
        return -1
    if cell.byte is not None and cell.storage in (0, storage.id):
        return cell.byte if cell.byte < storage.nbytes else -1
    if tensor is None or cell.index is None:
        return -1
    index = cursor(tensor, selection)
    return -1 if index is None else tensor.extent.byte(index)


def _unused(nbytes: int, lanes: Sequence[Lane]) -> int | None:
    """Return the number of bytes that belong to no tensor; None if they were not counted."""
    import numpy as np

    if any(lane.holes == 0 and lane.extent.span == (0, nbytes) for lane in lanes):
        return 0
    runs = [lane.extent.merged() for lane in lanes]
    matches = [(run, run.starts()) for run in runs]
    marked = [(starts, starts + run.itemsize) for run, starts in matches if starts is not None]
    if len(marked) < len(matches) or sum(len(starts) for starts, _ in marked) > MAX_MARKED:
        return None
    nothing = np.zeros(0, dtype=np.int64)
    starts = np.concatenate([nothing, *(starts for starts, _ in marked)]).clip(0, nbytes)
    ends = np.concatenate([nothing, *(ends for _, ends in marked)]).clip(0, nbytes)
    order = np.argsort(starts, kind="stable")
    return nbytes - covered(starts[order], ends[order])


def _last_write(history: History, storage: int, moment: int) -> LastWrite | None:
    write = history.last_write(storage, -1, moment)
    if write is None:
        return None
    line = history.line_at(write.moment)
    return LastWrite(
        **{field.name: getattr(write, field.name) for field in fields(write)},
        label=history.label(write.tensor, moment) if write.tensor else "",
        by=writer(history, write),
        file=line.file if line is not None else 0,
        line=line.line if line is not None else 0,
    )


def _touches(lane: Lane, first: int, last: int, itemsize: int) -> dict[int, Touch]:
    """Return for each cell of [first, last) that the tensor uses the element that is shown there."""
    lo, hi = first * itemsize, last * itemsize
    hits, counted = lane.extent.hits(lo, hi)
    over: dict[int, list[Hit]] = {}
    for hit in hits:
        start = max(first, hit.start // itemsize)
        end = min(last, -(-(hit.start + lane.extent.itemsize) // itemsize))
        for number in range(start, end):
            over.setdefault(number, []).append(hit)
    return {
        number: _touch(lane, number, itemsize, matches, counted) for number, matches in over.items()
    }


def _touch(lane: Lane, number: int, itemsize: int, hits: list[Hit], counted: bool) -> Touch:
    visible = min(
        hits, key=lambda hit: (-hit.start, hit.index)
    )  # one that starts here, if any does
    part = number - visible.start // itemsize
    more = sum(hit.times for hit in hits) - 1
    return Touch(lane.tensor, visible.index, part, more, counted)
