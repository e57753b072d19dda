"""Ownership: holders by name, which add up to the recorded counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from engine._generated.codes import AUTOGRAD_HOLDERS, JIT_HOLDERS, SPARSE_PARTS
from engine.inspect.events import BINDINGS, HOLDERS, coded
from engine.inspect.history.cache import per_history
from engine.inspect.history.facts import Holder, NameFact, Owners, TensorOwners
from engine.inspect.history.jit.holders import holder_words
from engine.inspect.history.table import Table

if TYPE_CHECKING:
    from engine.inspect.history import History

ELSEWHERE = "held elsewhere"
_BEFORE = 64  # earlier counts that are searched for one of another kind
_LATER = 4  # later counts that distinguish a holder from a temporary reference
_LAST_STEP = re.compile(
    r"""(\[(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\[\]'"]*)\]|\.[^.\[\]]*)$"""
)


def owners(history: History, tensor: int, m: int) -> TensorOwners:
    """Return the Python object's references (as last seen) and the TensorImpl's uses (exact)."""
    return TensorOwners(
        tensor, _object_owners(history, tensor, m), _impl_owners(history, tensor, m)
    )


def parts_of(history: History, tensor: int, m: int) -> tuple[tuple[str, int], ...]:
    uses = history.tables.uses
    rows = [
        int(row)
        for row in uses.where_at("holder", tensor, m)
        if coded(HOLDERS, int(uses.kind[row])) == "SPARSE"
    ]
    return tuple((coded(SPARSE_PARTS, int(uses.position[row])), int(uses.id[row])) for row in rows)


def storage_uses(history: History, storages: list[int], m: int) -> list[int]:
    """Return the number of holders of each storage."""
    holds, counts = history.tables.holds, history.tables.storage_counts
    known = Counter(holds.id[holds.at(m)].tolist())
    rows = counts.last_of_each("id", np.array(storages, np.int64), m).tolist()
    return [
        known[storage]
        if row < 0 or counts.count[row] <= known[storage]
        else storage_owners(history, storage, m).count
        for storage, row in zip(storages, rows, strict=True)
    ]


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
    return _adding_up(history, holders, tables.storage_counts, storage, m)


def _impl_owners(history: History, tensor: int, m: int) -> Owners:
    tables = history.tables
    holders = [
        Holder("WRAPPER", "its Python object", 1, tensor, int(tables.wrappers.since[row]))
        for row in tables.wrappers.where_at("tensor", tensor, m)
    ]
    several: dict[tuple[str, int, int], list[int]] = {}
    for row in tables.uses.where_at("id", tensor, m).tolist():
        kind, holder = coded(HOLDERS, int(tables.uses.kind[row])), int(tables.uses.holder[row])
        key = kind, holder, int(tables.uses.position[row])
        several.setdefault(key, []).append(int(tables.uses.since[row]))
    for (kind, holder, index), since in several.items():
        if kind in JIT_HOLDERS:
            name = holder_words(history, kind, holder, index, m)
        else:
            name = _holder_name(history, kind, holder, m, tensor)
        holders.append(Holder(kind, name, len(since), holder, since[0]))
    return _adding_up(history, tuple(holders), tables.tensor_counts, tensor, m)


def _object_owners(history: History, tensor: int, m: int) -> Owners | None:
    """Return the holders of the Python object; None without an object or a sample of it.

    The references were counted at the last sample. Names bound or unbound since then are added or subtracted;
    references that had no name at the sample are assumed to exist still.
    """
    seen = history.object_at(tensor, m)
    if seen is None:
        return None
    then, current = (_references(history.names_of(tensor, at)) for at in (seen.since, m))
    remaining = max(seen.refcount - len(then), 0)
    if not current and not remaining:  # it is alive, so a holder without a name exists
        remaining = 1
    return _with_rest(current, len(current) + remaining, seen.since)


def _references(names: Iterable[NameFact]) -> tuple[Holder, ...]:
    """Return one holder per reference: see Note [Holders of bindings] in engine/_native/names.h."""
    references: dict[object, list[NameFact]] = {}
    for index, name in enumerate(names):
        step = "" if name.kind in ("NAME", "CELL") else _last_step(name.name)  # a cell holds one
        key: object = (name.holder, step) if name.holder else index
        references.setdefault(key, []).append(name)
    holders = []
    for paths in references.values():
        first, paths_text = paths[0], ", also ".join(name.label for name in paths)
        holders.append(Holder(first.kind, paths_text, 1, first.frame, first.since))
    return tuple(holders)


def _last_step(path: str) -> str:
    """Return the last step of a path, the reference's position in its holder: `[0]` of `a.b[0]`, `.b` of
    `a.b`."""
    matches = _LAST_STEP.search(path)
    return matches[0] if matches else path


def _adding_up(
    history: History, holders: tuple[Holder, ...], counts: Table, key: int, m: int
) -> Owners:
    """Add the unknown holders, so that all add up to the use count, which comes with every event that changes it.

    A count recorded while an operator or a backward pass ran includes its temporary references, which
    have no events: they belong to it while it runs. Native functions that are not operators
    have some too: other counts show which references were temporary.
    """
    known = sum(holder.count for holder in holders)
    row = counts.last("id", key, m)
    if row < 0:
        return Owners(known, holders, -1)
    count, seen = int(counts.count[row]), int(counts.since[row])
    busy = _busy(history, seen)
    if count > known and busy is None:
        count = known + min(count - known, _rest_around(history, counts, key, row))
    if busy is None or count <= known:
        return _with_rest(holders, count, seen)
    kind, number, until = busy
    if until <= m:
        return Owners(known, holders, seen)
    name = f"{_holder_name(history, kind, number, m)}, while it runs"
    return Owners(count, (*holders, Holder(kind, name, count - known, number, seen)), seen)


def _rest_around(history: History, counts: Table, key: int, row: int) -> int:
    """Return the number of unknown holders that are not temporary: permanent ones are in the next few counts
    too, and existed before a native function that saves the tensor."""
    rows = counts.where("id", key)
    index = int(np.searchsorted(rows, row))
    near = rows[index + 1 : index + 1 + _LATER].tolist()
    if _saves(history, int(counts.since[row])):
        before = rows[max(0, index - _BEFORE) : index][::-1].tolist()
        own = (each for each in before if not _saves(history, int(counts.since[each])))
        near += [each for each in [next(own, -1)] if each >= 0]
    rests = (int(counts.count[each]) - _known(history, counts, key, each) for each in near)
    return max(min(rests, default=1 << 62), 0)


def _saves(history: History, m: int) -> bool:
    """Return whether the event is about a holder of autograd: it is recorded while references are held."""
    fields = dict(history.fields(m))
    return "tensor" in fields and coded(HOLDERS, fields.get("holder_kind", 0)) in AUTOGRAD_HOLDERS


def _known(history: History, counts: Table, key: int, row: int) -> int:
    moment, tables = int(counts.since[row]), history.tables
    if counts is tables.storage_counts:
        return len(tables.holds.where_at("id", key, moment))
    wrappers = len(tables.wrappers.where_at("tensor", key, moment))
    return wrappers + len(tables.uses.where_at("id", key, moment))


@per_history(1 << 14)
def _busy(history: History, m: int) -> tuple[str, int, int] | None:
    """Return (kind, number, end) of the operator or backward pass that was running in the event's thread."""
    thread = history.tables.events["thread"]
    tables = (("CALL", history.tables.calls), ("RUN", history.autograd.tables.runs))
    for kind, table in tables:
        running = table.at(m)
        if len(running):
            running = running[thread[table.since[running]] == thread[m]]
        if len(running):
            return kind, int(table.id[running[0]]), int(table.until[running[0]])
    return None


def _with_rest(holders: tuple[Holder, ...], count: int, seen: int) -> Owners:
    known = sum(holder.count for holder in holders)
    if count > known:
        holders = (*holders, Holder("ELSEWHERE", ELSEWHERE, count - known))
    return Owners(max(count, known), holders, seen)


def _slot(history: History, node: int, tensor: int, m: int) -> str:
    """Return ` as _saved_self`: the attributes under which a node keeps the tensor."""
    names = (saved.name for saved in history.autograd.savers(tensor, m) if saved.node == node)
    names_found = " and ".join(dict.fromkeys(names))
    return f" as {names_found}" if names_found else ""


def _holder_name(history: History, kind: str, holder: int, m: int, tensor: int = 0) -> str:
    if kind in ("TENSOR", "WRAPPER"):
        nodes = [saved.node for saved in history.autograd.savers(holder, m)]
        names_found = ", ".join(
            history.autograd.describe_node(node) for node in dict.fromkeys(nodes)
        )
        return f"tensor {history.label(holder, m)}" + (
            f", saved by node {names_found}" if names_found else ""
        )
    if kind == "SPARSE":
        return f"part of sparse tensor {history.label(holder, m)}"
    if kind == "CALL":
        call = history.call(holder)
        return f"call {holder}: {call.op}" if call else f"call {holder}"
    if kind == "RUN":
        return f"backward pass {holder}"
    if kind == "NUMPY":
        return f"NumPy array {holder}"
    if kind == "DLPACK":
        return f"DLPack capsule {holder}"
    if kind == "SAVED" and tensor == history.autograd.variable(holder):
        return f"variable of node {history.autograd.describe_node(holder)}"
    if kind == "SAVED":
        return f"saved by node {history.autograd.describe_node(holder, m)}{_slot(history, holder, tensor, m)}"
    if kind == "GRAD":
        return f".grad of {history.label(holder, m)}"
    if kind == "BUFFER":
        return f"input buffer of node {history.autograd.describe_node(holder, m)}"
    if kind in BINDINGS:
        return history.string(holder)
    return f"{kind.lower()} {holder}"
