"""Runs a lesson for one learner: blocks, predictions, the exercise, hints, reset.

Everything the learner's code does happens in other processes (`process.py`). Everything the learner
types is kept: predictions in the progress file, exercises in files that are never overwritten.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lessons._runner import grading
from lessons._runner.lesson import Lesson, LessonError, Predict, Step
from lessons._runner.process import Questions, run_program
from lessons._runner.progress import Progress, home, unused_name


@dataclass(frozen=True)
class RunResult:
    """`trace_path` is the recording (None if there is none), `error` is empty if all went well."""

    trace_path: Path | None
    stdout: str
    error: str


@dataclass(frozen=True)
class Verdict:
    """`answer` is the engine's own answer, shown once the learner is right or gave up."""

    ok: bool
    message: str
    answer: str = ""


class Answers(NamedTuple):
    """The engine's answer, equally good ones, typical wrong ones with replies, and the reason."""

    right: dict[str, Any]
    also: list[dict[str, Any]]
    wrong: list[tuple[dict[str, Any], str]]
    why: str


class Runner:
    """One lesson, one learner. `folder` is where the learner's files for this lesson live."""

    def __init__(
        self,
        lesson: Lesson,
        progress: Progress | None = None,
        folder: Path | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.lesson = lesson
        self.progress = progress
        self.folder = folder or home() / lesson.name
        self.time_limit = lesson.time_limit if time_limit is None else time_limit

    # ---- running ------------------------------------------------------------------------------

    def run_step(self, i: int) -> RunResult:
        """Runs the code of a step (for an exercise, the learner's file), recorded."""
        step = self.lesson.steps[i]
        if step.kind == "exercise":
            program = self.start_exercise()
        elif step.code:
            program = self._write_code(step)
        else:
            raise LessonError(f"{self.lesson.name}: step {i + 1} ({step.kind}) has no code to run")
        trace = self.folder / "runs" / f"{step.name}.uht"
        trace.parent.mkdir(parents=True, exist_ok=True)
        trace.unlink(missing_ok=True)
        outcome = run_program(program, trace=trace, time_limit=self.time_limit)
        if step.kind == "run" and not outcome.error:
            self._done(step)
        return RunResult(trace if trace.exists() else None, outcome.stdout, outcome.error)

    # ---- predictions --------------------------------------------------------------------------

    def grade(self, i: int, typed: str) -> Verdict:
        """Compute the answer in the engine and compare it with the typed one."""
        step, predict = self._predict(i)
        right, also, wrong, why = self.ask(step)
        self._tried(step, typed)
        if any(grading.matches(typed, answer, predict.tolerance) for answer in [right, *also]):
            self._done(step)
            return Verdict(True, why, right["text"])
        self._save()
        if problem := grading.understood(typed, right):
            return Verdict(False, problem)
        for answer, message in wrong:
            if grading.matches(typed, answer, predict.tolerance):
                return Verdict(False, message)
        return Verdict(False, f"The engine disagrees with {typed.strip()}. Try again.")

    def reveal(self, i: int) -> Verdict:
        """Return the answer for a learner who gives up; the step counts as not done."""
        step, _ = self._predict(i)
        right, _, _, why = self.ask(step)
        return Verdict(False, why, right["text"])

    def ask(self, step: Step) -> Answers:
        """Runs the step's code, then computes everything that its question needs."""
        predict = step.predict
        assert predict is not None
        questions = Questions(
            values=(predict.answer, *predict.also, *(wrong.answer for wrong in predict.wrong)),
            strings=(predict.why, *(wrong.message for wrong in predict.wrong)),
        )
        outcome = run_program(self._write_code(step), questions, time_limit=self.time_limit)
        if outcome.error:
            raise LessonError(f"{self.lesson.name}, {step.title!r}: {outcome.error}")
        right, *others = outcome.values
        also, wrong = others[: len(predict.also)], others[len(predict.also) :]
        why, *messages = outcome.strings
        return Answers(right, also, list(zip(wrong, messages, strict=True)), why)

    # ---- the exercise -------------------------------------------------------------------------

    def exercise_path(self) -> Path:
        """Return the path of the learner's copy of `exercise.py`, once it was started."""
        return self.folder / "exercise.py"

    def start_exercise(self) -> Path:
        """Copy the starter to the learner's folder, unless the file exists."""
        path = self.exercise_path()
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.lesson.folder / "exercise.py", path)
        return path

    def check_exercise(self, path: Path | None = None) -> Verdict:
        """Run the program and check the goals on its final state."""
        step = self.lesson.steps[self.lesson.exercise_step()]
        assert step.exercise is not None
        path = path or self.start_exercise()
        self._tried(step)
        goals = tuple((goal.check, goal.message) for goal in step.exercise.goals)
        outcome = run_program(
            path, Questions(goals=goals), time_limit=self.time_limit, watch=step.exercise.watch
        )
        if message := outcome.error or outcome.failed:
            self._save()
            return Verdict(False, message)
        self._done(step)
        return Verdict(True, "The engine is in the expected state.")

    def solution(self) -> str:
        """Return the text of one right answer."""
        return (self.lesson.folder / "solution.py").read_text(encoding="utf-8")

    def reset(self) -> Path | None:
        """Put the starter back. Save work that differs from it next to it, and return that path."""
        path = self.exercise_path()
        starter = self.lesson.folder / "exercise.py"
        backup = None
        if path.exists() and path.read_bytes() != starter.read_bytes():
            backup = unused_name(path, "backup")
            path.replace(backup)
        path.unlink(missing_ok=True)
        self.start_exercise()
        if self.progress is not None:
            name = self.lesson.steps[self.lesson.exercise_step()].name
            self.progress.step(self.lesson.name, name).done = False
            self._save()
        return backup

    # ---- hints and progress -------------------------------------------------------------------

    def hint(self, i: int, n: int) -> str:
        """Return hint number `n` (from 0) of a step; the last one stays, and "" means there are none."""
        step = self.lesson.steps[i]
        if not step.hints:
            return ""
        n = min(max(n, 0), len(step.hints) - 1)
        if self.progress is not None:
            state = self.progress.step(self.lesson.name, step.name)
            state.hints = max(state.hints, n + 1)
            self._save()
        return step.hints[n]

    def visit(self, i: int) -> None:
        """Remembers that the learner is at step `i`."""
        if self.progress is not None:
            self.progress.visit(self.lesson, i)
            self._save()

    def _predict(self, i: int) -> tuple[Step, Predict]:
        step = self.lesson.steps[i]
        if step.predict is None:
            raise LessonError(f"{self.lesson.name}: step {i + 1} ({step.kind}) asks no question")
        return step, step.predict

    def _write_code(self, step: Step) -> Path:
        path = self.folder / "runs" / f"{step.name.replace('-', '_')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.code, encoding="utf-8")
        return path

    def _tried(self, step: Step, typed: str = "") -> None:
        if self.progress is not None:
            state = self.progress.step(self.lesson.name, step.name)
            state.tries += 1
            state.typed = typed or state.typed

    def _done(self, step: Step) -> None:
        if self.progress is not None:
            self.progress.step(self.lesson.name, step.name).done = True
            self._save()

    def _save(self) -> None:
        if self.progress is None:
            return
        try:
            self.progress.save()
        except OSError as error:  # a full disk, a folder of somebody else: the lesson goes on
            self.progress.problem = f"your progress is not saved: {error}"
