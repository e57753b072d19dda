"""A sheet of text over the screen, scrolled like any picture: help, explanations, output."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from tui.render import Picture, Target
from tui.widgets.canvas import Canvas


class TextModal(ModalScreen[None]):
    """Shows what `draw(width)` gives, with a title. Esc, q or ? close it; Enter and a click follow a link."""

    BINDINGS: ClassVar = [
        *(
            Binding(key, "dismiss", show=False)
            for key in ("escape", "q", "question_mark", "f1", "ctrl+c", "e")
        ),
        Binding("enter", "follow", show=False),
    ]
    SCOPED_CSS = False
    DEFAULT_CSS = """
    TextModal { align: center middle; }
    TextModal Canvas {
        width: 90%; max-width: 100; height: 80%;
        border: $edge $line-focus; background: $surface; padding: 0 1;
        border-title-style: bold; border-subtitle-color: $quiet;
    }
    TextModal.-narrow Canvas { width: 100%; height: 100%; }
    """

    def __init__(
        self,
        title: str,
        draw: Callable[[int], Picture],
        follow: Callable[[Target], None] | None = None,
    ) -> None:
        """`follow` goes where a link of the page leads."""
        super().__init__()
        self.heading, self.draw, self.follow = title, draw, follow

    def compose(self) -> ComposeResult:
        canvas = Canvas(self._selected, click_enters=self.follow is not None)
        canvas.border_title = self.heading
        canvas.border_subtitle = "Esc closes"
        yield canvas

    def on_mount(self) -> None:
        self.query_one(Canvas).focus()

    def on_canvas_fitted(self, event: Canvas.Fitted) -> None:
        canvas = event.canvas
        canvas.show_picture(self.draw(canvas.room().width))
        limit = self.size.height - (0 if self.has_class("-narrow") else 2)
        canvas.styles.height = max(5, min(canvas.picture.height + 2, limit))  # as tall as its text
        rows = range(min(canvas.picture.height, canvas.room().height))
        if self.follow is not None and any(canvas.picture.targets(y) for y in rows):
            canvas.border_subtitle = "Enter follows, Esc closes"
            if canvas.cursor is None:
                canvas.action_cursor(0, 1)

    def _selected(self, target: Target, entered: bool) -> None:
        if entered:
            self.action_follow()

    def action_follow(self) -> None:
        """Close, and go where the link under the cursor leads."""
        cursor = self.query_one(Canvas).cursor
        self.dismiss()
        if self.follow is not None and cursor is not None:
            self.app.call_later(self.follow, cursor.target)
