"""Lessons taken in the application: predictions, hints, the exercise, nothing lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.widgets import Input

from lessons._runner import LessonError
from tests.tui.waiting import until
from tui.app import Underhood
from tui.lesson_session import LessonSession
from tui.screens.base import is_open
from tui.screens.lesson import LessonScreen

pytestmark = pytest.mark.usefixtures("home")


def step_of(session: LessonSession, kind: str) -> int:
    return next(i for i, step in enumerate(session.lesson.steps) if step.kind == kind)


def test_a_lesson_is_found_by_name_number_or_progress() -> None:
    assert LessonSession.open("strides").lesson.number == LessonSession.open("4").lesson.number == 4
    assert LessonSession.open().lesson.number == 4  # the last one visited continues
    with pytest.raises(LessonError, match="there is no lesson 'cooking'"):
        LessonSession.open("cooking")


def test_the_place_is_remembered() -> None:
    session = LessonSession.open("strides")
    assert session.move(1)
    assert session.move(1)
    assert LessonSession.open("strides").at == 2
    session.go(0)
    assert not session.move(-1)


def test_a_prediction_is_judged_by_the_engine() -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "predict"))
    assert session.grade("nonsense")[0][0] == "warn"
    assert not session.right
    assert session.hint()[0][1].startswith(f"Hint 1 of {len(session.step.hints)}")
    answer = session.reveal()[0][1].removeprefix("The engine says ")
    assert not session.done
    assert session.grade(answer)[0][0] == "good"
    assert session.right
    assert session.done


def test_a_run_step_leaves_a_picture() -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "run"))
    output, nav = session.run()
    assert output[-1][0] == "good"
    assert nav is not None
    assert any(name.tensor for name in nav.history.names_at(nav.moment))


def test_a_look_step_points_at_what_it_says() -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "look"))
    _, nav = session.run()
    assert nav is not None
    assert nav.view == session.step.look.view
    assert nav.selection.tensor


def test_the_exercise_fails_then_passes_and_a_reset_keeps_the_work() -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "exercise"))
    assert session.check()[0][0] == "warn"
    assert session.solution() == ""
    path = session.runner.exercise_path()
    path.write_text(
        (session.lesson.folder / "solution.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert session.check()[0][0] == "good"
    assert session.solution()
    assert "Yours is saved as" in session.reset()[0][1]
    assert not session.right


async def test_answering_on_the_screen() -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "predict"))
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await until(pilot, lambda: screen.session is not None and screen.query_one(Input).has_focus)
        await pilot.press("question_mark")
        await until(pilot, lambda: screen.messages[0][1].startswith("Hint 1"))
        await pilot.press("7", "7", "7", "enter")
        await until(pilot, lambda: screen.messages[0][0] == "warn")
        assert screen.query_one(Input).value == ""
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: screen.messages[0][0] == "number")
        screen.query_one(Input).value = screen.messages[0][1].removeprefix("The engine says ")
        await pilot.press("enter")
        await until(pilot, lambda: screen.messages[0][0] == "good")
        at = screen.session.at
        await pilot.pause()
        assert screen.session.at == at  # success stays until n
        await pilot.press("n")
        await until(pilot, lambda: screen.session.at == at + 1)


async def test_while_answering_the_text_can_be_read_on() -> None:
    session = LessonSession.open("from_source_to_ir")
    session.go([step.title for step in session.lesson.steps].index("An `if` joins"))
    session.progress.save()
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
    session = LessonSession.open("strides")
    session.go(step_of(session, "exercise"))
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.session is not None)
        await pilot.press("v", *"# mine", "escape")
        await until(pilot, lambda: bool(screen.messages) and screen.messages[0][1] != "working ...")
        assert session.runner.exercise_path().read_text(encoding="utf-8").startswith("# mine")


async def test_h_is_a_hint_where_the_text_is_read() -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "exercise"))
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.session is not None)
        await pilot.press("h")
        await until(
            pilot, lambda: bool(screen.messages) and screen.messages[0][1].startswith("Hint 1")
        )
        await pilot.press("j", "h")
        await until(pilot, lambda: screen.messages[0][1].startswith("Hint 2"))


async def test_an_unknown_lesson_is_a_message() -> None:
    app = Underhood("lesson", lesson="cooking")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        await until(pilot, lambda: bool(screen.messages))
        assert "there is no lesson 'cooking'" in screen.messages[0][1]
        await pilot.press("n", "enter", "h", "v", "o")
        assert screen.session is None


async def test_a_lesson_that_is_the_first_screen_is_laid_out() -> None:
    """The lowest screen is not pushed, and Textual loads `CSS` only for screens that are."""
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.session is not None)
        assert not screen.query_one(Input).display
        assert screen.query_one("#prose").size.height > 20


@pytest.mark.parametrize("leave", [LessonScreen.action_leave, LessonScreen.action_quit])
async def test_a_screen_without_its_widgets_takes_no_result(
    leave: Callable[[LessonScreen], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A screen loses its widgets before its application: threads may have results for it then."""
    observed: list[tuple[int, bool]] = []

    def observe(screen: LessonScreen) -> None:
        observed.append((len(screen.query("#verdict")), is_open(screen)))

    monkeypatch.setattr(LessonScreen, "on_unmount", observe, raising=False)
    app = Underhood("home")
    async with app.run_test(size=(100, 30)) as pilot:
        await app.push_screen(screen := LessonScreen("strides"))
        await until(pilot, lambda: screen.session is not None)
        observe(screen)
        leave(screen)
        await pilot.pause()
    assert observed == [(1, True), (0, False)]
