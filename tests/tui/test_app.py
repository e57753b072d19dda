"""Flows through the real application, without a terminal (each key press costs 65 ms: few of them)."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.program import program, saved
from tests.tui.waiting import exploring, loaded, screen_text, until, until_shown
from tui import keys
from tui.app import Underhood
from tui.screens.explore import ExploreScreen
from tui.screens.playground import PlaygroundScreen
from tui.screens.viewer import Viewer
from tui.widgets.canvas import Canvas

pytestmark = pytest.mark.usefixtures("home")


def viewer(pilot: Pilot) -> Viewer:
    screen = pilot.app.screen
    assert isinstance(screen, ExploreScreen)
    return screen.viewer


async def test_home_shows_what_there_is_and_opens_the_lessons(home: Path) -> None:
    folder = home / "data" / "traces"
    folder.mkdir(parents=True)
    saved(folder)
    app = Underhood("home")
    async with app.run_test(size=(80, 24)) as pilot:
        for text in ("Learn", "Continue", "Playground", "demo"):
            await until_shown(pilot, text)
        await pilot.press("1")
        await until_shown(pilot, "1 What a tensor is")
        await pilot.press("escape")
        await until_shown(pilot, "Playground")


async def test_a_step_back_and_a_selection_light_up_everywhere(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (120, 40), view="memory") as pilot:
        assert "line 11 demo.py" in screen_text(pilot.app)
        start = viewer(pilot).nav.moment
        await pilot.press("[", "j")
        assert viewer(pilot).nav.moment < start
        nav = viewer(pilot).nav
        assert nav.selection.tensor
        label = nav.history.label(nav.selection.tensor, nav.moment)
        assert f"on {label}" in screen_text(pilot.app).splitlines()[0]
        source = pilot.app.screen.query_one("#side", Canvas)
        assert any(
            "highlighted" in span.style
            for y in range(source.picture.height)
            for span in source.picture.line(y)
        )


async def test_every_view_by_its_digit_at_80x24(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path)) as pilot:
        from tui.views import views

        for view in views().values():
            await pilot.press(view.key)
            assert viewer(pilot).nav.view == view.name
            canvas = viewer(pilot).main
            drawn = screen_text(pilot.app)
            output = next(
                line
                for y in range(canvas.picture.height)
                if (line := "".join(s.text for s in canvas.picture.line(y)).strip())
            )
            assert output[:40].strip() in drawn


async def test_who_wrote_and_back(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), view="storage") as pilot:
        nav = viewer(pilot).nav
        nav.select_text("storage=1,byte=0")
        start = nav.moment
        await pilot.press("w")
        assert nav.line().line == 10
        assert "written by operator fill_ on line 10" in screen_text(pilot.app)
        await pilot.press("backspace")
        assert nav.moment == start


async def test_go_to_search_and_command_ask_at_the_bottom(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path)) as pilot:
        nav = viewer(pilot).nav
        await pilot.press("g", *"line:9", "enter")
        assert nav.line().line == 9
        await pilot.press("slash", *"fill", "enter")
        assert "fill_" in nav.sentence()
        await pilot.press("colon", *"strides", "enter")
        assert nav.view == "strides"
        await pilot.press("colon", *"nonsense", "enter")
        assert "unknown view 'nonsense'" in screen_text(pilot.app)
        await pilot.press("g", "9", "escape")
        assert "fill_" in nav.sentence()


async def test_help_explains_the_view_and_the_keys(tmp_path: Path) -> None:
    from tui.views import view

    async with exploring(saved(tmp_path), (100, 40), view="values") as pilot:
        await pilot.press("question_mark")
        await until_shown(pilot, view("values").title + ":")
        sheet = pilot.app.screen.query_one(Canvas).picture.text()
        for sentence in view("values").help.values():
            assert sentence.split()[0] in sheet
        assert "who wrote" not in sheet
        assert "last wrote the selected cell" in sheet.replace("\n", " ")
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, ExploreScreen)
        await pilot.press("e")
        await until(
            pilot,
            lambda: "The event's own fields" in pilot.app.screen.query_one(Canvas).picture.text(),
        )


async def test_a_small_terminal_says_so_and_recovers(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (50, 24)) as pilot:
        assert "needs 60 columns" in screen_text(pilot.app)
        await pilot.resize_terminal(80, 24)
        await until_shown(pilot, "Memory map")
        await until(pilot, lambda: "needs 60 columns" not in screen_text(pilot.app))
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: viewer(pilot).has_class("two"))


async def test_ascii_draws_ascii_only(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), view="memory", ascii=True) as pilot:
        text = screen_text(pilot.app)
        assert [line for line in text.splitlines() if not line.isascii()] == []


async def test_without_colour_what_is_meant_is_still_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui.widgets.rich_styles import ink_of, style

    monkeypatch.setenv("NO_COLOR", "1")
    async with exploring(saved(tmp_path), view="memory") as pilot:
        assert ink_of(pilot.app) == "mono"
        for name in ("highlighted", "current", "cursor", "warn", "error"):
            look = style(name, "mono")
            assert look.color is None
            assert look.bold or look.reverse or look.underline


async def test_clicks_select_and_the_strip_goes_there(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), view="memory") as pilot:
        nav = viewer(pilot).nav
        canvas = viewer(pilot).main
        row = next(y for y in range(canvas.picture.height) if canvas.picture.targets(y))
        left, _, target = canvas.picture.targets(row)[0]
        await pilot.click("#main", offset=(left, row))
        assert nav.selection.tensor == target.item.tensor
        await pilot.click("#strip", offset=(0, 0))
        assert nav.moment == 0
        await pilot.click("#keys", offset=(9, 0))  # ? help  ] step
        assert nav.line().line == 1
        await pilot.click("#tabs", offset=(2, 0))
        assert nav.view == "source"


async def test_a_growing_trace_is_followed(tmp_path: Path) -> None:
    builder = program()
    full = len(builder.records)
    records, builder.records = builder.records, builder.records[:40]
    path = builder.save(tmp_path / "live.uht", closed=False)
    async with exploring(path) as pilot:
        nav = viewer(pilot).nav
        assert nav.last == 39
        import sqlite3

        from tests.inspect.trace_builder import add_segment

        builder.records = records
        database = sqlite3.connect(path)
        add_segment(database, builder.array()[40:], bytes(builder.blobs))
        database.close()
        await until(pilot, lambda: nav.last > 39)
        assert nav.last == full - 1 == nav.moment
        assert "not closed" in screen_text(pilot.app)


async def test_a_foreign_file_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "foreign.uht"
    path.write_bytes(b"not this")
    app = Underhood("explore", trace=path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "is not a trace")
        assert "give a *.uht file" in " ".join(screen_text(app).split())
        await pilot.press("]", "w", "3", "e")  # nothing to act on: nothing happens


async def test_every_action_of_the_key_table_exists(tmp_path: Path) -> None:
    from tui.screens.home import HomeScreen
    from tui.screens.lesson import LessonScreen
    from tui.screens.lessons import LessonsScreen
    from tui.screens.playground import PlaygroundScreen
    from tui.views import key_groups

    owners = {
        keys.ANYWHERE: Underhood,
        keys.EXPLORE: Viewer,
        keys.SCREEN: ExploreScreen,
        keys.CURSOR: Canvas,
        keys.HOME: HomeScreen,
        keys.LESSONS: LessonsScreen,
        keys.LESSON: LessonScreen,
        keys.PLAYGROUND: PlaygroundScreen,
        **dict.fromkeys(key_groups(), Viewer),
    }
    for group, usual in owners.items():
        for key in group.rows:
            location, _, action = key.action.partition("(")[0].rpartition(".")
            owner = {"app": Underhood, "screen": ExploreScreen}.get(location, usual)
            assert hasattr(owner, f"action_{action}"), f"{group.title}: {key.action}"
            assert key.description.endswith("."), f"{group.title}: {key.action} has no sentence"


async def test_the_palette_offers_every_key_that_works_here(tmp_path: Path) -> None:
    from tui.keys import EXPLORE
    from tui.screens.base import reachable

    async with exploring(saved(tmp_path)) as pilot:
        assert {key for _, key in reachable(pilot.app.screen)} >= set(EXPLORE.rows)
        await pilot.press("ctrl+p", *"coarser", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExploreScreen))


async def test_keys_can_be_remapped(tmp_path: Path) -> None:
    from tui.settings import Settings

    async with exploring(saved(tmp_path), settings=Settings(keys={"grain": "x"})) as pilot:
        nav = viewer(pilot).nav
        before = nav.grain
        await pilot.press("x")
        assert nav.grain != before


async def test_an_example_is_recorded_and_opened(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of the current folder is run for it."""
    from tui.paths import gallery_scripts

    for name in ("tui", "engine", "lessons", "sqlite3"):
        (tmp_path / f"{name}.py").write_text("open('was_run', 'w').close()\nraise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    script = next(path for path in gallery_scripts() if path.stem == "free_expand")
    app = Underhood("explore", script=script)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: loaded(pilot))
        nav = app.screen.query_one(Viewer).nav
        assert nav is not None
        assert any(name.tensor for name in nav.history.names_at(nav.moment))
    assert not (tmp_path / "was_run").exists()


async def test_a_script_that_fails_opens_where_it_failed(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("import engine\nx = engine.ones(2)\nraise ValueError('on purpose')\n")
    app = Underhood("explore", script=script)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: loaded(pilot))
        output = "broken.py ended with exit code 1: ValueError: on purpose"
        await until(pilot, lambda: [n.message for n in app._notifications] == [output])
        await until_shown(pilot, "line 3 broken.py")


async def test_escape_from_the_first_screen_leads_home(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path)) as pilot:
        await pilot.press("escape", "escape")
        await until_shown(pilot, "Playground")
        await pilot.press("escape")
        assert pilot.app.is_running
        await pilot.press("escape")
        assert not pilot.app.is_running or pilot.app.return_code == 0


async def test_a_line_that_records_too_much_is_paused_and_goes_on_when_told_to(home: Path) -> None:
    app = Underhood("playground")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, PlaygroundScreen)
        await until(pilot, lambda: screen.session is not None and not screen.session.busy)
        screen.session.line_events = 300
        await until(pilot, lambda: screen.query_one(Viewer).nav is not None)
        screen.session.send("while True: t = torch.ones(1)\n")
        await until_shown(pilot, "paused at")
        await until_shown(pilot, "ctrl+n resumes it, up to 600; ctrl+c ends it")
        await until_shown(pilot, "of 300 events")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: screen.session.line_events == 600)
        await until_shown(pilot, "of 600 events")
        await pilot.press("ctrl+c")
        await until_shown(pilot, "KeyboardInterrupt")
        assert not screen.session.paused
        await pilot.press("ctrl+n")
        await until_shown(pilot, "no line is paused")
