"""Reads lesson folders: `lesson.toml` names the steps, `lesson.md` holds what they say.

The order of `[[step]]` tables is the order of the lesson. Each names its `section` by heading, so
prose lives in Markdown and rules live in TOML, and neither repeats the other.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from lessons._runner.lesson import (
    KINDS,
    Exercise,
    Goal,
    Lesson,
    LessonError,
    Look,
    Predict,
    Rejected,
    Step,
    Wrong,
)

LESSONS = Path(__file__).resolve().parent.parent
FILES = ("lesson.toml", "lesson.md", "exercise.py", "solution.py")

# The keys a step of each kind may have, besides `kind` and `section`.
_KEYS = {
    "text": set(),
    "run": {"continues"},
    "look": {"view", "select", "index", "line"},
    "predict": {"continues", "answer", "why", "also", "tolerance", "wrong", "hints"},
    "exercise": {"goal", "hints", "accepts", "rejects", "watch"},
}


def load_all(root: Path = LESSONS) -> list[Lesson]:
    """Return every lesson, in order of its number."""
    folders = sorted(path for path in root.iterdir() if re.match(r"\d+_", path.name))
    return [load(folder.name, root) for folder in folders]


def load(name: str, root: Path = LESSONS) -> Lesson:
    """Return the lesson called `name`: its folder (`04_strides`), number (`4`) or word (`strides`)."""
    folder = _find(name, root)
    for file in FILES:
        if not (folder / file).is_file():
            raise LessonError(f"{folder.name}: {file} is missing")
    try:
        table = tomllib.loads((folder / "lesson.toml").read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{folder.name}/lesson.toml: {error}") from error
    sections = split_sections((folder / "lesson.md").read_text(encoding="utf-8"))
    steps: list[Step] = []
    for entry in table.get("step", []):
        steps.append(_step(entry, sections, steps, f"{folder.name}/lesson.toml"))
    unused = set(sections) - {step.title for step in steps}
    if unused:
        raise LessonError(f"{folder.name}/lesson.md: no step uses the section {min(unused)!r}")
    if [step.kind for step in steps].count("exercise") != 1:
        raise LessonError(f"{folder.name}/lesson.toml: a lesson has exactly one exercise step")
    return Lesson(
        name=folder.name,
        title=_need(table, "title", f"{folder.name}/lesson.toml"),
        number=int(folder.name.split("_")[0]),
        covers=tuple(_need(table, "covers", f"{folder.name}/lesson.toml")),
        steps=tuple(steps),
        folder=folder,
        time_limit=float(table.get("time_limit", Lesson.time_limit)),
    )


def split_sections(text: str) -> dict[str, str]:
    """Return the Markdown under each `## Heading`. A `##` inside a fenced block is not a heading."""
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            title = line[3:].strip()
            if title in sections:
                raise LessonError(f"lesson.md: the heading {title!r} is there twice")
            current = sections.setdefault(title, [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            raise LessonError(f"lesson.md: text before the first `## ` heading: {line.strip()!r}")
    return {title: "\n".join(lines).strip() for title, lines in sections.items()}


def python_block(text: str) -> str:
    """Return the first fenced Python block of a section, or nothing."""
    match = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def slug(title: str) -> str:
    """Return `two-numbers-one-address` for `Two numbers, one address`."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _find(name: str, root: Path) -> Path:
    folders = sorted(path for path in root.iterdir() if re.match(r"\d+_", path.name))
    for folder in folders:
        number, word = folder.name.split("_", 1)
        same_number = name.isdigit() and int(name) == int(number)
        if name in (folder.name, word) or same_number:
            return folder
    known = ", ".join(folder.name for folder in folders) or "none"
    raise LessonError(f"there is no lesson {name!r}; the lessons are: {known}")


def _need(table: dict[str, Any], key: str, label: str) -> Any:
    if not table.get(key):
        raise LessonError(f"{label}: {key!r} is missing or empty")
    return table[key]


def _step(entry: dict[str, Any], sections: dict[str, str], before: list[Step], file: str) -> Step:
    title = _need(entry, "section", file)
    label = f"{file}, step {title!r}"
    kind = _need(entry, "kind", label)
    if kind not in KINDS:
        raise LessonError(f"{label}: kind {kind!r} is none of {', '.join(KINDS)}")
    if title not in sections:
        raise LessonError(f"{label}: lesson.md has no such heading")
    unknown = set(entry) - {"kind", "section"} - _KEYS[kind]
    if unknown:
        raise LessonError(f"{label}: a {kind} step has no key {min(unknown)!r}")
    return Step(
        kind=kind,
        title=title,
        text=sections[title],
        name=slug(title),
        code=_code(kind, entry, sections[title], before, label),
        look=_look(entry, label) if kind == "look" else None,
        predict=_predict(entry, label) if kind == "predict" else None,
        exercise=_exercise(entry, label) if kind == "exercise" else None,
        hints=tuple(entry.get("hints", ())),
    )


def _code(kind: str, entry: dict[str, Any], text: str, before: list[Step], label: str) -> str:
    if kind in ("text", "exercise"):
        return ""
    earlier = next((step.code for step in reversed(before) if step.code), "")
    if kind == "look" or entry.get("continues"):
        if not earlier:
            raise LessonError(f"{label}: there is no earlier code to go on from")
        if kind == "look":
            return earlier
        return "\n".join(part for part in (earlier, python_block(text)) if part)
    code = python_block(text)
    if not code:
        raise LessonError(f"{label}: a {kind} step needs a ```python block in its section")
    return code


def _look(entry: dict[str, Any], label: str) -> Look:
    index = entry.get("index")
    return Look(
        view=_need(entry, "view", label),
        select=entry.get("select", ""),
        index=None if index is None else tuple(index),
        line=entry.get("line", 0),
    )


def _predict(entry: dict[str, Any], label: str) -> Predict:
    return Predict(
        answer=_need(entry, "answer", label),
        why=_need(entry, "why", label).strip(),
        also=tuple(entry.get("also", ())),
        tolerance=float(entry.get("tolerance", 0.0)),
        wrong=tuple(
            Wrong(_need(wrong, "answer", label), _need(wrong, "message", label).strip())
            for wrong in entry.get("wrong", ())
        ),
    )


def _exercise(entry: dict[str, Any], label: str) -> Exercise:
    return Exercise(
        goals=tuple(
            Goal(_need(goal, "check", label), _need(goal, "message", label).strip())
            for goal in _need(entry, "goal", label)
        ),
        accepts=tuple(_need(right, "code", label) for right in entry.get("accepts", ())),
        rejects=tuple(
            Rejected(_need(wrong, "code", label), _need(wrong, "message", label))
            for wrong in entry.get("rejects", ())
        ),
        watch=entry.get("watch", ""),
    )
