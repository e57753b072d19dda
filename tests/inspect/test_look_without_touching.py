"""Looking at a recording, even while it grows, leaves the engine that is being recorded alone."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import engine
from engine.inspect import live
from engine.inspect.history import History
from engine.inspect.models import VIEWS, to_json
from engine.inspect.recorder import record
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader
from tests.inspect.selections import select

ASKED = (live.use_count, live.storage_use_count, live.version, live.tensor_id, sys.getrefcount)


def counters(tensors: list[engine.Tensor]) -> tuple[object, ...]:
    """Every count that the engine keeps, and the next numbers it would give out."""
    allocators = [live.allocator_stats(name) for name in ("cpu", "pool")]
    return allocators, [[ask(x) for ask in ASKED] for x in tensors]


def look_at_everything(history: History) -> int:
    """Draw every view at a spread of moments and of tensors; every question; to JSON and to text.

    A spread, as a trace also holds the tensors that earlier tests of the process keep alive.
    """
    looked = 0
    for m in range(0, history.end, max(1, history.end // 12)):
        tensors = history.tensors_at(m)
        for tensor in tensors[:: len(tensors) // 6 + 1] or (None,):
            selection = select(tensor=tensor.id, storage=tensor.storage) if tensor else Selection()
            for project in VIEWS.values():
                assert to_json(project(history, m, selection))
                looked += 1
            if tensor:
                history.owners(tensor.id, m)
                history.bytes_of(tensor.storage, m)
                history.last_write(tensor.storage, 0, m)
        assert history.event(m).sentence
    return looked


def test_looking_changes_no_count_of_the_engine(tmp_path: Path) -> None:
    with record(tmp_path / "t.uht") as recording:
        x = engine.arange(12.0).view(3, 4)
        row = x[1]
        row.mul_(2.0)
        saved = [x, row, x.t(), x.numpy()]
        total = x.sum()
        while len(trace := TraceReader.open(recording.path)) < 30:
            pass
        gc.collect()  # tensors of earlier tests go now, not while the views look
        before = counters([x, row, total])
        assert look_at_everything(History(trace)) > 20
        assert counters([x, row, total]) == before
    before = counters([x, row, total])
    newest = live.tensor_id(engine.empty(0))
    history = History(TraceReader.open(recording.path))
    assert look_at_everything(history) > 100
    assert live.tensor_id(engine.empty(0)) == newest + 1, "looking made a tensor"
    assert counters([x, row, total])[1] == before[1]
    assert len(saved) == 4
