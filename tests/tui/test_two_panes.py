"""Two views side by side, and the splitter between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.program import saved
from tests.tui.waiting import exploring, until
from tui.screens.viewer import Viewer

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("size", "two"), [((120, 30), False), ((160, 40), True), ((200, 60), True)]
)
async def test_the_source_has_a_second_view_where_there_is_room(
    tmp_path: Path, size: tuple[int, int], two: bool
) -> None:
    async with exploring(saved(tmp_path), size, view="source") as pilot:
        viewer = pilot.app.screen.query_one(Viewer)
        await until(pilot, lambda: viewer.has_class("two") == two)
        side = viewer.query_one("#side")
        assert side.display == two
        if two:
            assert "Memory map" in str(side.border_title)
            assert "Source" in str(viewer.main.border_title)
            await pilot.press("7")
            assert "Source" in str(side.border_title)


async def test_the_splitter_moves_by_keys_and_mouse(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (160, 40), view="memory") as pilot:
        viewer = pilot.app.screen.query_one(Viewer)
        side = viewer.query_one("#side")
        before = side.outer_size.width
        await pilot.press("ctrl+right")
        await until(pilot, lambda: side.outer_size.width == before + 4)
        await pilot.press("ctrl+left", "ctrl+left")
        await until(pilot, lambda: side.outer_size.width == before - 4)
        right = side.region.right
        await pilot.mouse_down(side, offset=(right - 1, 5))
        assert viewer._dragging
        await pilot.hover(viewer, offset=(right + 10, 5))
        await until(pilot, lambda: side.outer_size.width > before)
        await pilot.mouse_up(viewer)
        assert not viewer._dragging
        assert viewer.main.region.right == 160
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: viewer.main.region.right == 120)
        assert viewer.main.region.width >= 27
