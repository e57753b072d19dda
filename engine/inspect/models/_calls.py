"""The operator call that a view is about, and the tree of calls that contains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.inspect.history.arguments import show_argument

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection


def chosen_call(history: History, moment: int, selection: Selection) -> Any | None:
    """Return the selected call; else the innermost running one; else the program's newest."""
    if selection.call is not None:
        call = history.call(selection.call.call)
        if call is not None:
            return call
    running = history.calls_at(moment)
    if running:
        return running[-1]
    call = history.call_at_or_before(moment)
    return None if call is None else root_of(history, call)


def root_of(history: History, call: Any) -> Any:
    """Return the call by the program that contains this one."""
    seen = {call.id}
    while call.parent and call.parent not in seen:
        above = history.call(call.parent)
        if above is None:
            return call
        seen.add(above.id)
        call = above
    return call


def call_text(history: History, call: Any) -> str:
    """Return `add(x, y, 1)`, with the names at the time of the call."""
    description = (show_argument(a, lambda t: str(history.label(t, call.since))) for a in call.args)
    return f"{call.op}({', '.join(description)})"


def time_at(history: History, moment: int) -> int:
    """Return nanoseconds on the recorded clock."""
    return int(history.tables.events["t"][min(moment, history.end - 1)])


def ended(history: History, call: Any) -> int:
    """Return the moment at which the call returned or failed, or the trace's last one."""
    return min(int(call.until), history.end - 1)


def duration(nanoseconds: int) -> str:
    """Return `850 ns`, `3.1 us`, `12 ms`."""
    if nanoseconds < 1000:
        return f"{nanoseconds} ns"
    size = float(nanoseconds)
    for unit in ("us", "ms", "s"):
        size /= 1000
        if size < 1000 or unit == "s":
            break
    return f"{size:.3g} {unit}"
