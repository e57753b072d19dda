"""The speed of opening and querying a long trace: `python benchmarks/history.py [events]`.

The trace is synthetic: a loop that adds two 4x4 tensors and binds the result to a name. Prints one
figure a line; opening times are the best of three.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.inspect.events import HAS_BLOB, NUMBER, RECORD
from engine.inspect.history import History
from engine.inspect.new_trace import APPLICATION_ID, VERSION
from engine.inspect.trace import TraceReader

STRINGS = {
    1: "loop.py",
    2: "<module>",
    3: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    4: "add_cpu",
    5: "y",
}
SEGMENT_ROUNDS = 3000
LIFETIME = 20  # a result is freed this many rounds after it was made


def one_round(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """(records, int64 words of the blobs) of `rounds` rounds of the loop."""
    k = np.arange(rounds, dtype=np.int64) + 1
    old = np.maximum(k - LIFETIME, 0)
    add, key = 3, 0
    rows: list[tuple] = [
        ("LINE", 1, 1, 2),
        ("OP_ENTER", k, add, 0, 3, 0),
        ("HOP", k, add, 4, 0b10001, 4),
        ("HOP", k, add, key, 1, 4),
        ("ALLOCATE", 1, 4096 * k, 64, 0, 0),
        ("STORAGE_NEW", k, 4096 * k, 64, 1, 0),
        ("STORAGE_RETAIN", k, 6, k, 1),
        ("TENSOR_NEW", k, k, 8, 0, 8),
        ("WRITE", k, k, 0, 64, k),
        ("VERSION_BUMP", k, 1, k, k),
        ("VALUES", k, 0, 64, 0, 16),
        ("OP_EXIT", k, 1, k),
        ("WRAP", k, 1),
        ("OBJECT", k, 64 * k, 2, 2),
        ("NAME_BIND", 1, 5, 1, k),
        ("UNWRAP", old, 0),
        ("TENSOR_FREE", old, old),
        ("STORAGE_RELEASE", old, 6, old, 0),
        ("STORAGE_FREE", old, 4096 * old, 64),
        ("FREE", 1, 4096 * old, 64, 0, 0),
    ]
    records = np.zeros((rounds, len(rows)), RECORD)
    for index, (kind, *values) in enumerate(rows):
        records["kind"][:, index] = NUMBER[kind]
        for field, value in zip("abcde", values, strict=False):
            records[field][:, index] = value
    arguments = [1, 1, 1, 1, 2, 1]
    terms = np.zeros((rounds, 7 + 8 + 9), np.int64)
    terms[:, :7] = [48, *arguments]
    terms[:, 7:15] = [56, 0, 0, 2, 4, 4, 4, 1]
    terms[:, 8] = k
    terms[:, 15] = 64
    terms[:, 16:] = k[:, None]
    for index, start in ((1, 0), (7, 7), (10, 15)):
        records["flags"][:, index] = HAS_BLOB
        records["e"][:, index] = 8 * (np.arange(rounds) % SEGMENT_ROUNDS * terms.shape[1] + start)
    return records, terms


def write_trace(path: Path, events: int) -> int:
    """Write a trace of about this many events; returns how many."""
    records, terms = one_round(max(events // 20, 1))
    head = np.zeros(1, RECORD)
    head["kind"], head["a"], head["b"], head["c"] = NUMBER["FRAME_PUSH"], 1, 2, 1
    database = sqlite3.connect(path)
    database.executescript(
        f"""PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};
        CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
        CREATE TABLE segments(first INTEGER PRIMARY KEY, count INTEGER, t_first, t_last,
            events BLOB, blobs BLOB);
        CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE sources(file INTEGER PRIMARY KEY, path TEXT, text TEXT);"""
    )
    first = 0
    for start in range(0, len(records), SEGMENT_ROUNDS):
        part = records[start : start + SEGMENT_ROUNDS].ravel()
        if start == 0:
            part = np.concatenate([head, part])
        part["n"] = np.arange(first, first + len(part))
        part["t"] = part["n"] * 1000
        part["thread"] = 1
        planes = part.view(np.uint8).reshape(-1, RECORD.itemsize).T.tobytes()
        blobs = terms[start : start + SEGMENT_ROUNDS].tobytes()
        row = (first, len(part), 0, 0, zlib.compress(planes, 1), zlib.compress(blobs, 1))
        database.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", row)
        first += len(part)
    database.executemany("INSERT INTO strings VALUES (?, ?)", STRINGS.items())
    text = "while True:\n    y = a + b\n"
    database.execute("INSERT INTO sources VALUES (1, 'loop.py', ?)", (text,))
    database.execute("INSERT INTO meta VALUES ('argv', ?)", (json.dumps(["loop.py"]),))
    database.execute("INSERT INTO meta VALUES ('closed', 'clean')")
    database.commit()
    database.close()
    return first


def everything(history: History, m: int) -> None:
    """Runs the queries of the views for one screen."""
    history.event(m)
    tensors = history.tensors_at(m)
    history.names_at(m)
    history.line_at(m)
    history.frames_at(m)
    history.calls_at(m)
    history.storages_at(m)
    if tensors:
        last = tensors[-1]
        history.bytes_of(last.storage, m)
        history.owners(last.id, m)
        history.storage_owners(last.storage, m)
        history.last_write(last.storage, 0, m)
        history.version(last.counter, m)


def timed(action: Callable[[], object]) -> float:
    """Return the milliseconds of an action."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    expected = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "loop.uht"
        events = write_trace(path, expected)
        print(f"events                     {events}")
        print(f"file                       {path.stat().st_size / 2**20:.1f} MB")
        read = min(timed(lambda: TraceReader.open(path)) for _ in range(3))
        history: list[History] = []
        fold = min(timed(lambda: history.append(History(TraceReader.open(path)))) for _ in range(3))
        latest = history[-1]
        first = timed(lambda: everything(latest, events // 2))
        print(f"read the file              {read:.0f} ms")
        print(f"read and fold              {fold:.0f} ms")
        print(f"first whole screen after   {first:.0f} ms")
        print(f"open to whole screen       {fold + first:.0f} ms")
        moments = random.Random(0).sample(range(events), 200)
        seeks = sorted(timed(lambda m=m: everything(latest, m)) for m in moments)
        print(f"seek, whole screen         {seeks[100]:.2f} ms median, {seeks[-1]:.2f} ms worst")
        cuts = sorted(timed(lambda m=m: latest.tensors_at(m)) for m in moments)
        print(f"tensors_at                 {cuts[100]:.2f} ms median, {cuts[-1]:.2f} ms worst")
        steps = sorted(timed(lambda m=m: latest.next(m, "op")) for m in moments)
        print(f"next op                    {steps[100]:.2f} ms median, {steps[-1]:.2f} ms worst")
        for text in (f"op:add tensor:{events // 25}", "kind:WRITE storage:7", "nothing like this",
                     f"storage {events // 21} was released"):  # fmt: skip
            print(f"find {text!r:40} {timed(lambda t=text: latest.find(t, 0)):.1f} ms")


if __name__ == "__main__":
    main()
