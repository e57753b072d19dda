"""Bad input, as a table: the right exception or exit code, the actual values in the message, and
the process continues."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.inspect import live
from engine.inspect.events import NUMBER, RECORD
from engine.inspect.history import History
from engine.inspect.new_trace import APPLICATION_ID
from engine.inspect.trace import TraceError, TraceReader
from engine.inspect.writer import TraceFile

HUGE = 2**60
x = engine.zeros(2, 3)
ints = engine.arange(6)


def at(index: Any) -> Callable[[], Any]:
    return lambda: x[index]


# (what is done, the exception, words of its message: the values that were given)
ENGINE: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    # shapes
    (lambda: x + engine.zeros(4, 5), RuntimeError, ["(2)", "(4)", "dimension 0", "[2, 3]", "[4, 5]"]),
    (lambda: x @ engine.zeros(4, 5), RuntimeError, ["2x3", "4x5"]),
    (lambda: engine.dot(ints, engine.arange(4)), RuntimeError, ["6 and 4"]),
    (lambda: x.view(4), RuntimeError, ["[4]", "size 6"]),
    (lambda: x.view(-1, -1), RuntimeError, ["[-1, -1]"]),
    (lambda: x.expand(5, 3), RuntimeError, ["(5)", "(2)", "[5, 3]", "[2, 3]"]),
    (lambda: x.permute(0, 0), RuntimeError, ["permute", "[0, 0]"]),
    (lambda: engine.cat([x, engine.zeros(3, 4)]), RuntimeError, ["3", "4", "number 1"]),
    (lambda: engine.stack([x, engine.zeros(3, 2)]), RuntimeError, ["[2, 3]", "[3, 2]"]),
    (lambda: x.mul_(engine.zeros(2, 2, 3)), RuntimeError, ["[2, 3]", "[2, 2, 3]"]),
    (lambda: x.copy_(engine.zeros(5)), RuntimeError, ["[5]", "[2, 3]"]),
    (lambda: x.expand(4, 2, 3).add_(1), RuntimeError, ["[4, 2, 3]", "[0, 3, 1]"]),
    (lambda: x.split([1, 2, 3]), RuntimeError, ["2", "[1, 2, 3]"]),
    (lambda: x.item(), RuntimeError, ["6 elements"]),
    (lambda: bool(x), RuntimeError, ["6"]),
    (lambda: engine.tensor([[1, 2], [3]]), ValueError, ["length 2", "dim 1", "1"]),
    (lambda: engine.zeros(-1), RuntimeError, ["-1"]),
    # dtypes
    (lambda: ints.add_(0.5), RuntimeError, ["Float", "Long"]),
    (lambda: engine.bitwise_and(x, x), NotImplementedError, ["bitwise_and", "Float"]),
    (lambda: engine.zeros(2, dtype=str), TypeError, ["dtype", "type"]),
    (lambda: engine.tensor([1, "a"]), TypeError, ["str", "'a'"]),
    (lambda: engine.tensor([300], dtype=engine.uint8), RuntimeError, ["300", "0 to 255"]),
    (lambda: engine.tensor([2**70]), ValueError, [str(2**70), "int64"]),
    (lambda: engine.where(x, x, x), RuntimeError, ["boolean", "Float"]),
    (lambda: engine.from_numpy(np.zeros(2, np.uint16)), TypeError, ["uint16", "complex128"]),
    (lambda: engine.from_numpy(np.zeros(2, ">f4")), ValueError, [">f4"]),
    (lambda: engine.from_numpy([1, 2]), TypeError, ["list"]),
    (lambda: engine.zeros(2, device="cuda"), AssertionError, ["'cuda'", "cpu"]),
    (lambda: x.add(None), TypeError, ["add", "other", "NoneType"]),
    (lambda: engine.zeros(2, device="meta").tolist(), NotImplementedError, ["meta"]),
    # indices
    (at(2), IndexError, ["2", "dimension 0", "size 2"]),
    (at((0, 3)), IndexError, ["3", "dimension 1", "size 3"]),
    (at((0, 0, 0)), IndexError, ["dimension 2", "3"]),
    (at(10**30), ValueError, [str(10**30)]),
    (at("a"), TypeError, ["str"]),
    (at(engine.tensor([5])), IndexError, ["5", "dimension 0", "size 2"]),
    (at(engine.tensor([0.5])), IndexError, ["float32"]),
    (at(engine.tensor([True, False, True])), IndexError, ["[3]", "[2, 3]"]),
    (lambda: x.sum(3), IndexError, ["sum", "[-2, 1]", "3"]),
    (lambda: x.narrow(1, 2, 5), RuntimeError, ["(2)", "(5)", "(3)"]),
    (lambda: x.index_select(0, engine.tensor([9])), IndexError, ["9", "size 2"]),
    (lambda: x.__setitem__(5, 1.0), IndexError, ["5", "size 2"]),
    (lambda: x.__setitem__(0, engine.zeros(7)), RuntimeError, ["[7]", "[3]"]),
    # strides
    (at(slice(None, None, -1)), ValueError, ["-1"]),
    (lambda: x.as_strided((2, 2), (-1, 1)), RuntimeError, ["[-1, 1]"]),
    (lambda: x.as_strided((100,), (1,)), RuntimeError, ["[100]", "400", "24"]),
    (lambda: x.as_strided((2,), (1,), -4), RuntimeError, ["-4"]),
    (lambda: engine.from_numpy(np.arange(6.0)[::-1]), ValueError, ["negative", "-8"]),
    (lambda: engine.tensor(np.arange(6.0)[::-1]), ValueError, ["negative", "-8"]),
    # sizes that overflow, and more memory than there is
    (lambda: engine.zeros(HUGE), RuntimeError, ["memory", str(4 * HUGE)]),
    (lambda: engine.full((HUGE,), 1.0), RuntimeError, ["memory", str(4 * HUGE)]),
    (lambda: engine.rand(HUGE), RuntimeError, ["memory", str(4 * HUGE)]),
    (lambda: engine.zeros(2**40, 2**40), RuntimeError, ["overflow", str(2**40)]),
    (lambda: engine.zeros(2**62, dtype=engine.float64), RuntimeError, ["overflow", str(2**62)]),
    (lambda: engine.zeros(10**30), TypeError, [str(10**30), "64 bits"]),
    (lambda: x.as_strided((2,), (2**62,)), RuntimeError, [str(2**62), "overflow"]),
    (lambda: x[:1].expand(2**61, 3).clone(), RuntimeError, ["overflow", str(2**61)]),
    (lambda: engine.arange(0, float("inf")), RuntimeError, ["inf"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def no_garbage() -> None:
    """Cycles that earlier tests left are freed, not while live bytes are compared."""
    gc.collect()


@pytest.mark.parametrize("number", range(len(ENGINE)))
@pytest.mark.usefixtures("no_garbage")
def test_the_engine_refuses(number: int) -> None:
    do, kind, terms = ENGINE[number]
    retained = live.storage_use_count(x), live.version(x), live.allocator_stats().live_bytes
    with pytest.raises(kind) as caught:
        do()
    assert type(caught.value) is kind
    for word in terms:
        assert word in str(caught.value), str(caught.value)
    del caught
    assert (
        live.storage_use_count(x),
        live.version(x),
        live.allocator_stats().live_bytes,
    ) == retained
    assert (x + 1).sum().item() == 6.0


# ---- programs that cannot run


def underhood(folder: Path, *arguments: str) -> tuple[int, str, str]:
    environment = {**os.environ, "UNDERHOOD_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "tui", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


PROGRAMS = {
    "missing": ("nothing.py", 2, ["can't open file", "nothing.py", "No such file"]),
    "syntax error": ("broken.py", 1, ["broken.py", "line 2", "x = = 1", "SyntaxError"]),
    "directory": ("folder", 1, ["can't find '__main__' module", "folder"]),
    "binary": ("noise.py", 1, ["noise.py", "line 1", "SyntaxError"]),
    "raises": ("raises.py", 1, ["raises.py", "line 2", "IndexError", "index 9", "size 3"]),
    "killed": ("killed.py", 139, ["recorded t.uht", "up to where SIGSEGV ended the program"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_record_tells_what_is_wrong_with_the_program(name: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("ok = 1\nx = = 1\n")
    (tmp_path / "noise.py").write_bytes(bytes(range(256)))
    (tmp_path / "raises.py").write_text("import engine\nengine.zeros(3)[9]\n")
    (tmp_path / "killed.py").write_text(
        "import os, engine\nengine.ones(2)\nos.kill(os.getpid(), 11)\n"
    )
    (tmp_path / "folder").mkdir()
    program, code, terms = PROGRAMS[name]
    ended, _, errors = underhood(tmp_path, "record", "--output", "t.uht", program)
    assert ended == code, errors
    for word in terms:
        assert word in errors, errors
    assert "engine/inspect" not in errors, "our own frames in the user's traceback"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_program(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("")
    (tmp_path / "secret.py").chmod(0)
    ended, _, errors = underhood(tmp_path, "record", "secret.py")
    assert ended == 2
    assert "Permission denied" in errors


# ---- places where no trace can be made


def test_a_trace_cannot_be_made_there(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("print('ran')\n")
    (tmp_path / "old.uht").write_text("precious")
    for item, terms in (
        ("no/such/t.uht", ["no/such", "does not exist"]),
        ("old.uht", ["old.uht", "exists already"]),
        ("p.py/t.uht", ["p.py", "does not exist"]),
        ("/proc/t.uht", ["/proc/t.uht"]),  # a folder that cannot be written to
    ):
        ended, out, errors = underhood(tmp_path, "record", "--output", item, "p.py")
        assert ended != 0
        assert out == "", "the program ran although it cannot be recorded"
        assert "Traceback" not in errors, errors
        for word in terms:
            assert word in errors, errors
    assert (tmp_path / "old.uht").read_text() == "precious"


_LIMITED = """
import resource, sys
from engine.inspect import recorder
make = recorder.new_ring
def limited(*given):
    ring = make(*given)  # made in a file too, but of memory: the limit is meant for the trace
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    return ring
recorder.new_ring = limited
"""
_MANY = "import engine\nx = engine.zeros(4)\nfor i in range(100_000):\n    x.add_(1.0)\n"


def test_a_full_disk_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(_MANY + "print(x.tolist()[0])\nraise SystemExit(3)\n")
    program = "sys.exit(recorder.record_program(['p.py'], 't.uht'))"
    command = [sys.executable, "-c", _LIMITED + program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (3, "100000.0\n")
    assert done.stderr == "underhood: the recording stops here: t.uht: File too large\n"
    assert_one_file_holds_what_fits(tmp_path, 200_000)


def test_a_full_disk_ends_a_block_s_recording_and_not_the_block(tmp_path: Path) -> None:
    block = _MANY.replace("\n", "\n    ").replace(
        "import", "with recorder.record('t.uht'):\n    import", 1
    )
    command = [sys.executable, "-c", f"{_LIMITED}\n{block}\nprint(x.tolist()[0])"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "100000.0\n"), done.stderr
    assert done.stderr == ("underhood: t.uht: the recording stops here: t.uht: File too large\n")
    assert_one_file_holds_what_fits(tmp_path, 200_000)


def assert_one_file_holds_what_fits(folder: Path, room: int) -> None:
    assert {path.name for path in folder.iterdir()} <= {"t.uht", "p.py", "home"}
    assert (folder / "t.uht").stat().st_size > room // 3
    shutil.copy(folder / "t.uht", folder / "alone.uht")
    trace = TraceReader.open(folder / "alone.uht")
    assert (trace.warning, trace.finished) == ("", False)
    assert History(trace).end == len(trace) > 10_000


def test_a_disk_that_is_full_keeps_one_file(tmp_path: Path) -> None:
    """The trace and its log share the little room of a separate file system."""
    (tmp_path / "p.py").write_text(_MANY + "print(x.tolist()[0])\n")
    (tmp_path / "disk").mkdir()
    record = "from engine.inspect import recorder; recorder.record_program(['p.py'], 'disk/t.uht')"
    steps = (
        "mount -t tmpfs -o size=1m tmpfs disk",
        f"{shlex.quote(sys.executable)} -c {shlex.quote(record)}",
        "mkdir after && cp -a disk/. after",
    )
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", " && ".join(steps)]
    if (
        not shutil.which("unshare")
        or subprocess.run([*command[:3], "true"], check=False).returncode
    ):
        pytest.skip("no file system can be mounted here")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "100000.0\n"), done.stderr
    output = "underhood: the recording stops here: disk/t.uht: No space left on device\n"
    assert done.stderr == output
    assert_one_file_holds_what_fits(tmp_path / "after", 1 << 20)


# ---- files that are not traces


def _foreign(path: Path, application: int, version: int) -> None:
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA application_id = {application}")
    database.execute(f"PRAGMA user_version = {version}")
    database.execute("CREATE TABLE meta(key, value)")
    database.commit()
    database.close()


FILES: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "missing": (lambda path: None, ["does not exist", "underhood record"]),
    "empty": (lambda path: path.write_bytes(b""), ["empty"]),
    "a folder": (lambda path: path.mkdir(), ["directory"]),
    "text": (lambda path: path.write_text("#!/bin/sh\necho"), ["not a trace", "#!/bin/sh"]),
    "cut in its head": (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(9)), ["25 bytes"]),
    "of another program": (lambda path: _foreign(path, 0x1234, 1), ["0x1234", "another program"]),
    "newer": (lambda path: _foreign(path, APPLICATION_ID, 99), ["99", "upgrade"]),
    "without tables": (lambda path: _foreign(path, APPLICATION_ID, 1), ["segments", "record again"]),
    "all zeros after the head": (
        lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(8176)),
        ["bad.uht"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_trace_is_refused(name: str, tmp_path: Path) -> None:
    make, terms = FILES[name]
    path = tmp_path / "bad.uht"
    make(path)
    with pytest.raises(TraceError) as caught:
        TraceReader.open(path)
    for word in [*terms, "bad.uht"]:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("name", ["empty", "text", "newer"])
def test_the_command_refuses_it_in_one_line(name: str, tmp_path: Path) -> None:
    make, terms = FILES[name]
    make(tmp_path / "bad.uht")
    ended, _, errors = underhood(tmp_path, "show", "bad.uht", "--view", "memory")
    assert ended not in (0, 120), errors
    assert "Traceback" not in errors
    for word in terms:
        assert word in errors, errors


def test_a_truncated_trace_shows_its_readable_beginning(tmp_path: Path) -> None:
    events = np.zeros(40_000, RECORD)
    events["n"] = np.arange(len(events))
    events["kind"] = NUMBER["MARK"]
    events["a"] = np.random.default_rng(1).integers(0, 1 << 60, len(events))  # does not pack well
    file = TraceFile(tmp_path / "whole.uht")
    for first in range(0, len(events), 1000):
        file.add(events[first : first + 1000], b"")
    file.close()
    full = (tmp_path / "whole.uht").read_bytes()
    (tmp_path / "cut.uht").write_bytes(full[: len(full) * 3 // 4])
    trace = TraceReader.open(tmp_path / "cut.uht")
    assert f"damaged after event {len(trace) - 1}" in trace.warning
    assert len(events) // 2 < len(trace) < len(events)
    assert np.array_equal(trace.events["a"], events["a"][: len(trace)])
