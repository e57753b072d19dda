"""profile: spans of operators, Nodes and blocks; their averages, table and Chrome trace; schedules."""

from __future__ import annotations

import json

import pytest

import engine
from engine.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def work():
    x = engine.ones(4, 8)
    layer = engine.nn.Linear(8, 8)
    with record_function("model"):
        layer(x).relu().sum().backward()


@pytest.fixture(scope="module")
def profiled():
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as p:
        work()
    return p


def test_operators_nodes_and_blocks_nest(profiled):
    events = {event.name: event for event in profiled.events()}
    model = events["model"]
    assert model.is_user_annotation
    assert events["aten::linear"].cpu_parent is model
    node = events["autograd::engine::evaluate_function: AddmmBackward0"]
    assert node.cpu_parent is not None
    assert {child.name for child in node.cpu_children} >= {"aten::mm"}
    for event in profiled.events():
        assert event.self_cpu_time_total >= 0
        assert sum(c.cpu_time_total for c in event.cpu_children) <= event.cpu_time_total + 1e-6


def test_operators_of_a_library_have_its_namespace():
    library = engine.library.Library("profiled_library", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
    with profile() as p:
        engine.ops.profiled_library.twice(engine.ones(2))
    names = {event.name for event in p.events()}
    assert "profiled_library::twice" in names
    assert "aten::add" in names


def test_averages_add_up(profiled):
    averages = profiled.key_averages()
    total = sum(e.cpu_time_total for e in profiled.events() if e.cpu_parent is None)
    assert averages.self_cpu_time_total == pytest.approx(total)
    ones = next(a for a in averages if a.key == "aten::ones")
    assert ones.count >= 1
    assert ones.cpu_time == pytest.approx(ones.cpu_time_total / ones.count)
    by_shape = profiled.key_averages(group_by_input_shape=True)
    assert any(a.key == "aten::relu" and a.input_shapes == [[4, 8]] for a in by_shape)


def test_memory_of_a_call():
    with profile(profile_memory=True) as p:
        x = engine.zeros(1000)
        del x
    (zeros,) = [a for a in p.key_averages() if a.key == "aten::zeros"]
    assert zeros.cpu_memory_usage >= 4000


def test_the_table(profiled):
    text = profiled.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    lines = text.splitlines()
    assert lines[1].split()[0] == "Name"
    assert "CPU total %" in lines[1]
    assert "Self CPU Mem" in lines[1]
    assert lines[3].split()[0] == "model"
    assert lines[-1].startswith("Self CPU time total:")
    assert len(lines) == 3 + 3 + 2
    with pytest.raises(AttributeError, match="cannot sort by 'nothing'"):
        profiled.key_averages().table(sort_by="nothing")


def test_a_chrome_trace(profiled, tmp_path):
    path = tmp_path / "trace.json"
    profiled.export_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert {"model", "aten::linear"} <= {event["name"] for event in events}
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_schedules_are_pytorchs():
    torch = pytest.importorskip("torch")
    for options in (
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2},
        {"wait": 0, "warmup": 1, "active": 1, "skip_first": 2},
        {"wait": 2, "warmup": 0, "active": 1, "skip_first": 1, "skip_first_wait": 1},
    ):
        ours, theirs = schedule(**options), torch.profiler.schedule(**options)
        assert [ours(i).name for i in range(14)] == [theirs(i).name for i in range(14)]


def test_steps_follow_the_schedule(tmp_path):
    handler = tensorboard_trace_handler(str(tmp_path))
    with profile(
        schedule=schedule(wait=1, warmup=0, active=1, repeat=1), on_trace_ready=handler
    ) as p:
        for step in range(3):
            (engine.ones(2) + step if step == 1 else engine.ones(2) * step).sum()
            p.step()
    names = {event.name for event in p.events()}
    assert "aten::add" in names
    assert "aten::mul" not in names
    assert len(list(tmp_path.glob("*.pt.trace.json"))) == 1
    assert schedule(wait=1, warmup=0, active=1)(1) is ProfilerAction.RECORD_AND_SAVE


def test_decorated_functions_are_spans():
    @record_function("step")
    def step():
        return engine.ones(2)

    with profile() as p:
        step()
    assert "step" in {event.name for event in p.events()}


def test_one_profile_at_a_time():
    with profile(), pytest.raises(RuntimeError, match="already enabled"), profile():
        pass


def test_nothing_yet():
    with pytest.raises(AssertionError, match="recorded nothing yet"):
        profile().events()


def test_a_recorded_program_profiles_its_blocks_only(tmp_path):
    from engine._generated.event_kinds import REGION, REGION_END
    from engine.inspect import record
    from engine.inspect.trace import TraceReader

    with record(tmp_path / "whole.uht"):
        with pytest.warns(UserWarning, match="being recorded already"), profile() as p:
            work()
        assert [event.name for event in p.events()] == ["model"]
        assert "model" in p.key_averages().table()
    recorded = TraceReader.open(tmp_path / "whole.uht")
    kinds = recorded.events["kind"]
    assert [recorded.blob(m).decode() for m in (kinds == REGION).nonzero()[0]] == [
        "profile",
        "model",
    ]
    assert (kinds == REGION_END).sum() == 2


def test_the_older_interface():
    with (
        engine.autograd.profiler.profile(record_shapes=True) as p,
        engine.autograd.profiler.record_function("part"),
    ):
        work()
    assert "aten::linear" in p.table(sort_by="count")
    assert p.total_average().count == len(p.function_events)
    with engine.autograd.profiler.profile(enabled=False) as p:
        work()
    with pytest.raises(AssertionError):
        p.events()
