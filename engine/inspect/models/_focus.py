"""The focus of a view: the selected tensor or storage, else the newest that has a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine._generated.codes import DTypeInfo
from engine.inspect.events import FOREVER
from engine.inspect.models._layout import Layout, describe
from engine.inspect.models._numbers import dtype_of
from engine.inspect.selection import CellSelection

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection


def focus(history: History, moment: int, selection: Selection) -> Any | None:
    """Return the tensor to show at a moment: the selected one if it is alive, else a default."""
    selected = _alive(history, selection.tensor, moment)
    if selected is not None:
        return selected
    if selection.storage:
        on_it = history.tensors_on(selection.storage, moment)
        if on_it:
            cell = selection.cell
            return covering(on_it, cell.byte if cell is not None else None) or on_it[0]
    return newest(history, moment)


def newest(history: History, moment: int) -> Any | None:
    """Return the newest live tensor with a name, else the newest of all."""
    alive = history.tensors_at(moment)
    named = {name.tensor for name in history.names_at(moment) if name.tensor}
    candidates = [tensor for tensor in alive if tensor.id in named] or alive
    return max(candidates, key=lambda tensor: tensor.id, default=None)


def covering(tensors: Sequence[Any], byte: int | None) -> Any | None:
    """Return the first of the tensors that has an element over this byte of their storage."""
    if byte is None:
        return None
    return next((t for t in tensors if any(t.extent.elements(byte, byte + 1))), None)


def element_type(tensor: Any) -> DTypeInfo:
    return dtype_of(tensor.dtype)


def view_row(history: History, tensor: int) -> int:
    """Return the row of this tensor in the views table, or -1."""
    row: int = history.tables.views.last("tensor", tensor, FOREVER)
    return row


def layout_of(history: History, tensor: Any) -> Layout:
    """Return sizes and strides in words; the strides of its base distinguish a diagonal."""
    row = view_row(history, tensor.id)
    views = history.tables.views
    source = history.tensor(int(views.base[row]), int(views.since[row])) if row >= 0 else None
    return describe(tensor.sizes, tensor.strides, source.strides if source is not None else ())


def cursor(tensor: Any, selection: Selection) -> tuple[int, ...] | None:
    """Return the index under the cursor: the selected one, else the first over the selected
    byte."""
    if 0 in tensor.sizes:
        return None
    cell = selection.cell or CellSelection()
    index = cell.index
    if index is not None and _is_inside(index, tensor.sizes):
        return tuple(index)
    if cell.byte is not None and cell.storage in (0, tensor.storage):
        hit = next(tensor.extent.elements(cell.byte, cell.byte + 1), None)
        if hit is not None:
            return hit.index
    return (0,) * len(tensor.sizes)


def _is_inside(index: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Return whether the index is within the sizes."""
    if len(index) != len(sizes):
        return False
    return all(0 <= i < n for i, n in zip(index, sizes, strict=True))


def missed(tensor: Any, selection: Selection) -> int:
    """Return the selected byte if it is in the tensor's storage but in no element, else -1."""
    cell = selection.cell
    if cell is None or cell.byte is None or cell.index is not None:
        return -1
    if cell.storage not in (0, tensor.storage):
        return -1
    return -1 if any(tensor.extent.elements(cell.byte, cell.byte + 1)) else cell.byte


def _alive(history: History, tensor: int, moment: int) -> Any | None:
    return history.tensor(tensor, moment) if tensor else None
