"""The dispatch and microscope views in the application: a few keys each, at both sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.inspect.selection import CallSelection
from tests.inspect.models.calls import added, multiplied
from tests.tui.test_app import viewer
from tests.tui.waiting import exploring, screen_text, until_shown
from tui.render import Target

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_call_is_dispatched_on_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    path = added()[0].save(tmp_path / "add.uht")
    async with exploring(path, size) as pilot:
        await pilot.press("8")
        text = screen_text(pilot.app)
        assert "8 Dispatch" in text
        assert "falls through" in text
        assert "add_pointwise" in text
        assert "contiguous loop" in text


async def test_a_hop_is_followed_to_its_moment(tmp_path: Path) -> None:
    b, at = added()
    async with exploring(b.save(tmp_path / "add.uht"), (120, 40), view="dispatch") as pilot:
        await pilot.press("down", "down", "down", "enter")  # self, other, the first hop
        assert viewer(pilot).nav.moment == at["first hop"]
        assert "still running" in screen_text(pilot.app)
        await pilot.press("backspace")
        assert "still running" not in screen_text(pilot.app)


async def test_a_cell_of_the_microscope_is_that_cell_in_every_view(tmp_path: Path) -> None:
    b, at = multiplied()
    async with exploring(b.save(tmp_path / "mm.uht"), (120, 40), view="microscope") as pilot:
        nav = viewer(pilot).nav
        assert "y[0,0] = x[0,0] * w[0,0]" in screen_text(pilot.app)
        await pilot.press("down", "down", "down", "down", "right")
        assert (nav.selection.tensor, nav.selection.cell.index) == (at["y"], (1, 1))
        assert "y[1,1] = x[1,0] * w[0,1]" in screen_text(pilot.app)
        await pilot.press("5")
        assert nav.model("strides").formula.index == (1, 1)
        assert "[  50.]" in screen_text(pilot.app)


async def test_stepping_on_lets_a_selected_call_go(tmp_path: Path) -> None:
    b, _ = multiplied()
    async with exploring(b.save(tmp_path / "mm.uht"), view="dispatch") as pilot:
        nav = viewer(pilot).nav
        nav.select(Target(CallSelection(1)))
        await pilot.press("[")
        assert nav.selection.call is None


async def test_help_explains_the_signs_of_both(tmp_path: Path) -> None:
    path = added()[0].save(tmp_path / "add.uht")
    async with exploring(path, (100, 60), view="microscope") as pilot:
        await pilot.press("question_mark")
        await until_shown(pilot, "feeds")
