"""Lists in a part of the grid: a heading, and a window of rows around a focus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tui.render import Glyphs, Span, cells, clean, cut, fit
from tui.render.boxes import Grid


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the grid: columns [left, right), lines [top, bottom)."""

    left: int
    right: int
    top: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left


def window(focus: int, count: int, room: int) -> range:
    """Return at most `room` of `count` rows, with `focus` well inside. The window moves by quarters, not by lines."""
    room = max(1, room)
    if count <= room:
        return range(count)
    step = max(1, room // 4)
    first = round((focus - room / 2) / step) * step
    first = max(0, min(first, count - room))
    if not first <= focus < first + room:
        first = max(0, min(focus, count - room))
    return range(first, first + room)


def listed(
    grid: Grid,
    region: Region,
    glyphs: Glyphs,
    title: str,
    rows: Sequence[Any],
    focus: int,
    draw: Callable[[Any, int], None],
    aside: str = "",
) -> None:
    """Draw a heading that counts the hidden rows, and the rows around `focus`."""
    if region.bottom <= region.top or region.width < 4:
        return
    visible = window(focus, len(rows), region.bottom - region.top - 1)
    x = grid.put(region.left + 1, region.top, title, "head", room=region.width - 1)
    hidden = []
    if visible.start:
        hidden.append(f"{glyphs.arrow_up}{visible.start}")
    if len(rows) > visible.stop:
        hidden.append(f"{glyphs.arrow_down}{len(rows) - visible.stop}")
    highlighted = sum(
        row.highlighted
        for at, row in enumerate(rows)
        if at not in visible and getattr(row, "highlighted", False)
    )
    hidden += [f"{glyphs.highlighted}{highlighted}"] if highlighted else []
    counts = " ".join([*([aside] if aside else []), *hidden])
    if counts:
        grid.put(
            x + 1, region.top, fit(counts, max(0, region.right - x - 1), glyphs.ellipsis), "dim"
        )
    for y, row in enumerate(visible, region.top + 1):
        draw(rows[row], y)


def put_cut(grid: Grid, x: int, y: int, spans: Sequence[Span], room: int, glyphs: Glyphs) -> None:
    """Draw spans one after the other; if they do not fit, the last cell is an ellipsis."""
    if sum(span.width for span in spans) <= room:
        grid.spans(x, y, list(spans))
        return
    left, end = max(0, room - 1), x + max(0, room - 1)
    for span in spans:
        text = span.text if span.width <= left else cut(clean(span.text), left, "")
        x = grid.put(x, y, text, span.style, span.target)
        left = end - x
        if left <= 0:
            break
    if room > 0:
        grid.put(end, y, glyphs.ellipsis, "dim")


def first(rows: Sequence[Any], *tests: Callable[[Any], bool]) -> int:
    """Return the first row that passes the first test that any row passes; 0 if no row passes a test."""
    for test in tests:
        for at, row in enumerate(rows):
            if test(row):
                return at
    return 0


def sentence(grid: Grid, region: Region, title: str, text: str) -> None:
    """Draw a heading and a sentence, which is wrapped."""
    if region.bottom <= region.top:
        return
    grid.put(region.left + 1, region.top, title, "head", room=region.width - 1)
    for y, line in enumerate(wrap(text, region.width - 2), region.top + 1):
        if y < region.bottom:
            grid.put(region.left + 1, y, line, "dim", room=region.width - 1)


def wrap(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most `width` cells."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if lines[-1] and cells(joined) > max(8, width):
            lines.append(word)
        else:
            lines[-1] = joined
    return lines
