"""The targets of keys in panes that are windows: a page up or down, the first and the last row."""

from __future__ import annotations

from collections.abc import Sequence

from engine.inspect.selection import JitSelection
from tui.render import Target
from tui.render.picture import Guide

_NO_SPLIT = 1 << 20


def guide_of(
    selected: JitSelection | None, lists: Sequence[Sequence[JitSelection | None]], page: int
) -> Guide:
    """Return the guide of a selected row: pages go along the first list that contains it."""
    if selected is None:
        return Guide()
    focus = Target(selected)
    for items in lists:
        if selected not in items:
            continue
        at, step = items.index(selected), max(1, page - 1)
        known = {
            "pageup": items[max(0, at - step)],
            "pagedown": items[min(len(items) - 1, at + step)],
            "home": items[0],
            "end": items[-1],
        }
        ways = {key: Target(item) for key, item in known.items()}
        return Guide(focus, ways, _NO_SPLIT)
    return Guide(focus, {}, _NO_SPLIT)
