"""The targets of keys in panes that are windows: a page up or down, the first and the last row."""

from __future__ import annotations

from collections.abc import Sequence

from engine.inspect.selection import ValueSelection
from tui.render import Target
from tui.render.picture import Guide

_NO_SPLIT = 1 << 20


def guide_of(selected: int, lists: Sequence[Sequence[int]], page: int) -> Guide:
    """The guide of a selected row: pages go along the first list that contains it."""
    if not selected:
        return Guide()
    focus = Target(ValueSelection(selected))
    for numbers in lists:
        if selected not in numbers:
            continue
        at, step = numbers.index(selected), max(1, page - 1)
        known = {
            "pageup": numbers[max(0, at - step)],
            "pagedown": numbers[min(len(numbers) - 1, at + step)],
            "home": numbers[0],
            "end": numbers[-1],
        }
        ways = {key: Target(ValueSelection(number)) for key, number in known.items()}
        return Guide(focus, ways, _NO_SPLIT)
    return Guide(focus, {}, _NO_SPLIT)
