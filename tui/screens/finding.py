"""Finding things from the keyboard: search, run until, watches, bookmarks, the next tensor.

A search of a long recording runs in a thread: the status line shows its progress, keys work, Esc ends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.worker import Worker, get_current_worker

from tui.render import Target
from tui.screens.base import is_open
from tui.widgets.bar import Bar, Word
from tui.widgets.markdown import prose

if TYPE_CHECKING:
    from tui.navigator import Navigator

Check = Callable[[int, int], None]
SHORT = 50_000  # events of a recording that is searched without a thread
AT_ONCE = 0.05  # seconds that a search may take in the screen's thread
PROGRESS = 0.1  # seconds between two reports


class Stopped(Exception):
    """The search was cancelled, or continues in a thread."""


class Finding(Vertical):
    """The keys of a viewer that find a moment."""

    nav: Navigator | None
    _seeking: Worker[None] | None = None

    def show(self, sentence: str = "") -> None:
        """Draw everything; `sentence` is the result of the last key."""
        raise NotImplementedError("Finding is a part of Viewer")

    # Searching

    def action_search(self) -> None:
        """Ask for a text and go to its next match."""
        self._ask_pattern(1, "/", "text in events, names, operators, source lines")

    def action_search_back(self) -> None:
        """Ask for a text and go to its previous match."""
        self._ask_pattern(-1, "\\", "the same, backwards")

    def _ask_pattern(self, direction: int, label: str, hint: str) -> None:
        from tui.screens.prompt import PromptScreen

        def search(text: str | None) -> None:
            if text:
                self.search(text, direction)

        self.app.push_screen(PromptScreen("search", label, hint), search)

    def action_search_next(self, direction: int) -> None:
        """Go to the next or previous match of the last pattern."""
        self.search("", direction)

    def search(self, text: str, direction: int = 1) -> None:
        """Go to the next or previous match."""
        nav = self.nav
        if nav is None:
            return
        sentence = nav.begin_search(text, direction)
        if sentence is not None:
            self.show(sentence)
            return
        start = nav.moment
        self._seek(
            lambda check: nav.history.find(nav.needle, start, direction, check),
            lambda moment: nav.arrive(moment, direction, start),
            f"searching {nav.needle!r}",
        )

    def action_until(self) -> None:
        """Ask for a condition and run until it holds."""
        from tui.screens.prompt import PromptScreen

        hint = "x[2] > 5, y.version changes, line 12 3 times, live over 1 MB, error"
        self.app.push_screen(PromptScreen("until", "run until", hint), self.run_until)

    def run_until(self, text: str | None) -> None:
        """Run until the condition holds."""
        nav = self.nav
        if nav is None or not text:
            return
        from engine.inspect.conditions import run_until

        start = nav.moment
        self._seek(
            lambda check: run_until(nav.history, text, start, check),
            lambda moment: nav.arrive_until(moment, text, start),
            f"running until {text}",
        )

    def _seek(
        self,
        find: Callable[[Check], int | None],
        arrive: Callable[[int | None], str],
        title: str,
    ) -> None:
        """Find a moment, in a thread if that takes longer than a key may."""
        assert self.nav is not None
        self.cancel_search()
        if self.nav.last > SHORT:
            self._seek_in_thread(find, arrive, title)
            return
        end = time.monotonic() + AT_ONCE

        def check(done: int, total: int) -> None:
            if time.monotonic() > end:
                raise Stopped

        try:
            self.show(arrive(find(check)))
        except Stopped:
            self._seek_in_thread(find, arrive, title)
        except ValueError as error:
            self.show(str(error))

    def _seek_in_thread(
        self,
        find: Callable[[Check], int | None],
        arrive: Callable[[int | None], str],
        title: str,
    ) -> None:
        self.show(f"{title} ...; Esc cancels")

        def work() -> None:
            worker, reported = get_current_worker(), time.monotonic()

            def check(done: int, total: int) -> None:
                nonlocal reported
                if worker.is_cancelled:
                    raise Stopped
                if time.monotonic() - reported > PROGRESS:
                    reported = time.monotonic()
                    self.app.call_from_thread(
                        self._report, worker, f"{title}: {done:,} of {total:,}"
                    )

            try:
                moment = find(check)
            except Stopped:
                return
            except ValueError as error:
                problem = str(error)
                self.app.call_from_thread(self._arrived, worker, lambda: problem)
                return
            self.app.call_from_thread(self._arrived, worker, lambda: arrive(moment))

        self._seeking = self.run_worker(work, thread=True, group="seek", exit_on_error=True)

    def _report(self, worker: Worker[None], sentence: str) -> None:
        if self._seeking is worker and is_open(self.screen):
            self.query_one("#status", Bar).say(
                [Word(" "), Word(f"{sentence}; Esc cancels", "title")]
            )

    def _arrived(self, worker: Worker[None], sentence: Callable[[], str]) -> None:
        if self._seeking is worker and is_open(self.screen):
            self._seeking = None
            self.show(sentence())

    def cancel_search(self) -> bool:
        """End a search that is going on. Returns whether there was one."""
        worker, self._seeking = self._seeking, None
        if worker is None:
            return False
        worker.cancel()
        self.show("the search was cancelled")
        return True

    # Watches and bookmarks

    def action_watch(self) -> None:
        """Ask for an expression to watch."""
        from tui.screens.prompt import PromptScreen

        hint = "an expression: x[2], y.version, loss.item(); typing it again removes it"
        self.app.push_screen(PromptScreen("watch", "watch", hint), self.watch_expression)

    def watch_expression(self, text: str | None) -> None:
        """Watch an expression, or no longer."""
        if text and self.nav is not None:
            self.show(self.nav.notes.watch(text))
            self.show_watches()

    def show_watches(self) -> None:
        """Show the values of the watch expressions at this moment, on a separate line if there are any."""
        nav, bar = self.nav, self.query_one("#watch", Bar)
        bar.display = bool(nav is not None and nav.notes.watches)
        if nav is None or not nav.notes.watches:
            return
        content = [Word(" ")]
        for expression in nav.notes.watches:
            value = expression.described(nav.history, nav.moment)
            content += [Word(expression.text, "name"), Word(f" = {value}   ", "number")]
        bar.say(content)

    def action_bookmark(self) -> None:
        """Ask for a note and set a bookmark at this moment."""
        from tui.screens.prompt import PromptScreen

        nav = self.nav
        if nav is None or nav.moment < 0:
            return
        moment = nav.moment

        def mark(note: str | None) -> None:
            if note is not None:
                self.show(nav.notes.mark(moment, note))

        value = nav.notes.note_at(moment)
        self.app.push_screen(PromptScreen("note", "note", "what happens here", value), mark)

    def action_bookmarks(self) -> None:
        """List the bookmarks, to go to one."""
        from tui.screens.text_modal import TextModal

        nav = self.nav
        if nav is None:
            return
        lines = [
            f"- [event {each.moment:,}](event:{each.moment}){_line_of(nav, each.moment)}: {each.note}"
            for each in nav.notes.bookmarks
        ]
        text = "\n".join(lines) or "No bookmark yet: `*` sets one at this moment."
        self.app.push_screen(
            TextModal("Bookmarks", lambda width: prose(text, width), self.follow_link)
        )

    def follow_link(self, target: Target) -> None:
        """Go where a link of a page leads."""
        if self.nav is not None:
            self.show(self.nav.follow(target))

    def action_next_tensor(self, direction: int) -> None:
        """Select the next or previous living tensor."""
        if self.nav is not None:
            self.show(self.nav.next_tensor(direction))


def _line_of(nav: Navigator, moment: int) -> str:
    """Return ` line 12` of the moment; "" before the first line and after the last."""
    line = nav.history.line_at(moment) if moment < nav.history.end else None
    return f" line {line.line}" if line else ""
