"""Progress is never lost: saved in one move, a damaged file kept aside, unknown names ignored."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lessons._runner.lesson import Lesson, Step
from lessons._runner.progress import Progress, home


def lesson(*names: str) -> Lesson:
    steps = tuple(Step("text", name, "words", name) for name in names)
    return Lesson("01_first", "First", 1, ("T1",), steps, Path("."))


def test_saved_progress_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "progress.json"
    progress = Progress.load(path)
    progress.visit(lesson("a", "b"), 1)
    progress.step("01_first", "a").typed = "(3, 1)"
    progress.save()
    again = Progress.load(path)
    assert again.resume_index(lesson("a", "b")) == 1
    assert again.step("01_first", "a").typed == "(3, 1)"
    assert again.problem == ""


def test_steps_are_known_by_name_so_a_lesson_may_be_reordered(tmp_path: Path) -> None:
    progress = Progress.load(tmp_path / "progress.json")
    progress.visit(lesson("a", "b"), 1)
    assert progress.resume_index(lesson("new", "b", "a")) == 1
    assert progress.is_done(lesson("new", "b", "a"), 1)
    assert progress.resume_index(lesson("gone")) == 0


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"version": 2}', '{"version": 1}', "\x00"])
def test_a_damaged_file_is_kept_aside_and_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "progress.json"
    path.write_text(text)
    progress = Progress.load(path)
    saved = [other for other in tmp_path.iterdir() if "damaged" in other.name]
    assert [other.read_text() for other in saved] == [text]
    assert saved[0].name in progress.problem
    progress.save()
    assert json.loads(path.read_text())["version"] == 1
    assert saved[0].read_text() == text


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


def test_two_explorers_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    item, other = Progress.load(path), Progress.load(path)
    item.step("01_first", "a").done = True
    item.step("01_first", "b").typed = "from one"
    item.save()
    other.visit(lesson("a", "b", "c"), 2)
    other.step("01_first", "b").tries = 3
    other.save()
    item.step("01_first", "d").done = True
    item.save()
    for progress in (Progress.load(path), item):
        states = progress.steps["01_first"]
        assert [states[name].done for name in "abcd"] == [True, False, True, True]
        assert (states["b"].typed, states["b"].tries) == ("from one", 3)
        assert progress.at == {"01_first": "c"}


def test_what_is_taken_back_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    item = Progress.load(path)
    item.step("01_first", "a").done = True
    item.save()
    other = Progress.load(path)
    other.step("01_first", "a").done = False  # the exercise was reset
    other.save()
    item.step("01_first", "b").done = True
    item.save()
    assert not Progress.load(path).step("01_first", "a").done


WRITER = """
import sys
from pathlib import Path
from lessons._runner.progress import Progress

progress = Progress.load(Path(sys.argv[1]))
for number in range(20):
    progress.step("01_first", f"{sys.argv[2]}{number}").done = True
    progress.save()
"""


def test_processes_that_save_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("x", "y")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    states = Progress.load(path).steps["01_first"]
    assert len(states) == 40
    assert all(state.done for state in states.values())
    assert {other.name for other in tmp_path.iterdir()} <= {path.name, f"{path.name}.lock"}


def test_a_deleted_folder_is_written_anew_with_everything(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "progress.json"
    progress = Progress.load(path)
    progress.step("01_first", "a").done = True
    progress.save()
    shutil.rmtree(path.parent)
    progress.step("01_first", "b").done = True
    progress.save()
    assert Progress.load(path).steps["01_first"].keys() == {"a", "b"}


def test_a_file_damaged_meanwhile_is_kept_aside_and_ours_is_written(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    progress = Progress.load(path)
    progress.step("01_first", "a").done = True
    progress.save()
    path.write_text('{"version": 1, "la')
    progress.save()
    assert "is written again" in progress.problem
    assert Progress.load(path).step("01_first", "a").done
    (saved,) = [other for other in tmp_path.iterdir() if "damaged" in other.name]
    assert saved.read_text() == '{"version": 1, "la'


def test_a_save_that_fails_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress.load(tmp_path / "progress.json")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        progress.save()
    assert not list(tmp_path.glob("*.tmp"))
