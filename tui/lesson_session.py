"""The state of one lesson, apart from any drawing: every key of the lesson screen is a method.

Methods return `Messages` to show: a list of (style, sentence). Methods marked "runs processes" are slow
and are called in a thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lessons._runner import (
    Lesson,
    LessonError,
    Progress,
    Runner,
    RunResult,
    Step,
    Verdict,
    load,
    load_all,
)

if TYPE_CHECKING:
    from tui.navigator import Navigator

Messages = list[tuple[str, str]]
TODO = {
    "text": "n: next step.",
    "run": "Enter runs this.",
    "look": "Tab goes to the picture; n: next step.",
    "predict": "Type your answer below and press Enter; ! shows the answer.",
    "exercise": "v edits exercise.py here, V in your $EDITOR; Enter checks it.",
}
HINT = {"predict": " ? is a hint.", "exercise": " h is a hint."}


class LessonSession:
    """A lesson in progress. `right`: the current step has been answered."""

    def __init__(self, lesson: Lesson, progress: Progress) -> None:
        self.lesson = lesson
        self.progress = progress
        self.runner = Runner(lesson, progress)
        self.trace: Path | None = None
        self._seen = 0.0  # modification time of the exercise at the last check
        self.go(progress.resume_index(lesson))

    @classmethod
    def open(cls, name: str = "") -> LessonSession:
        """Open the named lesson, or the one to continue. Raises: LessonError if there is none."""
        progress = Progress.load()
        lesson = load(name) if name else progress.next_lesson(load_all())
        if lesson is None:
            raise LessonError("every lesson is done; underhood learn <name> opens one again")
        return cls(lesson, progress)

    # Position

    @property
    def step(self) -> Step:
        return self.lesson.steps[self.at]

    @property
    def done(self) -> bool:
        """Return whether the current step is done."""
        return self.progress.is_done(self.lesson, self.at)

    @property
    def text(self) -> str:
        """Return the text of the step, with the task at the end."""
        todo = TODO[self.step.kind] + (HINT.get(self.step.kind, "") if self.step.hints else "")
        return f"# {self.step.title}\n\n{self.step.text}\n\n*{todo}*"

    def go(self, at: int) -> None:
        """Go to step number `at`."""
        self.at, self.hints, self.trace = at, 0, None
        self.right = self.done
        self.runner.visit(at)
        if self.step.kind == "exercise":
            self.runner.start_exercise()
            self.changed()

    def move(self, by: int) -> bool:
        """Move by `by` steps; return whether that step exists."""
        if not 0 <= self.at + by < len(self.lesson.steps):
            return False
        self.go(self.at + by)
        return True

    def following(self) -> str:
        """Return the name of the next lesson, "" after the last."""
        later = [lesson for lesson in load_all() if lesson.number > self.lesson.number]
        return later[0].name if later else ""

    # Actions

    def run(self) -> tuple[Messages, Navigator | None]:
        """Run the step's code and open its recording at the step's moment (runs processes)."""
        result = self.runner.run_step(self.at)
        self.trace = result.trace_path
        messages: Messages = [("", result.stdout)] if result.stdout.strip() else []
        if result.error:
            messages.append(("error", result.error))
        nav = None
        try:
            nav = self._opened(result)
        except (LessonError, ValueError, OSError) as error:
            messages.append(("error", str(error)))
        if self.step.kind == "run" and not result.error:
            messages.append(("good", "It ran; the picture shows the final state."))
        return messages, nav

    def _opened(self, result: RunResult) -> Navigator | None:
        """Open the recording of the step with the lesson's moment, view and selection."""
        if result.trace_path is None:
            return None
        from engine.inspect.trace import TraceError
        from lessons._runner.look_target import resolve_look
        from tui.navigator import open_navigator

        look = self.step.look
        try:
            nav = open_navigator(result.trace_path, view=look.view if look else "")
        except TraceError as error:
            raise ValueError(str(error)) from None
        if look is not None:
            nav.moment, nav.selection = resolve_look(look, nav.history)
        return nav

    def grade(self, typed: str) -> Messages:
        """Check a prediction against the engine (runs processes)."""
        return self._judged(self.runner.grade(self.at, typed))

    def reveal(self) -> Messages:
        """Return the answer, for a learner who gives up (runs processes)."""
        verdict = self.runner.reveal(self.at)
        return [("number", f"The engine says {verdict.answer}"), ("text", verdict.message)]

    def check(self) -> Messages:
        """Return whether the exercise is right (runs processes)."""
        self.changed()
        return self._judged(self.runner.check_exercise())

    def _judged(self, verdict: Verdict) -> Messages:
        self.right = self.right or verdict.ok
        if not verdict.ok:
            return [("warn", verdict.message)]
        messages: Messages = [("good", f"Right. {verdict.message}")]
        if verdict.answer:
            messages.append(("number", f"The engine says {verdict.answer}"))
        return [*messages, ("dim", "n: next step")]

    def changed(self) -> bool:
        """Return whether the exercise was saved since the last call."""
        try:
            written = self.runner.exercise_path().stat().st_mtime
        except OSError:
            return False
        newer, self._seen = written > self._seen, written
        return newer

    def hint(self) -> Messages:
        """Return the next hint, or the last one again."""
        if not self.step.hints:
            return [("dim", "This step has no hints.")]
        text = self.runner.hint(self.at, self.hints)
        self.hints = min(self.hints + 1, len(self.step.hints))
        return [("type", f"Hint {self.hints} of {len(self.step.hints)}: {text}")]

    def reset(self) -> Messages:
        """Restore the starter; the learner's version is saved next to it."""
        saved = self.runner.reset()
        self.changed()
        self.right = False
        return [
            (
                "",
                "exercise.py was reset." + (f" Yours is saved as {saved}" if saved else ""),
            )
        ]

    def solution(self) -> str:
        """Return a correct answer, "" until the learner's is correct."""
        return self.runner.solution() if self.right and self.step.kind == "exercise" else ""
