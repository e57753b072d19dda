"""History of streams that are not whole: empty, begun in the middle, of several threads, of a newer engine."""

from __future__ import annotations

import pytest
from trace_builder import TraceBuilder

from engine.inspect.events import FOREVER
from engine.inspect.history import History
from engine.inspect.trace import TraceReader


def test_an_empty_trace_answers():
    history = TraceBuilder().history()
    assert history.end == 0
    assert history.tensors_at(0) == ()
    assert history.line_at(0) is None
    assert history.next(0, "op") == history.previous(0, "line") == 0
    assert history.find("x", 0) is None
    assert history.find(" ", 0) is None
    assert history.call_at_or_before(0) is None
    with pytest.raises(IndexError, match="moment 0 is outside the trace: it has 0 events"):
        history.event(0)


def test_a_recording_that_began_in_the_middle_answers():
    """Things end that were never seen to begin."""
    b = TraceBuilder()
    b.emit("UNWRAP", 5, 0)
    b.emit("STORAGE_RELEASE", 3, 6, 5, 0)
    b.emit("OP_EXIT", 7, 1, 5)
    b.emit("FRAME_POP", 9)
    b.retain_storage(b.storage(8), "NUMPY", 1)
    history = b.history()
    assert [history.event(m).sentence for m in range(history.end)]
    owners = history.storage_owners(1, b.now)
    assert (owners.count, owners.holders[0].name) == (1, "NumPy array 1")
    assert history.storage(1, b.now).until == FOREVER


def test_threads_keep_their_own_lines():
    b = TraceBuilder()
    b.file("main.py")
    b.frame()
    b.line(1)
    b.thread, main = 2, b.frames
    b.frames = []
    b.file("worker.py")
    b.frame("work")
    worker = b.line(30)
    b.thread, b.frames = 1, main
    current = b.mark("here")
    b.thread = 3
    engine = b.mark("a thread without Python")
    history = b.history()
    assert history.line_at(worker).path == "worker.py"
    assert history.line_at(current).line == 1
    assert history.line_at(engine).line == 1


def test_an_event_of_a_newer_kind_is_shown_unnamed():
    b = TraceBuilder()
    b.mark("x")
    records = b.array()
    records["kind"] = 999
    event = History(TraceReader.of(records)).event(0)
    assert (event.kind, event.sentence) == ("KIND_999", "an event of a newer kind")
    assert event["a"] == 0
