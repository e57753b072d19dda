"""The playground: a prompt whose lines run in a separate process, seen from inside as they run.

The typed code may loop forever, crash or call `os._exit`; the explorer only reads pipes and a file, so it
survives. A message reports what happened, and ctrl+r starts a new process.
"""

from __future__ import annotations

import codeop
import json
import os
import re
import textwrap
from collections import deque
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Label, TextArea

from tui.keys import EXPLORE, PLAYGROUND, KeyGroup, bindings
from tui.render import Picture, Span, clean
from tui.screens.base import BaseScreen, key_words
from tui.screens.explore import title_words
from tui.screens.follow import follow
from tui.screens.viewer import Viewer
from tui.settings import LineMemory
from tui.widgets.bar import Bar, Word
from tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.session import Reply, Session
    from tui.navigator import Navigator

POLL_SECONDS = 0.05
MAX_LINES = 1000  # of input and output
STYLES = {
    "in": "head",
    "stdout": "",
    "result": "number",
    "stderr": "error",
    "error": "error",
    "died": "warn",
    "paused": "warn",
}
WELCOME = "Try: x = torch.arange(6).view(2, 3)   then: y = x.t()   then: y[0, 0] = 7"
FIRST = "import engine, engine as torch"
NAME = re.compile(r"[^\W\d]\w*(?:\.\w*)*$")  # that ends at the cursor
MAX_ROWS = 8  # of the prompt
MAX_NAMES = 40  # completions that are listed


class Prompt(TextArea):
    """A statement of one or more lines. Enter sends it once it is complete, Alt+Enter and ctrl+j begin a new
    line, ctrl+z takes back, up and down bring back earlier statements, Tab completes."""

    BINDINGS: ClassVar = [
        Binding("enter", "enter", show=False, priority=True),
        Binding("alt+enter,ctrl+j,shift+enter", "new_line", show=False, priority=True),
        Binding("tab", "complete", show=False, priority=True),
        Binding("ctrl+c", "screen.interrupt", show=False, priority=True),
    ]

    class Submitted(Message):
        """The statement is complete."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    class Completing(Message):
        """Tab was pressed after `text`; "" where there is nothing to complete."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=False,
            compact=True,
            highlight_cursor_line=False,
            placeholder="Python; Tab completes",
        )

    @property
    def value(self) -> str:
        """The text."""
        return self.text

    @value.setter
    def value(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def action_enter(self) -> None:
        """Send the statement, or begin its next line."""
        text = self.text.rstrip(" \t")  # an indent without a statement ends a block
        if needs_more(text):
            self.action_new_line()
            return
        self.text = ""
        self.post_message(self.Submitted(text))

    def action_new_line(self) -> None:
        """Begin a line, indented as the one above it."""
        line = self.document.get_line(self.cursor_location[0])
        indent = line[: len(line) - len(line.lstrip())]
        self.insert("\n" + indent + "    " * line.rstrip().endswith(":"))

    def action_complete(self) -> None:
        """Complete the name before the cursor; at the start of a line Tab leaves the prompt or indents."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        name = NAME.search(before)
        if name:
            self.post_message(self.Completing(name[0]))
        elif self.text:
            self.insert("    ")
        else:
            self.screen.focus_next()

    def on_text_area_changed(self) -> None:
        """Make the line as high as the text, to a limit."""
        self.parent.styles.height = min(MAX_ROWS, self.document.line_count)  # type: ignore[union-attr]


def needs_more(text: str) -> bool:
    """Return whether Python's own prompt would ask for another line; an empty last line ends a block."""
    if not text.strip():
        return False
    try:
        return codeop.compile_command(text, "<input>", "single") is None
    except (SyntaxError, ValueError, OverflowError):
        return False


class PlaygroundScreen(BaseScreen):
    """The viewer above, input and output below it, the prompt at the bottom."""

    KEYS = (PLAYGROUND,)
    BINDINGS = bindings(PLAYGROUND)
    SCOPED_CSS = False
    DEFAULT_CSS = """
    #talk { height: 20%; min-height: 4; max-height: 8; background: $surface; }
    #line { height: 1; max-height: 8; background: $panel; }
    #line Label { width: auto; padding: 0 1; color: $accent; text-style: bold; }
    #line TextArea { border: none; height: 100%; padding: 0; width: 1fr; background: $panel; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.viewer = Viewer(self._show_title)
        self.session: Session | None = None
        self.entered = 0  # lines that the user entered
        self.messages: list[tuple[str, str]] = [("stdout", WELCOME)]
        self.waiting: deque[str] = deque()  # lines typed while one is running
        self.typed: list[str] = []  # lines of a statement that is not complete yet
        self.past = LineMemory()
        self.ran: list[str] = []  # statements that were sent and complete
        self.completing = ""  # the text that the process is completing
        self.more = False  # the process said that the statement is not complete
        self.interrupts = 0

    def body(self) -> ComposeResult:
        yield Bar(id="title")
        yield self.viewer
        yield Canvas(id="talk")
        with Horizontal(id="line"):
            yield Label(">>>", id="sign", markup=False)
            yield Prompt()
        yield Bar(id="keys")

    def on_mount(self) -> None:
        self.query_one(Prompt).focus()
        self.query_one("#talk").can_focus = False
        self._show_talk()
        self._show_title()
        self.viewer.waiting("starting Python ...")
        self.call_after_refresh(self.run_worker, self._start, thread=True, exclusive=True)
        self.set_interval(POLL_SECONDS, self._listen)
        follow(self, lambda: self.viewer.nav, self._grow, POLL_SECONDS, self._is_idle)

    def on_descendant_focus(self) -> None:
        """Fill the key bar: what works in the pane that has the focus."""
        plain, typing = getattr(self.app, "ascii", False), self.query_one(Prompt).has_focus
        back = KeyGroup(PLAYGROUND.title, PLAYGROUND.rows[:1])
        groups = self.KEYS if typing else (back, EXPLORE)
        self.query_one("#keys", Bar).say(key_words(groups, plain, typing=typing))

    # The session

    def _start(self) -> None:
        """Start the process (in a thread: it takes a moment)."""
        from engine.inspect.session import Session

        try:
            session = Session()
            import tui.navigator  # noqa: F401  (so that the first answer has not to wait for it)
        except OSError as error:
            self.app.call_from_thread(self._say, "died", f"the playground cannot start: {error}")
            return
        try:
            accepted = self.app.call_from_thread(self._started, session)
        except RuntimeError:  # the application has ended
            accepted = False
        if not accepted:
            session.close()

    def _started(self, session: Session) -> bool:
        """Take the session over; not if the screen has been left while Python was starting."""
        if not self.is_attached:
            return False
        self.session = session
        self.viewer.set_navigator(None)
        self.viewer.waiting("type a line; what it does to memory appears here")
        self.waiting.appendleft(FIRST)
        self._feed()
        return True

    def _listen(self) -> None:
        """Read the process's replies, and its new events."""
        if self.session is None:
            return
        for reply in self.session.poll():
            self._hear(reply)
        self._feed()
        self._show_title()
        if self.viewer.nav is None:
            self._open(self.viewer)

    def _hear(self, reply: Reply) -> None:
        if reply.kind in STYLES:
            self._say(reply.kind, reply.text)
        if reply.kind == "paused" and self.session is not None:
            more = f"ctrl+n resumes it, up to {2 * self.session.line_events:,}; ctrl+c ends it"
            self._say("paused", more)
        if reply.kind == "died":
            self._say("stdout", "ctrl+r starts a new one; the recording stays above")
        if reply.kind == "incomplete":
            self.more = True
        elif reply.kind == "completions":
            self._complete(json.loads(reply.text))
        elif reply.kind in ("done", "died"):
            if not self.more:
                self.ran += ["\n".join(self.typed)] if self.typed else []
                self.typed.clear()
            self._sign("..." if self.more else ">>>")
            self.more = False

    def _is_idle(self) -> bool:
        """Return whether no line runs, or the running line is paused."""
        session = self.session
        return session is not None and (session.paused or not session.busy)

    def _grow(self, nav: Navigator, history: History) -> None:
        """Show new events, and what was named last."""
        before = nav.last
        nav.take(history)
        nav.select_newest(before)
        self.viewer.show()

    def _open(self, viewer: Viewer) -> None:
        """Open the recording, which exists as soon as the first events are written."""
        if self.session is None or not self.session.path.is_file():
            return
        from engine.inspect.trace import TraceError
        from tui.navigator import open_navigator

        try:
            nav = open_navigator(self.session.path, at="last")
        except (TraceError, ValueError):
            return  # not written yet: the next poll reads it
        if nav.last >= 0:
            nav.grain = "op"
            nav.select_newest(-1)
            viewer.set_navigator(nav)

    def on_unmount(self) -> None:
        if self.session is not None:
            self.session.close()

    # Typing

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        event.stop()
        self.past.add(event.value)
        self.entered += bool(event.value.strip())
        self.waiting.append(event.value)
        self._feed()

    def _feed(self) -> None:
        """Send the next line, unless one is running or Python is starting: it waits its turn."""
        if not self.waiting or self.session is None or self.session.busy:
            return
        text = self.waiting.popleft()
        for number, line in enumerate(text.rstrip("\n").split("\n")):
            self._say("in", ("... " if self.typed or number else ">>> ") + line)
        if not self.session.alive:
            self._say("died", "no Python is running; ctrl+r starts one")
            return
        if not text.strip() and not self.typed:
            return
        self.typed.append(text)
        self.interrupts = 0
        self.session.send("\n".join(self.typed))

    def on_prompt_completing(self, event: Prompt.Completing) -> None:
        event.stop()
        if self.session is not None and not self.session.busy:
            self.completing = event.text
            self.session.complete(event.text)

    def _complete(self, names: list[str]) -> None:
        """Insert what all these names have in common; list them if that is nothing more."""
        box, text = self.query_one(Prompt), self.completing
        row, column = box.cursor_location
        if not names or not box.document.get_line(row)[:column].endswith(text):
            return
        common = os.path.commonprefix(names)  # noqa: RUF071 (names, not paths)
        if len(common) > len(text):
            box.insert(common[len(text) :])
        elif len(names) > 1:
            short = [name.rpartition(".")[2] for name in names]
            more = f"  ... and {len(short) - MAX_NAMES} more" if len(short) > MAX_NAMES else ""
            width = self.query_one("#talk").size.width - 2
            self._say("stdout", textwrap.fill("  ".join(short[:MAX_NAMES]) + more, max(20, width)))

    def action_save(self) -> None:
        """Write the statements that ran as a Python script into the current folder."""
        if not self.ran[1:]:
            self._say("stdout", "nothing has run yet")
            return
        path = Path.cwd() / f"playground-{datetime.now():%Y%m%d-%H%M%S}.py"
        try:
            path.write_text(
                "\n".join(text.rstrip("\n") for text in self.ran) + "\n", encoding="utf-8"
            )
        except OSError as error:
            self._say("died", f"not saved: {error}")
            return
        self._say("stdout", f"saved: {path}")

    def on_key(self, event: events.Key) -> None:
        """Bring back earlier statements with up on the first line, later ones with down on the last."""
        box = self.query_one(Prompt)
        edge = {"up": 0, "down": box.document.line_count - 1}.get(event.key)
        if box.has_focus and edge is not None and box.cursor_location[0] == edge:
            event.stop()
            event.prevent_default()
            box.value = self.past.move(-1 if event.key == "up" else 1, box.value)

    def action_prompt(self) -> None:
        self.query_one(Prompt).focus()

    def action_picture(self) -> None:
        """Interrupt, else go to the picture, else one thing back."""
        if self.session is not None and self.session.busy:
            self.action_interrupt()
        elif self.query_one(Prompt).has_focus:
            self.viewer.main.focus()
        elif not self.viewer.close_one() and (
            not self.unsaved() or self.confirmed(f"{self.unsaved()} Esc again leaves.")
        ):
            self.action_leave()

    def unsaved(self) -> str:
        """Return the question before leaving, as its variables end with its process."""
        alive = self.session is not None and self.session.alive and self.entered
        return (
            "The playground's Python and its variables end; its recording stays." if alive else ""
        )

    def action_interrupt(self) -> None:
        """Stop the running line; the third time, its process."""
        self.waiting.clear()
        if self.session is None or not self.session.busy:
            self.typed.clear()
            self.query_one(Prompt).value = ""
            self._sign(">>>")
            return
        self.interrupts += 1
        if self.interrupts >= 3:
            self.session.kill()
        else:
            self.session.interrupt()
            self._say("stdout", f"interrupted ({self.interrupts} of 3; the third ends the process)")

    def action_more(self) -> None:
        """Resume a line that is paused at its budget of events."""
        if self.session is None or not self.session.paused:
            self._say("stdout", "no line is paused (a line pauses at its budget of events)")
            return
        self.session.go_on()
        self._say("stdout", f"resumed: a line may now record {self.session.line_events:,} events")

    def action_restart(self) -> None:
        """Start a new Python and a new recording."""
        old, self.session = self.session, None
        self._say("stdout", "starting a new Python ...")
        self.typed.clear()
        self._sign(">>>")

        def again() -> None:
            if old is not None:
                old.close()
            self._start()

        self.run_worker(again, thread=True, exclusive=True)

    # Showing

    def _say(self, kind: str, text: str) -> None:
        self.messages += [(kind, line) for line in text.rstrip("\n").split("\n")]
        del self.messages[:-MAX_LINES]
        self._show_talk()

    def _show_talk(self) -> None:
        talk = self.query_one("#talk", Canvas)
        lines = [
            [Span(" "), Span(clean(line), STYLES.get(kind, ""))] for kind, line in self.messages
        ]
        talk.show_picture(Picture.of(lines))
        talk.scroll_end(animate=False, force=True)

    def _sign(self, text: str) -> None:
        self.query_one("#sign", Label).update(text)

    def on_canvas_fitted(self) -> None:
        self._show_talk()

    def _show_title(self) -> None:
        content = title_words(self.viewer.nav, "playground", "live")
        session = self.session
        if session is not None and session.busy:
            state = "paused at" if session.paused else "running,"
            count = f"{session.recorded:,} of {session.line_events:,} events"
            content[1:1] = [Word(f" {state} {count} ", "warn")]
        self.query_one("#title", Bar).say(content)
