"""The list of lessons, with how far each has been taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult

from tui.keys import LESSONS, bindings
from tui.render import UNICODE, Glyphs, Line, Picture, Span, Target, fit
from tui.render.target import MenuItem
from tui.screens.base import BaseScreen, key_words
from tui.widgets.bar import Bar, Word
from tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from lessons._runner import Lesson


def read_lessons() -> tuple[list[Lesson], Any, str]:
    """Return (lessons, progress, what went wrong)."""
    from lessons._runner import LessonError, Progress, load_all

    try:
        return load_all(), Progress.load(), ""
    except (LessonError, OSError) as error:
        return [], None, str(error)


class LessonsScreen(BaseScreen):
    """Choose a lesson."""

    KEYS = (LESSONS,)
    BINDINGS = bindings(LESSONS)

    def body(self) -> ComposeResult:
        yield Bar([Word(" underhood ", "current"), Word("  lessons", "title")], id="title")
        yield Canvas(self._selected, id="menu")
        yield Bar(key_words(self.KEYS, getattr(self.app, "ascii", False)), id="keys")

    def on_mount(self) -> None:
        self.query_one(Canvas).focus()

    def on_screen_resume(self) -> None:
        self._draw()

    def on_canvas_fitted(self) -> None:
        self._draw()

    def _draw(self) -> None:
        menu = self.query_one(Canvas)
        lessons, progress, problem = read_lessons()
        glyphs = self.app.glyphs  # type: ignore[attr-defined]
        menu.show_picture(draw_lessons(lessons, progress, problem, menu.room().width, glyphs))
        if menu.cursor is None:
            menu.action_cursor(0, 1)

    def _selected(self, target: Target, entered: bool) -> None:
        if entered:
            self.action_choose()

    def action_choose(self) -> None:
        """Open the lesson under the cursor."""
        cursor = self.query_one(Canvas).cursor
        if cursor is not None and isinstance(cursor.target.item, MenuItem):
            self.app.go("lesson", lesson=cursor.target.item.key)  # type: ignore[attr-defined]

    def action_cursor(self, by: int) -> None:
        """Move in the list even when it has no focus."""
        self.query_one(Canvas).action_cursor(0, by)


def draw_lessons(
    lessons: list[Lesson], progress: Any, problem: str, width: int, glyphs: Glyphs = UNICODE
) -> Picture:
    """Draw one line a lesson: number, title, a bar of its steps."""
    if problem:
        return Picture.of([[], [Span(f"  {problem}", "error")]], width)
    lines: list[Line] = [(), (Span(f"  {len(lessons)} lessons", "head"),), ()]
    title = min(max([20, *(len(lesson.title) for lesson in lessons)]) + 2, max(20, width - 30))
    for lesson in lessons:
        target = Target(MenuItem(lesson.name))
        done, steps = progress.done_count(lesson), len(lesson.steps)
        bar = glyphs.full * done + glyphs.empty * (steps - done)
        state = "done" if done == steps else f"{done} of {steps}"
        lines.append(
            (
                Span(f"  {lesson.number:>3}  ", "number", target),
                Span(fit(lesson.title, title, glyphs.ellipsis), "name", target),
                Span(fit(bar, 14, glyphs.ellipsis), "bar", target),
                Span(f" {state}", "good" if done == steps else "dim", target),
            )
        )
    return Picture.of(lines, width)
