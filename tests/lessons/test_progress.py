"""Progress is never lost: saved in one move, a damaged file kept aside, unknown names ignored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lessons._runner.lesson import Lesson, Step
from lessons._runner.progress import Progress, home


def lesson(*names: str) -> Lesson:
    steps = tuple(Step("text", name, "words", name) for name in names)
    return Lesson("01_first", "First", 1, ("T1",), steps, Path("."))


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "progress.json"
    progress = Progress.load(path)
    progress.visit(lesson("a", "b"), 1)
    progress.step("01_first", "a").typed = "(3, 1)"
    progress.save()
    again = Progress.load(path)
    assert again.where(lesson("a", "b")) == 1
    assert again.step("01_first", "a").typed == "(3, 1)"
    assert again.problem == ""


def test_steps_are_known_by_name_so_a_lesson_may_be_reordered(tmp_path: Path) -> None:
    progress = Progress.load(tmp_path / "progress.json")
    progress.visit(lesson("a", "b"), 1)
    assert progress.where(lesson("new", "b", "a")) == 1
    assert progress.is_done(lesson("new", "b", "a"), 1)
    assert progress.where(lesson("gone")) == 0


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"version": 2}', '{"version": 1}', "\x00"])
def test_a_damaged_file_is_kept_aside_and_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "progress.json"
    path.write_text(text)
    progress = Progress.load(path)
    kept = [other for other in tmp_path.iterdir() if "damaged" in other.name]
    assert [other.read_text() for other in kept] == [text]
    assert kept[0].name in progress.problem
    progress.save()
    assert json.loads(path.read_text())["version"] == 1
    assert kept[0].read_text() == text


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "progress.json"
    progress = Progress.load(path)
    progress.save()
    before = path.read_text()
    progress.last = "01_first"
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        progress.save()
    assert path.read_text() == before


def test_next_lesson_is_the_one_under_way_then_the_first_unfinished(tmp_path: Path) -> None:
    first, second = lesson("a"), Lesson("02_b", "B", 2, (), lesson("a", "b").steps, Path("."))
    progress = Progress.load(tmp_path / "progress.json")
    assert progress.next_lesson([first, second]) is first
    progress.visit(second, 0)
    assert progress.next_lesson([first, second]) is second
    progress.visit(second, 1)
    assert progress.finished(second)
    assert progress.next_lesson([first, second]) is first
    progress.visit(first, 0)
    assert progress.next_lesson([first, second]) is None


def test_one_variable_moves_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path))
    assert home() == tmp_path / "data" / "lessons"
