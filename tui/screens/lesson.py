"""One lesson: its text on the left, what there is to do or to look at on the right.

The lesson's runner does the work (in a thread: it runs processes); this screen shows where the learner
is. Nothing moves on by itself: a success stays on the screen until `n` is pressed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from tui.keys import LESSON, bindings
from tui.render import Picture, Span
from tui.screens.base import BaseScreen, key_words
from tui.screens.lessons import learner_folder, load_progress
from tui.screens.sheet import Sheet
from tui.screens.viewer import Viewer
from tui.widgets.bar import Bar, Word
from tui.widgets.canvas import Canvas
from tui.widgets.prose import lay, prose, wrap

WATCH_SECONDS = 0.5
READABLE = 84  # columns: longer lines of prose tire the eye
TODO = {
    "text": "n goes on.",
    "run": "Enter runs this.",
    "look": "Tab goes to the picture; n goes on.",
    "predict": "Type your answer below and press Enter. ? is a hint, ! shows the answer.",
    "exercise": "v edits exercise.py here, V in your $EDITOR; Enter checks it. h is a hint.",
}


class LessonScreen(BaseScreen):
    """Text, verdict and answer line on the left; a viewer on the right."""

    KEYS = (LESSON,)
    BINDINGS = bindings(LESSON)
    SCOPED_CSS = False
    CSS = """
    #lesson { height: 1fr; }
    #left { width: 1fr; }
    LessonScreen Viewer { display: none; }
    LessonScreen.picture Viewer { display: block; }
    LessonScreen.picture #left { width: 46%; }
    #prose { height: 1fr; border: round $panel; padding: 0 1; }
    #prose:focus { border: round $primary; }
    #verdict { height: auto; max-height: 9; background: $surface; padding: 0 1; display: none; }
    #verdict.said { display: block; }
    #answer { border: none; height: 1; padding: 0 1; background: $panel; display: none; }
    .asking #answer { display: block; }
    LessonScreen.-narrow.picture #left { width: 1fr; }
    LessonScreen.-narrow.picture Viewer { display: none; }
    LessonScreen.-narrow.looking Viewer { display: block; }
    LessonScreen.-narrow.looking #left { display: none; }
    """

    def __init__(self, lesson: str = "") -> None:
        super().__init__()
        self.wanted = lesson
        self.runner: Any = None
        self.at = 0
        self.hints = 0
        self.right = False  # the present step was answered
        self.trace: Path | None = None
        self.verdict: list[tuple[str, str]] = []
        self._seen = 0.0  # when the exercise file was last looked at

    def body(self) -> ComposeResult:
        yield Bar(id="title")
        with Horizontal(id="lesson"):
            with Vertical(id="left"):
                yield Canvas(id="prose")
                yield Canvas(id="verdict")
                yield Input(id="answer", placeholder="your answer", select_on_focus=False)
            yield Viewer(side=False)
        yield Bar(key_words(self.KEYS, getattr(self.app, "ascii", False)), id="keys")

    def on_mount(self) -> None:
        self.query_one("#verdict").can_focus = False
        self.query_one("#prose").focus()
        self.call_after_refresh(self._open)
        self.set_interval(WATCH_SECONDS, self._watch)

    def _open(self) -> None:
        """Find the lesson and the place in it."""
        from lessons._runner import LessonError, Runner, load, load_all

        progress = load_progress()
        try:
            lesson = load(self.wanted) if self.wanted else progress.next_lesson(load_all())
            if lesson is None:
                raise LessonError("every lesson is done; underhood learn <name> opens one again")
        except (LessonError, OSError) as error:
            self._tell(("error", str(error)))
            return
        folder = learner_folder()
        self.runner = Runner(lesson, progress, folder / lesson.name if folder else None)
        if progress.problem:
            self.notify(progress.problem, severity="warning", markup=False)
        self._go(progress.where(lesson))

    # Where the learner is

    @property
    def step(self) -> Any:
        """The present step."""
        return self.runner.lesson.steps[self.at]

    def _go(self, at: int) -> None:
        """To step number `at`."""
        self.at, self.hints, self.trace = at, 0, None
        self.right = self.runner.progress.is_done(self.runner.lesson, at)
        self.runner.visit(at)
        kind = self.step.kind
        self.set_class(kind == "predict", "asking")
        self.remove_class("looking")
        self._tell()
        self._show_text()
        self._show_stage(None)
        box = self.query_one("#answer", Input)
        box.value = ""
        (box if kind == "predict" else self.query_one("#prose")).focus()
        if kind == "look":
            self._run_step()
        elif kind == "exercise":
            self._seen = changed_at(self.runner.start_exercise())

    def _show_text(self) -> None:
        if self.runner is None:
            return
        lesson, step, glyphs = self.runner.lesson, self.step, self.app.glyphs  # type: ignore[attr-defined]
        done = self.runner.progress.is_done(lesson, self.at)
        self.query_one("#title", Bar).say(
            [
                Word(" underhood ", "here"),
                Word(f" {lesson.number}. {lesson.title}", "title"),
                Word("  step ", "dim"),
                Word(f"{self.at + 1}", "number"),
                Word(f" of {len(lesson.steps)}  ", "dim"),
                Word(glyphs.full * (self.at + 1), "bar"),
                Word(glyphs.empty * (len(lesson.steps) - self.at - 1), "track"),
                Word("  done" if done else "", "good"),
            ]
        )
        canvas = self.query_one("#prose", Canvas)
        tail = f"\n\n*{TODO[step.kind]}*"
        canvas.show_picture(prose(f"# {step.title}\n\n{step.text}{tail}", min(READABLE, canvas.room().width), glyphs))
        canvas.scroll_home(animate=False)

    def _tell(self, *said: tuple[str, str]) -> None:
        """What is to be read below the text: (style, sentence) each."""
        self.verdict = list(said)
        canvas = self.query_one("#verdict", Canvas)
        canvas.set_class(bool(said), "said")
        self._show_verdict()

    def _show_verdict(self) -> None:
        canvas = self.query_one("#verdict", Canvas)
        width = max(20, (self.query_one("#left").size.width or 40) - 3)
        lines: list[list[Span]] = []
        for style, text in self.verdict:
            for line in text.rstrip("\n").split("\n"):
                lines += wrap([(line, style)], width) if len(line) > width else [[Span(line, style)]]
        canvas.styles.height = min(9, len(lines)) or 1
        canvas.show_picture(Picture.of(lines))

    def on_canvas_fitted(self, event: Canvas.Fitted) -> None:
        if event.canvas.id == "prose":
            self._show_text()
        elif event.canvas.id == "verdict":
            self._show_verdict()

    # Doing

    def _in_thread(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do something that runs processes, then show what came of it, if we are still there."""
        at = self.at

        def run() -> None:
            from lessons._runner import LessonError

            try:
                came = work()
            except (LessonError, OSError) as error:
                came = error
            self.app.call_from_thread(back, came)

        def back(came: Any) -> None:
            if self.at != at or not self.is_attached:
                return
            if isinstance(came, Exception):
                self._tell(("error", str(came)))
            else:
                then(came)

        self._tell(("dim", "working ..."))
        self.run_worker(run, thread=True, exclusive=True)

    def action_act(self) -> None:
        """Run, answer or check, whatever this step asks for."""
        if self.runner is None:
            return
        kind = self.step.kind
        if kind in ("run", "look"):
            self._run_step()
        elif kind == "predict":
            self.query_one("#answer").focus()
        elif kind == "exercise":
            self._check()
        else:
            self.action_next_step()

    def _run_step(self) -> None:
        at = self.at
        self._in_thread(lambda: self._ran(self.runner.run_step(at)), self._show_run)

    def _ran(self, result: Any) -> tuple[Any, Any]:
        """Open what was recorded, at the place to look at (in the thread)."""
        from lessons._runner import LessonError

        if result.trace_path is None:
            return result, None
        from engine.inspect.trace import TraceError
        from lessons._runner.looking import place
        from tui.stage import open_stage

        look = self.step.look
        try:
            stage = open_stage(result.trace_path, view=look.view if look else "memory")
            if look is not None:
                stage.moment, stage.selection = place(look, stage.history)
        except (TraceError, LessonError, ValueError) as error:
            return result, str(error)
        return result, stage

    def _show_run(self, came: tuple[Any, Any]) -> None:
        result, stage = came
        self.trace = result.trace_path
        said = [("", result.stdout)] if result.stdout.strip() else []
        if result.error:
            said.append(("error", result.error))
        if isinstance(stage, str):
            said.append(("error", stage))
        elif stage is not None:
            self._show_stage(stage)
        if self.step.kind == "run" and not result.error:
            said.append(("good", "It ran; the picture shows what it left behind."))
        self._tell(*said)
        self._mark_title()

    def _show_stage(self, stage: Any) -> None:
        """The picture on the right; without one the text has the whole width."""
        self.set_class(stage is not None, "picture")
        self.query_one(Viewer).set_stage(stage)

    def _mark_title(self) -> None:
        """Show in the title that the step is done, without moving the text."""
        canvas = self.query_one("#prose", Canvas)
        place = canvas.scroll_offset.y
        self._show_text()
        canvas.scroll_to(y=place, animate=False, force=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value.strip()
        at = self.at
        if self.right and not typed:
            self.action_next_step()
        elif typed == "?":
            event.input.value = ""
            self.action_hint()
        elif typed == "!":
            event.input.value = ""
            self._in_thread(lambda: self.runner.reveal(at), self._show_answer)
        else:
            self._in_thread(lambda: self.runner.grade(at, typed), self._show_verdict_of)

    def _show_verdict_of(self, verdict: Any) -> None:
        self.right = self.right or verdict.ok
        said = [("good" if verdict.ok else "warn", ("Right. " if verdict.ok else "") + verdict.message)]
        if verdict.ok and verdict.answer:
            said.append(("number", f"The engine says {verdict.answer}"))
        if verdict.ok:
            said.append(("dim", "n goes on"))
            self.query_one("#prose").focus()
        self._tell(*said)
        self._mark_title()

    def _show_answer(self, verdict: Any) -> None:
        self._tell(("number", f"The engine says {verdict.answer}"), ("", verdict.message))

    # The exercise

    def _check(self) -> None:
        self._seen = changed_at(self.runner.exercise_path())
        self._in_thread(self.runner.check_exercise, self._show_verdict_of)

    def _watch(self) -> None:
        """Check again by itself when the exercise was saved, wherever it is edited."""
        if self.runner is None or not self.is_current or self.step.kind != "exercise":
            return
        changed = changed_at(self.runner.exercise_path())
        if changed > self._seen:
            self._check()

    def action_edit(self) -> None:
        """Edit the exercise on a screen of its own."""
        if self.runner is None or self.step.kind != "exercise":
            return
        from tui.screens.edit import EditScreen

        self.app.push_screen(EditScreen(self.runner.start_exercise()), lambda saved: self._check())

    def action_edit_outside(self) -> None:
        """Edit the exercise with the program in $EDITOR."""
        if self.runner is None or self.step.kind != "exercise":
            return
        command = editor()
        if not command:
            self._tell(("warn", f"Set $EDITOR, or edit {self.runner.start_exercise()} as you like: it is watched."))
            return
        with self.app.suspend():
            subprocess.run([*command, str(self.runner.start_exercise())], check=False)
        self._check()

    def action_reset(self) -> None:
        if self.runner is None or self.step.kind != "exercise":
            return
        kept = self.runner.reset()
        self._seen = changed_at(self.runner.exercise_path())
        self.right = False
        self._tell(("", "exercise.py is as it was at the beginning." + (f" Yours is kept as {kept}" if kept else "")))
        self._mark_title()

    def action_hint(self) -> None:
        if self.runner is None:
            return
        hints = self.step.hints
        if not hints:
            self._tell(("dim", "This step has no hints."))
            return
        text = self.runner.hint(self.at, self.hints)
        number = min(self.hints + 1, len(hints))
        self.hints += 1
        self._tell(("type", f"Hint {number} of {len(hints)}: {text}"))

    def action_solution(self) -> None:
        """One right answer, once the learner's own is right."""
        if self.runner is None or self.step.kind != "exercise":
            return
        if not self.right:
            self._tell(("warn", "The solution is shown once your own is right; h gives a hint."))
            return
        text = self.runner.solution()
        self.app.push_screen(
            Sheet("One solution", lambda width: Picture.of(lay(("code", text.splitlines()), width, self.app.glyphs)))  # type: ignore[attr-defined]
        )

    # Going

    def action_next_step(self) -> None:
        if self.runner is None:
            return
        if self.at + 1 < len(self.runner.lesson.steps):
            self._go(self.at + 1)
            return
        from lessons._runner import load_all

        lessons = load_all()
        following = [lesson for lesson in lessons if lesson.number > self.runner.lesson.number]
        if following:
            self.app.switch_screen(LessonScreen(following[0].name))
        else:
            self._tell(("good", "That was the last lesson."), ("dim", "Esc goes back."))

    def action_previous_step(self) -> None:
        if self.runner is not None and self.at > 0:
            self._go(self.at - 1)

    def action_next_pane(self) -> None:
        """Between text, answer line and picture."""
        viewer = self.query_one(Viewer)
        if viewer.main.has_focus or viewer.stage is None:
            self.remove_class("looking")
            asking = self.runner is not None and self.step.kind == "predict" and not self.right
            self.query_one("#answer" if asking else "#prose").focus()
        else:
            self.add_class("looking")
            viewer.main.focus()

    def action_look(self) -> None:
        """What this step recorded, in the full explorer."""
        if self.trace is not None:
            self.app.go("explore", trace=self.trace)  # type: ignore[attr-defined]
        else:
            self._tell(("dim", "Nothing was recorded in this step yet."))

    def action_lesson_list(self) -> None:
        self.app.go("lessons")  # type: ignore[attr-defined]

    def action_leave(self) -> None:
        """From the answer line or the picture to the text, from there back."""
        if self.query_one("#prose").has_focus or self.runner is None:
            super().action_leave()
            return
        self.remove_class("looking")
        self.query_one("#prose").focus()

    def signs(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """For the help sheet."""
        return list(self.query_one(Viewer).signs())


def changed_at(path: Path) -> float:
    """When a file was last written; 0 when it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def editor() -> list[str]:
    """The words that start the user's editor."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        return shlex.split(named)
    return next(([name] for name in ("nano", "vim", "vi") if shutil.which(name)), [])
