"""Explore one recording: opened from a file, or recorded now from a script of the gallery."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.worker import get_current_worker

from tui import paths
from tui.keys import SCREEN, bindings
from tui.render import cells, cut_middle
from tui.screens.base import BaseScreen, is_open
from tui.screens.follow import follow
from tui.screens.viewer import Viewer, viewer_bar
from tui.tour import FACT, Tour
from tui.widgets.bar import Bar, Word

if TYPE_CHECKING:
    from engine.inspect.history import History
    from tui.navigator import Navigator

LIVE_SECONDS = 0.25
WARM_AFTER = 0.15
RECORD_SECONDS = 60.0  # a gallery script that takes longer is stopped


class ExploreScreen(BaseScreen):
    """Title, viewer, key bar. The trace is read in a thread, after the first frame."""

    KEYS = (SCREEN,)
    BINDINGS = bindings(SCREEN)

    def __init__(
        self,
        trace: Path | None = None,
        at: str = "",
        view: str = "",
        script: Path | None = None,
        tour: bool = False,
    ):
        """`tour`: it is the user's own script, and the tour of six keys is offered if it was not taken yet."""
        super().__init__()
        self._tour = Tour() if tour else None
        self.trace, self.at, self.first_view, self.script = trace, at, view, script
        self._nav: Navigator | None = None
        self._restored = False  # whether the recording is shown where it was left

    def body(self) -> ComposeResult:
        yield Bar(id="title")
        yield Bar(id="tour")
        yield Viewer(self._show_title)
        yield Bar(viewer_bar(getattr(self.app, "ascii", False)), id="keys")

    @property
    def viewer(self) -> Viewer:
        return self.query_one(Viewer)

    def on_mount(self) -> None:
        if self._tour is not None and self.app.memory.get(FACT, False):  # type: ignore[attr-defined]
            self._tour = None
        self.viewer.acting = self._acted
        self._show_tour()
        self.viewer.main.focus()
        self._show_title()
        self.viewer.waiting(
            f"recording {self.script.name} ..." if self.script else "reading the recording ..."
        )
        self.app.key_queue.hold(self)  # type: ignore[attr-defined]
        self.call_after_refresh(self.run_worker, self._load, thread=True, exclusive=True)

    def on_unmount(self) -> None:
        self.app.key_queue.release(self)  # type: ignore[attr-defined]
        if self._nav is not None and self.trace is not None:
            from tui.places import save_place

            save_place(self.app.memory, self.trace, self._nav)  # type: ignore[attr-defined]

    def action_leave(self) -> None:
        """Go back one thing at a time; only a second Esc leaves the recording."""
        if self.viewer.close_one() or self.end_tour():
            return
        if self.viewer.nav is None or self.confirmed("Esc again leaves; your place is remembered"):
            super().action_leave()

    def show_question(self, question: str) -> None:
        self.viewer.show(question)

    # The tour

    def _acted(self, action: str) -> None:
        """Let the tour continue: the viewer does an action."""
        if self._tour is not None and self._tour.acted(action):
            self._show_tour()

    def help_opened(self) -> None:
        """Let the tour continue: the application opened the help."""
        self._acted("help()")

    def end_tour(self) -> bool:
        """End the tour for good. Returns whether there was one."""
        if self._tour is None:
            return False
        self._tour = None
        self.app.memory.put(FACT, True)  # type: ignore[attr-defined]
        self._show_tour()
        return True

    def _show_tour(self) -> None:
        bar = self.query_one("#tour", Bar)
        if self._tour is not None and self._tour.over:
            self._tour = None
            self.notify("That was the tour. `underhood learn` has the lessons.", markup=False)
            self.app.memory.put(FACT, True)  # type: ignore[attr-defined]
        bar.display = self._tour is not None
        if self._tour is None:
            return
        position, key, sentence = self._tour.parts()
        start = [Word(f" {position} ", "current"), Word(" press "), Word(key, "name")]
        bar.say([*start, Word(f": {sentence}"), Word("  Esc ends it", "dim")])

    # Reading

    def _load(self) -> None:
        """Record if need be, read, and hand the navigator over (runs in a thread)."""
        problem, nav = "", None
        try:
            problem = self._record() if self.script is not None else ""
        except OSError as error:  # no room for a trace, or no right to make one
            problem = f"it cannot be recorded: {error}"
        if self.trace is not None and self.trace.is_file():
            try:
                nav = self._opened(self.trace)
            except Exception as error:  # whatever a file or a broken build does, the explorer stays
                problem = problem or str(error) or type(error).__name__
        if get_current_worker().is_cancelled:
            return
        self.app.call_from_thread(self._loaded, nav, problem)
        if nav is not None:
            time.sleep(WARM_AFTER)  # the first picture is painted now: do not compete with it
            warm(nav)

    def _opened(self, trace: Path) -> Navigator:
        """Open the trace and draw the first views once, so that the screen's thread need not."""
        from tui.navigator import open_navigator
        from tui.places import restore_place
        from tui.views import view_with_role

        nav = open_navigator(trace, self.at, self.first_view)
        if not self.at and not self.first_view:
            self._restored = restore_place(self.app.memory, trace, nav)  # type: ignore[attr-defined]
        warm(nav, (nav.view, view_with_role("side").name))
        return nav

    def _record(self) -> str:
        """Run the script in a separate process; what went wrong, if anything."""
        assert self.script is not None
        folder = paths.make_private(paths.trace_folder())
        self.trace = folder / f"example-{self.script.stem}.uht"
        self.trace.unlink(missing_ok=True)
        # -P: `-m` alone would run a tui.py of the current folder.
        command = [sys.executable, "-P", "-m", "tui", "record", "-o", str(self.trace)]
        command.append(str(self.script))
        worker, end = get_current_worker(), time.monotonic() + RECORD_SECONDS
        with tempfile.TemporaryFile("w+") as output:
            program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            while program.poll() is None:
                if worker.is_cancelled or time.monotonic() > end:  # Esc, or it never ends
                    program.terminate()
                    program.wait()
                    return f"{self.script.name} was stopped after {RECORD_SECONDS:.0f} s"
                time.sleep(0.02)
            output.seek(0)
            lines = [line for line in output.read().splitlines() if "underhood" not in line]
        if program.returncode == 0:
            return ""
        last = lines[-1] if lines else "no output"
        return f"{self.script.name} ended with exit code {program.returncode}: {last}"

    def _loaded(self, nav: Navigator | None, problem: str) -> None:
        from engine.inspect.history.failure import fatal_failure

        if not is_open(self):
            return
        self._nav = nav
        self.app.key_queue.release(self)  # type: ignore[attr-defined]
        if nav is None:
            self.viewer.waiting(problem or "no recording was made")
            self.notify(problem or "no recording was made", severity="error", markup=False)
            return
        if problem:
            self.notify(problem, severity="warning", markup=False)
        warning = nav.history.trace.warning
        if warning:
            self.notify(warning, title="Damaged", severity="warning", markup=False)
        if self.trace is not None:
            self.app.memory.remember_trace(self.trace)  # type: ignore[attr-defined]
        self.viewer.set_navigator(nav)
        failure = fatal_failure(nav.history)
        if self._restored:
            self.viewer.show("where you left it; > goes to the end, g start to the beginning")
        elif failure is not None and nav.moment == failure.moment:
            self.viewer.show(f"it ended with {failure.type} on line {failure.line}; W explains it")
        if not nav.history.trace.finished:
            follow(self, lambda: self.viewer.nav, self._grow, LIVE_SECONDS)

    def _grow(self, nav: Navigator, history: History) -> None:
        """Show a history that grew while the program continued."""
        nav.take(history)
        self.viewer.show()

    # Saying where we are

    def _show_title(self) -> None:
        nav = self.viewer.nav
        name = self.script or self.trace
        title, width = title_words(nav, name.stem if name else ""), self.size.width
        if (excess := sum(cells(word.text) for word in title) - width) > 0:  # the name can be cut
            title[1] = Word(
                cut_middle(title[1].text, max(8, cells(title[1].text) - excess)), "title"
            )
        self.query_one("#title", Bar).say(title)


def warm(nav: Navigator, names: Iterable[str] = ()) -> None:
    """Draw views (all, if none is named) into nothing, so that no first key waits for a fold."""
    from tui.render import UNICODE
    from tui.views import views

    for name in names or views():
        with suppress(Exception):  # the error is shown when the user opens that view
            nav.picture(name, 80, 24, UNICODE)


def title_words(nav: Navigator | None, name: str, growing: str = "not closed") -> list[Word]:
    """Return the status line: name, event, line, grain and selection. `growing`: the word for a recording
    without an end, which continues or whose program was killed."""
    content = [Word(" underhood ", "current"), Word(f" {name}", "title")]
    if nav is None or nav.moment < 0:
        return content
    line = nav.line()
    content += [
        Word("  event ", "dim"),
        Word(f"{nav.moment:,}", "number"),
        Word(f" of {nav.last:,}", "dim"),
    ]
    if line is not None:
        content += [
            Word("  line ", "dim"),
            Word(f"{line.line}", "number"),
            Word(f" {Path(line.path).name}", "dim"),
        ]
    content += [Word("  step ", "dim"), Word(nav.grain, "name")]
    selection = nav.selection
    if selection.tensor:
        content += [
            Word("  on ", "dim"),
            Word(nav.history.label(selection.tensor, nav.moment), "highlighted"),
        ]
    elif selection.storage:
        content += [Word("  on ", "dim"), Word(f"storage {selection.storage}", "highlighted")]
    if not nav.history.trace.finished:
        content += [Word("  "), Word(growing, "warn")]
    return content
