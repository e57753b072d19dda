"""A sparse convolution, one kernel offset at a time: its active sites and its pairs of rows.

The call is the selected one, else the one that runs, else the newest of `gather_gemm_scatter` or `weight_gradient`.
Sites and pairs are the recorded values of its rulebook. The kernel begins each offset by a call of `select` for its
matrix, which identifies the current offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from engine.inspect.events import short_op
from engine.inspect.history.cache import per_history
from engine.inspect.models._calls import call_text, ended
from engine.inspect.models._contents import BUDGET, Contents, once
from engine.inspect.models._numbers import dtype_of, short

if TYPE_CHECKING:
    import numpy as np

    from engine.inspect.history import History
    from engine.inspect.selection import Selection

PRODUCTS = ("gather_gemm_scatter", "weight_gradient")
MAX_SITES = 4096  # sites of each side that the model holds
MAX_PAIRS = 200  # pairs of the current offset
MAX_OFFSETS = 1 << 14
CHANNELS = 4  # features of a row that are shown
_DAMAGED = "The recorded arguments do not fit a rulebook: the trace is damaged here."

Site = tuple[int, ...]
"""Its sample, then a coordinate per dimension."""


@dataclass(frozen=True, slots=True)
class OffsetRow:
    """One kernel offset. `moment` is when its product begins; -1: it has no pairs."""

    number: int
    position: tuple[int, ...]
    pairs: int
    moment: int
    state: str  # empty, later, current, done


@dataclass(frozen=True, slots=True)
class PairRow:
    """An input row that feeds an output row at the current offset."""

    in_row: int
    out_row: int
    in_site: Site
    out_site: Site
    features: str


@dataclass(frozen=True, slots=True)
class RulebookModel:
    """Everything the rulebook view shows. `call` 0: there is no sparse convolution, and `why`."""

    why: str = ""
    call: int = 0
    op: str = ""
    text: str = ""
    role: str = ""
    file: int = 0
    line: int = 0
    code: str = ""
    running: bool = False
    submanifold: bool = False
    in_shape: tuple[int, ...] = ()
    out_shape: tuple[int, ...] = ()
    kernel_size: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    in_count: int = 0
    out_count: int = 0
    in_sites: tuple[Site, ...] = ()
    out_sites: tuple[Site, ...] = ()
    offsets: tuple[OffsetRow, ...] = ()
    current: int = -1
    pair_count: int = 0  # of all offsets
    pairs: tuple[PairRow, ...] = ()  # of the current one


@per_history(max_entries=1)
def _calls_of_op(history: History) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the calls of the library's operators, oldest first."""
    table = history.tables.calls
    numbers: dict[str, list[int]] = {}
    known: dict[int, str] = {}
    for row, op in enumerate(table.op.tolist()):
        if op not in known:
            known[op] = short_op(history.trace.string(op))
        if known[op] in (*PRODUCTS, "rulebook"):
            numbers.setdefault(known[op], []).append(int(table.id[row]))
    return {op: tuple(calls) for op, calls in numbers.items()}


def product_calls(history: History) -> tuple[int, ...]:
    """Return the numbers of all calls that multiply by a rulebook, in order."""
    known = _calls_of_op(history)
    return tuple(sorted(call for op in PRODUCTS for call in known.get(op, ())))


@per_history(max_entries=1)
def offset_moments(history: History) -> tuple[int, ...]:
    """Return the moments at which the products of kernel offsets begin, over all calls."""
    return tuple(
        sorted(m for call in product_calls(history) for m in _beginnings(history, call).values())
    )


def _beginnings(history: History, call: int) -> dict[int, int]:
    """Return the moment at which each offset began, by its number: the call selects its matrix then."""
    offset_starts: dict[int, int] = {}
    for child in history.calls_of(call):
        if child.op == "select":
            number = next((a.value for a in child.args if a.name == "index"), -1)
            offset_starts.setdefault(int(number), child.since)
    return offset_starts


def _product_call(history: History, moment: int, selection: Selection) -> Any | None:
    """Return the selected call if it is a product; else the running one; else the newest."""
    if selection.call is not None:
        call = history.call(selection.call.call)
        while call is not None and call.op not in PRODUCTS:
            call = history.call(call.parent) if call.parent else None
        if call is not None:
            return call
    for call in history.calls_at(moment):
        if call.op in PRODUCTS:
            return call
    for number in reversed(product_calls(history)):
        call = history.call(number)
        if call is not None and call.since <= moment:
            return call
    return None


def _tensor_argument(call: Any, name: str) -> int:
    return next((int(a.value) for a in call.args if a.name == name and a.kind == "tensor"), 0)


def _rulebook_call(history: History, call: Any) -> tuple[Any | None, bool]:
    """Return the call that built the pairs, and whether this one uses them from outputs to inputs."""
    rows = history.tensor(_tensor_argument(call, "in_rows"), call.since)
    if rows is None:
        return None, False
    for number in reversed(_calls_of_op(history).get("rulebook", ())):
        built = history.call(number)
        if built is None or built.since > call.since or len(built.results) < 3:
            continue
        for position in (1, 2):
            result = history.described(built.results[position], ended(history, built))
            if result is not None and result.storage == rows.storage:
                return built, position == 2
    return None, False


def _values(history: History, tensor: int, moment: int, count: int) -> np.ndarray | None:
    """Return the first rows of a tensor, or nothing if one of their values is unknown."""
    import numpy as np

    fact = history.tensor(tensor, moment) or history.described(tensor, moment)
    storage = history.storage(fact.storage, moment) if fact is not None else None
    if fact is None or storage is None or not fact.sizes or fact.span[1] > storage.nbytes:
        return None
    contents = Contents.of(history, fact.storage, moment, storage.nbytes, count=False)
    values, known = contents.elements(dtype_of(fact.dtype), fact.extent)
    stored = once(fact.extent)  # 1 for a dimension whose elements are all the same
    rows = len(values) // max(prod(stored[1:]), 1)
    rows = min(count if stored[0] > 1 else 1, rows, stored[0])
    needed = rows * prod(stored[1:])
    if not known[:needed].all() or rows < min(count, stored[0]):
        return None
    own = values[:needed].reshape((rows, *stored[1:]))
    repeated = min(count, fact.sizes[0]) if stored[0] != fact.sizes[0] else rows
    return np.broadcast_to(own, (repeated, *fact.sizes[1:]))


def _sites(values: np.ndarray | None) -> tuple[Site, ...]:
    return () if values is None else tuple(map(tuple, values[:MAX_SITES].tolist()))


def project(history: History, moment: int, selection: Selection) -> RulebookModel:
    """Return the chosen call, and the offset that it computes at this moment."""
    call = _product_call(history, moment, selection)
    if call is None:
        return RulebookModel(
            why="No sparse convolution ran up to this moment: step forward, or record a program that uses "
            "engine.sparse_conv."
        )
    head: dict[str, Any] = {
        "call": call.id,
        "op": call.op,
        "text": call_text(history, call),
        "file": call.file,
        "line": call.line,
        "code": history.line_text(call.file, call.line).strip() if call.line else "",
        "running": call.since <= moment < call.until,
    }
    built, swapped = _rulebook_call(history, call)
    if built is None:
        return RulebookModel(
            **head, why="The rulebook of this call was built outside of the recording."
        )
    sizes = {a.name: a.value for a in built.args}
    if not _fits(sizes):
        return RulebookModel(**head, why=_DAMAGED)
    kernel = tuple(sizes["kernel_size"])
    after = ended(history, built)
    starts = _values(history, _tensor_argument(call, "starts"), call.since, prod(kernel) + 1)
    near = _sites(_values(history, sizes["indices"], built.since, MAX_SITES))
    far = _sites(_values(history, built.results[0], after, MAX_SITES))
    in_fact = history.tensor(sizes["indices"], built.since)
    out_fact = history.described(built.results[0], after)
    if starts is None or in_fact is None or out_fact is None:
        return RulebookModel(**head, why="The trace does not hold the values of this rulebook.")
    if len(starts) != prod(kernel) + 1 or (starts[1:] < starts[:-1]).any() or starts[0] != 0:
        return RulebookModel(**head, why=_DAMAGED)
    counts = (in_fact.sizes[0], out_fact.sizes[0])
    shapes = (tuple(sizes["spatial_shape"]), _out_shape(sizes))
    if swapped:
        near, far, counts, shapes = far, near, counts[::-1], shapes[::-1]
    offsets, current = _offsets(history, call, moment, kernel, starts.tolist())
    role = "the gradient of the weight"
    if call.op == PRODUCTS[0]:
        role = "from outputs to inputs" if swapped else "from inputs to outputs"
    return RulebookModel(
        **head,
        role=role,
        submanifold=bool(sizes["submanifold"]),
        in_shape=shapes[0],
        out_shape=shapes[1],
        kernel_size=kernel,
        stride=tuple(sizes["stride"]),
        padding=tuple(sizes["padding"]),
        dilation=tuple(sizes["dilation"]),
        in_count=counts[0],
        out_count=counts[1],
        in_sites=near,
        out_sites=far,
        offsets=offsets,
        current=current,
        pair_count=int(starts[-1]),
        pairs=_pairs(history, call, starts.tolist(), current, near, far),
    )


def _fits(sizes: dict[str, Any]) -> bool:
    """Return whether the arguments are those of a rulebook: sizes of equal lengths, none of them zero."""
    lists = [
        sizes.get(name)
        for name in ("spatial_shape", "kernel_size", "stride", "dilation", "padding")
    ]
    if not all(isinstance(each, tuple) and len(each) == len(lists[0] or ()) for each in lists):
        return False
    positive = all(size > 0 for each in lists[:4] for size in each or ())
    known = positive and isinstance(sizes.get("indices"), int) and "submanifold" in sizes
    return bool(known and lists[0] and prod(lists[1] or ()) <= MAX_OFFSETS)


def _out_shape(sizes: dict[str, Any]) -> tuple[int, ...]:
    """Return the sizes of the output, by the rule of every convolution."""
    if sizes["submanifold"]:
        return tuple(sizes["spatial_shape"])
    return tuple(
        (size + 2 * pad - step * (kernel - 1) - 1) // stride + 1
        for size, kernel, stride, pad, step in zip(
            sizes["spatial_shape"],
            sizes["kernel_size"],
            sizes["stride"],
            sizes["padding"],
            sizes["dilation"],
            strict=True,
        )
    )


def _offsets(
    history: History, call: Any, moment: int, kernel: tuple[int, ...], starts: list[int]
) -> tuple[tuple[OffsetRow, ...], int]:
    """Return every offset with its state, and the number of the current one; -1 before the first."""
    offset_starts = _beginnings(history, call.id)
    reached = {number: since for number, since in offset_starts.items() if since <= moment}
    current = max(reached, key=lambda number: reached[number], default=-1)
    rows = []
    for number in range(len(starts) - 1):
        pairs = starts[number + 1] - starts[number]
        state = "later"
        if not pairs:
            state = "empty"
        elif number == current:
            state = "current" if moment < call.until else "done"
        elif number in reached:
            state = "done"
        rows.append(
            OffsetRow(
                number, _position(number, kernel), pairs, offset_starts.get(number, -1), state
            )
        )
    return tuple(rows), current


def _position(number: int, kernel: tuple[int, ...]) -> tuple[int, ...]:
    position = []
    for size in reversed(kernel):
        position.append(number % size)
        number //= size
    return tuple(reversed(position))


def _pairs(
    history: History,
    call: Any,
    starts: list[int],
    current: int,
    near: tuple[Site, ...],
    far: tuple[Site, ...],
) -> tuple[PairRow, ...]:
    """Return the pairs of the current offset, with the features that are gathered."""
    if not 0 <= current < len(starts) - 1:
        return ()
    first, last = starts[current], min(starts[current + 1], starts[current] + MAX_PAIRS)
    in_rows = _values(history, _tensor_argument(call, "in_rows"), call.since, last)
    out_rows = _values(history, _tensor_argument(call, "out_rows"), call.since, last)
    if in_rows is None or out_rows is None:
        return ()
    features = _tensor_argument(call, "features")
    fact = history.tensor(features, call.since)
    values = None
    if fact is not None and len(fact.sizes) == 2:
        count = min(fact.sizes[0], BUDGET // max(1, fact.sizes[1]))
        values = _values(history, features, call.since, count)
    rows = []
    for i, o in zip(in_rows[first:last].tolist(), out_rows[first:last].tolist(), strict=True):
        text = "?"
        if values is not None and fact is not None and 0 <= i < len(values):
            text = ", ".join(short(dtype_of(fact.dtype), v) for v in values[i][:CHANNELS])
            text += ", ..." if len(values[i]) > CHANNELS else ""
        in_site = near[i] if 0 <= i < len(near) else ()
        out_site = far[o] if 0 <= o < len(far) else ()
        rows.append(PairRow(i, o, in_site, out_site, f"[{text}]"))
    return tuple(rows)
