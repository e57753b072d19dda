"""The response time of the explorer for a user, measured at a pseudo-terminal of 120x40.

    python benchmarks/explorer.py [trace.uht [view [at]]]

first frame: from starting the process until the screen's first full frame was written.
loaded:      until the views of the trace were drawn as well.
key:         from writing a key until the last byte of the answer (nothing more for 40 ms).
cpu:         the processor time of the explorer in it (Linux only): the figure to trust on a busy machine.
The terminal's own drawing is not in these figures. Without a trace the gallery's first script is recorded.
With the view `autograd` a graph of 10,000 nodes is recorded, and the keys move in it.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

ROWS, COLUMNS = 40, 120
QUIET = 0.04
RUNS = 7
KEYS = [
    "]",
    "[",
    "}",
    "{",
    "j",
    "k",
    "4",
    "j",
    "l",
    "5",
    "l",
    "j",
    "6",
    "7",
    "j",
    "2",
    "j",
    "j",
    "1",
    "j",
    "3",
]
PAGE_DOWN, PAGE_UP, END, HOME = "\x1b[6~", "\x1b[5~", "\x1b[F", "\x1b[H"
GRAPH_KEYS = [
    *"sjjjkkl]]]][[]]",
    *"ttjjj]]tjjj]]tt",
    *(PAGE_DOWN, PAGE_DOWN, PAGE_UP, END, HOME),
    *"]]]",
]
GRAPH = """
import engine

x = engine.ones(2, requires_grad=True)
y = x
for _ in range(5_000):
    y = y * 1.0001 + x
y.sum().backward()
"""
# view -> keys, and what is on the screen once it is drawn
VIEWS = {"memory": (KEYS, b"PyObject"), "autograd": (GRAPH_KEYS, b"keeps ")}


class Terminal:
    """A child process on a pseudo-terminal."""

    def __init__(self, command: list[str], home: str) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(
                TERM="xterm-256color", COLORTERM="truecolor", UNDERHOOD_HOME=home, LC_ALL="C.UTF-8"
            )
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def until(self, marker: bytes, limit: float = 20.0) -> float:
        """Seconds from the start until `marker` was written."""
        seen = b""
        while time.perf_counter() - self.started < limit:
            if select.select([self.fd], [], [], 0.5)[0]:
                seen += os.read(self.fd, 1 << 16)
                if marker in seen:
                    return time.perf_counter() - self.started
        raise TimeoutError(f"{marker!r} was not written in {limit} s; the end was {seen[-300:]!r}")

    def quiet(self, silence: float = 0.3) -> None:
        """Read on until nothing came for so long."""
        while select.select([self.fd], [], [], silence)[0]:
            os.read(self.fd, 1 << 16)

    def press(self, key: str) -> tuple[float, float] | None:
        """(first byte, last byte) after a key, in seconds; None if nothing was written."""
        begin = time.perf_counter()
        os.write(self.fd, key.encode())
        if not select.select([self.fd], [], [], 1.0)[0]:
            return None
        first = time.perf_counter() - begin
        last = first
        while select.select([self.fd], [], [], QUIET)[0]:
            os.read(self.fd, 1 << 16)
            last = time.perf_counter() - begin
        return first, last

    def cpu(self) -> float:
        """Seconds that the process has computed so far, in all its threads."""
        tasks = Path(f"/proc/{self.pid}/task")
        if not tasks.is_dir():
            return 0.0
        return (
            sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
        )

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def share(times: list[float], part: float) -> float:
    """Return the value that `part` of the times do not exceed."""
    return sorted(times)[min(len(times) - 1, int(part * len(times)))]


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        inputs, view, at = [*sys.argv[1:], "", "", ""][:3]
        if inputs in VIEWS:
            inputs, view = "", inputs
        view = view or "memory"
        trace = Path(inputs) if inputs else recorded(home, GRAPH if view == "autograd" else "")
        if not at and not inputs and view == "autograd":
            at = "line:8"
        keys, marker = VIEWS[view]
        command = [sys.executable, "-m", "tui", "open", str(trace), "--view", view, "--at", at]
        frames, starts, loads, opened, firsts, lasts, costs = [], [], [], [], [], [], []
        for _ in range(RUNS):
            terminal = Terminal(command, home)
            frames.append(terminal.until(b"underhood"))
            starts.append(terminal.cpu())
            loads.append(terminal.until(marker))
            opened.append(terminal.cpu())
            terminal.quiet()
            for key in keys * 2:
                before = terminal.cpu()
                if (answer := terminal.press(key)) is not None:
                    costs.append(terminal.cpu() - before)
                    firsts.append(answer[0])
                    lasts.append(answer[1])
            terminal.close()
        print(f"{trace.name} at {COLUMNS}x{ROWS}, {RUNS} runs, {len(lasts)} keys; milliseconds")
        for name, times in (
            ("first frame", frames),
            ("first frame, cpu", starts),
            ("loaded", loads),
            ("loaded, cpu", opened),
        ):
            print(
                f"  {name:<17} median {1e3 * statistics.median(times):6.0f}   worst {1e3 * max(times):6.0f}"
            )
        for name, times in (
            ("key, first byte", firsts),
            ("key, last byte", lasts),
            ("key, cpu", costs),
        ):
            print(
                f"  {name:<17} p50 {1e3 * share(times, 0.5):9.1f}   p95 {1e3 * share(times, 0.95):8.1f}"
            )


def recorded(home: str, program: str = "") -> Path:
    """Return a trace of a program, or of the first gallery script."""
    from tui.paths import gallery_scripts

    trace = Path(home) / "bench.uht"
    script = gallery_scripts()[0]
    if program:
        script = Path(home) / "bench.py"
        script.write_text(program)
    subprocess.run(
        [sys.executable, "-m", "tui", "record", "-o", str(trace), str(script)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return trace


if __name__ == "__main__":
    main()
