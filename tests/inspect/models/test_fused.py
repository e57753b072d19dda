"""The model of a fused kernel, from a recorded run: steps and nodes, tiles, bytes, launches."""

from __future__ import annotations

import json

from engine.inspect.models import project, to_json
from tests.inspect.jit_traces import LOOP, recorded
from tests.inspect.selections import select

FUSES = """
import engine

@engine.jit.script
def fused(x, b, k, n: float):
    y = engine.nn.functional.gelu(x * b)
    z = (y + n).tanh() * y + k
    return z, (z * z).exp().sum()

for length in (40, 40, 40, 7):
    x, k = engine.ones(length, 30), engine.arange(30)
    out = fused(x, engine.ones(30), k, 0.5)

@engine.jit.script
def learns(x, w):
    return ((x * w + 1.0).tanh() * x).sum()

w = engine.ones(30, requires_grad=True)
for _ in range(4):
    learns(x, w).backward()
"""
"""A product that broadcasts, a step of another name (gelu), a number given at each launch, a shared
step, a conversion, a sum; then a gradient."""


def at(history, moment=None, **selected):
    end = history.end - 1 if moment is None else moment
    return project("fused", history, end, select(**selected))


def first(history):
    return at(history, int(history.jit.tables.launches.since[0]))


def with_step(history, name):
    """The model at the first launch of a kernel that has such a step, and the step's row."""
    for moment in history.jit.tables.launches.since.tolist():
        model = at(history, moment)
        for row in model.loop:
            if row.kind == "step" and f"{name}(" in row.text:
                return model, row
    raise AssertionError(f"no kernel has the step {name}")


def test_every_step_knows_the_node_that_it_computes():
    history = recorded(FUSES)
    kernels = dict.fromkeys(history.jit.tables.kernels.id.tolist())
    assert len(kernels) >= 3
    for number in kernels:
        kernel = history.jit.fused.kernel(number, history.end)
        nodes = kernel.subgraph.graph["block"]["nodes"]
        makers = {v["id"]: n["kind"] for n in nodes for v in n["outputs"]}
        actual = []
        for at_, step in enumerate(kernel.steps):
            values = kernel.match.of_step(at_)
            assert values, step
            kind = makers[values[0]]
            name = step["op"].partition(".")[0]
            known = {"aten::_gelu_none": "aten::gelu"}.get(name, name)
            assert known == kind or at_ in kernel.match.part_of
            actual += [] if at_ in kernel.match.part_of else values
        computed = {
            v["id"] for n in nodes for v in n["outputs"] if not n["kind"].startswith("prim::")
        }
        reduced = {
            value
            for value, output in zip(
                kernel.subgraph.graph["block"]["returns"], kernel.outputs, strict=True
            )
            if "reduce" in output
        }
        assert set(actual) == computed - reduced


def test_tiles_and_sizes_of_each_launch():
    history = recorded(FUSES)
    model = first(history)
    rows = [row for row in model.launches if row.inputs[0] == "40×30"]
    assert rows
    small = next(row for row in model.launches if row.inputs[0] == "7×30")
    assert small.elements == 210
    assert small.tiles == -(-210 // model.tile)
    assert small.last == 210 - (small.tiles - 1) * model.tile
    assert small.ahead
    assert [row.current for row in model.launches].count(True) == 1
    assert model.launches[0].ns > 0  # although its program was recorded during the call
    assert all(row.ns >= 0 for row in model.launches[1:])


def test_bytes_are_those_of_the_tensors_and_of_the_operators_one_by_one():
    history = recorded(LOOP)
    model = at(history)
    row = next(row for row in model.launches if row.current)
    kernel = history.jit.fused.kernel(model.kernel, history.end)
    nodes = [
        n for n in kernel.subgraph.graph["block"]["nodes"] if not n["kind"].startswith("prim::")
    ]
    size = 4 * 2 * 3
    tensors = set(kernel.match.leaves.values()) | {v["id"] for n in nodes for v in n["outputs"]}
    eager = sum(size * (1 + sum(v in tensors for v in n["inputs"])) for n in nodes)
    assert row.exact
    assert row.read_bytes == size * sum(name.startswith("in") for name in kernel.match.leaves)
    assert row.written_bytes == size * len(kernel.subgraph.graph["block"]["returns"])
    assert row.eager_bytes == eager


def test_the_loop_lists_each_step_once_under_its_unit():
    history = recorded(FUSES)
    model = first(history)
    steps = [row.step for row in model.loop if row.kind == "step"]
    assert steps == list(range(len(history.jit.fused.kernel(model.kernel, model.moment).steps)))
    assert model.loop[0].kind == "loop"
    assert model.loop[-1].kind == "end"
    tree = [row.step for row in model.tree if row.step >= 0 and not row.again]
    assert sorted(tree) == steps  # every step is in a tree, and drawn out once


def test_a_value_lights_tree_loop_graph_and_source():
    history = recorded(FUSES)
    model, selected = with_step(history, "tanh")
    highlighted = at(history, model.moment, value=selected.value)
    assert [row.step for row in highlighted.tree if row.selected] == [selected.step]
    assert [row.step for row in highlighted.loop if row.selected and row.step >= 0] == [
        selected.step
    ]
    assert any(row.selected and row.step == selected.step for row in highlighted.lines)
    assert any(row.highlighted and "tanh" in row.text for row in highlighted.source)
    assert highlighted.story


def test_the_kernel_is_the_one_that_ran_last():
    history = recorded(FUSES)
    launches = history.jit.tables.launches
    for moment, kernel in zip(launches.since.tolist(), launches.kernel.tolist(), strict=True):
        assert at(history, moment).kernel == kernel
    before = at(history, int(launches.since[0]) - 2)
    assert "the first runs at event" in before.why


def test_a_gradient_has_a_kernel_of_its_own_and_says_what_it_does_not_know():
    history = recorded(FUSES)
    rows = [
        (model, row)
        for moment in history.jit.tables.launches.since.tolist()
        for model in (at(history, moment),)
        for row in model.launches
        if row.current and not row.frame
    ]
    assert rows
    model, row = rows[0]
    assert "backward" in model.function or "gradient" in model.function
    assert not row.exact
    assert row.inputs[0] == "?"


def test_events_name_the_kernel_by_its_number():
    history = recorded(FUSES)
    launches = history.jit.tables.launches
    output = history.event(int(launches.since[0])).sentence
    assert f"fused kernel {int(launches.kernel[0])} ran" in output


def test_the_model_is_json():
    history = recorded(FUSES)
    assert json.loads(json.dumps(to_json(first(history))))["tile"] > 0
