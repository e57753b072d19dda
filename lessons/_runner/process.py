"""Starts a program in a process of its own and says, whatever it does, how it ended.

Endless loops, crashes, `os._exit`, endless output and syntax errors all come back as an `Outcome`.
"""

from __future__ import annotations

import contextlib
import json
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
GRACE_S = 0.5  # between asking where a program hangs and ending it


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
    """Runs `program` (a file), at most `time_limit` seconds, recorded into `trace` if given."""
    with tempfile.TemporaryDirectory(prefix="underhood-") as folder:
        box = Path(folder)
        job = {
            "program": str(program),
            "trace": None if trace is None else str(trace),
            "ask": (questions or Questions()).table(),
            "result": str(box / "result.json"),
            "stacks": str(box / "stacks.txt"),
            "time_limit": time_limit,
            "memory_limit": MEMORY_LIMIT,
        }
        (box / "job.json").write_text(json.dumps(job), encoding="utf-8")
        stdout, code = _run(box / "job.json", program.parent, time_limit + GRACE_S)
        if not (box / "result.json").exists():
            return Outcome(stdout, _how_it_ended(code, box / "stacks.txt", program, time_limit))
        return Outcome(stdout, **json.loads((box / "result.json").read_text(encoding="utf-8")))


def _run(job: Path, folder: Path, limit: float) -> tuple[str, int | None]:
    """Output (cut at OUTPUT_LIMIT) and exit code; None as code means it had to be stopped."""
    process = subprocess.Popen(
        [sys.executable, str(CHILD), str(job)],
        cwd=folder,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        stdout = _read(process, time.monotonic() + limit)
        code = process.poll()
    finally:
        _stop_group(process)
    return stdout, code


def _read(process: subprocess.Popen[bytes], deadline: float) -> str:
    """Reads until the process ends or the deadline passes, keeping only the beginning."""
    assert process.stdout is not None
    kept = bytearray()
    cut = False
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(min(left, 0.05)):
                if process.poll() is not None:
                    break
                continue
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                process.wait(max(left, 0.1))
                break
            room = OUTPUT_LIMIT - len(kept)
            kept += chunk[:room]
            cut |= len(chunk) > room
    text = kept.decode("utf-8", errors="replace")
    return text + f"\n[output cut after {OUTPUT_LIMIT} bytes]\n" if cut else text


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
