"""Waiting in flows through the application: for what has to come, never for a time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tui.app import Underhood
from tui.screens.viewer import Viewer

PATIENCE = 60.0  # seconds: no machine is so slow


async def until(pilot: Pilot, holds: Callable[[], object]) -> None:
    """Wait until it holds, or fail after a long time, showing the screen."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"waited in vain; the screen shows\n{screen_text(pilot.app)}"
        await pilot.pause(0.02)


async def until_shown(pilot: Pilot, text: str) -> None:
    """Wait until the text is on the screen, be it in a box or broken into lines."""
    await until(pilot, lambda: text in " ".join(screen_text(pilot.app).replace("│", " ").split()))


def screen_text(app: Underhood) -> str:
    """Return the screen as text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def loaded(pilot: Pilot) -> bool:
    """Return True once the viewer has the trace."""
    result = pilot.app.screen.query(Viewer)
    return bool(result) and result.first().nav is not None


@asynccontextmanager
async def exploring(
    path: Path, size: tuple[int, int] = (80, 24), **options: object
) -> AsyncIterator[Pilot]:
    """The explorer with a loaded trace."""
    app = Underhood("explore", trace=path, **options)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: loaded(pilot))
        await pilot.pause()
        yield pilot
