"""The tour of six keys: once, on the user's own script, left with Esc."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.program import saved
from tests.tui.waiting import exploring, screen_text, until_shown
from tui.tour import STOPS, Tour

pytestmark = pytest.mark.usefixtures("home")


def test_it_waits_for_its_own_action() -> None:
    tour = Tour()
    assert not tour.acted("step(-1)")
    assert [tour.acted(stop.action) for stop in STOPS] == [True] * 6
    assert tour.over


async def test_every_step_fits_80_columns(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (80, 24), tour=True) as pilot:
        for number, key in enumerate(("]", "[", "a", "w", "2"), 2):
            assert "Esc ends it" in screen_text(pilot.app).splitlines()[1]
            names = {"]": "right_square_bracket", "[": "left_square_bracket"}
            await pilot.press("less_than_sign", names.get(key, key))
            await until_shown(pilot, f"tour {number}/6")
        assert "Esc ends it" in screen_text(pilot.app).splitlines()[1]


async def test_six_keys_complete_it_once(tmp_path: Path) -> None:
    path = saved(tmp_path)
    async with exploring(path, (100, 30), tour=True) as pilot:
        keys = ("<", "]", "[", "a", "w", "2", "?")
        await until_shown(pilot, "tour 1/6")
        for number, key in enumerate(keys[1:], 1):
            if number == 1:
                await pilot.press("less_than_sign")
            name = {"]": "right_square_bracket", "[": "left_square_bracket", "?": "question_mark"}
            await pilot.press(name.get(key, key))
            if number < 6:
                await until_shown(pilot, f"tour {number + 1}/6")
        await pilot.press("escape")
        assert "tour" not in screen_text(pilot.app).splitlines()[1]
    async with exploring(path, (100, 30), tour=True) as pilot:
        assert "tour" not in screen_text(pilot.app).splitlines()[1]


async def test_escape_ends_it_for_good(tmp_path: Path) -> None:
    path = saved(tmp_path)
    async with exploring(path, (100, 30), tour=True) as pilot:
        await until_shown(pilot, "tour 1/6")
        await pilot.press("escape")
        assert "tour" not in screen_text(pilot.app).splitlines()[1]
        assert type(pilot.app.screen).__name__ == "ExploreScreen"
    async with exploring(path, (100, 30), tour=True) as pilot:
        assert "tour" not in screen_text(pilot.app).splitlines()[1]
    async with exploring(path, (100, 30)) as pilot:
        assert "tour" not in screen_text(pilot.app).splitlines()[1]
