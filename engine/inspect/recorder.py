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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from engine.inspect.ring import DEFAULT_VALUES_BUDGET, MODE_LINES, MODE_VALUES, Ring

_CHILD = Path(__file__).with_name("child.py")


def traces_directory() -> Path:
    """Where traces go that were not given a path: the user's data folder, or `UNDERHOOD_HOME`."""
    from platformdirs import user_data_path

    if moved := os.environ.get("UNDERHOOD_HOME"):
        return Path(moved) / "data" / "traces"
    return user_data_path("underhood", appauthor=False) / "traces"


def new_trace_path(name: str) -> Path:
    """A path for a new trace called after `name`; no file is there yet, its folder is."""
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
    """The trace in the user's data folder that was written last."""
    found = [(path.stat().st_mtime, path) for path in traces_directory().glob("*.uht")]
    return max(found)[1] if found else None


def check_free(path: str | Path) -> Path:
    """The path, if a trace can be made there; says what is in the way otherwise."""
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} exists already; delete it or give the trace another name")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")
    return path


def trace_meta(argv: list[str], budget: int) -> dict[str, str]:
    return {
        "argv": json.dumps(argv),
        "cwd": os.getcwd(),
        "python": sys.version.split()[0],
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "values_budget": str(budget),
    }


def new_ring(values: bool, budget: int, lines: bool) -> Ring:
    mode = (MODE_LINES if lines else 0) | (MODE_VALUES if values else 0)
    return Ring.create(mode=mode, values_budget=budget)


class ProgramRecording:
    """A program being recorded in a child process; this process is the writer.

    Call `step()` at least every 20 ms until `exit_code` is set, then `close()`; `wait()` does that.
    """

    def __init__(
        self,
        argv: list[str],
        path: str | Path | None = None,
        *,
        module: bool = False,
        values: bool = True,
        budget: int = DEFAULT_VALUES_BUDGET,
        lines: bool = True,
    ) -> None:
        from engine.inspect.writer import Writer

        self.path = check_free(path) if path else new_trace_path(argv[0])
        self.exit_code: int | None = None
        self.events = 0
        self.problem = ""
        ring = new_ring(values, budget, lines)
        self._writer = Writer(ring, self.path, trace_meta(argv, budget))
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *flags, str(_CHILD), "--fd", str(ring.fd)]
        command += ["-m"] * module + argv
        try:
            self.process = subprocess.Popen(command, pass_fds=[ring.fd])
        except BaseException:
            self._writer.finish()
            ring.close()
            raise

    def step(self) -> int:
        """Takes over what the program has recorded since; returns how many events that was."""
        code = self.process.poll()
        taken = 0
        if self.problem:
            self._writer.discard()
        else:
            try:
                taken = self._writer.pump(0.02)
            except (OSError, sqlite3.Error) as error:
                self._stop_recording(error)
        self.events += taken
        if code is not None:
            self.exit_code = 128 - code if code < 0 else code
        return taken

    def close(self) -> None:
        """Ends the trace file; to be called when the program has ended."""
        try:
            if not self.problem:
                self._writer.finish(self.exit_code)
        except (OSError, sqlite3.Error) as error:
            self._stop_recording(error)
        if self.problem:
            self._writer.close()
        self._writer.ring.close()

    def _stop_recording(self, error: Exception) -> None:
        """The disk is full, say: the program goes on, and the trace ends here."""
        self.problem = f"the recording stops here: {self.path}: {error}"

    def wait(self) -> int:
        """Records to the end of the program; returns its exit code."""
        while self.exit_code is None:
            self.step()
            if not self._writer.behind:
                time.sleep(0.01)
        self.close()
        return self.exit_code


def record_program(
    argv: list[str],
    path: str | Path | None = None,
    *,
    module: bool = False,
    values: bool = True,
    budget: int = DEFAULT_VALUES_BUDGET,
    lines: bool = True,
) -> int:
    """Runs `python argv...` (`python -m argv...` for a module) as it is and records it.

    The program has this process's stdin, stdout, stderr and working directory, and its exit code
    is returned (128 + n after signal n). The trace goes to `path`, by default to a new file in
    `traces_directory()`; a file that is there already is never overwritten (FileExistsError).
    """
    if not module and (problem := _unusable(argv[0])):
        print(f"{sys.executable}: {problem[1]}", file=sys.stderr)
        return problem[0]
    with _signals_are_the_programs() as running:
        recording = ProgramRecording(
            argv, path, module=module, values=values, budget=budget, lines=lines
        )
        running.append(recording.process)
        code = recording.wait()
    if recording.problem:
        print(f"underhood: {recording.problem}", file=sys.stderr)
    return code


def _unusable(script: str) -> tuple[int, str] | None:
    """Python's exit code and words for a script that it cannot even begin to run."""
    try:
        if os.path.isdir(script):
            if any(
                os.path.exists(os.path.join(script, f"__main__.{ext}")) for ext in ("py", "pyc")
            ):
                return None
            return 1, f"can't find '__main__' module in {os.path.abspath(script)!r}"
        with open(script, "rb"):
            return None
    except OSError as error:
        where = os.path.abspath(script)
        return 2, f"can't open file {where!r}: [Errno {error.errno}] {error.strerror}"


@contextmanager
def _signals_are_the_programs() -> Iterator[list[subprocess.Popen[bytes]]]:
    """While the program runs, ctrl+c is its business (the terminal sends it to both of us), and
    a request to end is passed on to it. Gives the list to put the program's process in."""
    running: list[subprocess.Popen[bytes]] = []

    def ignore(number: int, frame: FrameType | None) -> None:
        pass

    def pass_on(number: int, frame: FrameType | None) -> None:
        for process in running:
            process.send_signal(number)

    handlers = {
        signal.SIGINT: ignore,
        signal.SIGQUIT: ignore,
        signal.SIGTERM: pass_on,
        signal.SIGHUP: pass_on,
    }
    try:
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    except ValueError:  # only the main thread may
        before = {}
    try:
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def spawn_writer(
    ring: Ring, path: Path, producer: int, meta: dict[str, str]
) -> subprocess.Popen[str]:
    """Starts a writer in a process of its own and waits until it is ready to write."""
    command = [sys.executable, "-P", "-m", "engine.inspect.writer", "--fd", str(ring.fd)]
    command += ["--path", str(path), "--producer", str(producer)]
    for key, value in meta.items():
        command += ["--meta", f"{key}={value}"]
    process = subprocess.Popen(
        command,
        pass_fds=[ring.fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout
    assert process.stderr
    if process.stdout.readline() != "ready\n":
        reason = process.stderr.read().strip() or f"exit code {process.wait()}"
        process.communicate()
        raise OSError(f"record: the writer process did not start: {reason}")
    return process


class record:
    """Records what this process does inside the `with` block into a trace file.

    Written by a process of its own, so the block may end in any way, even by a kill.
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
        from engine.inspect import producer

        self._process = spawn_writer(self._ring, self.path, os.getpid(), self._meta)
        try:
            self._producer = producer.start(self._ring, sys.argv)
        except BaseException:
            self._process.terminate()
            self._process.communicate()
            self._ring.close()
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
        problem = self._producer.stop(0 if error is None else 1)
        _, said = self._process.communicate()
        if self._process.returncode != 0:
            last = said.strip().splitlines()[-1:] or [f"exit code {self._process.returncode}"]
            problem = f"the writer process failed: {last[0]}"
        if problem:
            print(f"underhood: {self.path}: {problem}", file=sys.stderr)
