"""Starts a program in a process of its own and says, whatever it does, how it ended.

Endless loops, crashes, `os._exit`, endless output and syntax errors all come back as an `Outcome`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("child.py")
OUTPUT_LIMIT = 64 * 1024
MEMORY_LIMIT = 16 << 30  # of address space; threads and libraries reserve far more than they use
STARTUP_S = 60.0  # until the program's first line; a crowded machine is slow to start a Python
WAITING = 6  # a program that computes nothing may take so many times its time limit
GRACE_S = 10.0  # between asking where a program hangs and ending it unheard


@dataclass(frozen=True)
class Questions:
    """What to compute in the process once the program has run."""

    values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    goals: tuple[tuple[str, str], ...] = ()

    def table(self) -> dict[str, Any] | None:
        """For the job file; nothing to ask is None."""
        if not (self.values or self.texts or self.goals):
            return None
        return {"values": self.values, "texts": self.texts, "goals": self.goals}


@dataclass(frozen=True)
class Outcome:
    """`error` is empty if the program reached its end; then the answers are there."""

    stdout: str
    error: str = ""
    values: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    failed: str = ""


def run_program(
    program: Path,
    questions: Questions | None = None,
    trace: Path | None = None,
    time_limit: float = 10.0,
) -> Outcome:
    """Runs `program` (a file), recorded into `trace` if given. `time_limit` is in seconds that it
    computes: what else the machine does is no fault of the program."""
    with tempfile.TemporaryDirectory(prefix="underhood-") as folder:
        box = Path(folder)
        job = {
            "program": str(program),
            "trace": None if trace is None else str(trace),
            "ask": (questions or Questions()).table(),
            "result": str(box / "result.json"),
            "stacks": str(box / "stacks.txt"),
            "memory_limit": MEMORY_LIMIT,
        }
        (box / "job.json").write_text(json.dumps(job), encoding="utf-8")
        stdout, code = _run(box, program.parent, time_limit)
        if not (box / "result.json").exists():
            return Outcome(stdout, _how_it_ended(code, box / "stacks.txt", program, time_limit))
        return Outcome(stdout, **json.loads((box / "result.json").read_text(encoding="utf-8")))


def _run(box: Path, folder: Path, limit: float) -> tuple[str, int | None]:
    """Output (cut at OUTPUT_LIMIT) and exit code; None as code means it had to be stopped."""
    process = subprocess.Popen(
        [sys.executable, str(CHILD), str(box / "job.json")],
        cwd=folder,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        clock = _Clock(process.pid, box / "stacks.txt", limit)
        stdout = _read(process, clock)
        code = process.poll()
        if code is None:
            clock.ask_where()
    finally:
        _stop_group(process)
    return stdout, code


class _Clock:
    """How much of its time a program has used. The clock starts when it does: when the child has
    opened the file for its stacks."""

    def __init__(self, pid: int, stacks: Path, limit: float) -> None:
        self.pid, self.stacks, self.limit = pid, stacks, limit
        self.made = time.monotonic()
        self.began: tuple[float, float] | None = None

    def over(self) -> bool:
        now = time.monotonic()
        if self.began is None:
            if not self.stacks.exists():
                return now - self.made > STARTUP_S
            self.began = now, _computed(self.pid)
        passed, computed = now - self.began[0], _computed(self.pid) - self.began[1]
        if math.isnan(computed):  # this system does not say
            return passed > self.limit
        return computed > self.limit or passed > WAITING * self.limit

    def ask_where(self) -> None:
        """Have the process write down where it is, and wait until it has."""
        if self.began is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGUSR1)
        end, size = time.monotonic() + GRACE_S, 0
        while time.monotonic() < end:
            before, size = size, self.stacks.stat().st_size
            if size and size == before:
                return
            time.sleep(0.02)


def _computed(pid: int) -> float:
    """Seconds that all threads of a process have computed; NaN where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    except (OSError, ValueError):
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read(process: subprocess.Popen[bytes], clock: _Clock) -> str:
    """Reads until the process ends or its time is over, keeping only the beginning."""
    assert process.stdout is not None
    kept = bytearray()
    cut = False
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not clock.over():
            if not selector.select(0.05):
                if process.poll() is not None:
                    break
                continue
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                _wait(process, clock)
                break
            room = OUTPUT_LIMIT - len(kept)
            kept += chunk[:room]
            cut |= len(chunk) > room
    text = kept.decode("utf-8", errors="replace")
    return text + f"\n[output cut after {OUTPUT_LIMIT} bytes]\n" if cut else text


def _wait(process: subprocess.Popen[bytes], clock: _Clock) -> None:
    """For a process that has closed its output."""
    while process.poll() is None and not clock.over():
        time.sleep(0.01)


def _stop_group(process: subprocess.Popen[bytes]) -> None:
    """Ends whatever is left of the process's own session, and only that."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _how_it_ended(code: int | None, stacks: Path, program: Path, limit: float) -> str:
    line = _last_line(stacks, program)
    at = f" at line {line}" if line else ""
    if code is None:
        return f"Still running{at} after {limit:g} s, so it was stopped. Is there an endless loop?"
    if code < 0:
        return f"The process crashed{at}: {signal.Signals(-code).name}."
    return (
        f"The program ended its process at once (exit code {code}) before its last line, "
        "as `os._exit` does. Let it run to its end, so that its state can be looked at."
    )


def _last_line(stacks: Path, program: Path) -> int:
    """The innermost line of the program in a faulthandler dump, 0 if there is none."""
    try:
        text = stacks.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    found = re.search(rf'File "{re.escape(str(program))}", line (\d+)', text)
    return int(found[1]) if found else 0
