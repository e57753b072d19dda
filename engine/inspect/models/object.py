"""One tensor's Python object as memory, and the three counts that keep it alive, holder by holder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.inspect.events import holder_label
from engine.inspect.models._wording import immortal, pluralise, python_of

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

WORD = 8
_SLOTS = ("ob_refcnt", "ob_type", "_h", "__weakref__", "__dict__")


@dataclass(frozen=True, slots=True)
class Word:
    """Eight bytes of the object, in the order of their addresses."""

    offset: int
    bytes: str
    value: int
    field: str
    meaning: str


@dataclass(frozen=True, slots=True)
class HolderRow:
    """A holder, its share of the count, and the event since when (-1: unknown)."""

    count: int
    kind: str
    label: str
    tensor: int
    since: int


@dataclass(frozen=True, slots=True)
class Count:
    """A count and its holders; `sum` is their total and equals `count`."""

    kind: str
    field: str
    id: int
    count: int
    sum: int
    holders: tuple[HolderRow, ...]
    seen: int


@dataclass(frozen=True, slots=True)
class ObjectModel:
    """The object of one tensor. `why` is the reason for the choice of the tensor; 0: none to show."""

    moment: int
    tensor: int
    storage: int
    label: str
    why: str
    type: str
    address: int
    refcount: int
    immortal: bool
    seen: int
    header: tuple[Word, ...]
    counts: tuple[Count, ...]


def project(history: History, moment: int, selection: Selection) -> ObjectModel:
    """Return the object of the selected tensor, else of the one that a name was bound to last."""
    tensor, why = shown_tensor(history, moment, selection)
    fact = history.tensor(tensor, moment) if tensor else None
    if fact is None:
        return ObjectModel(moment, 0, 0, "", why, "", 0, 0, False, -1, (), ())
    owners = history.owners(tensor, moment)
    seen = history.object_at(tensor, moment)
    python = python_of(history)
    counts = [("TensorImpl", "use count", tensor, owners.impl)]
    if owners.object is not None:
        counts.insert(0, ("Python object", "ob_refcnt", tensor, owners.object))
    if fact.storage:
        storage = history.storage_owners(fact.storage, moment)
        counts.append(("Storage", "use count", fact.storage, storage))
    return ObjectModel(
        moment=moment,
        tensor=tensor,
        storage=fact.storage,
        label=history.label(tensor, moment),
        why=why,
        type=seen.type if seen else "",
        address=seen.address if seen else 0,
        refcount=seen.refcount if seen else 0,
        immortal=immortal(seen.refcount, python) if seen else False,
        seen=seen.since if seen else -1,
        header=tuple(_header(seen, tensor, python)) if seen else (),
        counts=tuple(_count(*row) for row in counts),
    )


def shown_tensor(history: History, moment: int, selection: Selection) -> tuple[int, str]:
    """Return (tensor, why): the selected one while it lives, else one of the selected storage, else the last named."""
    if selection.tensor:
        if history.tensor(selection.tensor, moment) is not None:
            return selection.tensor, "selected"
        return 0, f"tensor {selection.tensor} does not exist at this moment"
    if selection.storage:
        on_it = sorted(fact.id for fact in history.tensors_on(selection.storage, moment))
        if on_it:
            return on_it[0], f"the first tensor on storage {selection.storage}"
        return 0, f"no tensor is on storage {selection.storage} at this moment"
    named = [fact for fact in history.names_at(moment) if fact.tensor]
    if named:
        last = max(named, key=lambda fact: fact.since)
        return last.tensor, f"bound last, to {last.label}; nothing is selected"
    return 0, "no name leads to a tensor at this moment, and nothing is selected"


def _header(seen: Any, tensor: int, python: tuple[int, ...]) -> Iterable[Word]:
    """Split the recorded bytes into words of eight, each with the name of its CPython field."""
    for index, offset in enumerate(range(0, len(seen.header), WORD)):
        raw = bytes(seen.header[offset : offset + WORD])
        value = int.from_bytes(raw, "little")
        field = _SLOTS[index] if index < len(_SLOTS) else ""
        meaning = {
            "ob_refcnt": "immortal" if immortal(value, python) else pluralise(value, "reference"),
            "ob_type": f"the type {seen.type}",
            "_h": f"TensorImpl {tensor}" if value else "empty",
            "__weakref__": "weak references" if value else "no weak reference",
            "__dict__": "attributes" if value else "no attributes",
        }.get(field, "")
        yield Word(offset, raw.hex(" "), value, field, meaning)


def _count(title: str, field: str, id: int, owners: Any) -> Count:
    holders = tuple(_holder(holder) for holder in owners.holders)
    total = sum(holder.count for holder in holders)
    return Count(title, field, id, owners.count, total, holders, owners.seen)


def _holder(holder: Any) -> HolderRow:
    tensor = holder.id if holder.kind in ("TENSOR", "SPARSE") else 0
    text = holder.name or holder_label(holder.kind)
    return HolderRow(holder.count, holder.kind, text, tensor, holder.since)
