"""The memory map: names -> Python object -> TensorImpl -> Storage -> bytes, all of it, at one moment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.inspect.events import holder_label
from engine.inspect.history.cache import per_history
from engine.inspect.layout import Extent
from engine.inspect.models._wording import immortal, python_of, shape_text

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

BUCKETS = 32  # cells of the bar of the largest storage: the resolution of all bars
EXACT = 64  # elements per cell up to which "fully used" is exact for any strides
LIMIT = 400  # tensors in one map; the others are counted


@dataclass(frozen=True, slots=True)
class NameBox:
    """A Python name (or `xs[0]`, `self.w`) that leads to a tensor."""

    text: str
    kind: str  # NAME, SLOT, ATTRIBUTE, CELL
    frame: int
    function: str
    in_current_frame: bool  # in the frame that is running


@dataclass(frozen=True, slots=True)
class ObjectBox:
    """The Python object of a tensor as it was last seen."""

    address: int
    refcount: int
    immortal: bool


@dataclass(frozen=True, slots=True)
class TensorBox:
    """A TensorImpl: a description of bytes that a Storage owns."""

    id: int
    label: str
    dtype: str
    device: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    version: int
    base: int
    lo: int  # first byte it can touch, counted from the start of the storage
    hi: int  # the byte after the last
    bar: tuple[int, ...]  # per bucket of the storage: 0 untouched, 1 in part, 2 wholly
    wrapped: bool  # it has a Python object
    object: ObjectBox | None  # and this is what was recorded of it
    names: tuple[NameBox, ...]
    held_by: tuple[str, ...]  # what else holds it, in words
    highlighted: bool


@dataclass(frozen=True, slots=True)
class StorageBox:
    """A Storage and every live tensor on it. Two tensors share bytes only if they are in one of these."""

    id: int
    nbytes: int
    address: int
    allocator: str
    device: str
    use_count: int
    bucket: int  # bytes per entry of the bars: `scale`, or one element if that is larger
    byte: int  # the selected byte, counted from the start; -1 when it is not in this storage
    tensors: tuple[TensorBox, ...]
    highlighted: bool


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies in one direction between the host and a device up to the moment."""

    count: int
    bytes: int
    pinned: int  # of the copies, those from or to pinned memory of the host


@dataclass(frozen=True, slots=True)
class DeviceSection:
    """The storages of one device, and the copies between it and the host."""

    device: str
    storages: int
    bytes: int
    to_device: Copies
    to_host: Copies


@dataclass(frozen=True, slots=True)
class FreedTensor:
    """A tensor that was freed since the line before this moment began to run."""

    id: int
    label: str
    storage: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """Every storage that exists at this moment: device by device, oldest first."""

    moment: int
    line: int
    started: bool  # the line is running already; else it is about to
    code: str
    tensors: int
    hidden: int  # of these, not among the storages below
    storage_count: int
    live_bytes: int
    scale: int  # the bytes that a cell stands for, in all bars; `bucket` is a multiple of it
    devices: tuple[DeviceSection, ...]  # empty if all storages are in main memory
    storages: tuple[StorageBox, ...]
    freed: tuple[FreedTensor, ...]


def project(history: History, moment: int, selection: Selection) -> MemoryMap:
    """Return the map at `moment`. More than LIMIT tensors: the selected, the named, the newest come first."""
    facts = history.tensors_at(moment)
    current = history.line_at(moment)
    names = _names(history, moment, current.frame if current else 0)
    visible = _visible(facts, names, selection)
    storages = history.storages_at(moment)
    by_storage: dict[int, list[Any]] = {}
    for fact in visible:
        by_storage.setdefault(fact.storage, []).append(fact)
    bare = {fact.storage for fact in facts} - by_storage.keys()  # left out with their tensors
    scale = _scale([fact for fact in storages if fact.id not in bare], visible)
    drawn = [
        fact
        for fact in sorted(storages, key=lambda fact: (fact.device != "cpu", fact.device, fact.id))
        if fact.id not in bare
    ]
    uses = history.storage_uses([fact.id for fact in drawn], moment)
    states = _states(history, moment, visible)
    boxes = tuple(
        _storage(
            history,
            moment,
            selection,
            fact,
            use_count,
            by_storage.get(fact.id, []),
            states,
            names,
            scale,
        )
        for fact, use_count in zip(drawn, uses, strict=True)
    )
    return MemoryMap(
        moment=moment,
        line=current.line if current else 0,
        started=current is not None and current.since < moment,
        code=_code(history, current),
        tensors=len(facts),
        hidden=len(facts) - len(visible),
        storage_count=len(storages),
        live_bytes=_bytes(storages),
        scale=scale,
        devices=_devices(history, moment, storages),
        storages=boxes,
        freed=_freed(history, moment, facts),
    )


def _devices(history: History, moment: int, storages: Sequence[Any]) -> tuple[DeviceSection, ...]:
    devices = dict.fromkeys(["cpu", *sorted(fact.device for fact in storages)])
    if len(devices) == 1:
        return ()
    sections = []
    for device in devices:
        own = [fact for fact in storages if fact.device == device]
        in_, out = (
            _copies(history, device, kind, moment) for kind in ("host to device", "device to host")
        )
        sections.append(DeviceSection(device, len(own), _bytes(own), in_, out))
    return tuple(sections)


def _bytes(storages: Sequence[Any]) -> int:
    """Return the memory of storages together: one on the device meta has a size, and no address."""
    return sum(fact.nbytes for fact in storages if fact.address)


def _copies(history: History, device: str, kind: str, moment: int) -> Copies:
    moments, *totals = _transfers(history).get((device, kind), ([], [], []))
    count = bisect_right(moments, moment)
    total, pinned = (each[count - 1] if count else 0 for each in totals)
    return Copies(count, total, pinned)


@per_history(max_entries=1)
def _transfers(history: History) -> dict[tuple[str, str], tuple[list[int], list[int], list[int]]]:
    """Return, for each device and kind of command, the moments, the bytes up to each, and how many were with pinned
    memory."""
    transfers: dict[tuple[str, str], tuple[list[int], list[int], list[int]]] = {}
    for row in range(len(history.tables.commands)):
        fact = history.command(row)
        moments, total, pinned = transfers.setdefault((fact.device, fact.kind), ([], [], []))
        moments.append(fact.since)
        total.append(fact.bytes + (total[-1] if total else 0))
        pinned.append(fact.pinned + (pinned[-1] if pinned else 0))
    return transfers


def _names(history: History, moment: int, running: int) -> dict[int, list[NameBox]]:
    functions = {frame.id: frame.function for frame in history.frames_at(moment)}
    matches: dict[int, list[NameBox]] = {}
    for fact in history.names_at(moment):
        if fact.tensor:
            function = functions.get(fact.frame, "")
            box = NameBox(fact.label, fact.kind, fact.frame, function, fact.frame == running)
            matches.setdefault(fact.tensor, []).append(box)
    return matches


def _visible(facts: Sequence[Any], names: dict[int, Any], selection: Selection) -> Sequence[Any]:
    if len(facts) <= LIMIT:
        return facts

    def weight(fact: Any) -> tuple[bool, bool, int]:
        selected = fact.id == selection.tensor or fact.storage == selection.storage != 0
        return selected, fact.id in names, fact.id

    return sorted(facts, key=weight, reverse=True)[:LIMIT]


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a tensor that is not part of its description."""

    version: int
    wrapped: bool
    object: Any


def _states(history: History, moment: int, tensors: Sequence[Any]) -> dict[int, _State]:
    """Return the state of each tensor: all of them at once, for one by one takes ten times as long."""
    numbers = [fact.id for fact in tensors]
    states = zip(
        history.versions_of([fact.counter for fact in tensors], moment),
        history.wrapped_of(numbers, moment),
        history.objects_of(numbers, moment),
        strict=True,
    )
    return {number: _State(*state) for number, state in zip(numbers, states, strict=True)}


def _storage(
    history: History,
    moment: int,
    selection: Selection,
    fact: Any,
    use_count: int,
    tensors: Sequence[Any],
    states: dict[int, _State],
    names: dict[int, list[NameBox]],
    scale: int,
) -> StorageBox:
    bucket = max(scale, min((tensor.itemsize for tensor in tensors), default=1))
    boxes = tuple(
        _tensor(
            history,
            moment,
            selection,
            tensor,
            fact,
            bucket,
            states[tensor.id],
            names.get(tensor.id, []),
        )
        for tensor in sorted(tensors, key=lambda tensor: tensor.id)
    )
    return StorageBox(
        id=fact.id,
        nbytes=fact.nbytes,
        address=fact.address,
        allocator=fact.allocator,
        device=fact.device,
        use_count=use_count,
        bucket=bucket,
        byte=_selected_byte(selection) if fact.id == selection.storage else -1,
        tensors=boxes,
        highlighted=fact.id == selection.storage or any(box.highlighted for box in boxes),
    )


def _selected_byte(selection: Selection) -> int:
    cell = selection.cell
    return -1 if cell is None or cell.byte is None else cell.byte


def _tensor(
    history: History,
    moment: int,
    selection: Selection,
    fact: Any,
    storage: Any,
    bucket: int,
    state: _State,
    names: Sequence[NameBox],
) -> TensorBox:
    extent = Extent.of(fact.offset, fact.sizes, fact.strides, fact.itemsize)
    lo, hi = extent.span
    highlighted = fact.id == selection.tensor or (
        not selection.tensor and fact.storage == selection.storage != 0
    )
    return TensorBox(
        id=fact.id,
        label=names[0].text if names else f"#{fact.id}",
        dtype=fact.dtype,
        device=fact.device,
        sizes=fact.sizes,
        strides=fact.strides,
        offset=fact.offset,
        version=state.version,
        base=fact.base,
        lo=lo,
        hi=hi,
        bar=bar(extent, storage.nbytes, bucket) if storage.address else (),
        wrapped=state.wrapped,
        object=_object(history, state.object) if state.object else None,
        names=tuple(names),
        held_by=() if names else _kept_by(history.owners(fact.id, moment)),
        highlighted=highlighted,
    )


def _object(history: History, seen: Any) -> ObjectBox:
    return ObjectBox(seen.address, seen.refcount, immortal(seen.refcount, python_of(history)))


def _kept_by(owners: Any) -> tuple[str, ...]:
    """Return the holders of a tensor without a name: those of its object, and of its TensorImpl."""
    parts = owners.object.holders if owners.object else ()
    recorded = [part for part in parts if part.kind != "ELSEWHERE"]
    recorded += [part for part in owners.impl.holders if part.kind != "WRAPPER" or not parts]
    elsewhere = [part for part in parts if part.kind == "ELSEWHERE"]
    return tuple(
        dict.fromkeys(part.name or holder_label(part.kind) for part in (*recorded, *elsewhere))
    )


def _scale(storages: Sequence[Any], tensors: Sequence[Any]) -> int:
    """Return the bytes of a cell, so that the largest storage takes at most BUCKETS cells. A cell has complete
    elements of every dtype; if elements are larger, it is a power of two, and an element takes several cells."""
    sizes = {tensor.itemsize for tensor in tensors} or {1}
    largest = max((fact.nbytes for fact in storages), default=0)
    min_bytes = max(-(-largest // BUCKETS), min(sizes))
    max_size = max(sizes)
    if min_bytes >= max_size:
        return -(-min_bytes // max_size) * max_size
    return 1 << (min_bytes - 1).bit_length()


@lru_cache(maxsize=8192)  # the same tensors are drawn at many moments
def bar(extent: Extent, nbytes: int, bucket: int) -> tuple[int, ...]:
    """Return, for every `bucket` bytes of a storage, whether the tensor uses none (0), some (1) or all (2)."""
    first, last = extent.span
    solid = extent.nested and extent.numel * extent.itemsize == last - first
    matches = []
    for lo in range(0, nbytes, bucket):
        hi = min(lo + bucket, nbytes)
        if solid:
            inside = min(hi, last) - max(lo, first)
        elif bucket // extent.itemsize > EXACT:  # too many to check each: used, at most in part
            inside = next((1 for _ in extent.elements(lo, hi)), 0)
        else:
            hits = {hit.start for hit in extent.elements(lo, hi)}
            touched = {b for start in hits for b in range(start, start + extent.itemsize)}
            inside = sum(lo <= b < hi for b in touched)
        matches.append(0 if inside <= 0 else 2 if inside == hi - lo else 1)
    return tuple(matches)


def _code(history: History, current: Any) -> str:
    if not current or not current.file:
        return ""
    lines = history.source(current.file)[1].splitlines()
    return lines[current.line - 1].strip() if 0 < current.line <= len(lines) else ""


def _freed(history: History, moment: int, alive: Sequence[Any]) -> tuple[FreedTensor, ...]:
    """Return the tensors that existed when the line before this moment began, and no longer exist."""
    before = history.previous(moment, "line")
    if before is None or before >= moment:
        return ()
    living = {fact.id for fact in alive}
    return tuple(
        FreedTensor(
            fact.id,
            history.label(fact.id, before),
            fact.storage,
            f"{fact.dtype} {shape_text(fact.sizes)}",
        )
        for fact in history.tensors_at(before)
        if fact.id not in living
    )
