"""Address computation: `base + (offset + sum(index * stride)) * itemsize`, with numbers.

The tensor's table and the storage's strip of cells show the same elements, by index and by address. The
formula connects the two for the cell under the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from engine.inspect.events import short_op
from engine.inspect.layout import Extent, Hit
from engine.inspect.models._contents import Contents
from engine.inspect.models._focus import cursor, focus, layout_of, missed, view_row
from engine.inspect.models._grid import Grid, GridCell, grid_of
from engine.inspect.models._layout import Layout
from engine.inspect.models._numbers import dtype_of, short
from engine.inspect.models._sparse import sparse_words

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

MAX_SHARERS = 64  # other indices of the same element that are listed
MAX_CHAIN = 32  # views of views of views that are followed back
LISTED = 64  # cells of the strip that the model lists


@dataclass(frozen=True, slots=True)
class Term:
    """One product of the formula."""

    dim: int
    index: int
    stride: int


@dataclass(frozen=True, slots=True)
class AddressFormula:
    """The address of one element: every number of the formula."""

    index: tuple[int, ...]
    base: int
    offset: int
    terms: tuple[Term, ...]
    element: int  # offset + sum of the terms: which element of the storage
    itemsize: int
    byte: int
    address: int
    text: str  # the value, exactly; "" when unknown
    known: bool
    sharers: tuple[tuple[int, ...], ...]  # other indices at the same element, up to MAX_SHARERS
    shared: int  # how many there are
    counted: bool  # whether `shared` is exact; else it is at least that


@dataclass(frozen=True, slots=True)
class StripCell:
    """A cell of the storage: one element of this tensor's dtype, counted from the storage's start."""

    number: int
    byte: int
    address: int
    text: str
    known: bool
    used: bool  # by this tensor
    index: tuple[int, ...] | None  # the first index at this cell
    more: int  # number of further indices at this cell
    counted: bool  # whether `more` is exact; else it is at least that
    selected: bool


@dataclass(frozen=True, slots=True)
class DerivationStep:
    """One step of the tensor's derivation: `tensor` is the result of `op` on `source`."""

    tensor: int
    label: str
    op: str
    call: int
    source: int  # 0: not a view
    moment: int
    file: int
    line: int


@dataclass(frozen=True)
class StridesModel:
    """Everything the strides view shows. `tensor` 0: nothing to show, and `why`."""

    why: str = ""
    tensor: int = 0
    label: str = ""
    dtype: str = ""
    device: str = ""
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = 0
    itemsize: int = 0
    storage: int = 0
    address: int = 0
    nbytes: int = 0
    extent: Extent | None = None
    layout: Layout | None = None
    derivation: tuple[DerivationStep, ...] = ()  # the newest step first
    grid: Grid | None = None
    formula: AddressFormula | None = None  # nothing in an empty tensor, or when a hole is selected
    count: int = 0  # cells of the strip
    strip: tuple[StripCell, ...] = ()  # those around the cursor

    def cells(self, first: int, count: int) -> tuple[StripCell, ...]:
        """Return the strip's cells [first, first + count)."""
        assert self.extent is not None
        assert self.grid is not None
        last = min(first + count, self.count)
        lo, hi = first * self.itemsize, last * self.itemsize
        over: dict[int, list[Hit]] = {}
        hits, counted = self.extent.hits(lo, hi)
        for hit in hits:
            over.setdefault(hit.start // self.itemsize, []).append(hit)
        return tuple(self._cell(n, over.get(n, []), counted, self.grid) for n in range(first, last))

    def _cell(self, number: int, hits: list[Hit], counted: bool, grid: Grid) -> StripCell:
        byte, dtype = number * self.itemsize, dtype_of(self.dtype)
        value = grid.contents.value(dtype, byte)
        return StripCell(
            number=number,
            byte=byte,
            address=self.address + byte,
            text="" if value is None else short(dtype, value),
            known=value is not None,
            used=bool(hits),
            index=min((hit.index for hit in hits), default=None),
            more=max(0, sum(hit.times for hit in hits) - 1),
            counted=counted,
            selected=byte <= grid.byte < byte + self.itemsize,
        )


def project(history: History, moment: int, selection: Selection) -> StridesModel:
    """Return the layout of the selected tensor, with the formula of the selected cell."""
    tensor = focus(history, moment, selection)
    if tensor is None:
        return StridesModel(why="No tensor is alive at this moment: step forward.")
    if explanation := sparse_words(history, moment, tensor):
        return StridesModel(why=explanation)
    storage = history.storage(tensor.storage, moment)
    if storage is None:
        return StridesModel(why=f"Tensor {tensor.id} has no storage at this moment.")
    dtype, extent = dtype_of(tensor.dtype), tensor.extent
    at = cursor(tensor, selection)
    contents = Contents.of(history, storage.id, moment, storage.nbytes)
    hole = missed(tensor, selection)
    grid = grid_of(tensor, extent, contents, at, hole)
    count = -(-storage.nbytes // dtype.itemsize)
    model = StridesModel(
        tensor=tensor.id,
        label=history.label(tensor.id, moment),
        dtype=tensor.dtype,
        device=tensor.device,
        sizes=tuple(tensor.sizes),
        strides=tuple(tensor.strides),
        offset=tensor.offset,
        itemsize=dtype.itemsize,
        storage=storage.id,
        address=storage.address,
        nbytes=storage.nbytes,
        extent=extent,
        layout=layout_of(history, tensor),
        derivation=chain(history, tensor.id, moment),
        grid=grid,
        formula=None
        if at is None or hole >= 0
        else _formula(tensor, storage, extent, grid.cell(at)),
        count=count,
    )
    current = tensor.offset if grid.byte < 0 else grid.byte // dtype.itemsize
    first = max(0, min(current - LISTED // 2, count - LISTED))
    return replace(model, strip=model.cells(first, LISTED))


def chain(history: History, tensor: int, moment: int) -> tuple[DerivationStep, ...]:
    """Return the operators that created the tensor, back to the tensor that is not a view."""
    steps: list[DerivationStep] = []
    while tensor and len(steps) < MAX_CHAIN:
        steps.append(_step(history, tensor, moment))
        tensor = steps[-1].source
    return tuple(steps)


def _step(history: History, tensor: int, moment: int) -> DerivationStep:
    rows = history.tables.tensors.where("id", tensor)
    since = int(history.tables.tensors.since[rows[0]]) if len(rows) else -1
    views = history.tables.views
    row = view_row(history, tensor)
    if row >= 0:
        call = history.call(int(views.call[row]))
        named = short_op(history.string(int(views.op[row])))
        op = named or (call.op if call is not None else "")
    else:
        call = next(iter(history.calls_at(since)), None) if since >= 0 else None
        op = call.op if call is not None else ""
    return DerivationStep(
        tensor=tensor,
        label=history.label(tensor, moment),
        op=op,
        call=call.id if call is not None else 0,
        source=int(views.base[row]) if row >= 0 else 0,
        moment=since,
        file=call.file if call is not None else 0,
        line=call.line if call is not None else 0,
    )


def _formula(tensor: Any, storage: Any, extent: Extent, cell: GridCell) -> AddressFormula:
    dtype, index = dtype_of(tensor.dtype), cell.index
    pairs = enumerate(zip(index, tensor.strides, strict=True))
    terms = tuple(Term(dim, i, stride) for dim, (i, stride) in pairs)
    element = tensor.offset + sum(term.index * term.stride for term in terms)
    hits, counted = extent.hits(cell.byte, cell.byte + 1)
    return AddressFormula(
        index=index,
        base=storage.address,
        offset=tensor.offset,
        terms=terms,
        element=element,
        itemsize=dtype.itemsize,
        byte=element * dtype.itemsize,
        address=storage.address + element * dtype.itemsize,
        text=cell.exact,
        known=cell.known,
        sharers=_sharers(extent, hits, cell.index),
        shared=sum(hit.times for hit in hits) - 1,
        counted=counted,
    )


def _sharers(
    extent: Extent, hits: list[Hit], current: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return the other indices of the same element, up to MAX_SHARERS."""
    others = (index for hit in hits for index in _repeated(extent, hit.index) if index != current)
    return tuple(islice(others, MAX_SHARERS))


def _repeated(extent: Extent, index: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Vary the index in its stride-0 dimensions, in order, up to the listed number."""
    sizes, strides = extent.sizes, extent.strides
    return product(
        *(
            (i,) if s else range(min(n, MAX_SHARERS + 1))  # product makes a tuple of every range
            for i, n, s in zip(index, sizes, strides, strict=True)
        )
    )
