"""The selection of the user: one for all views, which highlight everything that belongs to it.

A selection has at most one item of each kind: data, a node of the autograd graph, a line of the program, a call,
and a part of a compiled graph.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine.inspect.history import History


@dataclass(frozen=True, slots=True)
class TensorSelection:
    """A whole tensor. storage 0: unspecified."""

    tensor: int
    storage: int = 0


@dataclass(frozen=True, slots=True)
class NameSelection(TensorSelection):
    """A name of the program. tensor 0: it is not bound to a tensor."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class ObjectSelection(TensorSelection):
    """The Python object of a tensor, or its TensorImpl."""


@dataclass(frozen=True, slots=True)
class CellSelection:
    """One cell of a storage or a tensor: by its address in the storage, its index in the tensor, or both."""

    tensor: int = 0
    storage: int = 0
    byte: int | None = None
    index: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class StorageSelection:
    """A storage."""

    storage: int


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """A node of the autograd graph."""

    node: int


@dataclass(frozen=True, slots=True)
class LineSelection:
    """A line of the program."""

    file: int
    line: int


@dataclass(frozen=True, slots=True)
class CallSelection:
    """A call of an operator."""

    call: int


@dataclass(frozen=True, slots=True)
class ValueSelection:
    """A Value of a compiled graph."""

    value: int


@dataclass(frozen=True, slots=True)
class GraphNodeSelection:
    """A node of a compiled graph without outputs."""

    node: int


@dataclass(frozen=True, slots=True)
class SyntaxSelection:
    """A part of the source of a compiled function: it stays selected from pass to pass, as a Value does.

    index: the line of the file, or the position among the function's tokens or the nodes of its tree.
    """

    function: int
    part: Literal["line", "token", "tree"]
    index: int


JitSelection = ValueSelection | GraphNodeSelection | SyntaxSelection

DataSelection = TensorSelection | CellSelection | StorageSelection
SelectionItem = DataSelection | NodeSelection | LineSelection | CallSelection | JitSelection


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected item of each kind; None: nothing."""

    data: DataSelection | None = None
    node: NodeSelection | None = None
    line: LineSelection | None = None
    call: CallSelection | None = None
    value: JitSelection | None = None

    @classmethod
    def of(cls, *items: SelectionItem) -> Selection:
        """Return the selection of these items; the last of each kind."""
        parts: dict[str, SelectionItem] = {kind_of(item): item for item in items}
        return cls(**parts)  # type: ignore[arg-type]

    def updated(self, other: Selection) -> Selection:
        """Return this selection with the items of another."""
        parts = {field.name: getattr(other, field.name) for field in fields(other)}
        return replace(self, **{name: item for name, item in parts.items() if item is not None})

    @property
    def tensor(self) -> int:
        """The tensor that is selected, or one of whose cells is; 0: none."""
        return (
            0 if self.data is None or isinstance(self.data, StorageSelection) else self.data.tensor
        )

    @property
    def storage(self) -> int:
        """The storage that is selected, or that of the selected tensor or cell; 0: none, or not known."""
        return 0 if self.data is None else self.data.storage

    @property
    def cell(self) -> CellSelection | None:
        """The cell that is selected."""
        return self.data if isinstance(self.data, CellSelection) else None

    def __bool__(self) -> bool:
        """Return whether anything is selected."""
        return self != Selection()


def kind_of(item: SelectionItem) -> str:
    """Return the kind of an item: the field of a selection that holds it."""
    match item:
        case NodeSelection():
            return "node"
        case LineSelection():
            return "line"
        case CallSelection():
            return "call"
        case ValueSelection() | GraphNodeSelection() | SyntaxSelection():
            return "value"
        case _:
            return "data"


KEYS = ("name", "tensor", "storage", "byte", "node", "file", "line", "call", "value", "graph_node")
"""The keys that a user may type: `name=x` (or `x`), `tensor=3`, `storage=2,byte=16`, `line=4`."""


def parse_selection(spec: str, history: History, moment: int) -> tuple[SelectionItem, ...]:
    """Parse the items that a user typed, the intended one first. Raises: ValueError with the reason."""
    name, numbers = _parts(spec)
    if name:
        named = [fact for fact in history.names_at(moment) if name in (fact.name, fact.label)]
        if not named:
            raise ValueError(f"no name {name!r} exists at event {moment}")
        numbers["tensor"] = named[-1].tensor
    tensor, storage = numbers.get("tensor", 0), numbers.get("storage", 0)
    if tensor and history.tensor(tensor, moment) is None:
        raise ValueError(f"tensor {tensor} does not exist at event {moment}")
    items: list[SelectionItem] = []
    if "byte" in numbers:
        items.append(CellSelection(tensor, storage, numbers["byte"]))
    elif name:
        items.append(NameSelection(tensor, storage, name))
    elif tensor:
        items.append(TensorSelection(tensor, storage))
    elif storage:
        items.append(StorageSelection(storage))
    if numbers.get("line"):
        running = history.line_at(moment) if moment >= 0 else None
        file = numbers.get("file") or (running.file if running else 0)
        items.append(LineSelection(file, numbers["line"]))
    if numbers.get("call"):
        items.append(CallSelection(numbers["call"]))
    if numbers.get("node"):
        items.append(NodeSelection(numbers["node"]))
    if numbers.get("value"):
        items.append(ValueSelection(numbers["value"]))
    if numbers.get("graph_node"):
        items.append(GraphNodeSelection(numbers["graph_node"]))
    if not items:
        raise ValueError("nothing to select; try name=x or tensor=3")
    return tuple(items)


def _parts(spec: str) -> tuple[str, dict[str, int]]:
    """Return the name in a specification, and its numbers."""
    name, numbers = "", {}
    for part in filter(None, (part.strip() for part in spec.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = "name", part
        if key not in KEYS:
            raise ValueError(
                f"{key!r} cannot be selected; try name=x, tensor=3, storage=2,byte=16 or line=4"
            )
        if key == "name":
            name = value
        elif value.isdigit():
            numbers[key] = int(value)
        else:
            raise ValueError(f"{key} must be a number, not {value!r}")
    return name, numbers


def selection_parts(selection: Selection) -> dict[str, int | str | tuple[int, ...]]:
    """Return the numbers of a selection, under the keys that `parse_selection` reads; and the index of a cell."""
    parts: dict[str, int | str | tuple[int, ...]] = {}
    if isinstance(selection.data, NameSelection):
        parts["name"] = selection.data.name
    parts |= {"tensor": selection.tensor, "storage": selection.storage}
    if selection.line is not None:
        parts |= {"file": selection.line.file, "line": selection.line.line}
    if selection.call is not None:
        parts["call"] = selection.call.call
    if selection.node is not None:
        parts["node"] = selection.node.node
    match selection.value:
        case ValueSelection(value):
            parts["value"] = value
        case GraphNodeSelection(node):
            parts["graph_node"] = node
        case SyntaxSelection(function, part, index):
            parts |= {"function": function, "part": part, "position": index}
    parts = {key: part for key, part in parts.items() if part}
    if selection.cell is not None and selection.cell.byte is not None:
        parts["byte"] = selection.cell.byte
    if selection.cell is not None and selection.cell.index is not None:
        parts["index"] = selection.cell.index
    return parts
