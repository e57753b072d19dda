"""The playground: a prompt whose lines run in a separate process, seen from inside as they run.

Whatever the typed code does, loop for ever, crash, `os._exit`, this process only ever reads pipes and
a file. A message says so, and ctrl+r starts again.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Label

from tui.keys import PLAYGROUND, bindings
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
FIRST = "import engine as torch"


class Prompt(Input):
    """One line; a pasted text of several lines is sent whole."""

    def _on_paste(self, event: events.Paste) -> None:
        if "\n" in event.text.strip():
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted(self, self.value + event.text))
        # else Textual itself calls the handler of Input, too


class PlaygroundScreen(BaseScreen):
    """The viewer above, input and output below it, the prompt at the bottom."""

    KEYS = (PLAYGROUND,)
    BINDINGS = bindings(PLAYGROUND)
    SCOPED_CSS = False
    DEFAULT_CSS = """
    #talk { height: 20%; min-height: 4; max-height: 8; background: $surface; }
    #line { height: 1; background: $panel; }
    #line Label { width: auto; padding: 0 1; color: $accent; text-style: bold; }
    #line Input { border: none; height: 1; padding: 0; width: 1fr; background: $panel; }
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
        self.more = False  # the process said that the statement is not complete
        self.interrupts = 0

    def body(self) -> ComposeResult:
        yield Bar(id="title")
        yield self.viewer
        yield Canvas(id="talk")
        with Horizontal(id="line"):
            yield Label(">>>", id="sign", markup=False)
            yield Prompt(placeholder="a line of Python", select_on_focus=False)
        plain = getattr(self.app, "ascii", False)
        yield Bar(key_words(self.KEYS, plain, typing=True), id="keys")

    def on_mount(self) -> None:
        self.query_one(Prompt).focus()
        self.query_one("#talk").can_focus = False
        self._show_talk()
        self._show_title()
        self.viewer.waiting("starting Python ...")
        self.call_after_refresh(self.run_worker, self._start, thread=True, exclusive=True)
        self.set_interval(POLL_SECONDS, self._listen)
        follow(self, lambda: self.viewer.nav, self._grow, POLL_SECONDS, self._stands_still)

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
        elif reply.kind in ("done", "died"):
            if not self.more:
                self.typed.clear()
            self._sign("..." if self.more else ">>>")
            self.more = False

    def _stands_still(self) -> bool:
        """Return whether no line runs, or the one that does is paused."""
        session = self.session
        return session is not None and (session.paused or not session.busy)

    def _grow(self, nav: Navigator, history: History) -> None:
        """New events: show them, and what was named last."""
        before = nav.last
        nav.take(history)
        nav.select_newest(before)
        self.viewer.show()

    def _open(self, viewer: Viewer) -> None:
        """The recording exists as soon as the first events are written."""
        if self.session is None or not self.session.path.is_file():
            return
        from engine.inspect.trace import TraceError
        from tui.navigator import open_navigator

        try:
            nav = open_navigator(self.session.path, at="last")
        except (TraceError, ValueError):
            return  # not there yet: the next poll sees it
        if nav.last >= 0:
            nav.grain = "op"
            nav.select_newest(-1)
            viewer.set_navigator(nav)

    def on_unmount(self) -> None:
        if self.session is not None:
            self.session.close()

    # Typing

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.value = ""
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

    def on_key(self, event: events.Key) -> None:
        box = self.query_one(Prompt)
        if box.has_focus and event.key in ("up", "down"):
            event.stop()
            box.value = self.past.move(-1 if event.key == "up" else 1, box.value)
            box.cursor_position = len(box.value)

    def action_prompt(self) -> None:
        self.query_one(Prompt).focus()

    def action_picture(self) -> None:
        """Esc: interrupt, else to the picture, else one thing back."""
        if self.session is not None and self.session.busy:
            self.action_interrupt()
        elif self.query_one(Prompt).has_focus:
            self.viewer.main.focus()
        elif not self.viewer.close_one() and (
            not self.unsaved() or self.confirmed(f"{self.unsaved()} Esc again leaves.")
        ):
            self.action_leave()

    def unsaved(self) -> str:
        """Its variables end with its process."""
        alive = self.session is not None and self.session.alive and self.entered
        return (
            "The playground's Python and its variables end; its recording stays." if alive else ""
        )

    def action_interrupt(self) -> None:
        """ctrl+c: stop the running line; the third time, its process."""
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
        """ctrl+n: resume a line that is paused at its budget of events."""
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

    def signs(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """For the help sheet."""
        return list(self.viewer.signs())
