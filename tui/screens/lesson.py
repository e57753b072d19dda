"""One lesson: its text on the left, the answer line or the picture on the right.

The session does the work, in a thread if it runs processes; this screen shows the results. Nothing
advances on its own: a success stays on the screen until the user presses `n`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from tui.keys import CURSOR, LESSON, KeyGroup, bindings
from tui.render import UNICODE, Glyphs, Picture, Span
from tui.screens.base import BaseScreen, is_open, key_words
from tui.screens.text_modal import TextModal
from tui.screens.viewer import Viewer
from tui.widgets.bar import Bar, Word
from tui.widgets.canvas import Canvas
from tui.widgets.markdown import fold, lay, prose, wrap

if TYPE_CHECKING:
    from tui.lesson_session import LessonSession, Messages
    from tui.navigator import Navigator

Result = TypeVar("Result")
WATCH_SECONDS = 0.5
READABLE = 84  # columns: longer lines of prose tire the eye
VERDICT_ROWS = 9
SCROLLS = {"up": "up", "down": "down", "pageup": "page_up", "pagedown": "page_down"}
# Keys of the lesson that no picture takes; Enter follows there, as in every picture.
RESERVED = frozenset(key for row in LESSON.rows if row.bar for key in row.keys.split(",")) - {
    "enter"
} | {"shift+tab"}
SIDE_BY_SIDE = 100  # columns for text and picture at once; below it Tab changes between them


class AnswerLine(Input):
    """The line for a prediction. `?` and `!` act in an empty line: no answer starts with them."""

    async def _on_key(self, event: Key) -> None:
        if event.character in ("?", "!") and not self.value.strip():
            event.stop()
            event.prevent_default()
            self.value = ""
            self.post_message(self.Submitted(self, event.character))


class Prose(Canvas, inherit_bindings=False):
    """The text of a step, where `h` is not left but a hint."""

    BINDINGS = bindings(
        KeyGroup(
            CURSOR.title,
            tuple(replace(key, keys=key.keys.removesuffix(",h")) for key in CURSOR.rows),
        )
    )


class LessonScreen(BaseScreen):
    """The text, next to it a viewer if there is a picture; verdict and answer line below them."""

    KEYS = (LESSON,)
    BINDINGS = bindings(LESSON)
    SCOPED_CSS = False
    DEFAULT_CSS = """
    #lesson { height: 1fr; }
    #prose { width: 1fr; height: 1fr; border: $edge $line; padding: 0 1; overflow-x: hidden; }
    #prose:focus { border: $edge $line-focus; }
    #verdict { height: auto; background: $surface; padding: 0 1; display: none; overflow-x: hidden; }
    #verdict.filled { display: block; }
    #answer { border: none; height: 1; padding: 0 1; background: $panel; display: none; }
    .asking #answer { display: block; }
    LessonScreen Viewer { display: none; }
    LessonScreen.picture Viewer { display: block; }
    LessonScreen.-narrow.picture Viewer { display: none; }
    LessonScreen.-narrow.looking Viewer { display: block; }
    LessonScreen.-narrow.looking #prose { display: none; }
    LessonScreen.-narrow.looking #verdict { display: none; }
    """

    def __init__(self, lesson: str = "") -> None:
        super().__init__()
        self.lesson_name = lesson
        self.session: LessonSession | None = None
        self.messages: Messages = []
        self._runs = 0  # of code: only the newest shows its result
        self._run_lock = threading.Lock()  # one at a time: they share the folder

    def body(self) -> ComposeResult:
        yield Bar(id="title")
        with Horizontal(id="lesson"):
            yield Prose(id="prose")
            yield Viewer(side=False, reserved=RESERVED)
        yield Canvas(id="verdict")
        yield AnswerLine(id="answer", placeholder="your answer", select_on_focus=False)
        yield Bar(id="keys")

    def on_mount(self) -> None:
        self.query_one("#verdict").can_focus = False
        self.query_one("#prose").focus()
        self.call_after_refresh(self._open)
        self.set_interval(WATCH_SECONDS, self._watch)

    def _open(self) -> None:
        """Find the lesson and the place in it."""
        from lessons._runner import LessonError
        from tui.lesson_session import LessonSession

        try:
            self.session = LessonSession.open(self.lesson_name)
        except (LessonError, OSError) as error:
            self._show_messages([("error", str(error))])
            return
        self._arrive()

    # Showing

    def on_descendant_focus(self) -> None:
        self._show_keys()

    def _show_keys(self) -> None:
        """Fill the key bar: what works in the pane that has the focus. (In an answer letters are letters.)"""
        bar, viewer = self.query_one("#keys", Bar), self.query_one(Viewer)
        if self.query_one("#answer").has_focus:
            hints = self.session is not None and bool(self.session.step.hints)
            bar.say(answering_words(hints))
        elif viewer.main.has_focus:
            bar.say(picture_words())
        else:
            bar.say(key_words(self.KEYS, getattr(self.app, "ascii", False)))

    def _arrive(self) -> None:
        """Show the step that the course is at now."""
        assert self.session is not None
        kind = self.session.step.kind
        self.set_class(kind == "predict", "asking")
        self.remove_class("looking")
        self._show_messages([])
        self._show_navigator(None)
        self._show_text()
        box = self.query_one("#answer", Input)
        box.value = ""
        (box if kind == "predict" else self.query_one("#prose")).focus()
        if kind == "look":
            self._run_step()
        if problem := self.session.progress.problem:
            self.notify(problem, severity="warning", markup=False)
            self.session.progress.problem = ""

    def _show_text(self) -> None:
        if self.session is None:
            return
        canvas = self.query_one("#prose", Canvas)
        width = min(READABLE, canvas.room().width)
        canvas.show_picture(prose(self.session.text, width, self._glyphs))
        canvas.scroll_home(animate=False)
        self._show_title()

    def _show_title(self) -> None:
        if self.session is not None:
            self.query_one("#title", Bar).say(title_words(self.session, self._glyphs))

    @property
    def _glyphs(self) -> Glyphs:
        return getattr(self.app, "glyphs", UNICODE)

    def _show_navigator(self, nav: Navigator | None) -> None:
        """Show the picture on the right; without one the text has the whole width."""
        self.set_class(nav is not None, "picture")
        wide = nav is not None and self.size.width >= SIDE_BY_SIDE
        left = max(38, min(64, self.size.width - 82))  # the views fit 80 columns
        self.query_one("#prose").styles.width = left if wide else "1fr"
        self.query_one(Viewer).set_navigator(nav)

    def _show_messages(self, messages: Messages) -> None:
        """Show messages below the text."""
        self.messages = messages
        self.query_one("#verdict").set_class(bool(messages), "filled")
        self._show_verdict()

    def _show_verdict(self) -> None:
        canvas = self.query_one("#verdict", Canvas)
        width = max(20, (self.size.width or 40) - 3)
        lines: list[list[Span]] = []
        for style, text in self.messages:
            for line in text.rstrip("\n").split("\n"):
                # what the program wrote keeps its columns
                lines += wrap([(line, style)], width) if style else fold([Span(line)], width)
        canvas.styles.height = min(VERDICT_ROWS, len(lines)) or 1
        canvas.show_picture(Picture.of(lines))

    def on_canvas_fitted(self, event: Canvas.Fitted) -> None:
        if event.canvas.id == "prose":
            self._show_text()
        elif event.canvas.id == "verdict":
            self._show_verdict()

    def on_key(self, event: Key) -> None:
        """Scroll the text with keys that the answer line has no use for, while an answer is typed."""
        if self.query_one("#answer").has_focus and event.key in SCROLLS:
            getattr(self.query_one("#prose"), f"scroll_{SCROLLS[event.key]}")(animate=False)
            event.stop()

    # Doing

    def _in_thread(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do `work`, which runs processes, in a thread; then show its result, unless the user has left the step."""
        session = self.session
        at = session.at if session else -1
        self._runs += 1
        number = self._runs

        def run() -> None:
            with self._run_lock:
                if number != self._runs:
                    return
                result = done()
            self.app.call_from_thread(back, result)

        def done() -> Any:
            try:
                return work()
            except Exception as error:  # a lesson's code may do anything; the screen stays
                return error

        def back(result: Any) -> None:
            if session is None or session.at != at or not is_open(self):
                return
            if number != self._runs:  # the file was saved while it was checked
                return
            if isinstance(result, Exception):
                self._show_messages([("error", str(result) or type(result).__name__)])
            else:
                then(result)

        self._show_messages([("dim", "working ...")])
        self.run_worker(run, thread=True, exclusive=True)

    def action_act(self) -> None:
        """Run the code, grade the answer or check the exercise, depending on the step."""
        if self.session is None:
            return
        kind = self.session.step.kind
        if kind in ("run", "look"):
            self._run_step()
        elif kind == "predict":
            self.query_one("#answer").focus()
        elif kind == "exercise":
            self._check()
        else:
            self.action_next_step()

    def _run_step(self) -> None:
        if self.session is not None:
            self._in_thread(self.session.run, self._show_run)

    def _show_run(self, result: tuple[Messages, Navigator | None]) -> None:
        messages, nav = result
        if nav is not None:
            self._show_navigator(nav)
        self._show_messages(messages)
        self._show_title()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        session, typed = self.session, event.value.strip()
        if session is None:
            return
        if not typed:
            if session.right:
                self.action_next_step()
            else:
                self._show_messages([("dim", "Type an answer; ! shows it.")])
        elif typed.endswith("?"):
            event.input.value = ""
            self.action_hint()
        elif typed.endswith("!"):
            event.input.value = ""
            self._in_thread(session.reveal, self._show_messages)
        else:
            self._in_thread(lambda: session.grade(typed), self._judged)

    def _judged(self, messages: Messages) -> None:
        self._show_messages(messages)
        self._show_title()
        if self.session is not None and self.session.right:
            self.query_one("#prose").focus()
        else:
            self.query_one("#answer", Input).value = ""  # the answer typed is kept in the progress

    def _check(self) -> None:
        if self.session is not None:
            self._in_thread(self.session.check, self._judged)

    def _watch(self) -> None:
        """Check again when the exercise was saved, in whichever editor."""
        session = self.session
        if session is None or not self.is_current or session.step.kind != "exercise":
            return
        if session.changed():
            self._check()

    def _exercise(self) -> LessonSession | None:
        """Return the session, if its current step is the exercise."""
        session = self.session
        if session is not None and session.step.kind == "exercise":
            return session
        self._show_messages([("dim", "This step has no exercise.")])
        return None

    def _written(self, write: Callable[[], Result]) -> Result | None:
        """Write into the learner's folder; if that fails, show the reason and return None."""
        try:
            return write()
        except OSError as error:
            self._cannot_write(error)
            return None

    def _cannot_write(self, error: OSError) -> None:
        self._show_messages([("error", f"Your exercise cannot be written: {error}")])

    def action_edit(self) -> None:
        """Edit the exercise on a separate screen."""
        from tui.screens.edit import EditScreen

        if (session := self._exercise()) is not None:
            path = self._written(session.runner.start_exercise)
            if path is not None:
                self.app.push_screen(EditScreen(path), lambda saved: self._check())

    def action_edit_outside(self) -> None:
        """Edit the exercise with the program in $EDITOR."""
        if (session := self._exercise()) is None:
            return
        path, command = self._written(session.runner.start_exercise), editor()
        if path is None:
            return
        if not command:
            self._show_messages(
                [("warn", f"Set $EDITOR, or edit {path} as you like: it is watched.")]
            )
            return
        with self.app.suspend():
            subprocess.run([*command, str(path)], check=False)
        self._check()

    def action_reset(self) -> None:
        if (session := self._exercise()) is not None:
            messages = self._written(session.reset)
            if messages is not None:
                self._show_messages(messages)
                self._show_title()

    def action_hint(self) -> None:
        if self.session is not None:
            self._show_messages(self.session.hint())

    def action_solution(self) -> None:
        """Show one right answer, once the learner's own is right."""
        if (session := self._exercise()) is None:
            return
        text = session.solution()
        if not text:
            self._show_messages(
                [("warn", "The solution is shown once your own is right; h gives a hint.")]
            )
            return
        block = ("code", text.splitlines())
        self.app.push_screen(
            TextModal("One solution", lambda width: Picture.of(lay(block, width, self._glyphs)))
        )

    # Going

    def action_next_step(self) -> None:
        session = self.session
        if session is None:
            return
        if self._moved(1):
            return
        if following := session.following():
            self.app.go("lesson", instead=True, lesson=following)  # type: ignore[attr-defined]
        else:
            self._show_messages([("good", "That was the last lesson."), ("dim", "Esc goes back.")])

    def action_previous_step(self) -> None:
        self._moved(-1)

    def _moved(self, by: int) -> bool:
        """Go to the next or previous step, if there is one; its exercise may not be writable."""
        session = self.session
        if session is None or not 0 <= session.at + by < len(session.lesson.steps):
            return False
        try:
            session.move(by)
        except OSError as error:
            self._arrive()
            self._cannot_write(error)
        else:
            self._arrive()
        return True

    def action_next_pane(self) -> None:
        """Move the focus between text, answer line and picture."""
        viewer, session = self.query_one(Viewer), self.session
        panes: list[Widget] = [self.query_one("#prose")]
        if session is not None and session.step.kind == "predict" and not session.right:
            panes.append(self.query_one("#answer"))
        if viewer.nav is not None:
            panes.append(viewer.main)
        current = next((row for row, pane in enumerate(panes) if pane.has_focus), -1)
        following = panes[(current + 1) % len(panes)]
        self.set_class(following is viewer.main, "looking")
        following.focus()

    def action_look(self) -> None:
        """Open the recording of this step in the full explorer."""
        if self.session is not None and self.session.trace is not None:
            self.app.go("explore", trace=self.session.trace)  # type: ignore[attr-defined]
        else:
            self._show_messages([("dim", "Nothing was recorded in this step yet.")])

    def action_lesson_list(self) -> None:
        self.app.go("lessons")  # type: ignore[attr-defined]

    def action_leave(self) -> None:
        """Go from the answer line or the picture to the text, from there to the previous screen."""
        if self.query_one("#prose").has_focus or self.session is None:
            super().action_leave()
            return
        if self.query_one(Viewer).has_focus_within and self.query_one(Viewer).close_one():
            return
        self.remove_class("looking")
        self.query_one("#prose").focus()


def answering_words(hints: bool) -> list[Word]:
    """Return the keys that work while an answer is typed."""
    keys = [("Enter", "answer"), ("?", "hint"), ("!", "show it"), ("PgDn", "read on")]
    keys += [("Esc", "then n: next")]
    content = key_words((), typing=True)
    for key, label in keys:
        if key != "?" or hints:
            content += [Word(key, "name"), Word(f" {label}  ")]
    return content


def picture_words() -> list[Word]:
    """Return the keys that work while the picture has the focus."""
    content = key_words(())
    for action, key, label in (
        ("next_step", "n", "next"),
        ("next_pane", "Tab", "text"),
        ("step(1)", "]", "step"),
        ("step(-1)", "[", "step back"),
        ("follow", "Enter", "follow"),
        ("act", "r", "do it"),
        ("hint", "h", "hint"),
        ("who_owns", "o", "owners"),
    ):
        content += [Word(key, "name", action), Word(f" {label}  ", "", action)]
    return content


def title_words(session: LessonSession, glyphs: Glyphs) -> list[Word]:
    """Return the lesson, the step and the progress."""
    steps = len(session.lesson.steps)
    return [
        Word(" underhood ", "current"),
        Word(f" {session.lesson.number}. {session.lesson.title}", "title"),
        Word("  step ", "dim"),
        Word(f"{session.at + 1}", "number"),
        Word(f" of {steps}  ", "dim"),
        Word(glyphs.full * (session.at + 1), "bar"),
        Word(glyphs.empty * (steps - session.at - 1), "track"),
        Word("  done" if session.done else "", "good"),
    ]


def editor() -> list[str]:
    """Return the command that starts the user's editor."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        return shlex.split(named)
    return next(([name] for name in ("nano", "vim", "vi") if shutil.which(name)), [])
