"""A real trace, cut, flipped and lied in: it is refused, or its readable beginning is shown."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from engine.inspect.events import RECORD
from engine.inspect.history import History
from engine.inspect.models import VIEWS, to_json
from engine.inspect.selection import Selection
from engine.inspect.trace import Trace, TraceError

PROGRAM = """
import engine
x = engine.arange(6.).view(2, 3)
y = x.t()[1:]
y.mul_(2)
words = [x.sum(), y.expand(4, 2, 2)]
try:
    x.view(4)
except RuntimeError as error:
    print(error)
del y
big = engine.zeros(100, 100) + 1
w = engine.ones(3, requires_grad=True)
loss = (w * w + w.exp()).sum()
loss.backward()
"""
LONGEST = 60.0  # seconds for one file; a hang would be far more


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a finished trace of PROGRAM."""
    folder = tmp_path_factory.mktemp("fuzz")
    script = folder / "program.py"
    script.write_text(PROGRAM)
    code = (
        "import sys; from engine.inspect.recorder import record_program; "
        "sys.exit(record_program(sys.argv[1:2], sys.argv[2]))"
    )
    trace = folder / "program.uht"
    subprocess.run([sys.executable, "-c", code, str(script), str(trace)], check=True)
    return trace.read_bytes()


def look(path: Path, moments: int = 3) -> int:
    """Open the file and ask for everything that a screen shows; returns the number of events."""
    began = time.monotonic()
    try:
        trace = Trace.open(path)
    except TraceError as error:
        if str(path) not in str(error):
            raise
        return 0
    history = History(trace)
    chooser = random.Random(0)
    for moment in (chooser.randrange(history.end) for _ in range(moments if history.end else 0)):
        tensor, node = chooser.randrange(4), chooser.randrange(4)
        selection = Selection(tensor=tensor, storage=chooser.randrange(3), byte=4, node=node)
        for project in VIEWS.values():
            to_json(project(history, moment, selection))
        assert history.event(moment).sentence
    assert time.monotonic() - began < LONGEST
    return len(trace)


def test_the_whole_trace_is_read(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "whole.uht"
    path.write_bytes(recorded)
    assert look(path, 20) > 100
    assert not Trace.open(path).warning


def cuts(data: bytes) -> Iterator[bytes]:
    for part in range(1, 40):
        yield data[: len(data) * part // 40]


def test_cut_anywhere(recorded: bytes, tmp_path: Path) -> None:
    for number, data in enumerate(cuts(recorded)):
        path = tmp_path / f"{number}.uht"
        path.write_bytes(data)
        look(path)


@pytest.mark.parametrize("bits", [1, 8, 64, 1000])
def test_flipped_bits(recorded: bytes, tmp_path: Path, bits: int) -> None:
    chooser = random.Random(bits)
    for number in range(25):
        data = bytearray(recorded)
        for _ in range(bits):
            data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
        path = tmp_path / f"{number}.uht"
        path.write_bytes(data)
        look(path)


def test_pages_swapped_doubled_and_zeroed(recorded: bytes, tmp_path: Path) -> None:
    chooser = random.Random(3)
    pages = [recorded[at : at + 4096] for at in range(0, len(recorded), 4096)]
    for number in range(25):
        changed = list(pages)
        for _ in range(chooser.randint(1, 3)):
            at, other = chooser.randrange(len(pages)), chooser.randrange(len(pages))
            changed[at] = chooser.choice([pages[other], bytes(4096), chooser.randbytes(4096)])
        path = tmp_path / f"{number}.uht"
        path.write_bytes(b"".join(changed))
        look(path)


HOSTILE = [0, 1, -1, 2, 7, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63)]


def lie(records: np.ndarray, chooser: random.Random) -> None:
    """A few fields of a few records become something else; the file itself stays sound."""
    for _ in range(chooser.randint(1, 12)):
        at = chooser.randrange(len(records))
        name = chooser.choice(
            ["kind", "a", "b", "c", "d", "e", "a", "b", "c", "d", "thread", "flags"]
        )
        value = chooser.choice([*HOSTILE, chooser.randrange(100)])
        if name in ("kind", "flags"):
            value &= 0xFFFF if chooser.random() < 0.2 else 0x3F
        elif name == "thread":
            value &= 0xFFFFFFFF
        records[name][at] = value


@pytest.mark.parametrize("seed", range(30))
def test_records_that_lie(recorded: bytes, tmp_path: Path, seed: int) -> None:
    """Sizes, ids, holders and positions that cannot be: shown as they are told, never a crash."""
    path = tmp_path / "lies.uht"
    path.write_bytes(recorded)
    chooser = random.Random(seed)
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT first, count, events, blobs FROM segments").fetchall()
        for first, count, events, blobs in rows:
            planes = np.frombuffer(zlib.decompress(events), np.uint8).reshape(64, count)
            records = np.ascontiguousarray(planes.T).view(RECORD).reshape(count)
            lie(records, chooser)
            told = np.ascontiguousarray(records.view(np.uint8).reshape(count, 64).T)
            kept = bytearray(zlib.decompress(blobs)) if blobs else bytearray()
            for _ in range(chooser.randint(0, 8) if kept else 0):
                kept[chooser.randrange(len(kept))] ^= 1 << chooser.randrange(8)
            database.execute(
                "UPDATE segments SET events = ?, blobs = ? WHERE first = ?",
                (zlib.compress(told.tobytes(), 1), zlib.compress(bytes(kept), 1), first),
            )
        database.commit()
    look(path, 12)
