"""The base of all full screens: a body, and a notice in its place when the terminal is too small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from tui.keys import ANYWHERE, Key, KeyGroup, key_label
from tui.widgets.bar import Bar, Word


def reachable(screen: Screen[Any]) -> Iterator[tuple[DOMNode, Key]]:
    """Yield (object with the action, row of the key table) for every action of this screen."""
    for node in [screen, *screen.query("*")]:
        for group in getattr(node, "KEYS", ()):
            for key in group.rows:
                yield node, key


def is_open(screen: Screen[Any]) -> bool:
    """Return True until the screen is left or the application ends. A thread's result may come later:
    the screen is still attached then, but its widgets are removed one by one."""
    return screen.app.is_running and screen in screen.app.screen_stack


class TooSmall(Bar):
    """The notice that there is too little room; the breakpoint classes show it."""

    def on_mount(self) -> None:
        self.say(" underhood needs 60 columns and 20 rows", "warn")


class BaseScreen(Screen[None]):
    """A screen with a key bar. Subclasses define `body()` and list their keys in `KEYS`."""

    KEYS: ClassVar[tuple[KeyGroup, ...]] = ()
    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self._last_focus: Widget | None = None
        self._question_at = -1  # the number of the key that has to be pressed twice

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with Vertical(id="body"):
            yield from self.body()

    def body(self) -> ComposeResult:
        """Return the widgets of this screen."""
        raise NotImplementedError(f"{type(self).__name__} has no body()")

    # The focus: a widget that is hidden loses it, and without a focus keys do nothing

    def on_descendant_focus(self) -> None:
        """Remember what has the focus."""
        self._last_focus = self.focused

    def on_descendant_blur(self) -> None:
        """Restore the focus: a widget that lost it may have been hidden."""
        self.call_after_refresh(self._restore_focus)

    def on_resize(self) -> None:
        """Restore the focus: a widget that was hidden for lack of room may be back."""
        self.call_after_refresh(self._restore_focus)

    def _restore_focus(self) -> None:
        """Return the focus to the widget that had it, or to another."""
        if self.focused is not None or not is_open(self):
            return
        chain = self.focus_chain
        if self._last_focus in chain:
            self.set_focus(self._last_focus)
        elif chain:
            self.set_focus(chain[0])

    # Leaving

    def confirmed(self, question: str) -> bool:
        """Return whether this key was pressed twice running; the first time, show the question."""
        typed: int = self.app.key_queue.forwarded  # type: ignore[attr-defined]
        if typed == self._question_at + 1:
            return True
        self._question_at = typed
        self.show_question(question)
        return False

    def show_question(self, question: str) -> None:
        """Show what pressing the same key again does."""
        self.notify(question, timeout=4, markup=False)

    async def on_bar_clicked(self, event: Bar.Clicked) -> None:
        """Run the action of the clicked word on the object that has it."""
        event.stop()
        nodes = [node for node, key in reachable(self) if key.action == event.action]
        await self.app.run_action(event.action, nodes[0] if nodes else self)

    def action_leave(self) -> None:
        """Go one level back; from the lowest screen, to home."""
        if len(self.app.screen_stack) > 1:
            self.dismiss()
        else:
            self.app.go("home")  # type: ignore[attr-defined]

    def action_quit(self) -> None:
        """Leave Underhood."""
        self.app.quit()  # type: ignore[attr-defined]

    def unsaved(self) -> str:
        """Return a sentence about the loss when the application ends; "" without one."""
        return ""


def key_words(
    groups: tuple[KeyGroup, ...], ascii: bool = False, *, typing: bool = False
) -> list[Word]:
    """Return the key bar: the rows marked for it, each clickable. Help is first, so that the narrowest bar
    shows it; while text is typed, it has its other key."""
    content = [Word(" ")]
    for group in (ANYWHERE, *groups):
        for key in group.rows:
            if key.bar:
                keys = key_label(key.keys, ascii).split(" ")
                content.append(Word(keys[-1 if typing else 0], "name", key.action))
                content.append(Word(f" {key.label}  ", "", key.action))
    return content
