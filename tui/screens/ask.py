"""One line asked at the bottom of the screen: go to, search, command. Esc gives nothing."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from tui import places
from tui.settings import LineMemory


class AskScreen(ModalScreen[str | None]):
    """Asks for one line and dismisses with it; up and down bring back earlier answers."""

    SCOPED_CSS = False
    AUTO_FOCUS = ""  # given in `ready`
    DEFAULT_CSS = """
    AskScreen { background: transparent; }
    #ask { dock: bottom; height: 1; background: $panel; }
    #ask Label { width: auto; padding: 0 1; color: $accent; text-style: bold; }
    #ask Input { border: none; height: 1; padding: 0; width: 1fr; background: $panel; }
    """

    def __init__(self, kind: str, label: str, hint: str = "", value: str = "") -> None:
        super().__init__()
        self.label, self.hint, self.value = label, hint, value
        self.past = LineMemory(places.state_folder() / f"asked_{kind}")
        # Keys typed ahead, until the line has been shown: some were on their way to the screen below
        # (the application hands them over), some to this one, and they do not come in order.
        self.early: list[events.Key] | None = []

    def compose(self) -> ComposeResult:
        with Horizontal(id="ask"):
            yield Label(self.label, markup=False)
            yield Input(self.value, placeholder=self.hint, select_on_focus=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self.ready)

    async def ready(self) -> None:
        """The line takes the focus, after what was typed before it was there."""
        early, self.early = self.early or [], None
        self.query_one(Input).focus()
        for event in sorted(early, key=lambda event: event.time):
            await self.answer(event)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.past.add(event.value)
        self.dismiss(event.value)

    async def on_key(self, event: events.Key) -> None:
        """Keys that the line itself does not take, and those of before it was ready."""
        if self.early is not None:
            self.early.append(event)
            event.stop().prevent_default()
        elif await self.answer(event):
            event.stop().prevent_default()

    async def answer(self, event: events.Key) -> bool:
        """Do what the key says, where it is one of ours."""
        box = self.query_one(Input)
        if event.key in ("escape", "ctrl+c"):
            self.dismiss(None)
        elif event.key in ("up", "down"):
            box.value = self.past.move(-1 if event.key == "up" else 1, box.value)
            box.cursor_position = len(box.value)
        elif event.key == "enter":
            await box.action_submit()
        elif event.key == "backspace":
            box.action_delete_left()
        elif event.is_printable:
            box.insert_text_at_cursor(event.character or "")
        else:
            return False
        return True

    def on_paste(self, event: events.Paste) -> None:
        lines = event.text.splitlines()
        self.query_one(Input).insert_text_at_cursor(lines[0] if lines else "")
        event.stop()
