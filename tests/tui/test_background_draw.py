"""A picture of thousands of rewrites is drawn in a thread: no key waits for it."""

from __future__ import annotations

from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest

from engine.inspect.models import jit as models
from tests.inspect.jit_traces import LOOP, trace_of
from tests.tui.waiting import exploring, until, until_shown
from tui.navigator import Navigator
from tui.screens.viewer import Viewer

SAID = "reading what the compiler did"


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Event:
    """Every JIT picture is a long one, and no thread finishes one before the gate is open."""
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(models, "MANY", 1)
    monkeypatch.setattr("tui.screens.explore.warm", lambda *_: None)
    opened, picture = Event(), Navigator.picture

    def waits(self: Navigator, name: str, *args: object) -> object:
        if current_thread() is not main_thread():
            assert opened.wait(60)
        return picture(self, name, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Navigator, "picture", waits)
    return opened


async def test_keys_go_on_while_a_thread_reads_what_the_compiler_did(gate: Event) -> None:
    path = trace_of(LOOP)
    async with exploring(path, view="memory") as pilot:
        viewer = pilot.app.screen.query_one(Viewer)
        await pilot.press("J")
        await until_shown(pilot, SAID)
        before = viewer.nav.moment
        await pilot.press("[")
        assert viewer.nav.moment < before
        await until_shown(pilot, SAID)
        gate.set()
        await until_shown(pilot, "passes")
        await until(pilot, lambda: SAID not in viewer.main.picture.text())


async def test_an_error_in_that_thread_is_not_lost(
    gate: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trace_of(LOOP)
    gate.set()

    def breaks(*_: object) -> None:
        raise ZeroDivisionError("a view is broken")

    async def look() -> None:
        async with exploring(path, view="memory") as pilot:
            monkeypatch.setattr("tui.views.jit.drawing._title", breaks)
            await pilot.press("J")
            await until(pilot, lambda: pilot.app._exception is not None)

    with pytest.raises(ZeroDivisionError, match="a view is broken"):
        await look()


async def test_a_draw_that_failed_in_a_thread_is_not_repeated(
    gate: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trace_of(LOOP)
    gate.set()
    monkeypatch.setattr("tui.views.memory.MemoryView.is_slow", lambda *_: True)
    async with exploring(path, view="source") as pilot:
        await pilot.press("3")
        await until_shown(pilot, "PyObject")
