"""A lesson as plain frozen data. The loader makes these; nothing changes them.

A lesson is a row of steps. Every step is one section of the lesson's `lesson.md` (its heading is
the step's title, its text the step's text) and has one of five kinds:

    text      read
    run       the section's Python block runs, recorded, so that the explorer shows real state
    look      open a view on the recording of the last block
    predict   say what an expression will be; the engine computes the answer after the learner typed
    exercise  edit `exercise.py` until the *state of the engine* is the asked one
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KINDS = ("text", "run", "look", "predict", "exercise")


class LessonError(Exception):
    """A lesson folder that cannot be used; says which file, and what is wrong with it."""


@dataclass(frozen=True)
class Look:
    """A view of the run of `code`, at a line (0: its end), on a name."""

    view: str
    select: str = ""
    index: tuple[int, ...] | None = None
    line: int = 0


@dataclass(frozen=True)
class Wrong:
    """A typical wrong answer: an expression (computed, like the right one) and what to reply."""

    answer: str
    message: str


@dataclass(frozen=True)
class Predict:
    """A prediction; `answer` is an expression over the names at the end of the step's code."""

    answer: str
    why: str
    also: tuple[str, ...] = ()
    tolerance: float = 0.0
    wrong: tuple[Wrong, ...] = ()


@dataclass(frozen=True)
class Goal:
    """One condition on the state at the end of the program, and the reply if it fails."""

    check: str
    message: str


@dataclass(frozen=True)
class Rejected:
    """A typical wrong program, and a piece of the message that it must get."""

    code: str
    message: str


@dataclass(frozen=True)
class Exercise:
    """Goals are tried in order; the first one that fails is the reply.

    `watch` is an expression whose values, while the program runs, are `watched` for the goals.
    """

    goals: tuple[Goal, ...]
    accepts: tuple[str, ...]
    rejects: tuple[Rejected, ...]
    watch: str = ""


@dataclass(frozen=True)
class Step:
    """One section. `text` is its Markdown; `code` is what runs, earlier blocks included."""

    kind: str
    title: str
    text: str
    name: str
    code: str = ""
    look: Look | None = None
    predict: Predict | None = None
    exercise: Exercise | None = None
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """`name` is the folder's name (`04_strides`), `covers` the facts of `facts.toml` it teaches.

    `time_limit` is the processor time in seconds that the code of a step may take.
    """

    name: str
    title: str
    number: int
    covers: tuple[str, ...]
    steps: tuple[Step, ...]
    folder: Path
    time_limit: float = 10.0

    def exercise_step(self) -> int:
        """Return the number of the exercise among the steps (every lesson has exactly one)."""
        return next(i for i, step in enumerate(self.steps) if step.kind == "exercise")
