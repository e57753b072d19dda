"""A recording that grows while it is looked at: read and folded in a thread, so that keys never wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.worker import Worker, get_current_worker

if TYPE_CHECKING:
    from engine.inspect.history import History
    from tui.navigator import Navigator

SHARE = 10  # at most one part in so many of the time goes into looking


def follow(
    screen: Screen,
    nav: Callable[[], Navigator | None],
    take: Callable[[Navigator, History], None],
    seconds: float,
    still: Callable[[], bool] = lambda: False,
) -> None:
    """Start looking for what was recorded since, every so many seconds while the screen lives. What
    came is handed to `take` in the screen's thread. `still`: whether the program does nothing now; what
    it did is looked at without delay then."""

    def look() -> None:
        worker = get_current_worker()
        try:
            go_on(worker)
        except Exception as error:
            if not worker.is_cancelled:
                why = f"Stopped following the recording: {type(error).__name__}: {error}"
                screen.app.call_from_thread(screen.app.notify, why, severity="error", timeout=20)

    def go_on(worker: Worker[None]) -> None:
        due = 0.0
        while not worker.is_cancelled:
            time.sleep(seconds)
            seen, begun = nav(), time.monotonic()
            if seen is None or (begun < due and not still()) or not screen.is_attached:
                continue
            fresh = seen.history.grown()
            if fresh is not None:
                _fold(seen, fresh)
            due = begun + SHARE * (time.monotonic() - begun)
            if fresh is not None and not worker.is_cancelled:
                screen.app.call_from_thread(hand_over, seen, fresh)

    def hand_over(seen: Navigator, fresh: History) -> None:
        if screen.is_attached and nav() is seen:  # else it was for a screen or a navigator now gone
            take(seen, fresh)

    screen.run_worker(look, thread=True, group="growing", exit_on_error=False)


def _fold(nav: Navigator, fresh: History) -> None:
    """Have the tables made here that the next picture needs: the screen's thread then only cuts."""
    from engine.inspect.models import project

    moment = fresh.end - 1 if nav.moment >= nav.last else nav.moment
    project(nav.view, fresh, moment, nav.selection)
