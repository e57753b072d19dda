"""The prompt of the playground: several lines, completion, undo, history, saving."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.inspect.history import History
from engine.inspect.history.failure import failure_at
from engine.inspect.session import Session
from engine.inspect.trace import TraceReader
from tests.tui.waiting import until, until_shown
from tui.actions.queries import why
from tui.app import Underhood
from tui.navigator import open_navigator
from tui.screens.playground import PlaygroundScreen, Prompt, needs_more


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path / "t.uht")
    yield session
    session.close()


def completions(session: Session, text: str) -> str:
    session.complete(text)
    return next(reply.text for reply in session.wait(60) if reply.kind == "completions")


def test_completion_only_looks(session: Session) -> None:
    code = "import engine, engine as torch; tensor = torch.ones(2); class_ = type('C', (), {'odd': property(print)})()"
    session.send(code)
    session.wait(60)
    assert "tensor" in completions(session, "tens")
    assert '"tensor.transpose"' in completions(session, "tensor.transp")
    assert '"torch.zeros_like"' in completions(session, "torch.zeros_l")
    assert '"engine.nn.functional.relu"' in completions(session, "engine.nn.functional.rel")
    assert completions(session, "class_.od") == '["class_.odd"]'
    assert completions(session, "class_.odd.x") == "[]"
    assert completions(session, "missing.x") == "[]"
    session.send("mark = 1")
    session.wait(60)
    session.close()
    history = History(TraceReader.open(session.path))
    assert len(history.tables.tensors) == 1


def test_an_error_is_explained_until_the_next_line(session: Session) -> None:
    session.send("import engine as torch; x = torch.zeros(2)")
    session.wait(60)
    session.send("x + torch.zeros(3)")
    session.wait(60)
    session.send("for each in iter([1]): pass\n")
    session.wait(60)
    session.close()
    nav = open_navigator(session.path, at="last", select="x")
    assert failure_at(nav.history, nav.moment) is None
    nav.move(int(nav.history.tables.exceptions.since[0]) + 5)  # the line has ended
    failure = failure_at(nav.history, nav.moment)
    assert failure is not None
    assert failure.op == "add"
    assert why(nav).startswith("# RuntimeError: ")


def test_a_statement_needs_more_until_it_is_complete() -> None:
    assert needs_more("for i in range(3):")
    assert needs_more("for i in range(3):\n    print(i)")
    assert not needs_more("for i in range(3):\n    print(i)\n")
    assert not needs_more("x = 1")
    assert not needs_more("x = = 1")
    assert not needs_more("")


async def test_the_prompt_edits_completes_takes_back_and_saves(tmp_path: Path) -> None:
    app = Underhood("playground")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, PlaygroundScreen)
        box = screen.query_one(Prompt)

        def idle() -> bool:
            return screen.session is not None and not screen.session.busy and not screen.waiting

        await until(pilot, lambda: idle() and screen.ran)
        box.value = "value_of_mine = engine.ones(2).sum() + torch.zeros(())"
        await pilot.press("enter")
        await until(pilot, lambda: idle() and len(screen.ran) == 2)
        await pilot.press(*"value_", "tab")
        await until(pilot, lambda: box.value == "value_of_mine")
        await pilot.press(*".is_c", "tab")
        await until(pilot, lambda: any("is_contiguous" in line for _, line in screen.messages))
        await pilot.press("ctrl+z")
        assert box.value != "value_of_mine.is_c"
        box.value = "for i in range(2):"
        await pilot.press("enter", *"print(i)")
        assert box.value == "for i in range(2):\n    print(i)"
        await pilot.press("enter", "enter")
        assert box.value == ""
        box.value = "for i in range(2):\n    print('step', i)\n"
        await pilot.press("enter")
        await until(pilot, lambda: ("stdout", "step 1") in screen.messages)
        assert box.value == ""
        await pilot.press("up")
        assert box.value.startswith("for i in range(2):")
        await pilot.press(*["up"] * 8)
        assert box.value.startswith("value_of_mine = ")
        await until(pilot, idle)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any("saved: " in line for _, line in screen.messages))
    (script,) = tmp_path.glob("playground-*.py")
    text = script.read_text()
    assert text.startswith("import engine, engine as torch\nvalue_of_mine = ")
    assert "for i in range(2):\n    print('step', i)\n" in text
    compile(text, "script", "exec")


async def test_the_key_bar_names_the_keys_of_the_pane() -> None:
    app = Underhood("playground")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, PlaygroundScreen)
        await until_shown(pilot, "^r restart")
        await until(pilot, lambda: screen.session is not None and not screen.session.busy)
        await pilot.press("escape")
        await until_shown(pilot, "i prompt ] step [ step back")
        await pilot.press("i")
        await until_shown(pilot, "^r restart")
