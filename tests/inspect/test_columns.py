"""Records that are packed into columns answer as the array of records does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import engine
from engine.inspect import columns
from engine.inspect.columns import Events, Store, columns_of_packed, columns_of_records
from engine.inspect.events import HAS_BLOB, NUMBER, RECORD
from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader
from engine.inspect.writer import packed


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces of some hundred events are packed already."""
    monkeypatch.setattr(columns, "PLAIN", 200)
    monkeypatch.setattr(columns, "PACKED", 64)
    monkeypatch.setattr(columns, "_MIN_PACKED", 16)
    monkeypatch.setattr(columns, "_CHUNK", 10)


def odd_records(count: int, seed: int) -> np.ndarray:
    """Records as no recorder makes them: any kind, numbers of every size and sign, two threads."""
    random = np.random.default_rng(seed)
    records = np.zeros(count, RECORD)
    records["n"] = np.arange(count)
    records["t"] = np.sort(random.integers(0, 1 << 63, count).astype(np.uint64))
    records["t"][count // 2 :] = (1 << 64) - 1
    records["thread"] = np.repeat(random.integers(0, 1 << 32, -(-count // 50)), 50)[:count]
    records["kind"] = random.choice([1, 20, 43, 300, 65535], count)
    records["flags"] = random.choice([0, HAS_BLOB], count)
    for field in "abcde":
        bits = random.integers(0, 64, count)
        records[field] = random.integers(-(1 << 63), (1 << 63) - 1, count) >> bits
    records["a"][records["kind"] == 43] = -7
    records["b"][records["kind"] == 20] = np.iinfo(np.int64).min
    records["b"][np.flatnonzero(records["kind"] == 20)[::2]] = np.iinfo(np.int64).max
    return records


@pytest.mark.parametrize("seed", range(5))
def test_packed_records_are_the_same_records(seed: int, small: None) -> None:
    records = odd_records(1500, seed)
    random = np.random.default_rng(seed)
    store = Store()
    at = 0
    earlier = store.events, 0
    while at < len(records):
        end = min(len(records), at + int(random.choice([1, 3, 15, 16, 100, 400])))
        part = records[at:end]
        store.append(columns_of_packed(packed(part), at, len(part), int(part["t"][0])))
        at = end
        assert len(store) == at
        if at > 700 and not earlier[1]:
            earlier = store.events, at
    events = store.events
    assert isinstance(events, Events)
    assert_same(events, records, random)
    assert_same(earlier[0], records[: earlier[1]], random)


def assert_same(events: Events, records: np.ndarray, random: np.random.Generator) -> None:
    assert len(events) == len(records)
    assert np.array_equal(events[:], records)
    assert np.array_equal(events[10:700:7], records[10:700:7])
    some = random.integers(0, len(records), 50)
    assert np.array_equal(events[some], records[some])
    assert np.array_equal(events[np.empty(0, np.int64)], records[:0])
    assert [events[int(m)].tolist() for m in some] == [records[int(m)].tolist() for m in some]
    assert events[-1] == records[-1]
    with pytest.raises(IndexError):
        events[len(records)]
    for field in RECORD.names or ():
        assert np.array_equal(np.asarray(events[field]), records[field])
        assert np.array_equal(events[field][some], records[field][some])
        assert np.array_equal(events[field] == 43, records[field] == 43)
        assert events[field][3] == records[field][3]
        assert [events.value(field, int(m)) for m in some] == records[field][some].tolist()
    for kinds in ((43,), (1, 20, 300), (7,), (65535, 7)):
        mask = np.isin(records["kind"], kinds)
        numbers = np.sort(np.concatenate([events.numbers(kind) for kind in kinds]))
        assert np.array_equal(numbers, np.flatnonzero(mask))
        rows = events.of_kinds(kinds, numbers)
        for field in RECORD.names or ():
            assert np.array_equal(rows[field], records[mask][field]), (kinds, field)
        odd = rows["a"] % 2 == 1
        assert np.array_equal(rows[odd]["c"], records[mask][odd]["c"])
        assert len(rows[odd]) == odd.sum()


def test_what_all_records_of_a_kind_share_takes_no_room() -> None:
    records = np.zeros(1 << 17, RECORD)
    records["n"] = np.arange(len(records))
    records["t"] = 10**15 + records["n"]
    records["kind"] = np.where(records["n"] % 2, NUMBER["LINE"], NUMBER["WRITE"])
    records["a"] = 1 << 40
    records["b"] = np.arange(len(records)) % 200
    packed = columns._Packed(0, columns_of_records(records))
    arrays = [packed.kinds, packed._t, *packed._positions.values(), *packed._fields.values()]
    size = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    assert size <= 10 * len(records)


PROGRAM = """\
xs = []
for i in range(30):
    x = engine.rand(3, 4, requires_grad=True)
    y = (x.t() * i)[1:]
    y.sum().backward()
    xs.append(y.detach())
    if i % 5 == 0:
        try:
            x.view(7)
        except RuntimeError as error:
            text = str(error)
"""


def test_a_packed_trace_has_the_same_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with record(tmp_path / "t.uht"):
        exec(compile(PROGRAM, str(path), "exec"), {"engine": engine})
    plain = History(TraceReader.open(tmp_path / "t.uht"))
    assert isinstance(plain.tables.events, np.ndarray)
    for name, value in (("PLAIN", 100), ("PACKED", 64), ("_MIN_PACKED", 16)):
        monkeypatch.setattr(columns, name, value)
    packed = History(TraceReader.open(tmp_path / "t.uht"))
    assert isinstance(packed.tables.events, Events)
    assert packed.end == plain.end
    ask = (
        "tensors_at storages_at blocks_at names_at frames_at line_at lines_at exceptions output "
        "calls_at call_at_or_before event"
    )
    for m in range(0, plain.end, 97):
        for question in ask.split():
            assert getattr(packed, question)(m) == getattr(plain, question)(m), (question, m)
        for grain in plain.grains:
            assert packed.next(m, grain) == plain.next(m, grain)
        for tensor in plain.tensors_at(m)[-3:]:
            assert packed.owners(tensor.id, m) == plain.owners(tensor.id, m)
            known = packed.bytes_of(tensor.storage, m)
            assert known[0] == plain.bytes_of(tensor.storage, m)[0]
    for text in ("op:mul", "view", "requires_grad", "x"):
        actual = [history.find(text, 0) for history in (plain, packed)]
        assert actual[0] == actual[1], text
