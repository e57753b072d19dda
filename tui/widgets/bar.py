"""One line of words, some of them clickable: view tabs, status, key bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.render import Span, cells, clean, cut
from tui.widgets.rich_styles import ink_of, strip_of


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a bar; `action` is what a click on it does."""

    text: str
    style: str = ""
    action: str = ""


class Bar(Widget):
    """Words side by side on one line; what does not fit is cut off at the right."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    class Clicked(Message):
        """A word was clicked; the screen knows where its action is done."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, content: Sequence[Word] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.content: tuple[Word, ...] = tuple(content)

    def say(self, content: Sequence[Word] | str, style: str = "") -> None:
        """Show this content."""
        new = (Word(clean(content), style),) if isinstance(content, str) else tuple(content)
        if new != self.content:
            self.content = new
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y > 0:
            return Strip.blank(width, self.rich_style)
        strip = strip_of((Span(word.text, word.style) for word in self.content), ink_of(self.app))
        if strip.cell_length > width:
            glyph = "~" if getattr(self.app, "ascii", False) else "…"
            strip = Strip.join([strip.crop(0, width - 1), strip_of([Span(glyph, "dim")], "mono")])
        return strip.extend_cell_length(width, self.rich_style).apply_style(self.rich_style)

    def on_click(self, event: events.Click) -> None:
        column = 0
        for word in self.content:
            column += cells(word.text)
            if event.x < column:
                if word.action:
                    self.post_message(self.Clicked(word.action))
                return


def fitted(text: str, width: int, ascii: bool = False) -> str:
    """Return `text` on one line in at most `width` cells."""
    return cut(clean(text), width, "~" if ascii else "…")
