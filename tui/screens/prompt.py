"""One line asked at the bottom of the screen: go to, search, command. Esc gives nothing."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from tui import paths
from tui.settings import LineMemory


class PromptScreen(ModalScreen[str | None]):
    """Asks for one line and dismisses with it; up and down bring back earlier answers."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    PromptScreen { background: transparent; }
    #ask { dock: bottom; height: 1; background: $panel; }
    #ask Label { width: auto; padding: 0 1; color: $accent; text-style: bold; }
    #ask Input { border: none; height: 1; padding: 0; width: 1fr; background: $panel; }
    """

    def __init__(self, kind: str, label: str, hint: str = "", value: str = "") -> None:
        super().__init__()
        self.label, self.hint, self.value = label, hint, value
        self.past = LineMemory(paths.state_folder() / f"asked_{kind}")

    def compose(self) -> ComposeResult:
        with Horizontal(id="ask"):
            yield Label(self.label, markup=False)
            yield Input(self.value, placeholder=self.hint, select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.past.add(event.value)
        self.dismiss(event.value)

    async def on_key(self, event: events.Key) -> None:
        box = self.query_one(Input)
        if event.key in ("escape", "ctrl+c"):
            event.stop()
            self.dismiss(None)
        elif event.key == "ctrl+j":  # Enter, typed before the explorer had the terminal
            event.stop()
            await box.action_submit()
        elif event.key in ("up", "down"):
            event.stop()
            box.value = self.past.move(-1 if event.key == "up" else 1, box.value)
            box.cursor_position = len(box.value)
