"""The strip below the views: the whole trace on one line, with the moment marked. A click goes there."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.render import UNICODE, Glyphs, Span
from tui.widgets.rich_styles import ink_of, strip_of


class Scrubber(Widget):
    """Bars of the activity over the trace, and the current moment."""

    DEFAULT_CSS = "Scrubber { height: 1; width: 1fr; }"

    class Moved(Message):
        """The user pointed at the moment `moment`."""

        def __init__(self, moment: int) -> None:
            super().__init__()
            self.moment = moment

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.levels: tuple[float, ...] = ()
        self.moment, self.end = -1, 0
        self._dragging = False

    def show_moment(self, moment: int, end: int, levels: Sequence[float]) -> None:
        """Draw these bar heights (0 to 1, one a column) with `moment` of `end` marked."""
        self.moment, self.end, self.levels = moment, end, tuple(levels)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        glyphs: Glyphs = getattr(self.app, "glyphs", UNICODE)
        width = self.size.width
        spans = draw_strip(self.levels, self.moment, self.end, width, glyphs) if y == 0 else []
        strip = strip_of(spans, ink_of(self.app))
        return strip.extend_cell_length(width, self.rich_style).apply_style(self.rich_style)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragging = True
        self.capture_mouse()
        self._point(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self._point(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._dragging = False
        self.release_mouse()

    def _point(self, x: int) -> None:
        if self.end > 0:
            self.post_message(self.Moved(moment_at(x, self.size.width, self.end)))


def moment_at(x: int, width: int, end: int) -> int:
    """Return the moment that column `x` of a strip `width` wide stands for."""
    return max(0, min(end - 1, round(x / max(1, width - 1) * (end - 1))))


def column_of(moment: int, width: int, end: int) -> int:
    """Return the column that a moment is drawn in."""
    return round(moment / max(1, end - 1) * (width - 1))


def draw_strip(
    levels: Sequence[float], moment: int, end: int, width: int, glyphs: Glyphs
) -> list[Span]:
    """Draw the bars, with the moment in reverse."""
    if end <= 0 or width <= 0:
        return [Span(" no events", "dim")]
    text = "".join(glyphs.level(level) for level in levels[:width]).ljust(width)
    column = column_of(moment, width, end)
    glyph = text[column] if text[column].strip() else glyphs.current
    return [Span(text[:column], "bar"), Span(glyph, "current"), Span(text[column + 1 :], "track")]
