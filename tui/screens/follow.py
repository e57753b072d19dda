"""A recording that grows while it is open: read and folded in a thread, so that keys never wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.worker import Worker, get_current_worker

from tui.screens.base import is_open

if TYPE_CHECKING:
    from engine.inspect.history import History
    from tui.navigator import Navigator

SHARE = 10  # reading takes at most one part in this many of the time


def follow(
    screen: Screen,
    nav: Callable[[], Navigator | None],
    take: Callable[[Navigator, History], None],
    seconds: float,
    is_idle: Callable[[], bool] = lambda: False,
) -> None:
    """Read new events every `seconds` seconds while the screen is open, and pass the new history to `take`
    in the screen's thread. `is_idle`: whether the program is idle; its last events are then read
    without delay."""

    def poll() -> None:
        worker = get_current_worker()
        try:
            read_on(worker)
        except Exception as error:
            if not worker.is_cancelled:
                why = f"Stopped following the recording: {type(error).__name__}: {error}"
                screen.app.call_from_thread(screen.app.notify, why, severity="error", timeout=20)

    def read_on(worker: Worker[None]) -> None:
        due = 0.0
        while not worker.is_cancelled:
            time.sleep(seconds)
            seen, start = nav(), time.monotonic()
            if seen is None or (start < due and not is_idle()) or not screen.is_attached:
                continue
            fresh = seen.history.grown()
            if fresh is not None:
                _fold(seen, fresh)
            due = start + SHARE * (time.monotonic() - start)
            if fresh is not None and not worker.is_cancelled:
                screen.app.call_from_thread(hand_over, seen, fresh)

    def hand_over(seen: Navigator, fresh: History) -> None:
        if is_open(screen) and nav() is seen:  # else it was for a screen or a navigator now gone
            take(seen, fresh)

    screen.run_worker(poll, thread=True, group="growing", exit_on_error=False)


def _fold(nav: Navigator, fresh: History) -> None:
    """Compute here, in the worker, the tables that the next picture needs; the screen's thread reads them."""
    from engine.inspect.models import project

    moment = fresh.end - 1 if nav.moment >= nav.last else nav.moment
    project(nav.view, fresh, moment, nav.selection)
