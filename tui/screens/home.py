"""Home: continue a lesson, all lessons, the playground, recent recordings, examples."""

from __future__ import annotations

import ast
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from tui import paths
from tui.keys import HOME, bindings
from tui.render import UNICODE, Glyphs, Line, Picture, Span, Target, fit
from tui.render.target import MenuItem
from tui.screens.base import BaseScreen, is_open, key_words
from tui.widgets.bar import Bar, Word
from tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from lessons._runner import Lesson

RECENT = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the menu: what it is called, what it says, what it opens."""

    key: str
    title: str
    description: str
    section: str


class HomeScreen(BaseScreen):
    """A menu. The lessons are read after the first frame."""

    KEYS = (HOME,)
    BINDINGS = bindings(HOME)

    def __init__(self) -> None:
        super().__init__()
        self.entries = [*fixed_entries(), *recent_entries(), *gallery_entries()]
        self.lesson = ""

    def body(self) -> ComposeResult:
        yield Bar(
            [Word(" underhood ", "current"), Word("  look inside a tensor", "dim")],
            id="title",
        )
        yield Canvas(self._selected, id="menu")
        yield Bar(key_words(self.KEYS, getattr(self.app, "ascii", False)), id="keys")

    def on_mount(self) -> None:
        self.query_one(Canvas).focus()

    def on_screen_resume(self) -> None:
        """Read the lists again: there may be new recordings, and the lesson may have moved on."""
        gallery = [entry for entry in self.entries if entry.section == "Examples"]
        self.entries = [*fixed_entries(), *recent_entries(), *gallery]
        self._draw()
        self.call_after_refresh(self.run_worker, self._read_lessons, thread=True, exclusive=True)

    def on_canvas_fitted(self) -> None:
        self._draw()

    def _draw(self) -> None:
        menu = self.query_one(Canvas)
        glyphs = self.app.glyphs  # type: ignore[attr-defined]
        menu.show_picture(draw_menu(self.entries, menu.room().width, glyphs))
        if menu.cursor is None:
            menu.action_cursor(0, 1)

    def _read_lessons(self) -> None:
        """Find the lesson to continue (in a thread: reads every lesson file)."""
        from tui.screens.lessons import read_lessons

        lessons, progress, problem = read_lessons()
        if problem or not lessons:
            return
        following = progress.next_lesson(lessons)
        done = sum(progress.finished(lesson) for lesson in lessons)
        if following is None:
            description = f"all {len(lessons)} lessons are done"
        else:
            step = progress.resume_index(following) + 1
            description = (
                f"{following.number}. {following.title}, step {step} of {len(following.steps)}"
            )
        self.app.call_from_thread(
            self._lessons_read, following, description, f"{done} of {len(lessons)} done"
        )

    def _lessons_read(self, following: Lesson | None, description: str, done: str) -> None:
        if not is_open(self):
            return
        self.lesson = following.name if following else ""
        descriptions = {"continue": description, "lessons": done}
        self.entries = [
            Entry(
                entry.key,
                entry.title,
                descriptions.get(entry.key, entry.description),
                entry.section,
            )
            for entry in self.entries
        ]
        self._draw()

    def _selected(self, target: Target, entered: bool) -> None:
        if entered:
            self.action_choose()

    def action_choose(self) -> None:
        """Open the entry under the cursor."""
        cursor = self.query_one(Canvas).cursor
        if cursor is not None and isinstance(cursor.target.item, MenuItem):
            self.action_pick(cursor.target.item.key)

    def action_pick(self, key: str) -> None:
        """Open an entry by its key."""
        if key == "continue":
            self._go("lesson", lesson=self.lesson) if self.lesson else self._go("lessons")
        elif key in ("lessons", "playground"):
            self._go(key)
        elif key.endswith(".py"):
            self._go("explore", script=Path(key))
        else:
            self._go("explore", trace=Path(key))

    def action_leave(self) -> None:
        """End the application, but not because of one Esc too many: this is the lowest screen."""
        if self.confirmed("Esc again leaves Underhood"):
            self.action_quit()

    def _go(self, name: str, **options: Path | str) -> None:
        self.app.go(name, **options)  # type: ignore[attr-defined]

    def action_cursor(self, by: int) -> None:
        """Move in the menu even when it has no focus."""
        self.query_one(Canvas).action_cursor(0, by)


def fixed_entries() -> list[Entry]:
    """Return the entries that are always there."""
    return [
        Entry("continue", "Continue", "the next lesson", "Learn"),
        Entry("lessons", "Lessons", "", "Learn"),
        Entry("playground", "Playground", "type a line, watch what it does to memory", "Learn"),
    ]


def recent_entries() -> list[Entry]:
    """Return the newest recordings."""
    return [
        Entry(str(path), path.stem, described(path), "Recordings")
        for path in paths.traces_newest_first(RECENT)
    ]


def described(path: Path) -> str:
    """Return the age and the size of a file."""
    try:
        facts = path.stat()
    except OSError:
        return "gone"
    return f"{ago(time.time() - facts.st_mtime)}, {size_text(facts.st_size)}"


def ago(seconds: float) -> str:
    """Return `3 minutes ago`."""
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def size_text(count: int) -> str:
    """Return `12 kB`."""
    return (
        f"{count} B"
        if count < 1000
        else f"{count / 1e3:.0f} kB"
        if count < 1e6
        else f"{count / 1e6:.1f} MB"
    )


def gallery_entries() -> list[Entry]:
    """Return the example scripts, each with the first line of its docstring."""
    return [
        Entry(str(path), path.stem.replace("_", " "), first_sentence(path), "Examples")
        for path in paths.gallery_scripts()
    ]


def first_sentence(path: Path) -> str:
    """Return the first line of a script's docstring."""
    try:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    except (OSError, SyntaxError, ValueError):
        return ""
    return text.partition("\n")[0]


def draw_menu(entries: list[Entry], width: int, glyphs: Glyphs = UNICODE) -> Picture:
    """Draw the menu, section by section; every entry is one target across the whole line."""
    lines: list[Line] = []
    section = ""
    title = min(34, max([12, *(len(entry.title) + 2 for entry in entries)]))
    for entry in entries:
        if entry.section != section:
            section = entry.section
            lines += [(), (Span(f"  {section}", "head"),)]
        target = Target(MenuItem(entry.key))
        description = fit(entry.description, max(0, width - title - 6), glyphs.ellipsis)
        lines.append(
            (
                Span("    "),
                Span(fit(entry.title, title, glyphs.ellipsis), "name", target),
                Span(description, "", target),
            )
        )
    if not any(entry.section == "Recordings" for entry in entries):
        lines += [(), (Span("  Record your own: ", "dim"), Span("underhood run script.py", "op"))]
    return Picture.of(lines, width)
