"""Start a program in a separate process and report how it ended, whatever it does.

Endless loops, crashes, `os._exit`, endless output, a program that stops itself or kills its parent:
all come back as an `Outcome`, and leave no process and no file. `engine/inspect/supervise.py`
is between the program and this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
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
WRITER = "engine.inspect.writer"  # the process that finishes a recording may outlive the program
OUTPUT_LIMIT = 64 * 1024
ADDRESS_LIMIT = 16 << 30  # bytes of address space; libraries reserve far more than they use
MEMORY_LIMIT = 4 << 30  # bytes that the program can write to, if the machine has twice as many
STARTUP_S = 60.0  # until the program's first line; a crowded machine is slow to start a Python
WAITING = 6  # a program that computes nothing may take this many times its time limit
STOPPED_S = 1.0  # a program that has stopped itself does not continue
DUMPED_S = 0.3  # a dump of stacks that has not grown for so long is complete
GRACE_S = 10.0  # between asking where a program hangs and ending it unheard
END_S = 60.0  # until every process that the program left has ended


@dataclass(frozen=True)
class Questions:
    """The expressions to compute in the process once the program has run."""

    values: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()
    goals: tuple[tuple[str, str], ...] = ()

    def table(self) -> dict[str, Any] | None:
        """Return the table for the job file; None if there is nothing to ask."""
        if not (self.values or self.strings or self.goals):
            return None
        return {"values": self.values, "strings": self.strings, "goals": self.goals}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program. If it reached its end, `error` is empty, and it has the answers."""

    stdout: str
    error: str = ""
    values: list[dict[str, Any]] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    failed: str = ""


def run_program(
    program: Path,
    questions: Questions | None = None,
    trace: Path | None = None,
    time_limit: float = 10.0,
    watch: str = "",
) -> Outcome:
    """Runs `program` (a file), recorded into `trace` if given. `time_limit` is in seconds that it
    computes: what else the machine does is not the fault of the program. The values that the expression
    `watch` takes while it runs are `watched` for the questions."""
    with tempfile.TemporaryDirectory(prefix="underhood-", ignore_cleanup_errors=True) as folder:
        box = Path(folder)
        (box / "tmp").mkdir()
        job = {
            "program": str(program),
            "trace": None if trace is None else str(trace),
            "ask": (questions or Questions()).table(),
            "watch": watch,
            "result": str(box / "result.json"),
            "stacks": str(box / "stacks.txt"),
            "address_limit": ADDRESS_LIMIT,
            "memory_limit": min(MEMORY_LIMIT, _memory_of_machine() // 2),
        }
        (box / "job.json").write_text(json.dumps(job), encoding="utf-8")
        try:
            stdout, end = _run(box, program.parent, time_limit)
        except OSError as error:
            return Outcome("", f"The program cannot be started: {error}")
        if end.stopped or not (box / "result.json").exists():
            return Outcome(stdout, _how_it_ended(end, box / "stacks.txt", program, time_limit))
        try:
            return Outcome(stdout, **json.loads((box / "result.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            return Outcome(stdout, f"The program's result cannot be read: {error}")


def _memory_of_machine() -> int:
    """Return bytes of memory; where the system does not say, so many that the limit is the usual one."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 2 * MEMORY_LIMIT


def _supervisor() -> Path:
    """Return the script that starts the program (found without importing the engine)."""
    spec = importlib.util.find_spec("engine")
    for folder in (spec and spec.submodule_search_locations) or ():
        script = Path(folder) / "inspect" / "supervise.py"
        if script.is_file():
            return script
    raise FileNotFoundError("engine/inspect/supervise.py is not installed")


@dataclass
class _End:
    """The end of a program: its exit code (below 0: a signal's number) or what had to be done."""

    code: int | None = None
    stopped: bool = False  # it had stopped itself
    late: bool = False  # its time was over


def _run(box: Path, folder: Path, limit: float) -> tuple[str, _End]:
    """Output (cut at OUTPUT_LIMIT) and end."""
    command = [sys.executable, str(CHILD), str(box / "job.json")]
    status, report_fd = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_supervisor()), str(report_fd), WRITER, *command],
            cwd=folder,
            env=os.environ
            | {
                "PYTHONIOENCODING": "utf-8",
                "PYTHONUNBUFFERED": "1",  # what it has printed is shown, however it ends
                "TMPDIR": str(box / "tmp"),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[report_fd],
            start_new_session=True,
        )
    except BaseException:
        os.close(status)
        raise
    finally:
        os.close(report_fd)
    end = _End()
    with os.fdopen(status, encoding="ascii") as lines:
        try:
            pid = int(lines.readline().removeprefix("pid ") or 0)
            clock = _Clock(pid, box / "stacks.txt", limit)
            stdout = _read(process, clock)
            end.stopped = clock.stopped_at > 0  # its time may be over before STOPPED_S is
            end.late = not end.stopped and process.poll() is None and _is_alive(pid)
            if end.late or end.stopped:
                clock.ask_where()
        finally:
            _end_all(process)
        kind, _, number = lines.readline().partition(" ")
    if number:
        end.code = -int(number) if kind == "signal" else int(number)
    return stdout, end


class _Clock:
    """The time that a program has used, of its limit. The clock starts when it does: when the child has
    opened the file for its stacks."""

    def __init__(self, pid: int, stacks: Path, limit: float) -> None:
        self.pid, self.stacks, self.limit = pid, stacks, limit
        self.started_at = time.monotonic()
        self.began: tuple[float, float] | None = None
        self.stopped_at = 0.0

    @property
    def stopped(self) -> bool:
        """Return True if the program has been stopped, as by SIGSTOP, for too long to continue."""
        return bool(self.stopped_at) and time.monotonic() - self.stopped_at > STOPPED_S

    def over(self) -> bool:
        now = time.monotonic()
        state, used = _computed(self.pid)
        self.stopped_at = (self.stopped_at or now) if state == "T" else 0.0
        if self.stopped:
            return True
        if self.began is None:
            if not self.stacks.exists():
                return now - self.started_at > STARTUP_S
            self.began = now, used
        passed, computed = now - self.began[0], used - self.began[1]
        if math.isnan(computed):  # this system does not say
            return passed > self.limit
        return computed > self.limit or passed > WAITING * self.limit

    def ask_where(self) -> None:
        """Have the process write down where it is, and wait until it has."""
        if not self.stacks.exists():  # its first line has not begun
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            _signal_main_thread(self.pid, signal.SIGUSR1)
            os.kill(self.pid, signal.SIGCONT)
        grown_at = now = time.monotonic()
        end, size = now + GRACE_S, 0
        while now < end and self.stacks.exists():
            before, size = size, self.stacks.stat().st_size
            if size != before:
                grown_at = now
            elif size and now - grown_at > DUMPED_S:
                return
            time.sleep(0.02)
            now = time.monotonic()


def _signal_main_thread(pid: int, number: int) -> None:
    """Send a signal to the thread that runs the program.

    Any thread may take one that is sent to a stopped process, and it would report the main thread after that has
    gone on.
    """
    tgkill = getattr(ctypes.CDLL(None), "tgkill", None)  # Linux's
    if tgkill is None or tgkill(pid, pid, number):
        os.kill(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return bool(pid)


def _computed(pid: int) -> tuple[str, float]:
    """Return the state of a process, and the seconds that all its threads have computed; NaN where the system
    does not report it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return "", math.nan


def _read(process: subprocess.Popen[bytes], clock: _Clock) -> str:
    """Reads until the process ends or its time is over, keeping only the beginning."""
    assert process.stdout is not None
    output = bytearray()
    cut = False
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not clock.over():
            ended = process.poll() is not None  # asked first: it may write and end after the select
            if not selector.select(0.05):
                if ended:
                    break
                continue
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                _wait(process, clock)
                break
            room = OUTPUT_LIMIT - len(output)
            output += chunk[:room]
            cut |= len(chunk) > room
    text = output.decode("utf-8", errors="replace")
    return text + f"\n[output cut after {OUTPUT_LIMIT} bytes]\n" if cut else text


def _wait(process: subprocess.Popen[bytes], clock: _Clock) -> None:
    """Wait for a process that has closed its output."""
    while process.poll() is None and not clock.over():
        time.sleep(0.01)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """Make the supervisor end all remaining processes of the program, and wait for it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _how_it_ended(end: _End, stacks: Path, program: Path, limit: float) -> str:
    line = _last_line(stacks, program)
    at = f" at line {line}" if line else ""
    if end.stopped:
        return f"The program stopped itself{at} (SIGSTOP), so it was ended."
    if end.late:
        return f"Still running{at} after {limit:g} s, so it was stopped. Is there an endless loop?"
    if end.code is None:
        return "The program killed the process that started it, and ended with it."
    if end.code < 0:
        known = {number.value: number.name for number in signal.Signals}
        return f"The process crashed{at}: {known.get(-end.code, f'signal {-end.code}')}."
    return (
        f"The program ended its process at once (exit code {end.code}) before its last line, "
        "as `os._exit` does. Let it run to its end, so that its state can be looked at."
    )


def _last_line(stacks: Path, program: Path) -> int:
    """Return the innermost line of the program in a faulthandler dump, 0 if there is none."""
    try:
        text = stacks.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    match = re.search(rf'File "{re.escape(str(program))}", line (\d+)', text)
    return int(match[1]) if match else 0
