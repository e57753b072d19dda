"""A home that nothing can be written into, a full disk, no room to draw: each is explained, and nothing crashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.program import saved
from tests.tui.waiting import screen_text, until, until_shown
from tui.app import Underhood
from tui.cli import main
from tui.paths import gallery_scripts
from tui.screens.lesson import LessonScreen


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Below a file, where not even root can make a folder."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    return tmp_path / "file" / "home"


def test_a_recording_that_has_no_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "script.py").write_text("print('never run')\n")
    assert main(["record", str(tmp_path / "script.py")]) == 1
    output = capsys.readouterr()
    assert output.err.startswith("underhood: cannot write a trace: ")
    assert "never run" not in output.out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_view_that_cannot_be_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui", "show", str(saved(tmp_path))]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr.startswith("underhood: [Errno 28]")
    assert "Traceback" not in done.stderr


async def test_an_example_that_cannot_be_recorded() -> None:
    app = Underhood("explore", script=gallery_scripts()[0])
    async with app.run_test(size=(100, 30)) as pilot:
        await until_shown(pilot, "it cannot be recorded:")


async def test_the_playground_says_why_it_does_not_start() -> None:
    app = Underhood("playground")
    async with app.run_test(size=(100, 30)) as pilot:
        await until_shown(pilot, "the playground cannot start:")
        await pilot.press("x", "enter")  # waits its turn, which does not come
        await pilot.press("ctrl+r")


async def test_a_lesson_goes_on_without_saving_and_tells_of_the_exercise() -> None:
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await until(pilot, lambda: screen.session is not None)
        await until(pilot, lambda: any("not saved" in n.message for n in app._notifications))
        exercise = screen.session.lesson.exercise_step()
        while screen.session.at < exercise:
            screen.action_next_step()
            await pilot.pause()
        assert "Your exercise cannot be written" in screen.messages[0][1]
        screen.action_edit()
        await pilot.pause()
        assert app.screen is screen
        assert "Your exercise cannot be written" in screen.messages[0][1]


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (300, 3), (5, 60)], ids=str)
@pytest.mark.parametrize("first", ["home", "explore", "playground", "lessons", "lesson"])
async def test_a_terminal_of_any_size(first: str, size: tuple[int, int], tmp_path: Path) -> None:
    inputs = {"explore": {"trace": saved(tmp_path)}, "lesson": {"lesson": "strides"}}
    app = Underhood(first, **inputs.get(first, {}))
    async with app.run_test(size=size) as pilot:
        await pilot.press("j", "question_mark", "escape")
        for other in ((80, 24), (2, 3), (120, 40), size):
            await pilot.resize_terminal(*other)
            await pilot.pause()
        assert app.is_running
        assert screen_text(app) is not None
