"""The explorer at a bare pseudo-terminal, read back by a terminal emulator: needs nothing installed."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pyte = pytest.importorskip("pyte")

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 120  # seconds until a screen that does not come is a failure


class Terminal:
    """A program on a pseudo-terminal of 100x30, and what its screen shows."""

    def __init__(self, *command: str, home: Path) -> None:
        self.screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self.screen)
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "UNDERHOOD_HOME": str(home)}
        self.program = subprocess.Popen(
            command,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=environment,
            start_new_session=True,
        )
        os.close(inner)

    def text(self) -> str:
        return "\n".join(self.screen.display)

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def _read(self) -> None:
        try:
            self._stream.feed(os.read(self._fd, 65536))
        except OSError:  # the other end is closed: the program is about to end
            time.sleep(0.01)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Reads on until the screen matches."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            actual = re.search(pattern, self.text())
            if actual:
                return actual
            if select.select([self._fd], [], [], 0.1)[0]:
                self._read()
        raise AssertionError(f"{pattern!r} never came; the screen shows\n{self.text()}")

    def exit_code(self) -> int:
        """Reads what the program still has to say until it has ended."""
        end = time.monotonic() + PATIENCE
        while self.program.poll() is None:
            assert time.monotonic() < end, f"it does not end; the screen shows\n{self.text()}"
            if select.select([self._fd], [], [], 0.1)[0]:
                self._read()
        return self.program.returncode

    def close(self) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self._fd)


@pytest.fixture
def explorer(tmp_path: Path) -> Iterator[Terminal]:
    trace = tmp_path / "t.uht"
    script = ROOT / "lessons" / "gallery" / "numpy_aliasing.py"
    record = [sys.executable, "-m", "tui", "record", "-o", str(trace), str(script)]
    subprocess.run(record, check=True, capture_output=True, timeout=PATIENCE)
    terminal = Terminal(sys.executable, "-m", "tui", "open", str(trace), home=tmp_path)
    yield terminal
    terminal.close()


def test_a_recording_opens_steps_both_ways_and_quits(explorer: Terminal) -> None:
    output = r"event (\d+) of (\d+)"
    began = explorer.wait_for(output)[0]
    explorer.wait_for("Memory map")
    explorer.press("[")
    explorer.wait_for(rf"{output}(?<!{re.escape(began)})")
    explorer.press("]")
    explorer.wait_for(re.escape(began))
    explorer.press("5")
    explorer.wait_for(r"address =")
    explorer.press("q")
    assert explorer.exit_code() == 0
