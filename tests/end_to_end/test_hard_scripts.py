"""A program that is recorded prints, writes and ends as it does alone, down to the byte.

`hard_scripts.py` is the table. Both runs start from a fork of this process, which has everything that a
recorder imports, so that a case costs two starts of Python and no more.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.inspect.events import NUMBER
from engine.inspect.recorder import record_program
from engine.inspect.trace import TraceReader
from tests.end_to_end.hard_scripts import CASES, Case

_LIMIT = 60
_BROKEN = 99  # exit code of a run that did not get as far as Python


def start(case: Case, folder: Path, trace: str | None) -> tuple[int, int]:
    """Start one run in a new session; return its process, and its terminal if it has one."""
    terminal = -1
    if case.stdin == "tty":
        pid, terminal = pty.fork()
    else:
        pid = os.fork()
    if pid:
        return pid, terminal
    try:
        if case.stdin != "tty":
            os.setsid()
        _become(case, folder, trace)
    except SystemExit as ending:
        sys.stderr.flush()
        os._exit(int(str(ending.code)))
    except BaseException:
        traceback.print_exc()
    os._exit(_BROKEN)


def _become(case: Case, folder: Path, trace: str | None) -> None:
    """In the new process: only what a shell would leave it, then Python or the recorder."""
    sys.stdout = os.fdopen(os.dup(1), "w")  # pytest's own are not this process's
    sys.orig_argv = [sys.executable, "-m", "pytest"]  # nor are the options of a pytest-xdist worker
    os.chdir(folder)
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
    if case.stdin != "tty":
        stdin = case.stdin if isinstance(case.stdin, bytes) else b""
        (folder / "../stdin").write_bytes(stdin)
        os.dup2(os.open("../stdin", os.O_RDONLY), 0)
        os.dup2(os.open("../out", flags), 1)
    os.dup2(os.open("../err", flags), 2)
    sys.stderr = os.fdopen(os.dup(2), "w")
    own = {0, 1, 2, sys.stdout.fileno(), sys.stderr.fileno()}
    for fd in {int(name) for name in os.listdir("/proc/self/fd")} - own:
        with suppress(OSError):  # that of the listing is closed already
            os.close(fd)
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(
            number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        )
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for name in list(os.environ):
        if name.startswith(("PYTHON", "PYTEST", "LC_", "LANG")):
            del os.environ[name]
    os.environ["LANG"] = "C.UTF-8"
    for name, value in case.environment.items():
        os.environ[name] = os.fsdecode(value)
    case.process()
    if case.stdin == "closed":
        os.close(0)
    terms = [os.fsdecode(argument) for argument in case.arguments]
    if trace is None:
        os.execve(sys.executable, [sys.executable, *terms], os.environ)
    raise SystemExit(record_program(terms, trace))


def finish(pid: int, terminal: int, out: Path) -> int:
    """Waits for a run; what it says at a terminal goes to the file `out`. Exit code as a shell has it."""
    deadline = time.monotonic() + _LIMIT
    if terminal >= 0:
        os.write(terminal, b"Ann\nb\n\x04")
        with out.open("ab") as stream:
            while data := _read(terminal):
                stream.write(data)
        os.close(terminal)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            pytest.fail(f"still running after {_LIMIT} s: {out.read_bytes()[-2000:]!r}")
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(status)
    assert code != _BROKEN
    return 128 - code if code < 0 else code


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""


def outcome(code: int, folder: Path) -> dict[str, Any]:
    """Collect the output, exit code and files of a run."""

    def clean(data: bytes) -> bytes:
        # The names of temporary folders first: they may have 0x in them.
        data = re.sub(rb"tmp[a-z0-9_]{8}", b"tmp", data)
        data = data.replace(os.fsencode(folder.parent), b"HERE")
        data = re.sub(rb"0x[0-9a-f]+", b"0x", data)
        data = re.sub(rb"<_MainThread\(MainThread, (\w+) \d+\)>", rb"main thread \1", data)
        # What faulthandler lists besides the stack.
        data = re.sub(rb"\n\nExtension modules: .*\n", b"\n", data)
        return data

    files = {
        os.fsencode(path.relative_to(folder)): clean(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    out, err = (folder.parent / "out", folder.parent / "err")
    recorded = {path.name: clean(path.read_bytes()) for path in (out, err) if path.exists()}
    return {"exit code": code, **recorded, "files": files}


@pytest.mark.parametrize("name", CASES)
def test_a_hard_script_runs_as_it_does_alone(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    outcomes = []
    runs = []
    for which in ("alone", "taped"):
        folder = tmp_path / which / "run"
        folder.mkdir(parents=True)
        source = case.script if isinstance(case.script, bytes) else case.script.encode()
        (folder / "script.py").write_bytes(source)
        case.folder(folder)
        trace = str(tmp_path / "t.uht") if which == "taped" else None
        runs.append((folder, *start(case, folder, trace)))
    for folder, pid, terminal in runs:
        code = finish(pid, terminal, folder.parent / "out")
        outcomes.append(outcome(code, folder))
    alone, taped = outcomes
    for key in ("out", "err"):
        lines = [re.split(rb"\n|, ", done.get(key, b"")) for done in (taped, alone)]
        assert lines[0] == lines[1]
    assert taped == alone
    if name != "no such script":
        trace = TraceReader.open(tmp_path / "t.uht")
        assert (trace.warning, trace.finished) == ("", True)
        assert int(trace.events["a"][-1]) == alone["exit code"]
        assert int(trace.events["kind"][-1]) == NUMBER["PROGRAM_END"]
        assert bool((trace.events["kind"] == NUMBER["LINE"]).any()) == case.lines
    shutil.rmtree(tmp_path)
