"""A long recording is decoded and folded once; the next opening maps the arrays of its index."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from engine.inspect import index, trace
from engine.inspect.history import History
from engine.inspect.trace import TraceReader
from tests.inspect.test_columns import odd_records
from tests.inspect.trace_builder import T, TraceBuilder

TABLES = (
    "blocks", "storages", "holds", "uses", "storage_counts", "tensor_counts", "tensors", "wrappers", "objects",
    "views", "calls", "hops", "plans", "writes", "versions", "frames", "lines", "names", "exceptions", "output",
    "values",
)  # fmt: skip
ARRAYS = ("by_compiler", "returns", "node_stops")


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording that is long enough for an index, here."""
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(trace, "MIN_EVENTS", 20)
    b = TraceBuilder()
    b.file("/home/me/loop.py", "x = ones(2)\ny = x.t()\n")
    b.frame("<module>")
    for line in (1, 2, 1, 2, 1):
        b.line(line)
        with b.op("ones(int[] size) -> Tensor", [(2,)]) as call:
            x = b.tensor((2,), values=[1.0, 2.0])
            call.results(x)
        b.bind("x", x)
        with b.op("t(Tensor(a) self) -> Tensor(a)", [T(x)]) as call:
            call.results(b.tensor((2,), base=x))
        b.write(x, [3.0, 4.0])
    return b.save(tmp_path / "loop.uht", segment=30)


def answers(history: History) -> list[object]:
    """Ask all tables, and some questions at every moment."""
    tables = [getattr(history.tables, name) for name in TABLES]
    columns = [
        [t.since.tolist(), t.until.tolist(), *(c.tolist() for c in t.columns.values())]
        for t in tables
    ]
    moments = [
        (
            history.event(m),
            history.tensors_at(m),
            history.names_at(m),
            [history.bytes_of(t.storage, m)[0] for t in history.tensors_at(m)],
            history.line_at(m),
            history.calls_at(m),
        )
        for m in range(history.end)
    ]
    return [columns, [getattr(history.tables, name).tolist() for name in ARRAYS], moments]


def test_the_second_opening_decodes_nothing(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TraceReader.open(saved)
    first = answers(History(reader))
    assert reader.index is not None
    assert reader.index.folder.is_relative_to(index.indexes_directory())
    monkeypatch.setattr(trace, "_decode", lambda *_: pytest.fail("the events were decoded again"))
    for module in ("fold", "autograd.tables"):
        monkeypatch.setattr(
            f"engine.inspect.history.{module}.ends_of", lambda *_: pytest.fail("folded again")
        )
    assert answers(History(TraceReader.open(saved))) == first


def test_an_index_answers_as_the_file_does(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = answers(History(TraceReader.open(saved)))
    monkeypatch.setattr(trace, "MIN_EVENTS", 1 << 60)
    reader = TraceReader.open(saved)
    assert reader.index is None
    assert answers(History(reader)) == stored


def test_any_records_are_the_same_from_an_index(tmp_path: Path) -> None:
    from engine.inspect.columns import Store, arrays_of_events, columns_of_records

    records = odd_records(3000, 7)
    store = Store()
    store.append(columns_of_records(records))
    group = index.Index(tmp_path / "index" / "one")
    group.store("events", arrays_of_events(store.columns))
    arrays = group.load("events")
    assert arrays is not None
    mapped = Store.mapped(arrays).columns
    assert (mapped[:] == records).all()
    assert mapped[2999] == records[2999]
    for field in records.dtype.names or ():
        assert [mapped.value(field, number) for number in range(0, 3000, 37)] == records[field][
            ::37
        ].tolist()
    for kind in np.unique(records["kind"]).tolist():
        assert mapped.numbers(kind).tolist() == np.flatnonzero(records["kind"] == kind).tolist()
        for field in ("t", "thread", "flags", "a", "e"):
            column = records[field][records["kind"] == kind]
            assert mapped.of_kind(kind, field).tolist() == column.tolist()


def test_a_file_that_changed_has_another_index(saved: Path) -> None:
    first = TraceReader.open(saved).index
    os.utime(saved, (1, 1))
    second = TraceReader.open(saved).index
    assert first is not None
    assert second is not None
    assert first.folder != second.folder


def test_without_a_cache_folder_everything_is_computed(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(History(TraceReader.open(saved)))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "file"))
    reader = TraceReader.open(saved)
    assert reader.index is None
    assert answers(History(reader)) == expected


def test_a_damaged_index_is_replaced(saved: Path) -> None:
    reader = TraceReader.open(saved)
    expected = answers(History(reader))
    assert reader.index is not None
    for file in reader.index.folder.iterdir():
        file.write_bytes(file.read_bytes()[:40])
    assert answers(History(TraceReader.open(saved))) == expected


def test_the_oldest_indexes_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MAX_BYTES", 10_000)
    for number in range(4):
        group = index.Index(tmp_path / str(number))
        group.store("x", {"": np.zeros(500)})
        os.utime(group.folder, (number, number))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3"]


def test_a_recording_that_is_not_closed_has_none(saved: Path, tmp_path: Path) -> None:
    b = TraceBuilder()
    for _ in range(30):
        b.emit("MARK", blob=b"x")
    assert TraceReader.open(b.save(tmp_path / "open.uht", closed=False)).index is None


def test_blobs_are_read_from_the_file(saved: Path) -> None:
    reader = TraceReader.open(saved)
    number = int(np.flatnonzero(np.asarray(reader.events["flags"]))[-1])
    assert reader.blob(number)
    saved.unlink()
    reader = TraceReader.open(saved) if saved.exists() else reader
    reader._unpacked.clear()
    assert reader.blob(number) == b""
    assert "shapes and values there are missing" in reader.warning


def test_what_the_first_opening_computes_is_mapped_as_well(saved: Path) -> None:
    history = History(TraceReader.open(saved))
    for name in TABLES:
        base = getattr(history.tables, name).since
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base, np.memmap), name
