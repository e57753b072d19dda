"""Kills: what the program did before is in its trace; a killed recorder does not take it along."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.inspect.events import NUMBER
from engine.inspect.history import History
from engine.inspect.trace import TraceReader
from tests.sampling import seeds

_RECORD = (
    "import sys; from engine.inspect.recorder import record_program; "
    "sys.exit(record_program(sys.argv[2:], sys.argv[1]))"
)
LOST_NS = 100_000_000

# A program notes the time and its progress in memory that outlives a kill. So the trace is compared with
# real progress, and a busy machine that stops everything for a while cannot fail the test.
_HEAD = """\
import engine, mmap, numpy, os, struct, time
notes = mmap.mmap(os.open("notes", os.O_RDWR), 16)
x = engine.zeros(4)
done = 0
print(os.getpid(), flush=True)
"""
PROGRAMS = {
    "operators": """\
while True:
    x.add_(1.0)
    done += 1
    notes[:] = struct.pack("<QQ", time.monotonic_ns(), done)
""",
    "python": """\
def work(n):
    a = n % 7
    b = [a, n, str(n)]
    return a
while True:
    for i in range(20):
        work(i)
    x.add_(1.0)
    done += 1
    notes[:] = struct.pack("<QQ", time.monotonic_ns(), done)
""",
    # One call of half a second in C that keeps the GIL, after the note.
    "numpy": """\
objects = numpy.array([3 ** 400_000] * 8, dtype=object)
while True:
    x.add_(1.0)
    done += 1
    notes[:] = struct.pack("<QQ", time.monotonic_ns(), done)
    y = objects * objects
""",
}
POINTS = [
    (name, seed)
    for name, count in (("operators", 4), ("python", 3), ("numpy", 3))
    for seed in seeds(count, name)
]


def recorded(trace: Path, script: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RECORD, str(trace), str(script)],
        cwd=script.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("name", "seed"), POINTS)
def test_a_killed_program_has_lost_nothing(name: str, seed: int, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(_HEAD + PROGRAMS[name])
    (tmp_path / "notes").write_bytes(bytes(16))
    process = recorded(tmp_path / "t.uht", tmp_path / "script.py")
    assert process.stdout
    pid = int(process.stdout.readline())
    time.sleep(random.Random(f"{name} {seed}").uniform(0, 0.4))
    os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (137, "")
    trace = TraceReader.open(tmp_path / "t.uht")
    assert trace.warning == ""
    notes = (tmp_path / "notes").read_bytes()
    when, done = (int.from_bytes(notes[at : at + 8], "little") for at in (0, 8))
    assert int(trace.events["t"][-2]) >= when - LOST_NS
    assert int(trace.events["a"][-1]) == 137
    tables = History(trace).tables
    added = [trace.string(int(op)).startswith("add_.") for op in tables.calls.op]
    assert done <= sum(added) <= done + 1
    kinds = set(trace.events["kind"].tolist())
    assert {NUMBER["LINE"], NUMBER["NAME_BIND"]} <= kinds


# ---- the recorder is killed


@contextmanager
def adopting() -> Iterator[None]:
    """Orphans become children of this process, which can then ask for their exit codes."""
    set_subreaper = 36
    libc = ctypes.CDLL(None)
    if libc.prctl(set_subreaper, 1, 0, 0, 0) != 0:
        pytest.skip("this system has no subreapers")
    try:
        yield
    finally:
        libc.prctl(set_subreaper, 0, 0, 0, 0)


# More events than the ring holds, so that the program would wait for the writer; and just a few.
@pytest.mark.parametrize("rounds", [100_000, 10], ids=["the ring fills", "the ring does not fill"])
def test_the_program_goes_on_when_the_recorder_is_killed(rounds: int, tmp_path: Path) -> None:
    program = f"""\
import engine, os, sys
x = engine.zeros(4)
print(os.getpid(), flush=True)
sys.stdin.readline()
for i in range({rounds}):
    x.add_(1.0)
print(x.tolist()[0], flush=True)
sys.exit(7)
"""
    (tmp_path / "script.py").write_text(program)
    with adopting():
        process = subprocess.Popen(
            [sys.executable, "-c", _RECORD, "t.uht", "script.py"],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin
        assert process.stdout
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
        out, errors = process.communicate("\n", timeout=300)
        _, status = os.waitpid(pid, 0)
    assert out == f"{rounds}.0\n"
    assert os.waitstatus_to_exitcode(status) == 7
    assert "the recorder process ended; recording stopped" in errors
    trace = TraceReader.open(tmp_path / "t.uht")
    assert not trace.finished
    assert trace.warning == ""


def test_a_block_goes_on_when_its_writer_is_killed(tmp_path: Path) -> None:
    """The dead writer is a child that was not waited for; its end must be noticed all the same."""
    program = """\
import os, signal, engine
from engine.inspect.recorder import record
with record("t.uht") as recording:
    os.kill(recording.writer_pid, signal.SIGKILL)
    x = engine.zeros(4)
    for i in range(100_000):
        x.add_(1.0)
print(x.tolist()[0])
"""
    (tmp_path / "script.py").write_text(program)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "100000.0\n")
    assert "t.uht: the writer process failed: exit code -9" in done.stderr


def test_the_playground_goes_on_when_its_writer_is_killed(tmp_path: Path) -> None:
    """Once the explorer has looked, that is: the writer is its child, and a zombie until then."""
    from engine.inspect.session import Session

    session = Session(tmp_path / "t.uht", line_events=1 << 40)
    try:
        session.send("import engine; x = engine.zeros(4)")
        session.wait(300)
        session._writer.kill()
        session.send("for i in range(100_000): x.add_(1.0)\n")
        session.send("x.tolist()[0]")
        replies = session.wait(300)
        assert [reply.text for reply in replies if reply.kind == "result"] == ["100000.0"]
    finally:
        session.close()


def test_a_recorder_that_is_dead_and_not_reaped_is_gone(tmp_path: Path) -> None:
    """Its own parent does not wait for it: it stays a zombie, which a signal can still be sent to."""
    program = """\
import engine, os, signal
os.kill(os.getppid(), signal.SIGKILL)
x = engine.zeros(4)
for i in range(100_000):
    x.add_(1.0)
print(x.tolist()[0], flush=True)
"""
    (tmp_path / "script.py").write_text(program)
    process = recorded(tmp_path / "t.uht", tmp_path / "script.py")
    assert process.stdout
    assert process.stdout.readline() == "100000.0\n"  # nothing has waited for the recorder so far
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert errors.count("underhood: ") == 1
    assert "the recorder process ended; recording stopped" in errors


@pytest.mark.parametrize("ends", ["at its end", "at once"])
def test_a_recorder_that_was_stopped_does_not_stop_the_program(ends: str, tmp_path: Path) -> None:
    program = f"""\
import engine, os, signal
recorder = os.getppid()
os.kill(recorder, signal.SIGSTOP)
x = engine.zeros(4)
for i in range(100_000):
    x.add_(1.0)
print(x.tolist()[0], flush=True)
os.kill(recorder, signal.SIGCONT)
if {ends == "at once"}: os._exit(3)
raise SystemExit(3)
"""
    (tmp_path / "script.py").write_text(program)
    process = recorded(tmp_path / "t.uht", tmp_path / "script.py")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, "100000.0\n")
    assert errors == (
        "underhood: the recorder process hung; recording stopped, program continued\n"
    )
    trace = TraceReader.open(tmp_path / "t.uht")
    assert (trace.warning, trace.meta["exit_code"]) == ("", "3")
    assert int(trace.meta["lost"]) > 0


def test_a_block_s_writer_that_was_stopped_does_not_stop_the_block(tmp_path: Path) -> None:
    program = """\
import os, signal, engine
from engine.inspect.recorder import record
with record("t.uht") as recording:
    os.kill(recording.writer_pid, signal.SIGSTOP)
    x = engine.zeros(4)
print(x.tolist()[0])
"""
    (tmp_path / "script.py").write_text(program)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "0.0\n")
    output = "underhood: t.uht: the writer process hung; recording stopped\n"
    assert done.stderr == output


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_a_signal_for_the_recorder_is_the_program_s(name: str, tmp_path: Path) -> None:
    program = f"""\
import os, signal, time
signal.signal(signal.{name}, lambda n, f: os.write(1, b"heard\\n"))
print("go", flush=True)
time.sleep(0.3)
"""
    (tmp_path / "script.py").write_text(program)
    process = recorded(tmp_path / "t.uht", tmp_path / "script.py")
    assert process.stdout
    assert process.stdout.readline() == "go\n"
    process.send_signal(getattr(signal, name))
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (0, "heard\n", "")
