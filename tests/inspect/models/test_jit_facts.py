"""The facts that the JIT's views draw: rewrites by their moment, passes that did not end well, copies of
Values, launches of groups."""

from __future__ import annotations

import re

import pytest

from engine.inspect.models.jit.fused_traffic import _broadcast
from engine.inspect.models.jit.passes import Focus, with_graph
from tests.inspect.jit_traces import LOOP, recorded
from tests.inspect.models.test_jit_model import BROKEN, graphs
from tests.inspect.trace_builder import TraceBuilder


def test_a_rewrite_is_found_by_its_own_moment_only():
    jit = recorded(LOOP).jit
    moments = jit.tables.rewrites.since.tolist()
    assert len(moments) > 1
    for moment in moments:
        fact = jit.rewrite_at(moment)
        assert fact.moment == moment
        assert fact in jit.rewrites(fact.run)
    others = set(range(jit.history.end)) - set(moments)
    assert all(jit.rewrite_at(moment) is None for moment in others)


def test_a_pass_that_has_not_ended_has_no_number_of_changes():
    b = TraceBuilder()
    started = b.emit("PASS_BEGIN", 7, 1, 2, b.string("cse"), 0)
    jit = b.history().jit
    (run,) = jit.runs(2, started)
    assert (run.id, run.changes, run.failed) == (7, -1, "")


EARLIER = """
try:
    engine.ones(2).view(3)
except RuntimeError:
    pass

@engine.jit.script"""


def test_a_failed_pass_tells_the_exception_that_followed_it_and_no_earlier_one():
    history = recorded(BROKEN.replace("@engine.jit.script", EARLIER, 1))
    runs = [run for g in graphs(history) for run in history.jit.runs(g, history.end)]
    assert [run.failed for run in runs if run.failed] == ["RuntimeError: this pass gives up"]


def test_the_same_values_in_other_graphs_are_those_that_no_pass_made():
    links = recorded(LOOP).jit.links
    copied = {value: links._copies({value}) for value in links.node_of}
    assert any(len(element) > 1 for element in copied.values())
    results = {value for item in copied.values() for value in item}
    assert {links.creations[links.node_of[value]].run for value in results} == {0}


def test_a_launch_took_as_long_as_since_the_last_event_of_its_own_thread():
    b = TraceBuilder()
    started = b.mark("the outputs are there")
    b.thread = 2
    b.mark("elsewhere")
    b.thread = 1
    launched = b.emit("FUSED_RUN", 1, 0, 40, 1, 1)
    history = b.history()
    (launch,) = history.jit.fused.launches(1)
    times = history.tables.events["t"]
    assert launch.ns == times[launched] - times[started]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(3, 1), (4,)], (3, 4)),
        ([(1,), (5, 1)], (5, 1)),
        ([(), (2, 3)], (2, 3)),
        ([()], ()),
    ],
)
def test_sizes_broadcast_as_the_operators_do(shapes, expected):
    assert _broadcast(shapes) == expected


def test_a_step_of_a_pass_goes_to_the_end_of_the_next_one_that_changed_something():
    history = recorded(LOOP)
    runs = [history.jit.run_fact(row) for row in range(len(history.jit.tables.runs))]
    ends = [run.until for run in runs if run.changes > 0]
    assert 0 < len(ends) < len(runs)
    walked, m = [], 0
    while (m := history.next(m, "pass")) < history.end - 1:
        walked.append(m)
    assert walked == sorted(ends)


def test_a_register_is_called_as_an_instruction_on_that_register_calls_it():
    history = recorded(LOOP)
    jit, named = history.jit, 0
    for m in history.tables.numbers("TENSOR_RETAIN").tolist():
        output = re.search(r"register (\d+) \((%\S+)\) of frame (\d+)", history.event(m).sentence)
        if output is None:
            continue
        frames = jit.tables.frames
        code = jit.code(int(frames.code[frames.last("id", int(output[3]), m)]))
        strings = [
            instruction["text"]
            for instruction in code.instructions
            if instruction["x"] == int(output[1])
        ]
        assert any(f"({output[2]})" in text for text in strings), output[0]
        named += 1
    assert named


def test_before_its_graph_is_told_a_function_goes_with_the_one_that_becomes_code():
    jit = recorded(LOOP).jit
    compiled = set(jit.tables.codes.function.tolist())
    assert compiled
    for function in compiled:
        actual = with_graph(jit, Focus(function))
        assert actual.graph in jit.tables.codes.graph
        assert with_graph(jit, actual) == actual
    assert with_graph(jit, Focus()) == Focus()
