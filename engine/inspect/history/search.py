"""Find events: words of their sentence, and filters such as `op:mm name:x line:12 shape:2x3 kind:WRITE`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.inspect.history import History


def find(history: History, text: str, m: int, step: int) -> int | None:
    wanted = text.lower()
    moments = range(m + 1, history.end) if step > 0 else range(m - 1, -1, -1)
    for moment in moments:
        if wanted in history.event(moment).sentence.lower():
            return moment
    return None
