"""Who keeps this alive? Holders by name, adding up to the counts that the program really had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.inspect.events import HOLDERS, coded
from engine.inspect.history.facts import Holder, Owners, TensorOwners
from engine.inspect.history.table import Table

if TYPE_CHECKING:
    from engine.inspect.history import History

ELSEWHERE = "held elsewhere"


def owners(history: History, tensor: int, m: int) -> TensorOwners:
    """The Python object's references (as last seen) and the TensorImpl's uses (exact)."""
    return TensorOwners(
        tensor, _object_owners(history, tensor, m), _impl_owners(history, tensor, m)
    )


def storage_owners(history: History, storage: int, m: int) -> Owners:
    tables = history.tables
    holders = tuple(
        Holder(
            kind=(kind := coded(HOLDERS, int(tables.holds.kind[row]))),
            name=_holder_name(history, kind, int(tables.holds.holder[row]), m),
            count=1,
            id=int(tables.holds.holder[row]),
            since=int(tables.holds.since[row]),
        )
        for row in tables.holds.where_at("id", storage, m)
    )
    return _adding_up(holders, tables.storage_counts, storage, m)


def _impl_owners(history: History, tensor: int, m: int) -> Owners:
    tables = history.tables
    holders = [
        Holder("WRAPPER", "its Python object", 1, tensor, int(tables.wrappers.since[row]))
        for row in tables.wrappers.where_at("tensor", tensor, m)
    ]
    for row in tables.uses.where_at("id", tensor, m):
        kind, holder = coded(HOLDERS, int(tables.uses.kind[row])), int(tables.uses.holder[row])
        name = _holder_name(history, kind, holder, m)
        holders.append(Holder(kind, name, 1, holder, int(tables.uses.since[row])))
    return _adding_up(tuple(holders), tables.tensor_counts, tensor, m)


def _object_owners(history: History, tensor: int, m: int) -> Owners | None:
    """None when there is no Python object, or nobody has looked at it yet."""
    seen = history.object_at(tensor, m)
    if seen is None:
        return None
    holders = tuple(
        Holder(name.kind, name.name, 1, name.frame, name.since)
        for name in history.names_of(tensor, m)
    )
    return _with_rest(holders, seen.refcount, seen.since)


def _adding_up(holders: tuple[Holder, ...], counts: Table, key: int, m: int) -> Owners:
    """The use count comes with every event that changes it, so it is known exactly."""
    row = counts.last("id", key, m)
    if row < 0:
        return Owners(len(holders), holders, -1)
    return _with_rest(holders, int(counts.count[row]), int(counts.since[row]))


def _with_rest(holders: tuple[Holder, ...], count: int, seen: int) -> Owners:
    rest = count - sum(holder.count for holder in holders)
    if rest > 0:
        holders = (*holders, Holder("ELSEWHERE", ELSEWHERE, rest))
    return Owners(count, holders, seen)


def _holder_name(history: History, kind: str, holder: int, m: int) -> str:
    if kind in ("TENSOR", "WRAPPER"):
        return f"tensor {history.label(holder, m)}"
    if kind == "CALL":
        call = history.call(holder)
        return f"call {holder}: {call.op}" if call else f"call {holder}"
    if kind == "NUMPY":
        return f"NumPy array {holder}"
    if kind == "DLPACK":
        return f"DLPack capsule {holder}"
    if kind == "BUFFER":
        return f"buffer {holder}"
    if kind in ("NAME", "SLOT", "ATTRIBUTE", "CELL"):
        return history.string(holder)
    return f"{kind.lower()} {holder}"
