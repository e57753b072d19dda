"""The command in a real terminal: tmux draws it, keys are typed, the process is signalled."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.program import saved

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
LIMIT = 120.0  # seconds until a screen that does not come is a failure


class Terminal:
    """A private tmux server with one window."""

    def __init__(self, home: Path, columns: int = 80, rows: int = 24) -> None:
        self.name = f"uh{uuid.uuid4().hex[:8]}"
        self.size = ["-x", str(columns), "-y", str(rows)]
        self.environment = {
            **os.environ,
            "UNDERHOOD_HOME": str(home),
            "TERM": "tmux-256color",
            "COLORTERM": "truecolor",
            "LC_ALL": "C.UTF-8",
        }
        self.environment.pop("TMUX", None)
        # A test worker may have them; the program would believe them and not the terminal.
        self.environment.pop("COLUMNS", None)
        self.environment.pop("LINES", None)

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.name, "-f", "/dev/null", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def start(self, *arguments: str) -> None:
        """Start a shell that runs `underhood arguments...` and then prints how it ended."""
        self.tmux("new-session", "-d", *self.size, "sh")
        self.tmux("set-option", "-s", "escape-time", "0")
        command = " ".join([sys.executable, "-m", "tui", *arguments])
        self.type(f"PS1='READY '; {command}; echo ENDED $?")
        self.press("Enter")

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def until(self, *strings: str) -> str:
        """Wait until all of the strings are on the screen."""
        end = time.monotonic() + LIMIT
        while True:
            screen = self.screen()
            if all(text in screen for text in strings):
                return screen
            assert time.monotonic() < end, f"{strings} did not appear; the screen was:\n{screen}"
            time.sleep(0.03)

    def program(self) -> int:
        """Return the process id of the explorer."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    result = Terminal(tmp_path / "home")
    yield result
    subprocess.run(["tmux", "-L", result.name, "kill-server"], capture_output=True, check=False)


def test_a_walk_through_a_trace(terminal: Terminal, tmp_path: Path) -> None:
    terminal.start("open", str(saved(tmp_path)), "--view", "memory")
    terminal.until("line 11 demo.py", "PyObject")
    terminal.type("[")
    terminal.until("line 5 demo.py")
    terminal.type("4")
    terminal.until("storage 2", "meets")
    terminal.type("g")
    terminal.type("line:9")  # typed ahead
    terminal.until("go to line:9")
    terminal.press("Enter")
    terminal.until("line 9 demo.py")
    terminal.type("?")
    terminal.until("what is on the screen")
    terminal.press("Escape")
    terminal.until("line 9 demo.py")
    terminal.tmux("resize-window", "-x", "130", "-y", "40")
    terminal.until("1 Source ──", "4 Storage ──")
    terminal.tmux("resize-window", "-x", "40", "-y", "24")
    terminal.until("needs 60 columns")
    terminal.type("q")
    terminal.until("ENDED 0")


def test_sigterm_gives_the_terminal_back(terminal: Terminal, tmp_path: Path) -> None:
    terminal.start("open", str(saved(tmp_path)))
    terminal.until("line 11 demo.py")
    os.kill(terminal.program(), signal.SIGTERM)
    terminal.until("ENDED 143")
    terminal.type("echo still $((6 * 7))")
    terminal.press("Enter")
    terminal.until("still 42")
    assert terminal.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag}").split() == [
        "0",
        "0",
    ]


def test_ctrl_c_is_safe(terminal: Terminal, tmp_path: Path) -> None:
    terminal.start("open", str(saved(tmp_path)))
    terminal.until("line 11 demo.py")
    terminal.press("C-c")
    terminal.until("Press q or ctrl+q")
    terminal.press("C-q")
    terminal.until("ENDED 0")


def test_without_colour_and_in_ascii(terminal: Terminal, tmp_path: Path) -> None:
    terminal.environment["NO_COLOR"] = "1"
    terminal.start("--ascii", "open", str(saved(tmp_path)), "--view", "memory")
    screen = terminal.until("line 11 demo.py", "PyObject")
    assert screen.isascii()
    terminal.type("q")
    terminal.until("ENDED 0")


PROGRAM = """\
import engine as torch
name = input("who? ")
x = torch.arange(6).view(2, 3)
y = x.t()
print("hello", name, tuple(y.shape))
raise SystemExit(7)
"""


def test_run_records_here_and_then_opens(terminal: Terminal, tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(PROGRAM)
    terminal.start("run", str(script))
    terminal.until("who?")
    terminal.type("Ada")
    terminal.press("Enter")
    terminal.until("PyObject", "line 6 ask.py")
    terminal.type("q")
    terminal.until("hello Ada (3, 2)", "ENDED 7")


def test_a_missing_script_is_pythons_own_message(terminal: Terminal) -> None:
    terminal.start("run", "nothing.py")
    terminal.until("can't open file", "nothing.py", "ENDED 2")


def test_the_playground_survives_what_is_typed(terminal: Terminal) -> None:
    terminal.start()
    terminal.until("Playground")
    terminal.type("2")
    terminal.until(">>> import engine, engine as torch")

    def line(text: str) -> None:
        terminal.type(text)
        terminal.press("Enter")

    line("x = torch.arange(6).view(2, 3)")
    line("y = x.t(); y.shape")
    terminal.until("on y ", "[3, 2]")
    line("def f(a):")  # the next line is indented as it begins
    line("return a + 1")
    line("")
    line("w = f(y)")
    terminal.until("on w ")
    line("import os, time")
    # Short sleeps: a signal just before a long one would be looked at after it only.
    line("os.write(1, b'roun' b'd'); [time.sleep(0.01) for i in iter(int, 1)]")
    terminal.until("round")  # it runs: before that there is nothing to interrupt
    terminal.press("C-c")
    terminal.until("KeyboardInterrupt")
    line("1 / 0")
    terminal.until("ZeroDivisionError")
    line("import os; os._exit(3)")
    terminal.until("ended with exit code 3", "ctrl+r starts a new one")
    terminal.press("C-r")
    terminal.until("starting a new Python")
    line("z = torch.ones(3)")
    terminal.until("on z ")
    terminal.press("C-q")
    terminal.until("The same key again leaves")
    terminal.press("C-q")
    terminal.until("ENDED 0")
