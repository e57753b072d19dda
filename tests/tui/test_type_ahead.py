"""Keys that come before what they are for is on the screen: none is lost, none overtakes another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.app import App
from textual.command import CommandInput
from textual.events import Key, Paste
from textual.widgets import Input, TextArea

from tests.sampling import sampled
from tests.tui.program import saved
from tests.tui.waiting import exploring, screen_text, until, until_shown
from tui.app import Underhood
from tui.lesson_session import LessonSession
from tui.screens.edit import EditScreen
from tui.screens.lesson import LessonScreen
from tui.screens.playground import PlaygroundScreen, Prompt

TURNS = pytest.mark.parametrize("turns", [0, *sampled([1, 2, 5, 9, 14, 20, 30], 3)])


pytestmark = pytest.mark.usefixtures("home")


async def typed(app: App[int], first: str, turns: int, *keys: str) -> None:
    """The first key, and `turns` turns of the event loop later all the others at once."""
    app.post_message(key(first))
    for _ in range(turns):
        await asyncio.sleep(0)
    for name in keys:
        app.post_message(key(name))


def key(name: str) -> Key:
    named = {"colon": ":", "backspace": "\b", "enter": "\r", "escape": "\x1b"}
    return Key(name, name if len(name) == 1 else named.get(name))


@TURNS
async def test_a_question(tmp_path: Path, turns: int) -> None:
    async with exploring(saved(tmp_path)) as pilot:
        app = pilot.app
        await typed(app, "g", turns, *"linex:", "backspace", "backspace", *":9")
        await pilot.pause()
        assert app.screen.query_one(Input).value == "line:9"
        await typed(app, "enter", 0)
        await until_shown(pilot, "line 9 demo.py")


@TURNS
async def test_question_after_question(tmp_path: Path, turns: int) -> None:
    """Enter closes the line, the next key is the explorer's, the next line's letters are its own."""
    async with exploring(saved(tmp_path)) as pilot:
        keys = [*"line:9", "enter", "4", "colon", *"strides", "enter", "g", "5", "escape"]
        await typed(pilot.app, "g", turns, *keys)
        await pilot.pause()
        assert pilot.app.screen.viewer.nav.view == "strides"
        assert "line 9 demo.py" in screen_text(pilot.app)


@TURNS
async def test_the_playground(turns: int) -> None:
    app = Underhood("home")
    async with app.run_test(size=(100, 30)) as pilot:
        await typed(app, "2", turns, *"a=6*7", "enter", *"a", "enter", *"b = 1")
        await until(pilot, lambda: isinstance(app.screen, PlaygroundScreen))
        screen = app.screen
        await until(pilot, lambda: ("result", "42") in screen.messages)
        assert screen.query_one(Prompt).value == "b = 1"
        assert screen.past.lines[-2:] == ["a=6*7", "a"]


async def test_a_paste_is_in_its_place() -> None:
    app = Underhood("playground")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        app.post_message(key("x"))
        app.post_message(Paste(" = torch.ones(2"))
        app.post_message(key(")"))
        await pilot.pause()
        assert app.screen.query_one(Prompt).value == "x = torch.ones(2)"


async def test_before_the_first_frame() -> None:
    app = Underhood("home")
    app.post_message(key("2"))
    app.post_message(key("7"))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, PlaygroundScreen))
        await until(pilot, lambda: app.screen.query_one(Prompt).value == "7")


@TURNS
async def test_the_palette(tmp_path: Path, turns: int) -> None:
    async with exploring(saved(tmp_path)) as pilot:
        await typed(pilot.app, "ctrl+p", turns, *"coarser")
        await pilot.pause()
        assert pilot.app.screen.query_one(CommandInput).value == "coarser"


@TURNS
async def test_the_editor_saves_all_that_was_typed_before_it_was_left(turns: int) -> None:
    session = LessonSession.open("strides")
    session.go(next(i for i, s in enumerate(session.lesson.steps) if s.kind == "exercise"))
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.session is not None)
        await typed(app, "v", turns, *"#mine", "escape")
        await pilot.pause()
        assert app.screen is screen
        assert session.runner.exercise_path().read_text(encoding="utf-8").startswith("#mine")


async def test_the_editor_keeps_the_order(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text("")
    async with Underhood("home").run_test(size=(100, 30)) as pilot:
        pilot.app.push_screen(EditScreen(path))
        await typed(pilot.app, "a", 0, "b", "enter", "c", "backspace", "ctrl+s", "d")
        await pilot.pause()
        assert path.read_text() == "ab\n"
        assert pilot.app.screen.query_one(TextArea).text == "ab\nd"


@TURNS
async def test_the_answer_of_a_lesson(turns: int) -> None:
    """`n` leads to the question; the keys after it are the answer."""
    session = LessonSession.open("strides")
    session.go(next(i for i, s in enumerate(session.lesson.steps) if s.kind == "predict") - 1)
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await until(pilot, lambda: screen.session is not None)
        await typed(app, "n", turns, *"nono777")
        await pilot.pause()
        assert screen.query_one("#answer", Input).value == "nono777"
        assert "nono777" in screen_text(app)
