"""Ring and writer: what a program said is in the trace, in order, however it ended."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fake_sink import FakeSink

from engine._generated.codes import HAS_BLOB
from engine._generated.event_kinds import MARK, PROGRAM_END, SOURCE, STRING
from engine.inspect.events import RECORD
from engine.inspect.recorder import spawn_writer
from engine.inspect.ring import CLOSED, Ring, RingError
from engine.inspect.trace import TraceReader
from engine.inspect.writer import TraceFile, TraceWriter


@pytest.fixture
def ring():
    ring = Ring.create(records=256, blob=4096)
    yield ring
    ring.close()


def test_the_ring_refuses_what_is_not_one(tmp_path: Path) -> None:
    with open(tmp_path / "short", "w+b") as stream, pytest.raises(RingError, match="has 0 bytes"):
        Ring(stream.fileno())
    with pytest.raises(RingError, match="power of two >= 64, got 100"):
        Ring.create(records=100)
    fd = os.open(tmp_path / "foreign", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 8192)
    with pytest.raises(RingError, match="not a ring"):
        Ring(fd)


def test_references_that_lead_out_of_the_ring_are_dropped(ring: Ring, tmp_path: Path) -> None:
    """The program may have written over it."""
    producer = FakeSink(ring)
    writer = TraceWriter(ring, tmp_path / "t.uht")
    lengths = [3, 1 << 63, (1 << 64) - 1, ring.capacity_blob, 5]
    for number, length in enumerate(lengths):
        at = ring.blob_start + ring["blob_head"]
        producer.emit(MARK, number, blob=b"12345")
        ring.memory[at : at + 8] = length.to_bytes(8, "little")
    writer.finish()
    trace = TraceReader.open(tmp_path / "t.uht")
    assert list(trace.events["a"]) == list(range(len(lengths)))
    assert [trace.blob(number) for number in range(5)] == [b"123", b"", b"", b"", b"12345"]


def test_every_record_and_blob_arrives_in_order(ring: Ring, tmp_path: Path) -> None:
    """Both areas wrap round many times; blobs of every length, none, and empty ones."""
    producer = FakeSink(ring)
    writer = TraceWriter(ring, tmp_path / "t.uht")
    random.seed(3)
    recorded: list[bytes | None] = []
    while len(recorded) < 3000:
        blob = random.choice([None, b"", random.randbytes(random.randrange(1, 300))])
        if not producer.emit(MARK, len(recorded), blob=blob):
            writer.pump()
            continue
        recorded.append(blob)
    writer.finish(exit_code=0)
    trace = TraceReader.open(tmp_path / "t.uht")
    assert trace.warning == ""
    events = trace.events
    assert list(events["n"]) == list(range(3001))
    assert list(events["a"][:-1]) == list(range(3000))
    assert int(events["kind"][-1]) == PROGRAM_END
    for number, blob in enumerate(recorded):
        assert trace.blob(number) == (blob or b""), number
    assert trace.meta["closed"] == "clean"
    assert trace.meta["exit_code"] == "0"


def test_a_closed_trace_is_one_file(ring: Ring, tmp_path: Path) -> None:
    producer = FakeSink(ring)
    writer = TraceWriter(ring, tmp_path / "t.uht")
    producer.emit(MARK)
    writer.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["t.uht"]


def test_strings_and_sources_are_listed(ring: Ring, tmp_path: Path) -> None:
    producer = FakeSink(ring)
    writer = TraceWriter(ring, tmp_path / "t.uht")
    producer.emit(STRING, 1, blob=b"/a/b.py")
    writer.pump()
    producer.emit(STRING, 2, blob="größe".encode())
    producer.emit(SOURCE, 1, blob=b"x = 1\n")
    writer.finish()
    trace = TraceReader.open(tmp_path / "t.uht")
    assert (trace.string(1), trace.string(2)) == ("/a/b.py", "größe")
    assert trace.source(1) == ("/a/b.py", "x = 1\n")


def test_a_busy_program_gets_its_room_back_before_anything_is_packed(
    ring: Ring, tmp_path: Path
) -> None:
    producer = FakeSink(ring)
    writer = TraceWriter(ring, tmp_path / "t.uht")
    while producer.emit(MARK, ring["head"], blob=b"12345678"):
        pass
    assert writer.pump(seconds=0) == 256
    assert writer.has_backlog
    assert (ring.pending, writer.file.end) == (0, 0)
    while producer.emit(MARK, ring["head"]):
        pass
    writer.finish()
    trace = TraceReader.open(tmp_path / "t.uht")
    assert list(trace.events["a"]) == list(range(512))


def test_a_program_faster_than_the_writer_does_not_hold_it(
    ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pump` stores what was said before it was called, however much follows while it works."""
    producer = FakeSink(ring)
    writer = TraceWriter(ring, tmp_path / "t.uht")
    add, segments = TraceFile.add, 0

    def add_and_go_on(file: TraceFile, events: np.ndarray, blobs: bytes | memoryview) -> None:
        nonlocal segments
        add(file, events, blobs)
        segments += 1
        assert segments < 100, "pump follows the program for ever"
        assert producer.emit(MARK, 100 + segments)

    monkeypatch.setattr(TraceFile, "add", add_and_go_on)
    for number in range(100):
        producer.emit(MARK, number)
    assert writer.pump() == 100
    assert ring.pending == 1
    monkeypatch.undo()
    writer.finish()
    events = TraceReader.open(tmp_path / "t.uht").events
    assert list(events["a"]) == [*range(100), 101]


def test_an_existing_file_is_never_overwritten(ring: Ring, tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(FileExistsError):
        TraceWriter(ring, path)
    with pytest.raises(OSError, match="precious"):
        spawn_writer(ring, path, os.getpid(), {})
    assert path.read_text() == "data"


def test_the_writer_process_ends_when_the_ring_is_closed(ring: Ring, tmp_path: Path) -> None:
    process = spawn_writer(ring, tmp_path / "t.uht", os.getpid(), {"argv": '["a=b"]'})
    producer = FakeSink(ring)
    assert ring["writer_pid"] == process.pid
    for number in range(100):
        producer.emit(MARK, number)
    ring["state"] = CLOSED
    process.communicate(timeout=300)
    trace = TraceReader.open(tmp_path / "t.uht")
    assert len(trace) == 100
    assert trace.meta["argv"] == '["a=b"]'


def test_the_writer_process_shrugs_off_ctrl_c(ring: Ring, tmp_path: Path) -> None:
    process = spawn_writer(ring, tmp_path / "t.uht", os.getpid(), {})
    process.send_signal(signal.SIGINT)
    FakeSink(ring).emit(MARK)
    process.terminate()
    process.communicate(timeout=300)
    trace = TraceReader.open(tmp_path / "t.uht")
    assert len(trace) == 1
    assert trace.finished


_KILLED = """
import os, sys, time
sys.path.insert(0, os.environ["FAKE_PRODUCER"])
from engine.inspect.ring import Ring
from fake_sink import FakeSink
producer = FakeSink(Ring(int(sys.argv[1])))
number = 0
while True:
    if producer.emit(6, number, blob=b"x" * (number % 100)):
        number += 1
    else:
        time.sleep(0.001)
"""


def test_a_killed_program_loses_nothing_it_said(tmp_path: Path) -> None:
    """SIGKILL at random points: the trace ends with the very last record."""
    random.seed(1)
    for attempt in range(5):
        ring = Ring.create(records=4096, blob=1 << 16)
        writer = TraceWriter(ring, tmp_path / f"{attempt}.uht")
        command = [sys.executable, "-c", _KILLED, str(ring.fd)]
        environment = {**os.environ, "FAKE_PRODUCER": str(Path(__file__).parent)}
        process = subprocess.Popen(command, pass_fds=[ring.fd], env=environment)
        while ring["head"] == 0:
            assert process.poll() is None, "the program ended before it said anything"
            time.sleep(0.005)
        until = time.monotonic() + random.uniform(0.0, 0.2)
        while time.monotonic() < until:
            writer.pump()
            time.sleep(0.005)
        process.kill()
        process.wait()
        output = ring["head"]
        writer.finish(exit_code=137)
        ring.close()
        trace = TraceReader.open(tmp_path / f"{attempt}.uht")
        assert len(trace) == output + 1
        assert list(trace.events["a"][:-1]) == list(range(output))
        assert int(trace.events["a"][-1]) == 137


def test_a_large_segment_that_does_not_fit_is_kept_as_far_as_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine writes segments of many records: a full disk must not cost all of the last."""
    make_room = TraceFile._make_room

    def limited(file: TraceFile, size: int) -> None:
        if file._size() + size > 150_000:
            raise OSError(27, "File too large")
        make_room(file, size)

    monkeypatch.setattr(TraceFile, "_make_room", limited)
    events = np.zeros(60_000, RECORD)
    events["n"] = np.arange(60_000)
    events["a"] = np.random.default_rng(0).integers(0, 1 << 40, 60_000)
    events["kind"] = MARK
    events["flags"][::100] = HAS_BLOB
    marks = [b"mark %06d" % number for number in range(600)]  # 11 bytes, padded to 16
    events["e"][::100] = np.arange(600) * 24
    blobs = b"".join(len(mark).to_bytes(8, "little") + mark + bytes(5) for mark in marks)
    file = TraceFile(tmp_path / "t.uht")
    with pytest.raises(OSError, match="File too large"):
        file.add(events, blobs)
    file.close()
    trace = TraceReader.open(tmp_path / "t.uht")
    assert not trace.warning
    assert 5_000 < len(trace) == file.end < 60_000
    assert np.array_equal(np.asarray(trace.events["a"]), events["a"][: len(trace)])
    assert [trace.blob(number) for number in range(0, len(trace), 100)] == marks[
        : -(-len(trace) // 100)
    ]
