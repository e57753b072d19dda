"""The autograd view in the real application: keys and clicks, without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.inspect.selection import NodeSelection
from tests.inspect.models.test_autograd import diamond, moment_of
from tests.inspect.trace_builder import TraceBuilder
from tests.tui.test_app import viewer
from tests.tui.waiting import exploring, screen_text
from tui.screens.text_modal import TextModal

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def recording(tmp_path: Path) -> tuple[Path, dict[str, int]]:
    b, named = diamond()
    named["enter b"] = moment_of(b.history(), "NODE_ENTER", named["n_b"])
    return TraceBuilder.save(b, tmp_path / "diamond.uht"), named


async def test_the_cursor_goes_through_the_graph_and_into_the_pane(recording) -> None:
    path, n = recording
    async with exploring(path, (120, 40), view="autograd", at=str(n["built"])) as pilot:
        nav = viewer(pilot).nav
        assert nav is not None
        await pilot.press("j")
        assert nav.selection.node == NodeSelection(n["n_a"]), (
            "down from the root: the branch on the left"
        )
        await pilot.press("l")
        assert nav.selection.node == NodeSelection(n["n_b"]), "and its neighbour"
        await pilot.press("end")
        assert nav.selection.node == NodeSelection(n["leaf"])
        assert viewer(pilot).main.cursor.target.item.node == n["leaf"], "the cursor is on it"
        await pilot.press("home", "l")
        assert viewer(pilot).main.cursor.left > 50, "right of the last node is the pane"
        assert nav.selection.node == NodeSelection(n["n_y"]), "which still shows the same node"
        await pilot.press("h")
        assert viewer(pilot).main.cursor.target.item.node == n["n_y"]


async def test_enter_follows_and_backspace_returns(recording) -> None:
    path, n = recording
    async with exploring(path, (120, 40), view="autograd", at=str(n["built"])) as pilot:
        nav = viewer(pilot).nav
        await pilot.press("home", "enter")
        assert nav.selection.node == NodeSelection(n["n_a"])
        assert viewer(pilot).main.cursor.target.item.node == n["n_a"], "the cursor went along"
        await pilot.press("enter")
        assert nav.selection.node == NodeSelection(n["leaf"])
        await pilot.press("backspace", "backspace")
        assert nav.selection.node != NodeSelection(n["leaf"])


async def test_steps_move_the_cursor_to_the_node_that_runs(recording) -> None:
    path, n = recording
    async with exploring(path, (80, 24), view="autograd", at=str(n["built"])) as pilot:
        nav = viewer(pilot).nav
        nav.set_grain("node")
        await pilot.press("right_square_bracket")
        await pilot.press("right_square_bracket")
        assert nav.moment == n["enter b"]
        assert viewer(pilot).main.cursor.target.item.node == n["n_b"]
        assert "▶2" in screen_text(pilot.app)
        await pilot.press("left_square_bracket")
        assert viewer(pilot).main.cursor.target.item.node == n["n_y"]


async def test_forms_foldings_and_details_have_keys(recording) -> None:
    path, n = recording
    async with exploring(path, (80, 24), view="autograd", at=str(n["built"])) as pilot:
        nav = viewer(pilot).nav
        seen = set()
        for _ in range(4):
            await pilot.press("t")
            seen.add(nav.options_of("autograd").form)
        assert seen == {"", "boxes", "rows", "list"}
        await pilot.press("f")
        assert nav.options_of("autograd").fold == "none"
        await pilot.press("d")
        await pilot.pause()
        assert isinstance(pilot.app.screen, TextModal)
        assert "gradient out" in screen_text(pilot.app)


async def test_zero_opens_the_view(recording) -> None:
    path, _ = recording
    async with exploring(path, (80, 24)) as pilot:
        await pilot.press("0")
        assert viewer(pilot).nav.view == "autograd"
