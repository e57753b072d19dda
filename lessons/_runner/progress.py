"""The learner's progress, in one small JSON file.

Saved by writing a new file and replacing the old one at once, so that a crash leaves the old or the
new state, never half of one. A file that cannot be read is put aside, not overwritten, and said.

Several explorers may be open. What one saves is only what changed in it: under a lock it reads the
file again, and takes over all that others wrote there.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from platformdirs import user_data_dir

from lessons._runner.lesson import Lesson

LOCK_S = 2.0  # how long to wait for another explorer that is saving


def home() -> Path:
    """Return the learner's own folder: progress and exercises live here, never in the installed package.

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
    base: Progress | None = field(default=None, repr=False)
    """A copy of the state last read or written: a difference from it is new."""

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
        progress._remember()
        return progress

    def save(self) -> None:
        """Takes over what others have saved, then writes the whole file in one move."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.with_name(f"{self.path.name}.lock")):
            saved = Progress.load(self.path)
            if saved.problem:
                self.problem = saved.problem.replace("progress starts afresh", "is written again")
            self._merge(saved)
            self._write()
        self._remember()

    def _merge(self, saved: Progress) -> None:
        """Keep what differs from `base`; take everything else from the file."""
        base = self.base or Progress(self.path)
        if self.last == base.last:
            self.last = saved.last or self.last
        for lesson, name in saved.at.items():
            if self.at.get(lesson, "") == base.at.get(lesson, ""):
                self.at[lesson] = name
        for lesson, states in saved.steps.items():
            for name, state in states.items():
                own = self.step(lesson, name)
                before = base.steps.get(lesson, {}).get(name, StepState())
                for entry in fields(StepState):
                    if getattr(own, entry.name) == getattr(before, entry.name):
                        setattr(own, entry.name, getattr(state, entry.name))

    def _remember(self) -> None:
        self.base = Progress(
            self.path, copy.deepcopy(self.steps), dict(self.at), self.last, self.problem
        )

    def _write(self) -> None:
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
        try:
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(table, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def step(self, lesson: str, name: str) -> StepState:
        """Return the state of one step, made on first use."""
        return self.steps.setdefault(lesson, {}).setdefault(name, StepState())

    def is_done(self, lesson: Lesson, i: int) -> bool:
        """Return True if step `i` is done (text and look steps are done once they were read)."""
        state = self.steps.get(lesson.name, {}).get(lesson.steps[i].name)
        return state is not None and state.done

    def done_count(self, lesson: Lesson) -> int:
        """Count the lesson's steps that are done."""
        return sum(self.is_done(lesson, i) for i in range(len(lesson.steps)))

    def finished(self, lesson: Lesson) -> bool:
        """Return True if every step of the lesson is done."""
        return self.done_count(lesson) == len(lesson.steps)

    def visit(self, lesson: Lesson, i: int) -> None:
        """Remembers where the learner is, and counts a step that only asks to be read as done."""
        step = lesson.steps[i]
        self.last = lesson.name
        self.at[lesson.name] = step.name
        if step.kind in ("text", "look"):
            self.step(lesson.name, step.name).done = True

    def resume_index(self, lesson: Lesson) -> int:
        """Return the step to continue at: the last one visited, else the first."""
        names = [step.name for step in lesson.steps]
        at = self.at.get(lesson.name)
        return names.index(at) if at in names else 0

    def next_lesson(self, lessons: list[Lesson]) -> Lesson | None:
        """Return the lesson to continue: the last one if unfinished, else the first unfinished one."""
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


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock file; after LOCK_S goes on without it, as no lock is worth a learner's work."""
    with open(path, "w", encoding="ascii") as file:
        deadline = time.monotonic() + LOCK_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
        yield


def unused_name(path: Path, word: str) -> Path:
    """Return an unused name next to `path`: `x.py` -> `x.2026-01-31-120000.backup.py`."""
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    number = 0
    while True:
        extra = f"-{number}" if number else ""
        candidate = path.with_name(f"{path.stem}.{stamp}{extra}.{word}{path.suffix}")
        if not candidate.exists():
            return candidate
        number += 1
