"""Finding things: search that can be cancelled, conditions, watches, bookmarks, links, the next tensor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.inspect.conditions import run_until
from engine.inspect.expressions import Expression
from engine.inspect.history import History
from tests.inspect.trace_builder import TraceBuilder
from tests.tui.program import program, saved
from tests.tui.waiting import exploring, screen_text, until, until_shown
from tui.commands import KeyCommands
from tui.navigator import Navigator, open_navigator
from tui.notes import Notes
from tui.screens import finding
from tui.screens.text_modal import TextModal
from tui.screens.viewer import Viewer
from tui.views import key_groups

pytestmark = pytest.mark.usefixtures("home")


def counting() -> History:
    """x[2] counts from 0 to 9 in a loop of lines 2 and 3."""
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2, 3), values=[0] * 6, name="x")
    for value in range(10):
        b.line(2)
        b.write(x, [0, 0, value, 0, 0, value])
        b.line(3)
    b.tensor((2,), values=[3.0, 4.0], name="net.0.weight")
    b.tensor((1,), values=[5.5], name="optimizer.state[0].exp_avg")
    big = b.tensor((1 << 19,), name="big")
    b.line(4)
    b.exception("ValueError", "odd", 4)
    assert big
    return b.history()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x[0, 2]", 9.0),
        ("x[-1, -1] + 1", 10.0),
        ("x.sum()", 18.0),
        ("max(x) > 5", True),
        ("x[:, 2].sum() == 18 and x.shape[1] == 3", True),
        ("x.version", 0),
        ("x.dtype == 'float32'", True),
        ("x.grad", None),
        ("-x[0][2]", -9.0),
        ("net.0.weight[1]", 4.0),
        ("net[0].weight[1]", 4.0),
        ("optimizer.state[0].exp_avg[0] + 2.0", 7.5),
    ],
)
def test_expressions_over_recorded_values(text: str, value: object) -> None:
    history = counting()
    assert Expression(text).value(history, history.end - 1) == value


@pytest.mark.parametrize(
    "text", ["__import__('os')", "x.__class__", "lambda: 1", "x[", "[i for i in x]", "exec('1')"]
)
def test_expressions_are_read_and_never_executed(text: str) -> None:
    history = counting()
    try:
        described = Expression(text).described(history, history.end - 1)
    except ValueError:
        return
    assert described == "(x.__class__ was not recorded)"


def test_an_unknown_value_is_not_a_guess() -> None:
    history = counting()
    assert Expression("big[7]").described(history, history.end - 1) == "(not recorded)"
    assert Expression("y").described(history, history.end - 1) == "(no y here)"


def test_run_until_conditions() -> None:
    history = counting()
    lines = history.tables.lines
    moment = run_until(history, "x[0, 2] > 5", 0)
    assert moment is not None
    assert Expression("x[0, 2]").value(history, moment) == 6
    assert Expression("x[0, 2]").value(history, moment - 1) == 5
    assert run_until(history, "x[0, 2] > 50", 0) is None
    twos = lines.since[lines.where("line", 2)]
    assert run_until(history, "line 2", 0) == twos[0]
    assert run_until(history, "line 2 3 times", 0) == twos[2]
    assert run_until(history, "demo.py:2 x4", int(twos[0])) == twos[4]
    change = run_until(history, "x[0, 2] changes", int(twos[3]))
    assert change is not None
    assert twos[3] < change < twos[4]
    assert run_until(history, "x.version changes", int(twos[3])) is None
    allocation = run_until(history, "allocation over 1 MB", 0)
    assert allocation is not None
    assert [fact.nbytes for fact in history.storages_at(allocation)][-1] == 1 << 21
    assert run_until(history, "allocation over 3 MB", 0) is None
    for text in (
        "live > 1MB",
        "live over 1,000 kB",
        "live above 0.5 megabytes",
        "live over 1048576",
    ):
        assert run_until(history, text, 0) == allocation, text
    for text, problem in (("live over", "missing"), ("live over 2.5.1 MB", "not '2.5.1 mb'")):
        with pytest.raises(ValueError, match=problem):
            run_until(history, text, 0)
    assert history.event(run_until(history, "error", 0) or 0).kind == "EXCEPTION"
    with pytest.raises(ValueError, match="is not an expression"):
        run_until(history, "x[2", 0)
    with pytest.raises(ValueError, match="no q and no y in this recording"):
        run_until(history, "y > x[0, 2] + q", 0)


def test_a_search_calls_its_check_and_ends_with_it() -> None:
    history = counting()
    calls = []

    def check(done: int, total: int) -> None:
        calls.append((done, total))
        raise finding.Stopped

    with pytest.raises(finding.Stopped):
        history.find("nonexistent is about to run", 0, 1, check) or history.find(
            "line", 0, 1, check
        )
    assert calls[0][0] == 0
    with pytest.raises(finding.Stopped):
        run_until(history, "x[0, 2] > 50", 0, check)


def test_a_miss_says_which_key_searches_the_other_way() -> None:
    nav = Navigator(program().history(), at="end")
    assert (
        nav.search("zeros")
        == f"'zeros' does not occur after event {nav.moment}; N searches before it"
    )
    assert nav.search("", -1) == ""
    assert "zeros" in nav.sentence()


def test_next_and_previous_tensor() -> None:
    nav = Navigator(program().history())
    labels = []
    for _ in range(5):
        nav.next_tensor(1)
        labels.append(nav.history.label(nav.selection.tensor, nav.moment))
    assert labels == ["x", "y", "z", "w", "x"]
    nav.next_tensor(-1)
    assert nav.history.label(nav.selection.tensor, nav.moment) == "w"


def test_notes_are_beside_the_trace_and_survive(tmp_path: Path) -> None:
    path = saved(tmp_path)
    nav = open_navigator(path)
    assert nav.notes.watch("x[0, 0]") == "x[0, 0] is watched"
    assert nav.notes.mark(12, "here it begins") == "bookmark at event 12 set"
    again = open_navigator(path).notes
    assert [(each.moment, each.note) for each in again.bookmarks] == [(12, "here it begins")]
    assert [each.text for each in again.watches] == ["x[0, 0]"]
    assert again.watch("x[0, 0]") == "x[0, 0] is no longer watched"
    assert again.mark(12, "") == "bookmark at event 12 removed"
    assert json.loads(path.with_suffix(".notes.json").read_text()) == {
        "bookmarks": [],
        "watches": [],
    }


def test_broken_notes_are_reported_and_not_overwritten(tmp_path: Path) -> None:
    path = saved(tmp_path)
    file = path.with_suffix(".notes.json")
    file.write_text("{ not json")
    notes = Notes.load(path)
    assert "was not read" in notes.mark(3, "x")
    assert file.read_text() == "{ not json"


async def test_a_long_search_shows_progress_and_esc_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with exploring(saved(tmp_path), (100, 30)) as pilot:
        viewer = pilot.app.screen.query_one(Viewer)
        nav = viewer.nav
        assert nav is not None
        start = nav.moment
        running = []

        def endless(text, m, step=1, check=None):
            while True:
                running.append(check)
                check(len(running), 1_500_000)

        monkeypatch.setattr(finding, "PROGRESS", 0.0)
        monkeypatch.setattr(nav.history, "find", endless)
        await pilot.press("slash", *"gone", "enter")
        await until_shown(pilot, "of 1,500,000; Esc cancels")
        await pilot.press("escape")
        assert "the search was cancelled" in screen_text(pilot.app)
        count = -1

        def stopped() -> bool:
            nonlocal count
            before, count = count, len(running)
            return before == count

        await until(pilot, stopped)
        assert nav.moment == start
        assert type(pilot.app.screen).__name__ == "ExploreScreen"


async def test_bookmarks_are_followed_with_enter_and_by_click(tmp_path: Path) -> None:
    path = saved(tmp_path)
    notes = Notes.load(path)
    notes.mark(7, "first")
    notes.mark(20, "second")
    async with exploring(path, (100, 30)) as pilot:
        nav = pilot.app.screen.query_one(Viewer).nav
        assert nav is not None
        await pilot.press("apostrophe")
        await until_shown(pilot, "event 20 line")
        assert ": second" in screen_text(pilot.app)
        assert " :" not in screen_text(pilot.app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: nav.moment == 20)
        await pilot.press("apostrophe")
        await until_shown(pilot, "event 20 line")
        row = next(y for y, t in enumerate(screen_text(pilot.app).splitlines()) if "event 7" in t)
        column = screen_text(pilot.app).splitlines()[row].index("event 7")
        assert isinstance(pilot.app.screen, TextModal)
        await pilot.click(offset=(column + 2, row))
        await until(pilot, lambda: nav.moment == 7)


async def test_the_same_key_without_a_note_removes_a_bookmark(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (100, 30)) as pilot:
        nav = pilot.app.screen.query_one(Viewer).nav
        assert nav is not None
        await pilot.press("asterisk", *"here", "enter")
        await until_shown(pilot, "bookmark at event")
        await pilot.press("asterisk", *["backspace"] * 4, "enter")
        await until_shown(pilot, "removed")
        assert nav.notes.bookmarks == []
        await pilot.press("apostrophe")
        await until_shown(pilot, "No bookmark yet")


async def test_keys_watch_mark_and_run_until(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (100, 30)) as pilot:
        nav = pilot.app.screen.query_one(Viewer).nav
        assert nav is not None
        await pilot.press("X", *"z[1]", "enter")
        await until_shown(pilot, "z[1] = 7")
        await pilot.press("less_than_sign", "U", *"z[1] == 7", "enter")
        await until_shown(pilot, "z[1] == 7: event")
        assert nav.line().line == 10
        await pilot.press("asterisk", *"filled", "enter")
        await until_shown(pilot, "bookmark at event")
        assert [each.note for each in nav.notes.bookmarks] == ["filled"]


def test_views_are_listed_by_what_they_are() -> None:
    rows = {row.label: row.description for row in key_groups()[0].rows}
    assert "show the autograd view" in rows
    assert "show the JIT view" in rows
    assert rows["show the memory map view"].startswith(
        "Show the memory map view. The way from names"
    )
    assert len(set(rows.values())) == len(rows)


async def test_the_palette_lists_lessons(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path)) as pilot:
        commands = KeyCommands(pilot.app.screen)
        names = [name for name, _, _ in commands._commands()]
        assert any(name.startswith("Lesson 1: ") for name in names)
        assert "Show the autograd view  [0]" in names
