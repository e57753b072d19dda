"""What the learner has done, in one small JSON file.

Saved by writing a new file and replacing the old one at once, so that a crash leaves the old or the
new state, never half of one. A file that cannot be read is put aside, not overwritten, and said.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_data_dir

from lessons._runner.lesson import Lesson


def home() -> Path:
    """The learner's own folder: progress and exercises live here, never in the installed package.

    `UNDERHOOD_HOME` moves it, with everything else that Underhood keeps.
    """
    if moved := os.environ.get("UNDERHOOD_HOME"):
        return Path(moved) / "data" / "lessons"
    return Path(user_data_dir("underhood", appauthor=False)) / "lessons"


@dataclass
class StepState:
    """`done`, how often it was tried, how many hints were read, and what was typed last."""

    done: bool = False
    tries: int = 0
    hints: int = 0
    typed: str = ""


@dataclass
class Progress:
    """Steps are remembered by lesson and step *name*, so reordering a lesson loses nothing."""

    path: Path
    steps: dict[str, dict[str, StepState]] = field(default_factory=dict)
    at: dict[str, str] = field(default_factory=dict)
    last: str = ""
    problem: str = ""

    @classmethod
    def load(cls, path: Path | None = None) -> Progress:
        """Reads the file; a missing one is a fresh start, a damaged one too (see `problem`)."""
        progress = cls(path or home() / "progress.json")
        try:
            progress._read(json.loads(progress.path.read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            aside = unused_name(progress.path, "damaged")
            os.replace(progress.path, aside)
            progress = cls(progress.path)
            progress.problem = (
                f"{progress.path} could not be read ({error}); it is kept as {aside.name}, "
                "and progress starts afresh"
            )
        return progress

    def save(self) -> None:
        """Writes the whole file next to the old one, then replaces that in one move."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        table = {
            "version": 1,
            "last": self.last,
            "at": self.at,
            "steps": {
                lesson: {name: asdict(state) for name, state in states.items()}
                for lesson, states in self.steps.items()
            },
        }
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)

    def step(self, lesson: str, name: str) -> StepState:
        """The state of one step, made on first use."""
        return self.steps.setdefault(lesson, {}).setdefault(name, StepState())

    def is_done(self, lesson: Lesson, i: int) -> bool:
        """Whether step `i` is done (text and look steps are done once they were read)."""
        state = self.steps.get(lesson.name, {}).get(lesson.steps[i].name)
        return state is not None and state.done

    def done_count(self, lesson: Lesson) -> int:
        """How many of the lesson's steps are done."""
        return sum(self.is_done(lesson, i) for i in range(len(lesson.steps)))

    def finished(self, lesson: Lesson) -> bool:
        """Whether every step of the lesson is done."""
        return self.done_count(lesson) == len(lesson.steps)

    def visit(self, lesson: Lesson, i: int) -> None:
        """Remembers where the learner is, and counts a step that only asks to be read as done."""
        step = lesson.steps[i]
        self.last = lesson.name
        self.at[lesson.name] = step.name
        if step.kind in ("text", "look"):
            self.step(lesson.name, step.name).done = True

    def where(self, lesson: Lesson) -> int:
        """The step to continue at: the last one visited, else the first."""
        names = [step.name for step in lesson.steps]
        at = self.at.get(lesson.name)
        return names.index(at) if at in names else 0

    def next_lesson(self, lessons: list[Lesson]) -> Lesson | None:
        """The lesson to continue: the last one if unfinished, else the first unfinished one."""
        unfinished = [lesson for lesson in lessons if not self.finished(lesson)]
        last = [lesson for lesson in unfinished if lesson.name == self.last]
        return next(iter(last or unfinished), None)

    def _read(self, table: dict[str, Any]) -> None:
        version = table["version"]
        if version != 1:
            raise ValueError(f"it has version {version}; this program knows version 1")
        self.last = str(table["last"])
        self.at = {str(lesson): str(name) for lesson, name in table["at"].items()}
        self.steps = {
            lesson: {name: StepState(**state) for name, state in states.items()}
            for lesson, states in table["steps"].items()
        }


def unused_name(path: Path, word: str) -> Path:
    """A name beside `path` that nothing has: `x.py` -> `x.2026-01-31-120000.backup.py`."""
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    number = 0
    while True:
        extra = f"-{number}" if number else ""
        candidate = path.with_name(f"{path.stem}.{stamp}{extra}.{word}{path.suffix}")
        if not candidate.exists():
            return candidate
        number += 1
