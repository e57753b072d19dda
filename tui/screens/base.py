"""The base of all full screens: a body, and a notice in its place when the terminal is too small."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import Screen

from tui.keys import ANYWHERE, KeyGroup, key_label
from tui.widgets.bar import Bar, Word


def is_open(screen: Screen[Any]) -> bool:
    """Return True until the screen is left or the application ends. A thread's result may come later:
    the screen is still attached then, but its widgets go one by one."""
    return screen.app.is_running and screen in screen.app.screen_stack


class TooSmall(Bar):
    """Says that there is no room; shown by the breakpoint classes."""

    def on_mount(self) -> None:
        self.say(" underhood needs 60 columns and 20 rows", "warn")


class BaseScreen(Screen[None]):
    """A screen with a key bar. Subclasses give `body()` and list their keys in `KEYS`."""

    KEYS: ClassVar[tuple[KeyGroup, ...]] = ()
    AUTO_FOCUS = ""

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with Vertical(id="body"):
            yield from self.body()

    def body(self) -> ComposeResult:
        """The widgets of this screen."""
        raise NotImplementedError(f"{type(self).__name__} has no body()")

    async def on_bar_clicked(self, event: Bar.Clicked) -> None:
        """Do what the clicked word stands for, where that is done."""
        from tui.commands import reachable

        event.stop()
        nodes = [node for node, key in reachable(self) if key.action == event.action]
        await self.app.run_action(event.action, nodes[0] if nodes else self)

    def action_leave(self) -> None:
        """One level back; the lowest screen gives way to home."""
        if len(self.app.screen_stack) > 1:
            self.dismiss()
        else:
            self.app.go("home")  # type: ignore[attr-defined]

    def action_quit(self) -> None:
        """Leave Underhood."""
        self.app.exit(0)


def key_words(
    groups: tuple[KeyGroup, ...], ascii: bool = False, *, typing: bool = False
) -> list[Word]:
    """The key bar: the rows marked for it, each clickable. Help comes first, so that it is there
    in the narrowest bar; while text is typed it has its other key."""
    content = [Word(" ")]
    for group in (ANYWHERE, *groups):
        for key in group.rows:
            if key.bar:
                keys = key_label(key.keys, ascii).split(" ")
                content.append(Word(keys[-1 if typing else 0], "name", key.action))
                content.append(Word(f" {key.label}  ", "", key.action))
    return content
