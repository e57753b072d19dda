"""Reading trace files: good, growing, damaged, foreign."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from trace_builder import T, TraceBuilder, add_segment, create_tables, unpacked

from engine.inspect.events import NUMBER, RECORD
from engine.inspect.history import History
from engine.inspect.new_trace import VERSION
from engine.inspect.trace import TraceError, TraceReader


def program(lines: int = 4) -> TraceBuilder:
    b = TraceBuilder()
    b.file("demo.py", "x = zeros(2, 3)\n" * lines)
    b.frame()
    for line in range(1, lines + 1):
        b.line(line)
        with b.op("zeros(int[] size) -> Tensor", [(2, 3)]) as call:
            x = b.tensor((2, 3), values=range(line, line + 6))
            call.results(x)
        b.bind("x", x)
        with b.op("t(Tensor(a) self) -> Tensor(a)", [T(x)]) as call:
            call.results(b.tensor((3, 2), (1, 3), base=x))
    b.pop_frame()
    return b


def sentences(trace: TraceReader) -> list[str]:
    history = History(trace)
    return [history.event(m).sentence for m in range(history.end)]


@pytest.mark.parametrize("segment", [1, 7, 1 << 20])
def test_a_file_reads_back_as_it_was_written(tmp_path, segment):
    b = program()
    trace = TraceReader.open(b.save(tmp_path / "run.uht", segment))
    inside = b.trace()
    names = [name for name in RECORD.names if name != "e"]
    assert (trace.events[names] == inside.events[names]).all()
    assert [trace.blob(m) for m in range(len(trace))] == [
        inside.blob(m) for m in range(len(inside))
    ]
    assert sentences(trace) == sentences(inside)
    terms = trace.blob_words(np.arange(len(trace)), 5)
    assert (terms == inside.blob_words(np.arange(len(inside)), 5)).all()
    assert trace.finished
    assert not trace.warning
    assert trace.source(1) == ("demo.py", "x = zeros(2, 3)\n" * 4)


def test_reading_leaves_the_folder_as_it_was(tmp_path):
    path = program().save(tmp_path / "run.uht")
    before = path.read_bytes()
    TraceReader.open(path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.uht"]
    assert path.read_bytes() == before


def test_a_trace_of_version_1_is_read(tmp_path):
    """Its segments have the bytes of the records: first byte 0 of each, then byte 1, up to 63."""
    b = program()
    path = b.save(tmp_path / "run.uht", segment=20)
    records = b.array()
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT first, count, t_first, events FROM segments"
        for first, count, time, events in database.execute(query).fetchall():
            planes = unpacked(events, first, count, time).view(np.uint8).reshape(count, 64).T
            row = (zlib.compress(planes.tobytes(), 1), first)
            database.execute("UPDATE segments SET events = ? WHERE first = ?", row)
        database.execute("PRAGMA user_version = 1")
        database.commit()
    trace = TraceReader.open(path)
    assert (trace.warning, len(trace)) == ("", len(records))
    assert sentences(trace) == sentences(b.trace())


def test_a_growing_trace_is_followed(tmp_path):
    b = program(8)
    path = tmp_path / "run.uht"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    create_tables(database)
    records, blobs = b.array(), bytes(b.blobs)
    add_segment(database, records[:30], blobs)
    trace = TraceReader.open(path)
    history = History(trace)
    assert (history.end, trace.finished) == (30, False)
    assert history.grown() is None
    for first in range(30, len(records), 30):
        add_segment(database, records[first : first + 30], blobs)
        before, history = history, history.grown()
        assert history.end == min(first + 30, len(records))
        assert before.end == first  # a view that draws it is not disturbed
    database.execute("INSERT INTO meta VALUES ('closed', 'clean')")
    database.commit()
    database.execute("PRAGMA journal_mode = DELETE")  # a reader does not block it
    database.close()
    assert trace.poll() == 0
    assert trace.finished
    # strings and sources came from the stream alone
    assert sentences(trace) == sentences(b.trace())
    assert trace.source(1)[1].startswith("x = zeros")


def test_a_growing_trace_that_is_locked_for_a_moment_is_followed_afterwards(tmp_path):
    b = program(8)
    path = tmp_path / "run.uht"
    database = sqlite3.connect(path)
    create_tables(database)
    records, blobs = b.array(), bytes(b.blobs)
    add_segment(database, records[:30], blobs)
    trace = TraceReader.open(path)
    database.execute("BEGIN EXCLUSIVE")
    assert trace.poll() == 0
    database.execute("COMMIT")
    add_segment(database, records[30:], blobs)
    assert trace.poll() == len(records) - 30
    assert trace.warning == ""
    database.close()


def test_a_growing_trace_that_is_deleted_keeps_what_was_read(tmp_path):
    b = program(8)
    path = tmp_path / "run.uht"
    database = sqlite3.connect(path)
    create_tables(database)
    add_segment(database, b.array()[:30], bytes(b.blobs))
    database.close()
    trace = TraceReader.open(path)
    path.unlink()
    assert (trace.poll(), len(trace)) == (0, 30)
    assert "showing the 30 events before it" in trace.warning


def test_what_was_in_the_log_of_a_killed_recorder_is_read(tmp_path):
    b = program()
    database = sqlite3.connect(tmp_path / "live.uht")
    database.execute("PRAGMA journal_mode = WAL")
    create_tables(database)
    add_segment(database, b.array(), bytes(b.blobs))
    for suffix in ("", "-wal"):
        (tmp_path / f"dead.uht{suffix}").write_bytes((tmp_path / f"live.uht{suffix}").read_bytes())
    database.close()
    trace = TraceReader.open(tmp_path / "dead.uht")
    assert len(trace) == len(b.records)
    assert not trace.warning
    assert not trace.finished


def refused(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        TraceReader.open(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_what_is_not_a_trace_is_refused_with_its_reason(tmp_path):
    assert "does not exist" in refused(tmp_path / "none.uht")
    assert "is a directory" in refused(tmp_path)
    empty = tmp_path / "empty.uht"
    empty.touch()
    assert "is empty" in refused(empty)
    text = tmp_path / "script.py"
    text.write_text("print('hello')\n")
    assert "not a trace" in refused(text)
    assert "print('hello')" in refused(text)
    short = tmp_path / "short.uht"
    short.write_bytes(b"SQLite format 3\0" + bytes(20))
    assert "36 bytes" in refused(short)
    noise = tmp_path / "noise.uht"
    noise.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)
    assert "damaged" in refused(noise)


def changed(tmp_path: Path, sql: str) -> Path:
    path = program().save(tmp_path / "changed.uht")
    database = sqlite3.connect(path)
    database.executescript(sql)
    database.close()
    return path


def test_another_programs_database_is_refused(tmp_path):
    path = changed(tmp_path, "PRAGMA application_id = 1234")
    assert "another program" in refused(path)


def test_a_newer_trace_is_refused(tmp_path):
    path = changed(tmp_path, f"PRAGMA user_version = {VERSION + 1}")
    assert "newer" in refused(path)
    assert "upgrade" in refused(path)


def test_a_trace_without_its_tables_is_refused(tmp_path):
    path = changed(tmp_path, "DROP TABLE segments; DROP TABLE meta")
    assert "no table meta, segments" in refused(path)


def test_a_view_in_place_of_a_table_is_refused(tmp_path):
    sql = "DROP TABLE meta; CREATE VIEW meta AS SELECT 'argv' AS key, randomblob(9) AS value"
    assert "no table meta" in refused(changed(tmp_path, sql))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE segments SET events = x'00112233' WHERE first = 40",
        "UPDATE segments SET events = zeroblob(0) WHERE first = 40",
        "UPDATE segments SET events = 'text' WHERE first = 40",
        "UPDATE segments SET events = NULL WHERE first = 40",
        "UPDATE segments SET count = 19 WHERE first = 40",
        "UPDATE segments SET count = -1 WHERE first = 40",
        "UPDATE segments SET count = 'many' WHERE first = 40",
        "UPDATE segments SET count = 1000000000000 WHERE first = 40",
        "UPDATE segments SET blobs = 5 WHERE first = 40",
        "DELETE FROM segments WHERE first = 40",
    ],
)
def test_a_damaged_segment_ends_the_trace_with_a_warning(tmp_path, damage):
    b = program()
    path = b.save(tmp_path / "run.uht", segment=20)
    database = sqlite3.connect(path)
    database.execute(damage)
    database.commit()
    database.close()
    trace = TraceReader.open(path)
    assert len(trace) == 40
    assert "40 events" in trace.warning
    assert str(path) in trace.warning
    assert sentences(trace) == sentences(b.trace())[:40]
    assert trace.poll() == 0


def test_a_segment_that_unpacks_to_far_too_much_is_damage_not_memory(tmp_path):
    b = program()
    path = b.save(tmp_path / "run.uht", segment=20)
    database = sqlite3.connect(path)
    bomb = zlib.compress(bytes(1 << 24), 9)
    database.execute("UPDATE segments SET events = ? WHERE first = 40", (bomb,))
    database.commit()
    database.close()
    assert len(TraceReader.open(path)) == 40


def test_damaged_blobs_leave_the_events(tmp_path):
    b = program()
    path = b.save(tmp_path / "run.uht", segment=20)
    database = sqlite3.connect(path)
    database.execute("UPDATE segments SET blobs = x'0011' WHERE first = 20")
    database.commit()
    database.close()
    trace = TraceReader.open(path)
    assert len(trace) == len(b.records)
    assert len(sentences(trace)) == len(b.records)
    assert "blobs" in trace.warning


def opened(path: Path) -> tuple[TraceReader | None, str]:
    """(the trace, its warning), or (None, why it was refused)."""
    try:
        trace = TraceReader.open(path)
    except TraceError as error:
        return None, str(error)
    return trace, trace.warning


def test_a_truncated_file_gives_its_beginning_or_a_clear_error(tmp_path):
    full = program(40).save(tmp_path / "run.uht", segment=20)
    data = full.read_bytes()
    readable = 0
    for cut in range(0, len(data), 1777):
        path = tmp_path / "cut.uht"
        path.write_bytes(data[:cut])
        trace, message = opened(path)
        assert str(path) in message
        if trace:
            readable += 1
            assert trace.warning
            sentences(trace)
    assert readable


def test_flipped_bytes_never_crash(tmp_path):
    data = bytearray(program(8).save(tmp_path / "run.uht", segment=20).read_bytes())
    random = np.random.default_rng(0)
    path = tmp_path / "flipped.uht"
    for _ in range(60):
        flipped = bytearray(data)
        for at in random.integers(100, len(data), 20):
            flipped[at] ^= int(random.integers(1, 256))
        path.write_bytes(flipped)
        trace, message = opened(path)
        assert trace or str(path) in message
        if trace:
            sentences(trace)


def test_kinds_that_were_renamed_have_their_numbers() -> None:
    """Earlier recordings hold the numbers."""
    names = (
        "STORAGE_RETAIN",
        "STORAGE_RELEASE",
        "TENSOR_RETAIN",
        "TENSOR_RELEASE",
        "USE_COUNT",
        "VERSION_BUMP",
        "AST",
    )
    assert [NUMBER[name] for name in names] == [22, 23, 37, 38, 39, 44, 81]
