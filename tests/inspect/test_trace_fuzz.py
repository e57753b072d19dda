"""A real trace, cut, flipped and lied in: it is refused, or its readable beginning is shown."""

from __future__ import annotations

import json
import random
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.inspect.events import FOREVER, HAS_BLOB
from engine.inspect.history import History
from engine.inspect.history.table import Table
from engine.inspect.models import VIEWS, to_json
from engine.inspect.trace import TraceError, TraceReader
from engine.inspect.writer import packed
from tests.inspect.hostile import COMPILED, PLAIN, record
from tests.inspect.selections import select
from tests.inspect.trace_builder import unpacked
from tests.sampling import sampled, seeds

PROGRAMS = {"plain": PLAIN, "compiled": COMPILED}
MAX_SECONDS = 60.0  # for one file; a hang would be far more


@pytest.fixture(scope="module", params=PROGRAMS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a finished trace of a program."""
    return record(tmp_path_factory.mktemp("fuzz"), PROGRAMS[request.param]).read_bytes()


def look(path: Path, moments: int = 3) -> int:
    """Open the file and ask for everything that a screen shows; returns the number of events."""
    began = time.monotonic()
    try:
        trace = TraceReader.open(path)
    except TraceError as error:
        if str(path) not in str(error):
            raise
        return 0
    history = History(trace)
    chooser = random.Random(0)
    for moment in (chooser.randrange(history.end) for _ in range(moments if history.end else 0)):
        tensor, node = chooser.randrange(4), chooser.randrange(4)
        value = chooser.choice((0, chooser.randrange(400), -chooser.randrange(1 << 26)))
        selection = select(
            tensor=tensor, storage=chooser.randrange(3), byte=4, node=node, value=value
        )
        for project in VIEWS.values():
            to_json(project(history, moment, selection))
        assert history.event(moment).sentence
    assert time.monotonic() - began < MAX_SECONDS
    return len(trace)


def test_the_whole_trace_is_read(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "whole.uht"
    path.write_bytes(recorded)
    assert look(path, 20) > 100
    assert not TraceReader.open(path).warning


def cuts(data: bytes) -> Iterator[bytes]:
    for part in sampled(range(1, 40), 13):
        yield data[: len(data) * part // 40]


def test_cut_anywhere(recorded: bytes, tmp_path: Path) -> None:
    for number, data in enumerate(cuts(recorded)):
        path = tmp_path / f"{number}.uht"
        path.write_bytes(data)
        look(path)


@pytest.mark.parametrize("bits", [1, 8, 64, 1000])
def test_flipped_bits(recorded: bytes, tmp_path: Path, bits: int) -> None:
    for number, seed in enumerate(seeds(8, f"bits {bits}")):
        chooser = random.Random(seed)
        data = bytearray(recorded)
        for _ in range(bits):
            data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
        path = tmp_path / f"{number}.uht"
        path.write_bytes(data)
        look(path)


def test_pages_swapped_doubled_and_zeroed(recorded: bytes, tmp_path: Path) -> None:
    pages = [recorded[at : at + 4096] for at in range(0, len(recorded), 4096)]
    for number, seed in enumerate(seeds(8, "pages")):
        chooser = random.Random(seed)
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


def damaged(value: Any, chooser: random.Random, often: float) -> Any:
    """Return a JSON text that lacks some names, has some things of another sort."""
    if isinstance(value, dict):
        return {
            name: damaged(item, chooser, often)
            for name, item in value.items()
            if chooser.random() > often / 2
        }
    if isinstance(value, list):
        saved = [element for element in value if chooser.random() > often / 2]
        return [damaged(entry, chooser, often) for entry in saved]
    lies = (None, -1, 1 << 40, "x", 7, [], {})
    return chooser.choice(lies) if chooser.random() < often else value


def lie_in_json(records: np.ndarray, blobs: bytes, chooser: random.Random) -> bytes:
    """Return the blobs, with some of their JSON damaged."""
    out = bytearray()
    for at in np.flatnonzero(records["flags"] & HAS_BLOB).tolist():
        start = int(records["e"][at])
        text = blobs[start + 8 : start + 8 + int.from_bytes(blobs[start : start + 8], "little")]
        if text.startswith(b"{") and chooser.random() < 0.3:
            often = chooser.choice((0.01, 0.1))
            text = json.dumps(damaged(json.loads(text), chooser, often)).encode()
        records["e"][at] = len(out)
        out += len(text).to_bytes(8, "little") + text + bytes(-len(text) % 8)
    return bytes(out)


@pytest.mark.parametrize("in_json", [False, True])
@pytest.mark.parametrize("seed", seeds(7, "lies"))
def test_records_that_lie(recorded: bytes, tmp_path: Path, seed: int, in_json: bool) -> None:
    """Impossible sizes, ids, holders and positions, and broken graphs, are shown as they were recorded or
    as missing, and never crash."""
    path = tmp_path / "lies.uht"
    path.write_bytes(recorded)
    chooser = random.Random(seed)
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT first, count, t_first, events, blobs FROM segments"
        for first, count, time_first, events, blobs in database.execute(query).fetchall():
            records = unpacked(events, first, count, time_first)
            payloads = zlib.decompress(blobs) if blobs else b""
            saved = bytearray(lie_in_json(records, payloads, chooser) if in_json else payloads)
            if not in_json or chooser.random() < 0.5:
                lie(records, chooser)
            for _ in range(chooser.randint(0, 8) if saved and not in_json else 0):
                saved[chooser.randrange(len(saved))] ^= 1 << chooser.randrange(8)
            database.execute(
                "UPDATE segments SET t_first = ?, events = ?, blobs = ? WHERE first = ?",
                (
                    int(records["t"].view(np.int64)[0]), zlib.compress(packed(records), 1),
                    zlib.compress(bytes(saved), 1), first,
                ),
            )  # fmt: skip
        database.commit()
    look(path, 12)


def test_a_number_in_the_tables_of_the_file_that_is_none(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "none.uht"
    path.write_bytes(recorded)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE sources")
        database.execute("CREATE TABLE sources(file TEXT PRIMARY KEY, path TEXT, text TEXT)")
        database.execute("INSERT INTO sources VALUES (NULL, 'program.py', '')")
        database.commit()
    assert "a source has the number None" in TraceReader.open(path).warning


def test_the_largest_number_is_looked_up_like_any_other() -> None:
    """A recording may hold any id, and the largest one has no successor."""
    largest = (1 << 63) - 1
    numbers = np.array([3, largest, 3, largest - 1])
    table = Table(np.arange(4), np.full(4, FOREVER), id=numbers)
    assert [table.where("id", value).tolist() for value in (3, largest, 4)] == [[0, 2], [1], []]
