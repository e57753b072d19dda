"""The explorer in a separate terminal: keys go in through a pty, and pyte says what is on the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

PATIENCE = 120.0  # seconds
PAUSE = 0.01  # seconds without output: a frame is complete
ESCAPE = b"\x1b[27u"  # as newer terminals send it: ESC alone would join with the key after it


class Terminal:
    """A running `underhood` and its screen."""

    def __init__(
        self, arguments: list[str], size: tuple[int, int], environment: dict[str, str], home: Path
    ) -> None:
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        self._set_size(*size)
        known = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
        known |= {"UNDERHOOD_HOME": str(home), "TEXTUAL_ANIMATIONS": "none"}
        # A test worker's COLUMNS and LINES would count instead of the window's size.
        others = {"NO_COLOR", "COLUMNS", "LINES"}
        variables = {k: v for k, v in os.environ.items() if k not in others} | known | environment
        self.program = subprocess.Popen(
            [sys.executable, "-P", "-m", "tui", *arguments],
            env=variables,
            # Its controlling terminal: should the tests be killed, it gets a SIGHUP.
            preexec_fn=lambda: os.login_tty(slave),
        )
        os.close(slave)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)
        os.killpg(self.program.pid, signal.SIGWINCH)

    def read(self, seconds: float = 0.05) -> None:
        """Feed the screen with the output of the next moments, until a pause."""
        while select.select([self._master], [], [], seconds)[0]:
            seconds = PAUSE
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:  # the program has ended
                return
            if not data:
                return
            self._stream.feed(data)

    def faults(self) -> bool:
        """Return whether an exception is on the screen."""
        return any(sign in self.text for sign in ("Traceback (most", "─ Traceback", "NoMatches"))

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, holds: Callable[[str], object], reason: str) -> None:
        """Read until the screen is as expected."""
        end = time.monotonic() + PATIENCE
        while not holds(self.text):
            self.read()
            alive = self.program.poll() is None
            assert alive, f"{reason}: it has ended\n{self.text}"
            assert time.monotonic() < end, f"{reason}; the screen shows\n{self.text}"

    def press(self, keys: bytes, holds: Callable[[str], object], reason: str) -> None:
        """Press keys, and wait for their effect."""
        os.write(self._master, keys)
        self.until(holds, reason)
        assert not self.faults(), self.text

    def close(self) -> int:
        """Quit; the exit code."""
        os.write(self._master, b"\x11")
        end = time.monotonic() + PATIENCE
        while self.program.poll() is None:
            self.read()
            if time.monotonic() > end:
                self.program.kill()
        return self.program.wait()

    def end(self) -> None:
        """Kill the program if it still runs."""
        self.program.kill()
        self.program.wait()
        os.close(self._master)
