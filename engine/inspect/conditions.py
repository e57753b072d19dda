"""Conditions to run until: `x[2] > 5`, `y.version changes`, `line 12 3 times`, `allocation over 1 MB`, `error`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.inspect.expressions import Expression, Unknown
from engine.inspect.models.allocator import live_bytes

if TYPE_CHECKING:
    from engine.inspect.history import History

Check = Callable[[int, int], None]
"""Called periodically with (events searched, all events); an exception that it raises ends the search."""
EVERY = 16  # moments between two calls of a check
_TIMES = re.compile(r"\s+(?:x|#)?(\d+)(?:\s*times|st|nd|rd|th)?\s*$")
_LINE = re.compile(r"(?:line\s*:?\s*|(?P<file>[^\s:]+):)(?P<line>\d+)$")
_MEMORY = re.compile(r"(?P<kind>allocation|alloc|live)\s*(?P<sign>over|above|>=|>)\s*(?P<size>.*)$")
_SIZE = re.compile(
    r"(?P<number>\d[\d,_]*(?:\.\d+)?|\.\d+)\s*(?P<unit>[kmgt]?)(?:ilo|ega|iga|era)?i?(?:b|bytes?)?$"
)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_CHANGING = (
    "WRITE", "NAME_BIND", "NAME_UNBIND", "VERSION_BUMP", "TENSOR_META", "GRAD_SET", "FRAME_PUSH", "FRAME_POP",
)  # fmt: skip


def run_until(history: History, text: str, m: int, check: Check | None = None) -> int | None:
    """Return the first moment after `m` at which the condition becomes true, or None.
    Raises: ValueError for a text that is not a condition."""
    text = text.strip()
    lowered = text.lower()
    if lowered in ("error", "exception"):
        return _after(history.tables.numbers("ERROR", "EXCEPTION"), m)
    if memory := _MEMORY.match(lowered):
        size = _SIZE.match(memory["size"])
        if size:
            count = float(re.sub("[,_]", "", size["number"])) * _UNITS[size["unit"]]
            return _allocation(history, m, memory["kind"] != "live", count)
        if memory["sign"].isalpha():  # else it compares a name of the program
            problem = f"not {memory['size']!r}" if memory["size"] else "which is missing"
            raise ValueError(f"{text!r} needs a size such as 512, 20 kB or 1.5 MB, {problem}")
    times = _TIMES.search(text)
    head = text[: times.start()] if times and _LINE.match(text[: times.start()]) else text
    if line := _LINE.match(head.strip()):
        return _line(history, m, line, int(times[1]) if times and head != text else 1)
    for ending in (" changes", " change"):
        if lowered.endswith(ending):
            return _change(history, m, _expression(history, text[: -len(ending)]), check)
    return _comes_true(history, m, _expression(history, text), check)


def _expression(history: History, text: str) -> Expression:
    """Return the expression. Raises: ValueError also for a name that the program never bound."""
    expression = Expression(text)
    strings = map(history.string, np.unique(history.tables.names.name).tolist())
    names = {re.split(r"\W", text, maxsplit=1)[0] for text in strings}
    if unknown := sorted(expression.names - names):
        raise ValueError(f"no {' and no '.join(unknown)} in this recording")
    return expression


def _after(moments: Any, m: int, count: int = 1) -> int | None:
    row = int(np.searchsorted(moments, m, "right")) + count - 1
    return int(moments[row]) if row < len(moments) else None


def _line(history: History, m: int, match: re.Match[str], count: int) -> int | None:
    lines = history.tables.lines
    rows = lines.where("line", int(match["line"]))
    if match["file"]:
        paths = {int(f): history.source(int(f))[0] for f in np.unique(lines.file[rows])}
        files = [f for f, path in paths.items() if path.endswith(match["file"])]
        rows = rows[np.isin(lines.file[rows], files)]
    return _after(np.sort(lines.since[rows]), m, count)


def _allocation(history: History, m: int, single: bool, size: float) -> int | None:
    if single:
        storages = history.tables.storages
        return _after(storages.since[storages.nbytes > size], m)
    moments, totals = live_bytes(history)
    over = totals > size
    rising = over & ~np.append(False, over[:-1])
    return _after(moments[rising], m)


def _moments(history: History, m: int, check: Check | None) -> Iterator[int]:
    """Yield the moments after `m` at which a value can have changed."""
    moments = history.tables.numbers(*_CHANGING)
    for number, moment in enumerate(moments[np.searchsorted(moments, m, "right") :].tolist()):
        if check is not None and number % EVERY == 0:
            check(moment, history.end)
        yield moment


def _change(history: History, m: int, expression: Expression, check: Check | None) -> int | None:
    before = _known(expression, history, m)
    for moment in _moments(history, m, check):
        current = _known(expression, history, moment)
        if current is not None and before is not None and not np.array_equal(current, before):
            return moment
        before = current if current is not None else before
    return None


def _comes_true(
    history: History, m: int, expression: Expression, check: Check | None
) -> int | None:
    before = _holds(expression, history, m)
    for moment in _moments(history, m, check):
        holds = _holds(expression, history, moment)
        if holds and not before:
            return moment
        before = holds
    return None


def _known(expression: Expression, history: History, m: int) -> Any | None:
    try:
        return expression.value(history, m)
    except Unknown:
        return None


def _holds(expression: Expression, history: History, m: int) -> bool:
    value = _known(expression, history, m)
    return value is not None and bool(np.all(value))
