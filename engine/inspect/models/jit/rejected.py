"""A function that the compiler rejected: the error with its source line and caret, as it was raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.inspect.history import History

HERE = "<--- HERE"  # the marker that only errors of the front end have
FEW = 50  # exceptions before a moment that are searched


def rejected(history: History, moment: int) -> tuple[str, ...]:
    """Return the lines of the last error of the compiler's front end, if nothing was compiled since."""
    table, jit = history.tables.exceptions, history.jit
    last = max(
        (
            int(item.since[item.started_by(moment) - 1])
            for item in (jit.tables.functions, jit.tables.graphs, jit.tables.frames)
            if item.started_by(moment)
        ),
        default=-1,
    )
    started = table.started_by(moment)
    for row in range(started - 1, max(-1, started - 1 - FEW), -1):
        since = int(table.since[row])
        if since < last:
            break
        text = history.text(since)
        if HERE in text:
            name = history.string(int(table.type[row]))
            return (f"{name}, raised at event {since:,}:", *text.strip("\n").split("\n"))
    return ()
