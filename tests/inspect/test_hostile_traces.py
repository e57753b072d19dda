"""Traces written to take all memory, all time or a user's files: each ends with a message."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from engine.inspect.events import HAS_BLOB, NUMBER, RECORD
from engine.inspect.trace import MAX_SEGMENT_BLOBS, MAX_SEGMENT_EVENTS, TraceError, TraceReader
from engine.inspect.writer import TraceFile, packed
from tests.inspect.hostile import record, rewrite_texts

MEMORY = 512 << 20  # bytes
SECONDS = 10.0  # of this process's own time: the machine may be busy
PAGE = 4096


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("hostile")).read_bytes()


def segment(trace: Path, first: int, count: int, events: bytes, blobs: bytes = b"") -> None:
    with closing(sqlite3.connect(trace)) as database:
        row = (first, count, 0, 0, events, blobs)
        database.execute("INSERT OR REPLACE INTO segments VALUES(?, ?, ?, ?, ?, ?)", row)
        database.commit()


def empty(trace: Path) -> None:
    TraceFile(trace).close()


def lines(count: int) -> np.ndarray:
    """Records of an honest kind, which pack to almost nothing."""
    records = np.zeros(count, RECORD)
    records["kind"] = NUMBER["LINE"]
    return records


def many_segments(trace: Path) -> None:
    """A hundred kilobytes of segments of 260,000 events each: four gigabytes as records."""
    empty(trace)
    events = zlib.compress(packed(lines(MAX_SEGMENT_EVENTS)), 9)
    with closing(sqlite3.connect(trace)) as database:
        rows = ((n * MAX_SEGMENT_EVENTS, MAX_SEGMENT_EVENTS, 0, 0, events, b"") for n in range(256))
        database.executemany("INSERT INTO segments VALUES(?, ?, ?, ?, ?, ?)", rows)
        database.commit()


def one_large_segment(trace: Path) -> None:
    empty(trace)
    segment(trace, 0, 1 << 23, zlib.compress(bytes(1 << 29), 1))


def blobs(trace: Path) -> None:
    """A text of half a gigabyte in each of two segments."""
    empty(trace)
    size = 1 << 29
    stream = zlib.compressobj(1)
    sources = [stream.compress(size.to_bytes(8, "little"))]
    sources += [stream.compress(bytes(1 << 24)) for _ in range(size >> 24)] + [stream.flush()]
    records = np.zeros(1, RECORD)
    records["kind"], records["flags"], records["a"] = NUMBER["STRING"], HAS_BLOB, 7
    for first in range(2):
        segment(trace, first, 1, zlib.compress(packed(records)), b"".join(sources))


def generated_columns(trace: Path) -> None:
    empty(trace)
    with closing(sqlite3.connect(trace)) as database:
        database.execute("DROP TABLE segments")
        database.execute(
            "CREATE TABLE segments(first INTEGER PRIMARY KEY, count INTEGER, t_first INTEGER, "
            "t_last INTEGER, events BLOB AS (zeroblob(900000000)), blobs BLOB AS (zeroblob(900000000)))"
        )
        database.execute("INSERT INTO segments(first, count) VALUES(0, 1000000)")
        database.commit()


def a_view_for_a_table(trace: Path) -> None:
    empty(trace)
    with closing(sqlite3.connect(trace)) as database:
        database.execute("DROP TABLE strings")
        database.execute(
            "CREATE VIEW strings AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
            "SELECT id, hex(zeroblob(1000)) AS text FROM n"
        )
        database.commit()


def pages_that_rows_share(trace: Path) -> None:
    """A tree of six levels whose every page has one child two hundred times: its rows never end."""
    empty(trace)
    with closing(sqlite3.connect(trace)) as database:
        rows = ((n, f"string {n}" * 8) for n in range(20000))
        database.executemany("INSERT INTO strings VALUES(?, ?)", rows)
        database.commit()
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'strings'"
        (root,) = database.execute(query).fetchone()
    data = bytearray(trace.read_bytes())
    top = (root - 1) * PAGE
    assert data[top] == 5  # an interior page: cells of a child and a key
    count = int.from_bytes(data[top + 3 : top + 5], "big")
    cells = [int.from_bytes(data[top + 12 + 2 * n :][:2], "big") for n in range(count)]
    for _ in range(5):
        data += data[top : top + PAGE]
        below = (len(data) // PAGE).to_bytes(4, "big")
        for item in [8, *cells]:
            data[top + item : top + item + 4] = below
    data[28:32] = below
    trace.write_bytes(data)


def a_sparse_file(trace: Path) -> None:
    """A hundred gigabytes of nothing, of which the head says that more is missing."""
    empty(trace)
    data = bytearray(trace.read_bytes())
    data[28:32] = (1 << 30).to_bytes(4, "big")
    trace.write_bytes(data)
    os.truncate(trace, 100 << 30)


def json_without_end(trace: Path) -> None:
    """Every JSON text is a hundred thousand lists in lists."""
    rewrite_texts(trace, lambda source, text: text, lambda kind: b"[" * 100_000)


def numbers_without_end(trace: Path) -> None:
    rewrite_texts(
        trace, lambda source, text: text, lambda kind: b'{"nodes": 1' + b"0" * 9000 + b"}"
    )


def a_file_of_the_user(trace: Path) -> None:
    secret = trace.parent / "secret.txt"
    secret.write_text("the secret of the user\n" * 30)
    rewrite_texts(trace, lambda source, text: str(secret) if text.endswith(".cpp") else text)


HOSTILE: list[tuple[Callable[[Path], None], str]] = [
    (many_segments, "unpack to more than"),
    (one_large_segment, "a segment of 8388608 events"),
    (blobs, f"longer than {MAX_SEGMENT_BLOBS} bytes"),
    (generated_columns, "does not store the columns"),
    (a_view_for_a_table, "has no table strings"),
    (pages_that_rows_share, "rows hold more than"),
    (a_sparse_file, "nothing in it is readable"),
    (json_without_end, ""),
    (numbers_without_end, ""),
    (a_file_of_the_user, ""),
]

SHOW = """
import json, pathlib, resource, sys
from tui.cli import main
main(["show", sys.argv[1], "--view", "jit", *sys.argv[3:]])
used = resource.getrusage(resource.RUSAGE_SELF)
# VmHWM, as ru_maxrss counts the process that started this one (a whole pytest) until the exec.
peak = int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
pathlib.Path(sys.argv[2]).write_text(json.dumps([peak, used.ru_utime + used.ru_stime]))
"""


@pytest.mark.parametrize(("make", "sentence"), HOSTILE, ids=[make.__name__ for make, _ in HOSTILE])
def test_a_hostile_trace_is_bounded_in_memory_and_time(
    make: Callable[[Path], None], sentence: str, original: bytes, tmp_path: Path
) -> None:
    trace, used = tmp_path / "hostile.uht", tmp_path / "used.json"
    changed = make in (json_without_end, numbers_without_end, a_file_of_the_user)
    if changed:
        trace.write_bytes(original)
    make(trace)
    run = [sys.executable, "-c", SHOW, str(trace), str(used), *["--json"] * changed]
    completed = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120)
    memory, seconds = json.loads(used.read_text())
    assert memory < MEMORY, f"{memory >> 20} MB"
    assert seconds < SECONDS, f"{seconds:.1f} s"
    assert sentence in completed.stderr
    assert "Traceback" not in completed.stderr
    assert "Warning" not in completed.stderr
    assert "the secret of the user" not in completed.stdout


def test_an_honest_trace_is_within_the_limits(tmp_path: Path) -> None:
    """Even the best compressed one: the same operator for ever, and values that are all zero."""
    program = (
        "import engine\nx = engine.zeros(256)\nfor i in range(4000):\n    x.add_(0)\n"
        "kept = [engine.zeros(256) for i in range(500)]\n"
    )
    trace = TraceReader.open(record(tmp_path, program))
    assert not trace.warning
    assert len(trace) > 40_000
    assert all(trace.blob(number) for number in np.flatnonzero(trace.events["flags"] & HAS_BLOB))
    assert not trace.warning


def test_only_the_owner_reads_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.inspect.recorder import new_trace_path

    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path))
    (tmp_path / "data" / "traces").mkdir(parents=True, mode=0o755)
    path = new_trace_path("script.py")
    file = TraceFile(path)
    file.add(lines(1), b"")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for each in path.parent.iterdir():
        assert each.stat().st_mode & 0o777 == 0o600, each
    file.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_columns_that_are_not_a_traces_are_named(tmp_path: Path) -> None:
    trace = tmp_path / "t.uht"
    empty(trace)
    with closing(sqlite3.connect(trace)) as database:
        database.execute("ALTER TABLE meta ADD COLUMN more TEXT")
        database.commit()
    with pytest.raises(
        TraceError, match="table meta does not store the columns key, value, but key"
    ):
        TraceReader.open(trace)
