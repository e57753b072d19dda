"""Lessons taken in the application: predictions, hints, the exercise, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from lessons._runner import LessonError
from tests.tui.waiting import until
from tui.app import Underhood
from tui.course import Course
from tui.screens.lesson import LessonScreen


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    return tmp_path / "home"


def step_of(course: Course, kind: str) -> int:
    return next(i for i, step in enumerate(course.lesson.steps) if step.kind == kind)


def test_a_lesson_is_found_by_name_number_or_progress() -> None:
    assert Course.open("strides").lesson.number == Course.open("4").lesson.number == 4
    assert Course.open().lesson.number == 4  # the last one visited goes on
    with pytest.raises(LessonError, match="there is no lesson 'cooking'"):
        Course.open("cooking")


def test_the_place_is_remembered() -> None:
    course = Course.open("strides")
    assert course.move(1)
    assert course.move(1)
    assert Course.open("strides").at == 2
    course.go(0)
    assert not course.move(-1)


def test_a_prediction_is_judged_by_the_engine() -> None:
    course = Course.open("strides")
    course.go(step_of(course, "predict"))
    assert course.grade("nonsense")[0][0] == "warn"
    assert not course.right
    assert course.hint()[0][1].startswith(f"Hint 1 of {len(course.step.hints)}")
    answer = course.reveal()[0][1].removeprefix("The engine says ")
    assert not course.done
    assert course.grade(answer)[0][0] == "good"
    assert course.right
    assert course.done


def test_a_run_step_leaves_a_picture() -> None:
    course = Course.open("strides")
    course.go(step_of(course, "run"))
    said, stage = course.run()
    assert said[-1][0] == "good"
    assert stage is not None
    assert any(name.tensor for name in stage.history.names_at(stage.moment))


def test_a_look_step_points_at_what_it_says() -> None:
    course = Course.open("strides")
    course.go(step_of(course, "look"))
    _, stage = course.run()
    assert stage is not None
    assert stage.view == course.step.look.view
    assert stage.selection.tensor


def test_the_exercise_fails_then_passes_and_a_reset_keeps_the_work() -> None:
    course = Course.open("strides")
    course.go(step_of(course, "exercise"))
    assert course.check()[0][0] == "warn"
    assert course.solution() == ""
    path = course.runner.exercise_path()
    path.write_text(
        (course.lesson.folder / "solution.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert course.check()[0][0] == "good"
    assert course.solution()
    assert "Yours is kept as" in course.reset()[0][1]
    assert not course.right


async def test_answering_on_the_screen() -> None:
    course = Course.open("strides")
    course.go(step_of(course, "predict"))
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await until(pilot, lambda: screen.course is not None and screen.query_one(Input).has_focus)
        await pilot.press("question_mark", "enter")
        await until(pilot, lambda: screen.said[0][1].startswith("Hint 1"))
        await pilot.press("7", "7", "7", "enter")
        await until(pilot, lambda: screen.said[0][0] == "warn")
        assert screen.query_one(Input).value == ""
        await pilot.press("exclamation_mark", "enter")
        await until(pilot, lambda: screen.said[0][0] == "number")
        screen.query_one(Input).value = screen.said[0][1].removeprefix("The engine says ")
        await pilot.press("enter")
        await until(pilot, lambda: screen.said[0][0] == "good")
        at = screen.course.at
        await pilot.pause()
        assert screen.course.at == at  # success stays until n
        await pilot.press("n")
        await until(pilot, lambda: screen.course.at == at + 1)


async def test_while_answering_the_text_can_be_read_on() -> None:
    course = Course.open("from_source_to_ir")
    course.go([step.title for step in course.lesson.steps].index("An `if` joins"))
    course.progress.save()
    app = Underhood("lesson", lesson="from_source_to_ir")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.query("#prose") and app.screen.query("#answer"))
        text, box = app.screen.query_one("#prose"), app.screen.query_one("#answer", Input)
        await until(pilot, lambda: box.has_focus and text.max_scroll_y > 0)
        await pilot.press("3", "pagedown")
        await until(pilot, lambda: text.scroll_y > 1)
        below = text.scroll_y
        await pilot.press("up")
        await until(pilot, lambda: text.scroll_y == below - 1)
        assert box.has_focus
        assert box.value == "3"


async def test_the_exercise_is_edited_here_and_saved_on_leaving() -> None:
    course = Course.open("strides")
    course.go(step_of(course, "exercise"))
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.course is not None)
        await pilot.press("v", *"# mine", "escape")
        await until(pilot, lambda: bool(screen.said) and screen.said[0][1] != "working ...")
        assert course.runner.exercise_path().read_text(encoding="utf-8").startswith("# mine")


async def test_h_is_a_hint_where_the_text_is_read() -> None:
    course = Course.open("strides")
    course.go(step_of(course, "exercise"))
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.course is not None)
        await pilot.press("h")
        await until(pilot, lambda: bool(screen.said) and screen.said[0][1].startswith("Hint 1"))
        await pilot.press("j", "h")
        await until(pilot, lambda: screen.said[0][1].startswith("Hint 2"))


async def test_an_unknown_lesson_is_a_message() -> None:
    app = Underhood("lesson", lesson="cooking")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        await until(pilot, lambda: bool(screen.said))
        assert "there is no lesson 'cooking'" in screen.said[0][1]
        await pilot.press("n", "enter", "h", "v", "o")
        assert screen.course is None


async def test_a_lesson_that_is_the_first_screen_is_laid_out() -> None:
    """The lowest screen is not pushed, and Textual loads `CSS` only for screens that are."""
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.course is not None)
        assert not screen.query_one(Input).display
        assert screen.query_one("#prose").size.height > 20
