"""The command palette: every action of the current screen by name, and the lessons."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tui.keys import key_label
from tui.screens.base import reachable


class KeyCommands(Provider):
    """Actions of the screen below the palette."""

    def _commands(self) -> Iterator[tuple[str, str, partial]]:
        ascii = getattr(self.app, "ascii", False)
        for node, key in reachable(self.screen):
            keys = f"  [{key_label(key.keys, ascii)}]" if key.keys else ""
            run = partial(self.app.run_action, key.action, node)
            yield key.label[:1].upper() + key.label[1:] + keys, key.description, run

        if not self.screen.is_modal:
            yield from self._lessons()

    def _lessons(self) -> Iterator[tuple[str, str, partial]]:
        from tui.screens.lessons import read_lessons

        for lesson in read_lessons()[0]:
            name = f"Lesson {lesson.number}: {lesson.title}"
            go = self.app.go  # type: ignore[attr-defined]
            yield name, "Open this lesson.", partial(go, "lesson", lesson=lesson.name)

    async def discover(self) -> Hits:
        for name, description, run in self._commands():
            yield DiscoveryHit(Content(name), run, text=name, help=description)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, description, run in self._commands():
            score = max(matcher.match(name), 0.8 * matcher.match(description))
            if score > 0:
                yield Hit(score, matcher.highlight(name), run, help=description)
