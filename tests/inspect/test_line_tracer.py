"""Frames, lines, names and counts as the line tracer records them, against what the program did."""

from __future__ import annotations

import gc
import runpy
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import engine
from engine.inspect import line_tracer
from engine.inspect.events import NUMBER
from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader

KINDS = {number: name for name, number in NUMBER.items()}


class PythonEvents:
    """The Python events of a trace as tuples: ("LINE", 3), ("BIND", "x", "#7", 1), ..."""

    def __init__(self, trace: TraceReader, script: Path) -> None:
        self.trace = trace
        self.events: list[tuple[Any, ...]] = []
        self.lines: dict[int, int] = {}  # position in events -> line
        for row in trace.events:
            event = self._read(row)
            if event:
                self.events.append(event)

    def _read(self, r: Any) -> tuple[Any, ...] | None:
        kind, string = KINDS[int(r["kind"])], self.trace.string
        a, b, c, d = (int(r[field]) for field in "abcd")
        if kind == "LINE":
            return "LINE", c
        if kind == "FRAME_PUSH":
            return "PUSH", string(b)
        if kind == "FRAME_POP":
            return "POP", bool(b)
        if kind == "NAME_BIND":
            text = f"#{d}" if d else self.trace.blob(int(r["n"])).decode()
            return "BIND", string(b), text, c
        if kind == "NAME_UNBIND":
            return "UNBIND", string(b), c
        if kind == "EXCEPTION":
            return "EXCEPTION", b, string(c), self.trace.blob(int(r["n"])).decode()
        if kind == "OBJECT":
            return "OBJECT", a, c
        return None

    def between(self, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the events after the first LINE `first`, up to the next LINE `last`."""
        start = self.events.index(("LINE", first))
        return self.events[start + 1 : self.events.index(("LINE", last), start + 1)]

    def names(self) -> set[str]:
        return {event[1] for event in self.events if event[0] == "BIND"}

    def bound(self, name: str) -> list[str]:
        return [event[2] for event in self.events if event[0] == "BIND" and event[1] == name]


@pytest.fixture
def trace_of(tmp_path: Path) -> Callable[[str], PythonEvents]:
    def run(program: str) -> PythonEvents:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program).lstrip("\n"))
        with record(tmp_path / "t.uht"):
            runpy.run_path(str(script))
        return PythonEvents(TraceReader.open(tmp_path / "t.uht"), script)

    return run


def kinds(events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [event for event in events if event[0] != "OBJECT"]


def test_lines_and_simple_values(trace_of: Callable[[str], PythonEvents]) -> None:
    trace = trace_of("""
        a = 1
        b = 2.5; c = "text"
        d = a > 0
        e = None
        f = [1, 2]
        g = 10**100
        h = "x" * 100
        del a
        end = 0
        """)
    assert kinds(trace.between(1, 2)) == [("BIND", "a", "1", 1)]
    assert kinds(trace.between(2, 3)) == [("BIND", "b", "2.5", 1), ("BIND", "c", "'text'", 1)]
    assert trace.bound("d")[0] == "True"
    assert trace.bound("e")[0] == "None"
    assert trace.bound("f")[0] == "list"
    assert trace.bound("g")[0] == "int of 333 bits"
    assert trace.bound("h")[0] == "'" + 60 * "x" + "..."
    assert ("UNBIND", "a", 1) in trace.between(8, 9)


def test_tensors_names_and_counts(trace_of: Callable[[str], PythonEvents]) -> None:
    trace = trace_of("""
        import engine
        x = engine.zeros(3)
        y = x
        z = x[1:]
        x = None
        end = 0
        """)
    x, y = trace.bound("x")[0], trace.bound("y")[0]
    assert x == y
    assert trace.bound("z")[0] != x
    number = int(x[1:])
    counts = [event[2] for event in trace.events if event[0] == "OBJECT" and event[1] == number]
    assert counts[:3] == [1, 2, 1]


def test_functions_closures_and_containers(trace_of: Callable[[str], PythonEvents]) -> None:
    trace = trace_of("""
        import engine
        class Model:
            def __init__(self, w):
                self.w = w
        def f(t):
            items = [t, {"key": t}]
            def inner():
                return t
            model = Model(t)
            inner()
            return model
        m = f(engine.ones(2))
        end = 0
        """)
    tensor = trace.bound("t")[0]
    paths = {event[1::2] for event in trace.events if event[0] == "BIND" and event[2] == tensor}
    assert paths == {
        ("t", 1), ("items[0]", 2), ("items[1]['key']", 2), ("inner.t", 4), ("t", 4), ("w", 1),
        ("self.w", 3), ("model.w", 3), ("m.w", 3),
    }  # fmt: skip
    pushes = [event[1] for event in trace.events if event[0] == "PUSH"]
    assert pushes[-3:] == ["f", "Model.__init__", "f.<locals>.inner"]


def test_a_list_that_grows_and_shrinks(trace_of: Callable[[str], PythonEvents]) -> None:
    trace = trace_of("""
        import engine
        xs = []
        xs.append(engine.zeros(1))
        xs.append(engine.zeros(1))
        xs.pop(0)
        end = 0
        """)
    assert [e[:2] for e in kinds(trace.between(3, 4))] == [("BIND", "xs[0]")]
    assert [e[:2] for e in kinds(trace.between(4, 5))] == [("BIND", "xs[1]")]
    assert [e[:2] for e in kinds(trace.between(5, 6))] == [("UNBIND", "xs[1]"), ("BIND", "xs[0]")]


def test_a_deque_holds_its_items(trace_of: Callable[[str], PythonEvents]) -> None:
    trace = trace_of("""
        import collections, engine
        replay = collections.deque(maxlen=2)
        replay.append((0, engine.zeros(1)))
        replay.append((1, engine.zeros(1)))
        replay.append((2, engine.zeros(1)))
        end = 0
        """)
    assert [e[:2] for e in kinds(trace.between(3, 4))] == [("BIND", "replay[0][1]")]
    assert [e[:2] for e in kinds(trace.between(4, 5))] == [("BIND", "replay[1][1]")]
    shifted = [e[:2] for e in kinds(trace.between(5, 6))]
    assert sorted(shifted) == [("BIND", "replay[0][1]"), ("BIND", "replay[1][1]")]


def test_long_containers_are_cut_and_marked(trace_of: Callable[[str], PythonEvents]) -> None:
    result = trace_of("""
        import engine
        xs = [engine.zeros(1) for _ in range(70)]
        end = 0
        """)
    assert result.bound("xs[63]")
    assert not result.bound("xs[64]")
    flags = [
        int(r["flags"]) & 1
        for r in result.trace.events
        if KINDS[int(r["kind"])] == "NAME_BIND" and result.trace.string(int(r["b"])) == "xs"
    ]
    assert flags[0] == 1


def test_exceptions(trace_of: Callable[[str], PythonEvents]) -> None:
    trace = trace_of("""
        class Bad(Exception):
            def __str__(self):
                raise RuntimeError("never asked")
        def f():
            raise Bad("plain", 2)
        try:
            f()
        except Bad:
            caught = True
        try:
            open("/nowhere/at all")
        except OSError:
            pass
        """)
    raised = [event for event in trace.events if event[0] == "EXCEPTION"]
    assert raised[:2] == [("EXCEPTION", 5, "Bad", "plain"), ("EXCEPTION", 7, "Bad", "plain")]
    assert ("EXCEPTION", 11, "FileNotFoundError", "No such file or directory") in raised
    assert ("POP", True) in trace.events


def test_no_user_code_runs_and_nothing_lives_longer(
    trace_of: Callable[[str], PythonEvents],
) -> None:
    """The recorded program itself checks counts and lifetimes line by line."""
    trace_of("""
        import engine, gc, sys, weakref
        gc.disable()
        class Loud:
            def __repr__(self): raise AssertionError("repr was called")
            __str__ = __eq__ = __hash__ = __len__ = __getattr__ = __bool__ = __repr__
        loud = Loud()
        box = [loud, {1: loud}]
        def lives():
            t = engine.zeros(2)
            gone = []
            weakref.finalize(t, gone.append, 1)
            assert sys.getrefcount(t) == 2
            holder = {"t": t}
            assert sys.getrefcount(t) == 3
            del t
            assert not gone
            holder.clear()
            assert gone
        lives()
        def passes_on(p):
            return sys.getrefcount(p)
        x = engine.ones(1)
        first = passes_on(x)
        assert first == passes_on(x)
        assert sys.getrefcount(x) == 2
        class Plain:
            pass
        plain = Plain()
        plain.x = x
        assert sys.getrefcount(x) == 3
        """)


def test_generators_threads_and_classes(trace_of: Callable[[str], PythonEvents]) -> None:
    result = trace_of("""
        import engine, threading
        def gen():
            inside = engine.zeros(1)
            yield inside
            yield 2
        g = gen()
        t = next(g)
        next(g)
        def work():
            mine = engine.ones(1)
            done = True
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        class Config:
            weight = engine.zeros(1)
        end = 0
        """)
    assert result.bound("inside")[0] == result.bound("t")[0] == result.bound("g.inside")[0]
    assert result.bound("mine")
    assert result.bound("weight")
    threads = {int(r["thread"]) for r in result.trace.events if KINDS[int(r["kind"])] == "LINE"}
    assert len(threads) == 2


def test_names_of_an_imported_module_stay(
    tmp_path: Path, trace_of: Callable[[str], PythonEvents]
) -> None:
    (tmp_path / "helper.py").write_text("import engine\nweights = engine.zeros(2)\ndef f(): pass\n")
    result = trace_of(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import helper
        end = 0
        """)
    pop = result.events.index(("POP", False))
    assert ("BIND", "weights", result.bound("weights")[0], 1) in result.events[pop:]
    assert "helper.py" in " ".join(path for path, _ in result.trace._sources.values())


def test_writes_from_numpy_are_noticed(trace_of: Callable[[str], PythonEvents]) -> None:
    result = trace_of("""
        import numpy, engine
        a = numpy.zeros(4, dtype="float32")
        t = engine.from_numpy(a)
        a[1] = 5
        end = 0
        """)
    events = result.trace.events
    outside = [r for r in events if KINDS[int(r["kind"])] == "WRITE" and int(r["e"]) == 0]
    assert outside


def test_which_files_are_the_users(tmp_path: Path) -> None:
    import json.decoder

    assert line_tracer.is_users(str(tmp_path / "a.py"))
    root = Path(engine.__file__).parent.parent
    assert line_tracer.is_users(str(root / "lessons" / "gallery" / "flips.py"))
    assert not line_tracer.is_users(str(root / "lessons" / "_runner" / "check.py"))
    assert not line_tracer.is_users(str(root / "engine" / "tensor.py"))
    assert not line_tracer.is_users(json.decoder.__file__)
    assert not line_tracer.is_users(pytest.__file__)


def test_sources_are_decoded_with_their_encoding(tmp_path: Path) -> None:
    script = tmp_path / "latin.py"
    script.write_bytes("# -*- coding: latin-1 -*-\nx = 'größe'\n".encode("latin-1"))
    with record(tmp_path / "t.uht"):
        runpy.run_path(str(script))
    trace = TraceReader.open(tmp_path / "t.uht")
    strings = dict(trace._sources.values())
    assert strings[str(script)] == "# -*- coding: latin-1 -*-\nx = 'größe'\n"


def test_recording_changes_no_result_and_no_count(tmp_path: Path) -> None:
    program = """
        import engine, sys
        engine.manual_seed(3)
        x = engine.rand(5, 5)
        xs = [x, x.t(), x[1:]]
        y = (x @ xs[1]).sum()
        x.mul_(2.0)
        counts = [sys.getrefcount(t) for t in xs]
        values = [t.tolist() for t in xs] + [y.item()]
        """
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(program))
    plain = runpy.run_path(str(script))
    with record(tmp_path / "t.uht"):
        recorded = runpy.run_path(str(script))
    gc.collect()
    assert recorded["values"] == plain["values"]
    assert recorded["counts"] == plain["counts"]


def test_a_debugger_continues_after_the_recording(tmp_path: Path) -> None:
    def debugger(frame: FrameType, event: str, argument: object) -> None:
        return None

    def other_debugger(frame: FrameType, event: str, argument: object) -> None:
        return None

    before = sys.gettrace(), threading.gettrace()
    try:
        sys.settrace(debugger)
        threading.settrace(debugger)
        with record(tmp_path / "a.uht"):
            x = engine.zeros(2)
        assert sys.gettrace() is debugger
        assert threading.gettrace() is debugger
        with record(tmp_path / "b.uht"):
            sys.settrace(other_debugger)
        assert sys.gettrace() is other_debugger
    finally:
        sys.settrace(before[0])
        threading.settrace(before[1])
    assert "x" in PythonEvents(TraceReader.open(tmp_path / "a.uht"), tmp_path).names()
    assert x.tolist() == [0.0, 0.0]


def test_names_of_a_dropped_module_end_with_their_tensors(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import engine\nweights = engine.zeros(3)\n")
    with record(tmp_path / "t.uht"):
        saved = runpy.run_path(str(script))
        still = saved["weights"]
        del saved, still
        end = 0
    history = History(TraceReader.open(tmp_path / "t.uht"))
    ever = {history.string(int(name)) for name in history.tables.names.name}
    assert {"weights", "still", "end"} <= ever
    begin = int(history.tables.lines.since[0])  # tensors from before the recording may still exist
    assert not [t for t in history.tensors_at(history.end - 1) if t.since > begin]
    assert [fact for fact in history.names_at(history.end - 1) if fact.tensor] == []
    assert end == 0


def test_a_running_module_is_followed_when_many_globals_come_and_go(
    trace_of: Callable[[str], PythonEvents],
) -> None:
    trace = trace_of("""
        code = compile("len('')", __file__, "eval")
        for turn in range(300):
            eval(code, {"turn": turn})
        last = 0
        end = 0
        """)
    # once when it was bound, and again at the end of the module
    assert trace.bound("last") == ["0", "0"]
    assert len(trace.bound("turn")) > 300


def test_lines_continue_after_the_jit_traced_a_function(
    trace_of: Callable[[str], PythonEvents],
) -> None:
    trace = trace_of("""
        import engine
        def f(x):
            return x + 1
        def compiled():
            traced = engine.jit.trace(f, engine.ones(2))
            return traced
        traced = compiled()
        after = traced(engine.ones(2))
        end = 0
        """)
    assert ("LINE", 8) in trace.events
    assert trace.bound("after")
    flow = [event[:2] for event in trace.events if event[0] in ("LINE", "POP")]
    end = flow.index(("LINE", 9))
    assert flow[end - 3 : end] == [("LINE", 6), ("POP", False), ("LINE", 8)]


def test_more_tensors_than_a_table_of_4096_are_counted_once_each(
    trace_of: Callable[[str], PythonEvents],
) -> None:
    """Each line recorded the counts of all tensors again as soon as the table was too small for them."""
    trace = trace_of("""
        import engine
        x = engine.zeros(1)
        for i in range(4400):
            globals()[f"t{i}"] = x[0]
        a = 1
        b = 2
        c = 3
    """)
    counts = [event for event in trace.events if event[0] == "OBJECT"]
    assert len({tensor for _, tensor, _ in counts}) == 4401
    assert len(counts) < 9_500
