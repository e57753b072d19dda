"""Selections for tests, from numbers."""

from __future__ import annotations

from engine.inspect.selection import (
    CallSelection,
    CellSelection,
    LineSelection,
    NameSelection,
    NodeSelection,
    Selection,
    SelectionItem,
    StorageSelection,
    TensorSelection,
    ValueSelection,
)


def select(
    tensor: int = 0,
    storage: int = 0,
    byte: int | None = None,
    index: tuple[int, ...] | None = None,
    name: str = "",
    file: int = 0,
    line: int = 0,
    call: int = 0,
    node: int = 0,
    value: int = 0,
) -> Selection:
    """Return the selection of everything whose number is not 0."""
    items: list[SelectionItem] = []
    if byte is not None or index is not None:
        items.append(CellSelection(tensor, storage, byte, index))
    elif name:
        items.append(NameSelection(tensor, storage, name))
    elif tensor:
        items.append(TensorSelection(tensor, storage))
    elif storage:
        items.append(StorageSelection(storage))
    items += [LineSelection(file, line)] if line else []
    items += [CallSelection(call)] if call else []
    items += [NodeSelection(node)] if node else []
    items += [ValueSelection(value)] if value else []
    return Selection.of(*items)
