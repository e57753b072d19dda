"""A small editor for one file. Whatever was typed is saved when the screen closes."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import TextArea

from tui.widgets.bar import Bar, Word


class EditScreen(ModalScreen[bool]):
    """Edits `path`; ctrl+s saves, Esc saves and closes. Dismisses with whether it was changed."""

    BINDINGS: ClassVar = [
        Binding("ctrl+s", "save", priority=True),
        Binding("escape", "close", priority=True),
        Binding("ctrl+c", "close", priority=True),
    ]
    SCOPED_CSS = False
    DEFAULT_CSS = """
    EditScreen TextArea, EditScreen TextArea:focus { border: $edge $line-focus; height: 1fr; }
    EditScreen Bar { background: $panel; }
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.saved = path.read_text(encoding="utf-8")

    def compose(self) -> ComposeResult:
        region = TextArea(
            self.saved, show_line_numbers=True, tab_behavior="indent", soft_wrap=False
        )
        region.border_title = self.path.name
        yield region
        yield Bar(
            [
                Word(" Esc", "name"),
                Word(" save, close and check  "),
                Word("^s", "name"),
                Word(" save"),
            ]
        )

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def action_save(self) -> bool:
        """Write the file if it differs; whether it did."""
        text = self.query_one(TextArea).text
        if text == self.saved:
            return False
        try:
            self.path.write_text(text, encoding="utf-8")
        except OSError as error:
            self.notify(f"not saved: {error}", severity="error", markup=False)
            return False
        self.saved = text
        return True

    def action_close(self) -> None:
        """Save and leave; a file that cannot be written keeps the screen open."""
        changed = self.action_save()
        if self.query_one(TextArea).text == self.saved:
            self.dismiss(changed)
