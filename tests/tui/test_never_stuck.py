"""Nothing the terminal or a key does leaves a user stuck, or throws one out."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from tests.tui.program import saved
from tests.tui.test_lesson_screen import step_of
from tests.tui.waiting import exploring, loaded, screen_text, until, until_shown
from tui.app import Underhood
from tui.lesson_session import LessonSession
from tui.screens.explore import ExploreScreen
from tui.screens.home import HomeScreen
from tui.screens.lesson import LessonScreen
from tui.screens.playground import PlaygroundScreen
from tui.screens.viewer import Viewer

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize("pane", ["main", "side"])
@pytest.mark.parametrize("small", [(50, 24), (80, 15), (80, 24), (40, 10)])
async def test_a_resized_terminal_keeps_the_focus(
    tmp_path: Path, small: tuple[int, int], pane: str
) -> None:
    async with exploring(saved(tmp_path), (120, 40), view="memory") as pilot:
        viewer = pilot.app.screen.query_one(Viewer)
        viewer.query_one(f"#{pane}").focus()
        await pilot.pause()
        await pilot.resize_terminal(*small)
        await pilot.pause()
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: pilot.app.screen.focused is not None)
        await pilot.press("g", *"start", "enter", "]")
        assert viewer.nav.moment > 0
        await pilot.press("7")
        assert viewer.nav.view == "values"


async def test_an_enter_typed_before_the_start_ends_a_prompt(tmp_path: Path) -> None:
    """The shell's terminal turns it into a line feed."""
    async with exploring(saved(tmp_path), (120, 40)) as pilot:
        await pilot.press("g", "1", "7", "ctrl+j")
        assert pilot.app.screen.query_one(Viewer).nav.moment == 17


async def test_escape_takes_back_one_thing_at_a_time(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (120, 40), view="memory") as pilot:
        viewer = pilot.app.screen.query_one(Viewer)
        viewer.nav.select_text("name=x")
        start = viewer.nav.moment
        await pilot.press("o")
        assert viewer.nav.view == "object"
        await pilot.press("z")
        assert viewer.has_class("zoomed")
        await pilot.press("escape")
        assert not viewer.has_class("zoomed")
        assert viewer.nav.view == "object"
        await pilot.press("escape")
        assert (viewer.nav.view, viewer.nav.moment) == ("memory", start)
        await pilot.press("space", "escape")
        assert "paused" in screen_text(pilot.app)
        await pilot.press("escape")
        assert "Esc again leaves" in screen_text(pilot.app)
        await pilot.press("j", "escape")
        assert isinstance(pilot.app.screen, ExploreScreen)  # another key came between
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, HomeScreen))


async def test_a_recording_opens_where_it_was_left(tmp_path: Path) -> None:
    trace = saved(tmp_path)
    async with exploring(trace, (100, 30)) as pilot:
        nav = pilot.app.screen.query_one(Viewer).nav
        await pilot.press("g", *"line:9", "enter", "5")
        nav.select_text("name=x")
        before = nav.moment, nav.selection, nav.view
        await pilot.press("q")
    async with exploring(trace, (100, 30)) as pilot:
        nav = pilot.app.screen.query_one(Viewer).nav
        assert (nav.moment, nav.selection, nav.view) == before
        assert "where you left it" in screen_text(pilot.app)
    async with exploring(trace, (100, 30), at="start") as pilot:
        assert pilot.app.screen.query_one(Viewer).nav.moment == 0


async def test_a_place_of_another_recording_is_not_used(tmp_path: Path) -> None:
    from tui.navigator import open_navigator
    from tui.places import restore_place, save_place
    from tui.settings import Memory

    memory, trace = Memory(tmp_path / "state.json"), saved(tmp_path)
    nav = open_navigator(trace, at="3")
    save_place(memory, trace, nav)
    assert restore_place(Memory(tmp_path / "state.json"), trace, open_navigator(trace))
    trace.touch()
    assert not restore_place(memory, trace, open_navigator(trace))
    save_place(memory, trace, nav)
    memory.get("places")[str(trace.resolve())]["selection"] = {"data": {"kind": "Path"}}
    assert not restore_place(memory, trace, open_navigator(trace))


async def test_keys_typed_while_a_recording_loads_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    ready, opened = threading.Event(), ExploreScreen._opened

    def slowly(screen: ExploreScreen, trace: Path) -> object:
        assert ready.wait(60)
        return opened(screen, trace)

    monkeypatch.setattr(ExploreScreen, "_opened", slowly)
    app = Underhood("explore", trace=saved(tmp_path), at="start")
    async with app.run_test(size=(100, 30)) as pilot:
        typing = ["right_square_bracket"] * 3 + ["5"]
        from textual.events import Key

        for key in typing:
            await app.key_queue.take(Key(key, "]" if len(key) > 1 else key))
        await pilot.pause()
        assert not loaded(pilot)
        ready.set()
        await until(pilot, lambda: loaded(pilot))
        nav = app.screen.query_one(Viewer).nav
        await until(pilot, lambda: nav.view == "strides")
        expected = type(nav)(nav.history, at="start")
        for _ in range(3):
            expected.step(1)
        assert nav.moment == expected.moment


async def test_a_loading_recording_can_be_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    ready = threading.Event()
    monkeypatch.setattr(ExploreScreen, "_load", lambda screen: ready.wait(60))
    app = Underhood("home")
    async with app.run_test(size=(100, 30)) as pilot:
        app.go("explore", trace=saved(tmp_path))
        await until(pilot, lambda: isinstance(app.screen, ExploreScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press("1")  # home takes keys
        await until_shown(pilot, "1 What a tensor is")
        ready.set()


async def test_a_playground_session_is_not_discarded_silently() -> None:
    app = Underhood("home")
    async with app.run_test(size=(100, 30)) as pilot:
        app.go("playground")
        await until(pilot, lambda: isinstance(app.screen, PlaygroundScreen))
        screen = app.screen
        await until(pilot, lambda: screen.session is not None and not screen.session.busy)
        await pilot.press(*"x=1", "enter")
        await until(pilot, lambda: not screen.session.busy and not screen.waiting)
        await pilot.press("escape", "escape")
        assert app.screen is screen
        assert any("variables end" in note.message for note in app._notifications)
        await pilot.press("ctrl+q")
        assert app.is_running
        app.clear_notifications()
        await pilot.press("j", "escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.pause(0.3)  # what follows the recording reads again
        assert [note.message for note in app._notifications if note.severity == "error"] == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_in_a_lesson_keys_do_what_the_bar_says_in_every_pane(size: tuple[int, int]) -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "look"))
    session.progress.save()
    app = Underhood("lesson", lesson="strides")
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await until(pilot, lambda: screen.session is not None)
        at = screen.session.at
        viewer = screen.query_one(Viewer)
        await until(pilot, lambda: viewer.nav is not None)
        await pilot.press("tab")
        assert viewer.main.has_focus
        assert viewer.main.region.width > 20  # it is on the screen
        assert "Tab text" in screen_text(app)
        await pilot.press("h")
        assert "hint" in screen.messages[0][1].lower()
        await pilot.press("tab")
        assert screen.query_one("#prose").has_focus
        await pilot.press("tab", "n")
        assert screen.session.at == at + 1
        assert screen.focused is not None
        await pilot.press("escape", "p")
        await until(pilot, lambda: screen.session.at == at)


async def test_the_answer_key_acts_at_once_and_is_never_graded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = LessonSession.open("strides")
    session.go(step_of(session, "predict"))
    app = Underhood("lesson", lesson="strides")
    graded: list[str] = []
    monkeypatch.setattr(
        LessonSession, "grade", lambda self, typed: graded.append(typed) or [("warn", "")]
    )
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        await until(pilot, lambda: screen.session is not None and screen.query_one(Input).has_focus)
        await pilot.press("question_mark")
        await until(pilot, lambda: screen.messages[0][1].startswith("Hint 1"))
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: screen.messages[0][1].startswith("The engine says"))
        await pilot.press("enter")
        assert "Type an answer" in screen.messages[0][1]
        await pilot.press("7", "exclamation_mark", "enter")
        await until(pilot, lambda: screen.messages[0][1].startswith("The engine says"))
        assert graded == []
