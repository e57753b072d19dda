"""Lessons and playground, through their screens, survive what the learner's code does to them."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

from lessons._runner import process
from tests.tui.waiting import until
from tui.app import Underhood
from tui.lesson_session import LessonSession
from tui.screens.lesson import LessonScreen
from tui.screens.playground import PlaygroundScreen, Prompt


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(process, "WAITING", 2)
    return tmp_path / "home"


# The program, and a part of the screen's message about it.
DEEDS = {
    "print for ever": ("while True: print('x' * 1000)", "Still running"),
    "fork": ("import os\nos.fork()", "x"),
    "kill its parent": (
        "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)",  # not at its end before it is seen
        "killed the process that started it",
    ),
    "delete the data": (
        "import os, shutil\nshutil.rmtree(os.environ['UNDERHOOD_HOME'])\nx = 1",
        "`x` is int",
    ),
    "ask": ("input()", "EOFError"),
    "stop": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", "stopped itself at line 2"),
    "escape": (
        "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(300)\nx = 1",
        "`x` is int",
    ),
    "raise from __str__": (
        "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E",
        "whose __str__ raises ValueError",
    ),
    "crash": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
}


async def test_a_lesson_survives_what_an_exercise_does(home: Path) -> None:
    session = LessonSession.open("1")
    for number, step in enumerate(session.lesson.steps):
        if step.kind == "predict":
            session.progress.step(session.lesson.name, step.name).done = True
        if step.kind == "exercise":
            session.go(number)
    session.progress.save()
    done = session.progress.done_count(session.lesson)
    assert done >= 4
    app = Underhood("lesson", lesson="1")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await until(pilot, lambda: screen.session is not None)
        assert screen.session is not None
        screen.session.runner.time_limit = 0.5
        for deed, (code, output) in DEEDS.items():
            path = screen.session.runner.start_exercise()
            path.write_text(code, encoding="utf-8")
            screen._show_messages([])
            await pilot.press("enter")
            await until(pilot, lambda: screen.messages and screen.messages[0][1] != "working ...")
            assert output in screen.messages[0][1], f"{deed}: {screen.messages}"
        await pilot.press("h")  # it still answers
        await until(pilot, lambda: screen.messages[0][1].startswith("Hint 1"))
    saved = json.loads((home / "data" / "lessons" / "progress.json").read_text(encoding="utf-8"))
    assert sum(state["done"] for state in saved["steps"][session.lesson.name].values()) == done


async def test_a_check_that_a_newer_one_overtook_says_nothing(home: Path) -> None:
    app = Underhood("lesson", lesson="1")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await until(pilot, lambda: screen.session is not None)
        began, gate, verdicts = threading.Event(), threading.Event(), []
        screen._in_thread(lambda: (began.set(), gate.wait(60)), verdicts.append)
        await until(pilot, began.is_set)
        screen._in_thread(lambda: "new", verdicts.append)  # it runs after the first
        gate.set()
        await until(pilot, lambda: verdicts)
        for _ in range(20):
            await pilot.pause(0.01)
        assert verdicts == ["new"]


async def test_the_playground_survives_what_a_line_does(home: Path) -> None:
    app = Underhood("playground")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, PlaygroundScreen)

        def heard(text: str) -> bool:
            return any(text in line for _, line in screen.messages)

        async def restarted() -> None:
            screen.messages.clear()
            await pilot.press("ctrl+r")
            await until(pilot, lambda: screen.session is not None and screen.session.alive)
            await until(pilot, lambda: screen.session and not screen.session.busy)

        async def typed(line: str) -> None:
            screen.query_one(Prompt).value = line
            await pilot.press("enter")

        await until(pilot, lambda: screen.session is not None and not screen.session.busy)
        await typed(
            "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(100)"
        )
        await until(pilot, lambda: heard("was ended by SIGKILL"))
        await restarted()
        await typed("input()")
        await until(pilot, lambda: heard("EOFError"))
        await typed("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
        for _ in range(3):
            await asyncio.sleep(0.2)
            await pilot.press("ctrl+c")
        await until(pilot, lambda: heard("was ended by SIGKILL"))
        await restarted()
        await typed("while True: print('on and on')\n")
        await until(pilot, lambda: heard("on and on"))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: heard("KeyboardInterrupt"))
        await typed("import os, shutil; shutil.rmtree(os.environ['UNDERHOOD_HOME'])")
        await typed("print('still', 'here')")
        await until(pilot, lambda: heard("still here"))
        await typed(
            "import os, time; (os.fork() or (os.setsid(), time.sleep(0.1), os._exit(0))) and 'forked'"
        )
        await until(pilot, lambda: heard("'forked'"))


async def test_two_explorers_at_once_lose_nothing(home: Path) -> None:
    first, second = Underhood("lesson", lesson="1"), Underhood("lesson", lesson="1")
    async with first.run_test(size=(100, 30)) as item, second.run_test(size=(100, 30)) as other:
        for pilot in (item, other):
            screen = pilot.app.screen
            assert isinstance(screen, LessonScreen)
            await until(pilot, lambda screen=screen: screen.session is not None)
        await item.press("enter")  # reads on, and runs the second step there
        await until(item, lambda: item.app.screen.session.at == 1)
        await item.press("enter")
        await until(item, lambda: item.app.screen.session.done)
        await other.press("n")  # the other was opened before; it saves after that
        await until(other, lambda: other.app.screen.session.at == 1)
    saved = json.loads((home / "data" / "lessons" / "progress.json").read_text(encoding="utf-8"))
    (states,) = saved["steps"].values()
    assert [state["done"] for state in states.values()] == [True, True]


def test_a_line_of_the_playground_leaves_no_process_behind(tmp_path: Path) -> None:
    from engine.inspect.session import Session
    from tests.processes import alive_with

    session = Session(tmp_path / "t.uht")
    word = f"playground-{tmp_path}"
    session.send(
        "import subprocess, sys\n"
        f"sleep = [sys.executable, '-c', 'import time; time.sleep(300) # {word}']\n"
        "_ = subprocess.Popen(sleep, start_new_session=True)\n"
    )
    session.wait(60)
    assert alive_with(word)
    session.close()
    assert not alive_with(word)
