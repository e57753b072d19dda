"""A sheet of text over the screen, scrolled like any picture: help, explanations, output."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from tui.render import Picture
from tui.widgets.canvas import Canvas


class TextModal(ModalScreen[None]):
    """Shows what `draw(width)` gives, with a title. Esc, q, Enter or ? close it."""

    BINDINGS: ClassVar = [
        Binding(key, "dismiss", show=False)
        for key in ("escape", "q", "question_mark", "f1", "ctrl+c", "e")
    ]
    SCOPED_CSS = False
    DEFAULT_CSS = """
    TextModal { align: center middle; }
    TextModal Canvas {
        width: 90%; max-width: 100; height: 80%;
        border: $edge $primary; background: $surface; padding: 0 1;
        border-title-style: bold; border-subtitle-color: $text-muted;
    }
    TextModal.-narrow Canvas { width: 100%; height: 100%; }
    """

    def __init__(self, title: str, draw: Callable[[int], Picture]) -> None:
        super().__init__()
        self.heading, self.draw = title, draw

    def compose(self) -> ComposeResult:
        canvas = Canvas()
        canvas.border_title = self.heading
        canvas.border_subtitle = "Esc closes"
        yield canvas

    def on_mount(self) -> None:
        self.query_one(Canvas).focus()

    def on_canvas_fitted(self, event: Canvas.Fitted) -> None:
        event.canvas.show_picture(self.draw(event.canvas.room().width))
