"""A saved file as a table: `underhood open model.pt`."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult

from engine.inspect.saved_file import SavedFile, SavedFileError, read_saved_file
from tui.keys import SAVED_FILE, bindings
from tui.render import Target
from tui.render.target import MenuItem
from tui.saved_file import detail, draw_saved_file
from tui.screens.base import BaseScreen, key_words
from tui.widgets.bar import Bar, Word
from tui.widgets.canvas import Canvas


class SavedFileScreen(BaseScreen):
    """The tensors of a file, one a line; the line below says more about the one under the cursor."""

    KEYS = (SAVED_FILE,)
    BINDINGS = bindings(SAVED_FILE)

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.file: SavedFile | None = None
        self.problem = ""
        try:
            self.file = read_saved_file(str(path))
        except (SavedFileError, OSError) as error:
            self.problem = str(error)

    def body(self) -> ComposeResult:
        title = [Word(" underhood ", "current"), Word(f"  {self.path.name}", "title")]
        yield Bar(title, id="title")
        yield Canvas(self._selected, id="table")
        yield Bar([Word(" ")], id="about")
        yield Bar(key_words(self.KEYS, getattr(self.app, "ascii", False)), id="keys")

    def on_mount(self) -> None:
        self.query_one(Canvas).focus()

    def on_canvas_fitted(self) -> None:
        canvas = self.query_one(Canvas)
        glyphs = self.app.glyphs  # type: ignore[attr-defined]
        picture = draw_saved_file(self.file, self.problem, canvas.room().width, glyphs)
        canvas.show_picture(picture)
        if canvas.cursor is None:
            canvas.action_cursor(0, 1)

    def _selected(self, target: Target, entered: bool) -> None:
        if self.file is not None and isinstance(target.item, MenuItem):
            self.query_one("#about", Bar).say(f" {detail(self.file, target.item.key)}", "dim")

    def action_cursor(self, by: int) -> None:
        """Move in the table even when it has no focus."""
        self.query_one(Canvas).action_cursor(0, by)
