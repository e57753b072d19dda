"""The explorer on 1.5 million events, at a pseudo-terminal: `python benchmarks/long_recording.py [trace]`.

Without a trace a small network is trained and recorded first. In every view: steps, jumps and moves of the cursor;
then far jumps and the first step after each; then searches that miss, cancelled while they run. Times are from
writing a key until the last byte of the answer, in milliseconds; cpu is the explorer's processor time in it.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from explorer import Terminal, share

from tui.views import views

STEPS = 590  # of training: about 1.5 million events
PROGRAM = f"""
import engine
from engine import nn

engine.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(64, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32),
    nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.Linear(32, 10),
)
optimizer = engine.optim.Adam(net.parameters(), lr=1e-3)
losses = []
for step in range({STEPS}):
    x, y = engine.randn(16, 1, 8, 8), engine.randint(0, 10, (16,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""
MOVES = "]]]]]]]]}}}[[[jjkkjl]]]]"
ESCAPE = "\x1b[27u"


def report(name: str, answers: list[tuple[float, float]]) -> None:
    for which, times in zip(("", ", cpu"), zip(*answers, strict=True), strict=True):
        p50, p95, worst = statistics.median(times), share(list(times), 0.95), max(times)
        row = f"{name + which:<28} {len(times):4} keys   p50 {1e3 * p50:6.1f}"
        print(f"{row}   p95 {1e3 * p95:6.1f}   worst {1e3 * worst:6.1f}", flush=True)


def press(terminal: Terminal, key: str) -> tuple[float, float] | None:
    """(seconds until the last byte, seconds of processor time), or None where nothing was drawn."""
    before = terminal.cpu()
    answer = terminal.press(key)
    return (answer[1], terminal.cpu() - before) if answer else None


def go_to(terminal: Terminal, moment: str) -> None:
    terminal.press("g")
    terminal.quiet(0.2)
    os.write(terminal.fd, moment.encode())
    terminal.quiet(0.2)
    terminal.press("\r")
    terminal.quiet(0.2)


def cancelled_search(terminal: Terminal, text: str, delay: float) -> float:
    """Seconds from Esc until the explorer says that the search was cancelled."""
    terminal.press("/")
    terminal.quiet(0.1)
    os.write(terminal.fd, text.encode())
    terminal.quiet(0.1)
    os.write(terminal.fd, b"\r")
    time.sleep(delay)
    terminal.quiet(0)
    begin = time.perf_counter()
    os.write(terminal.fd, ESCAPE.encode())
    seen = b""
    while b"cancelled" not in seen:
        if time.perf_counter() - begin > 3:
            raise TimeoutError("the search ended before it was cancelled")
        seen += os.read(terminal.fd, 1 << 16)
    return time.perf_counter() - begin


def record(folder: Path) -> Path:
    script, trace = folder / "train.py", folder / "long.uht"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "tui", "record", "-o", str(trace), str(script)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return trace


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        trace = Path(sys.argv[1]) if len(sys.argv) > 1 else record(Path(home))
        command = [sys.executable, "-m", "tui", "open", str(trace), "--view", "memory"]
        for opening in ("first opening (it builds the index)", "second opening"):
            terminal = Terminal(command, home)
            frame, ready = terminal.until(b"underhood"), terminal.until(b"PyObject")
            print(
                f"{opening}: first frame {frame:.2f} s, ready {ready:.2f} s, cpu {terminal.cpu():.2f} s"
            )
            terminal.quiet(1.0)
            if opening != "second opening":
                terminal.close()
        terminal.press(ESCAPE)
        go_to(terminal, "700000")
        keys = [view.key for view in views().values() if view.key.isalnum()]
        everything = []
        for key in keys:
            terminal.press(key)
            terminal.quiet(0.5)
            answers = [answer for move in MOVES if (answer := press(terminal, move))]
            if answers:
                report(f"view {key}", answers)
            everything += answers
        report("all views", everything)
        jumps = []
        for key in keys:
            terminal.press(key)
            terminal.quiet(0.5)
            for _ in range(3):
                go_to(terminal, str(random.randrange(1_000, 1_400_000)))
                jumps += [answer for answer in [press(terminal, "]")] if answer]
        report("first step after a far jump", jumps)
        delays = (0.05, 0.1, 0.2, 0.3)
        cancels = [cancelled_search(terminal, f"zz{n} qq", d) for n, d in enumerate(delays)]
        print("searches cancelled after", *(f"{1e3 * seconds:.0f} ms" for seconds in cancels))
        status = Path(f"/proc/{terminal.pid}/status").read_text()
        for field in ("VmHWM", "RssAnon", "RssFile"):
            print(field, int(re.search(rf"{field}:\s+(\d+)", status)[1]) // 1024, "MB")
        terminal.close()


if __name__ == "__main__":
    main()
