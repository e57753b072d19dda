"""Recording: a whole program from outside, or a part of this process from inside.

code = record_program(["train.py", "--fast"], "train.uht")

with record("step.uht") as recording:
    y = x @ w
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from engine._native import lib
from engine.inspect.line_tracer import absolute
from engine.inspect.new_trace import new_trace
from engine.inspect.ring import (
    CLOSED,
    DEFAULT_VALUES_BUDGET,
    MODE_LINES,
    MODE_VALUES,
    PATIENCE,
    PATIENCE_STOPPED,
    RECORDING,
    Header,
    Ring,
    private_file,
    process_state,
)
from engine.inspect.sink import why_it_stopped, working_directory

_STARTUP = Path(__file__).with_name("startup")
MANY_EVENTS = 5_000_000
"""A recording with more events is slow to open; that is said as soon as it has more."""
TOO_LONG = (
    "it opens slowly; to record some iterations only, use `underhood record --steps 3:5`, or write "
    "`with engine.inspect.record(path):` round them"
)
_NOT_A_SCRIPT = ("-m", "-c", "-")


def traces_directory() -> Path:
    """Return where traces go that were not given a path: the user's data folder, or `UNDERHOOD_HOME`."""
    from platformdirs import user_data_path

    if moved := os.environ.get("UNDERHOOD_HOME"):
        return Path(moved) / "data" / "traces"
    return user_data_path("underhood", appauthor=False) / "traces"


def new_trace_path(name: str) -> Path:
    """Return a path for a new trace named after `name`. Its folder exists, the file does not."""
    folder = traces_directory()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)  # of an earlier version, perhaps: recordings hold a program's values
    stem = f"{Path(name).stem or 'program'}-{datetime.now():%Y%m%d-%H%M%S}"
    path = folder / f"{stem}.uht"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.uht"
    return path


def newest_trace() -> Path | None:
    """Return the trace in the user's data folder that was written last."""
    candidates = [(path.stat().st_mtime, path) for path in traces_directory().glob("*.uht")]
    return max(candidates)[1] if candidates else None


def check_free(path: str | Path) -> Path:
    """Return the path if a trace can be created there. Raises: an OSError that says why not."""
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} exists already; delete it or give the trace another name")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")
    return path


def trace_meta(argv: list[str], budget: int) -> dict[str, str]:
    return {
        "argv": json.dumps([readable(word) for word in argv]),
        "cwd": readable(working_directory()),
        "python": sys.version.split()[0],
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "values_budget": str(budget),
    }


def readable(text: str) -> str:
    """Return a path or argument as text that any file can hold: bytes that are not UTF-8 show as `\\xff`."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def new_ring(values: bool, budget: int, lines: bool) -> Ring:
    mode = (MODE_LINES if lines else 0) | (MODE_VALUES if values else 0)
    return Ring.create(mode=mode, values_budget=budget)


class ProgramRecording:
    """A program being recorded in a child process; this process is the writer.

    `argv` are the words after `python`. Call `step()` at least every 20 ms until `exit_code` is set,
    then `close()`; `wait()` does that.
    """

    def __init__(
        self,
        argv: list[str],
        path: str | Path | None = None,
        *,
        values: bool = True,
        budget: int = DEFAULT_VALUES_BUDGET,
        lines: bool = True,
        alias: str = "",
        steps: tuple[int, int | None] | None = None,
    ) -> None:
        module = argv[1] if argv[0] == "-m" else ""
        self.path = check_free(path) if path else new_trace_path(module or argv[0].lstrip("-"))
        self.exit_code: int | None = None
        self.events = 0
        self.problem = ""
        _occupy_standard_streams()
        ring = new_ring(values, budget, lines)
        program = argv[1:] if module else argv
        try:
            file = private_file(self.path)
        except OSError:
            ring.close()
            raise
        details = {
            "fd": ring.fd,
            "pythonpath": os.environ.get("PYTHONPATH"),
            "script": "" if argv[0] in _NOT_A_SCRIPT else absolute(argv[0]),
            "module": module,
            "alias": alias,
            "steps": steps,
        }
        python_path = [str(_STARTUP), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(python_path),
            "UNDERHOOD_RECORD": json.dumps(details),
        }
        os.set_inheritable(ring.fd, True)
        try:
            # What this process inherited the program inherits; what is ours is closed on exec.
            self.process = subprocess.Popen(python(argv), env=environment, close_fds=False)
        except BaseException:
            self.path.unlink()
            os.close(file)
            ring.close()
            raise
        finally:
            os.set_inheritable(ring.fd, False)
        try:
            # The program starts as soon as there is a trace; the ring has room for what it does while NumPy
            # is imported here.
            database = new_trace(self.path)
            ring["heartbeat_ns"] = time.monotonic_ns()
            ring["writer_pid"] = os.getpid()
            from engine.inspect.writer import TraceWriter

            meta = trace_meta(program, budget)
            self._writer = TraceWriter(ring, self.path, meta, file, database)
        except BaseException:
            self.process.kill()
            self.process.wait()
            ring.close()
            raise

    def step(self) -> int:
        """Takes over what the program has recorded since; returns how many events that was."""
        code = self.process.poll()
        count = 0
        if self.problem:
            self._writer.discard()
        else:
            try:
                count = self._writer.pump(0.02)
            except (OSError, sqlite3.Error) as error:
                self._stop_recording(error)
        self.events += count
        if code is not None:
            self.exit_code = _shell_code(code)
        return count

    def close(self) -> None:
        """Ends the trace file; to be called when the program has ended."""
        ring = self._writer.ring
        try:
            if not self.problem:
                self._writer.finish(self.exit_code)
                self.problem = self._what_the_program_could_not_say()
        except (OSError, sqlite3.Error) as error:
            self._stop_recording(error)
        self._writer.close()
        ring.close()

    def _what_the_program_could_not_say(self) -> str:
        header = self._writer.ring.header
        if header["state"] not in (RECORDING, CLOSED):
            return f"nothing was recorded: {header.note or 'Python read no sitecustomize'}"
        if header["end"] and header["state"] != CLOSED:
            return why_it_stopped(header)
        return ""

    def _stop_recording(self, error: Exception) -> None:
        """Stop recording, because the disk is full, say: the program continues, and the trace ends here."""
        self.problem = self._writer.give_up(error)

    def wait(self) -> int:
        """Records to the end of the program; returns its exit code."""
        warned = False
        while self.exit_code is None:
            self.step()
            if self.events > MANY_EVENTS and not warned:
                warned = True
                print(f"underhood: more than {MANY_EVENTS:,} events: {TOO_LONG}", file=sys.stderr)
            if not self._writer.has_backlog:
                time.sleep(self._writer.pause)
        self.close()
        return self.exit_code


def record_program(
    argv: list[str],
    path: str | Path | None = None,
    *,
    values: bool = True,
    budget: int = DEFAULT_VALUES_BUDGET,
    lines: bool = True,
    alias: str = "",
    steps: tuple[int, int | None] | None = None,
) -> int:
    """Runs `python argv...` as it is and records it: a script, `-m module` or `-c command`.

    The program has this process's stdin, stdout, stderr and working directory, and its exit code
    is returned (128 + n after signal n). The trace goes to `path`, by default to a new file in
    `traces_directory()`; a file that is there already is never overwritten (FileExistsError).
    With `alias="torch"` the program's `import torch` finds the engine. With `steps=(3, 5)` steps 3 and 4 are
    recorded, counted from 0 (None: to the end): a step ends with `Optimizer.step` or `engine.inspect.step`.
    A script that Python cannot even open leaves no trace.
    """
    if argv[0].startswith("-") and argv[0] not in _NOT_A_SCRIPT:
        argv = [os.path.join(os.curdir, argv[0]), *argv[1:]]
    with _signals_are_the_programs() as running:
        if not _can_begin(argv[0]):
            process = subprocess.Popen(python(argv), close_fds=False)
            running.append(process)
            return _shell_code(process.wait())
        recording = ProgramRecording(
            argv, path, values=values, budget=budget, lines=lines, alias=alias, steps=steps
        )
        running.append(recording.process)
        code = recording.wait()
    if recording.problem:
        print(f"underhood: {recording.problem}", file=sys.stderr)
    return code


def _occupy_standard_streams() -> None:
    """Open closed descriptors among 0, 1 and 2 until an exec. Otherwise a file that we open would get such a
    number, and would be the program's stdin."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


def python(argv: list[str]) -> list[str]:
    """Return the command that runs `python argv...` with this Python and the options that it was started with."""
    return [sys.executable, *_options(iter(sys.orig_argv[1:])), *argv]


def _options(arguments: Iterator[str]) -> Iterator[str]:
    """Yield the options of a Python command that are the program's too; -I, -E, -P, -s and -S guard our own
    start, and -i and -x are for the script that was named."""
    for word in arguments:
        if not word.startswith("-") or word in ("-", "--"):
            return
        for index, letter in enumerate(word[1:], 2):
            if letter in "cm-":
                return
            if letter in "WX":
                yield f"-{letter}{word[index:] or next(arguments)}"
                break
            if letter in "bBdOquv":
                yield f"-{letter}"


def _can_begin(script: str) -> bool:
    """Return whether Python will get as far as running something; if not, it is Python that says why."""
    if script in _NOT_A_SCRIPT:
        return True
    try:
        if os.path.isdir(script):
            names = ("__main__.py", "__main__.pyc")
            return any(os.path.exists(os.path.join(script, name)) for name in names)
        with open(script, "rb"):
            return True
    except OSError:
        return False


def _shell_code(code: int) -> int:
    """Return an exit code as a shell has it: 128 + n after signal n."""
    return 128 - code if code < 0 else code


class _Programs(list[subprocess.Popen[bytes]]):
    """The process that signals are passed on to, and those that came before there was one."""

    def __init__(self) -> None:
        self.early: list[int] = []

    def append(self, process: subprocess.Popen[bytes]) -> None:
        super().append(process)
        for number in self.early:
            process.send_signal(number)

    def pass_on(self, number: int, frame: FrameType | None) -> None:
        for process in self:
            process.send_signal(number)
        if not self:
            self.early.append(number)


def _leave_it(number: int, frame: FrameType | None) -> None:
    """Do nothing: the terminal sends ctrl+c to the program as well, which acts on it."""


@contextmanager
def _signals_are_the_programs() -> Iterator[_Programs]:
    """While the program runs, ctrl+c is its business (the terminal sends it to both of us), and
    what else is sent to us is passed on to it. What we were started to ignore (`nohup`) stays
    ignored, here and in the program. Gives the list to put the program's process in."""
    running = _Programs()
    passed_on = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    handlers: dict[int, Callable[[int, FrameType | None], None]] = {
        signal.SIGINT: _leave_it,
        signal.SIGQUIT: _leave_it,
        **{getattr(signal, name): running.pass_on for name in passed_on},
    }
    before = {}
    if threading.current_thread() is threading.main_thread():  # no other thread may
        for number, handler in handlers.items():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield running
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


def spawn_writer(
    ring: Ring, path: Path, producer: int, meta: dict[str, str]
) -> subprocess.Popen[str]:
    """Starts a writer in a separate process and waits until it is ready to write.

    Afterwards nothing but the ring connects the two; a writer that fails leaves a note there.
    """
    command = [sys.executable, "-P", "-m", "engine.inspect.writer", "--fd", str(ring.fd)]
    command += ["--path", str(path), "--producer", str(producer)]
    for key, value in meta.items():
        command += ["--meta", f"{key}={value}"]
    process = subprocess.Popen(
        command,
        pass_fds=[ring.fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        errors="replace",
    )
    assert process.stdout
    with process.stdout as output:
        if output.readline() != "ready\n":
            process.wait()
            reason = ring.header.note or f"exit code {process.returncode}"
            raise OSError(f"record: the writer process did not start: {reason}")
    process.stdout = None
    return process


def await_writer(process: subprocess.Popen[str], header: Header) -> str:
    """Waits until the writer has ended; says why the trace is not whole, if it is not."""
    heartbeat, waited = header["heartbeat_ns"], 0.0
    while process.poll() is None:
        time.sleep(0.005)
        waited += 0.005
        if header["heartbeat_ns"] != heartbeat:
            heartbeat, waited = header["heartbeat_ns"], 0.0
        elif waited > (PATIENCE_STOPPED if process_state(process.pid) in "Tt" else PATIENCE):
            process.kill()
            process.wait()
            return "the writer process hung; recording stopped"
    if process.returncode == 0:
        return ""
    return header.note or f"the writer process failed: exit code {process.returncode}"


class record:
    """Records what this process does inside the `with` block into a trace file.

    Written by a separate process, so the block may end in any way, even by a kill.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        values: bool = True,
        budget: int = DEFAULT_VALUES_BUDGET,
        lines: bool = True,
    ) -> None:
        self.path = check_free(path) if path else new_trace_path(sys.argv[0] or "session")
        self._ring = new_ring(values, budget, lines)
        self._meta = trace_meta(sys.argv, budget)

    def __enter__(self) -> Self:
        from engine.inspect import sink

        self._process = spawn_writer(self._ring, self.path, os.getpid(), self._meta)
        try:
            self._sink = sink.start(self._ring, sys.argv)
        except BaseException:
            self._process.terminate()
            self._process.wait()
            raise
        return self

    @property
    def writer_pid(self) -> int:
        """The process that writes the trace."""
        return self._process.pid

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        problem = self._sink.stop(0 if error is None else 1)
        problem = await_writer(self._process, self._sink.header) or problem
        lib.uh_record_release()
        if problem:
            print(f"underhood: {self.path}: {problem}", file=sys.stderr)
