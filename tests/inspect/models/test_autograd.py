"""The autograd model on hand-written streams, against books kept event by event."""

from __future__ import annotations

import pytest

from engine._generated.declarations import ENTRIES, OPERATORS
from engine.inspect.models import project as project_view
from engine.inspect.models import to_json
from engine.inspect.models.autograd import project
from engine.inspect.models.autograd.formula import formula
from engine.inspect.selection import Selection
from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.autograd_replay import assert_agrees, assert_queue_order
from tests.inspect.selections import select

NOTHING = Selection()


def diamond(**backward) -> tuple[GradBuilder, dict[str, int]]:
    """a = x * x; b = exp(x); y = a + b; y.backward()"""
    b = GradBuilder()
    b.file("diamond.py", "x = leaf()\na = x * x\nb = x.exp()\ny = a + b\ny.backward()\n")
    b.line(1)
    x = b.leaf(name="x", values=[1.0, 2.0])
    b.line(2)
    a = b.result("MulBackward0", (x, x), {"self": x, "other": x}, bind="a")
    b.line(3)
    e = b.result("ExpBackward0", (x,), {"result": 0}, bind="b")
    b.line(4)
    y = b.result("AddBackward0", (a, e), bind="y")
    b.line(5)
    nodes = {name: b.made_by[t][0] for name, t in {"a": a, "b": e, "y": y}.items()}
    named = {"x": x, "leaf": b.accumulators[x], **{f"n_{k}": v for k, v in nodes.items()}}
    named |= {"a": a, "b": e, "y": y, "built": b.now}
    none = [named[name] for name in backward.pop("none", ())]
    for requested in {"needs", "captures"} & backward.keys():
        backward[requested] = [named[name] for name in backward[requested]]
    if "stops_at" in backward:
        backward["stops_at"] = named[backward["stops_at"]]
    named["run"] = b.backward(y, none=none, **backward)
    return b, named


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keep_graph": True},
        {"none": ["n_a"]},
        {"none": ["n_a", "n_b"]},
        {"stops_at": "n_b"},
        {"needs": ["n_y", "n_a"]},
        {"needs": ["n_y", "n_a", "n_b"], "captures": ["leaf"]},
    ],
    ids=["plain", "keep", "one None", "all None", "fails", "inputs=", "grad()"],
)
def test_every_moment_agrees_with_the_replay(options):
    b, _ = diamond(**options)
    history = b.history()
    assert assert_agrees(history, project, NOTHING) > 20
    assert assert_queue_order(history, project, NOTHING) >= 2


def moment_of(history, kind: str, node: int, last: bool = False) -> int:
    numbers = [
        n for n in map(int, history.tables.numbers(kind)) if history.event(n)["node"] == node
    ]
    return numbers[-1 if last else 0]


def test_a_slot_that_has_nothing_yet_a_none_and_a_sum_differ():
    b, n = diamond(none=["n_a"])
    history = b.history()
    enter = moment_of(history, "NODE_ENTER", n["n_y"])
    assert [s.state for s in project(history, enter, NOTHING).nodes.of(n["leaf"]).inputs] == [
        "not yet"
    ]
    first, second, third = (
        m
        for m in map(int, history.tables.numbers("ARRIVE"))
        if history.event(m)["node"] == n["leaf"]
    )
    states = []
    for m in (first, second, third):
        (slot,) = project(history, m, NOTHING).nodes.of(n["leaf"]).inputs
        states.append((slot.state, slot.arrived, slot.expected))
    assert sorted(states) == sorted(states, key=lambda s: s[1])
    assert states[-1] == ("one", 3, 3)
    assert {s[0] for s in states} <= {"none", "one"}


def test_a_sum_of_two_gradients_and_a_known_zero():
    b, n = diamond()
    history = b.history()
    arrivals = [
        m
        for m in map(int, history.tables.numbers("ARRIVE"))
        if history.event(m)["node"] == n["leaf"]
    ]
    slots = [project(history, m, NOTHING).nodes.of(n["leaf"]).inputs[0] for m in arrivals]
    assert [slot.state for slot in slots] == ["one", "sum", "sum"]
    b = GradBuilder()
    x = b.leaf(name="x")
    y = b.result("MulBackward0", (x,))
    zero = b.tensor((2,), values=[0.0, 0.0])
    b._gradient = lambda like: zero
    b.backward(y)
    history = b.history()
    box = project(history, moment_of(history, "NODE_ENTER", b.made_by[y][0]), NOTHING).nodes[-1]
    assert (box.inputs[0].state, box.inputs[0].text) == ("zero", "0., 0.")


def test_waiting_counts_and_states_through_a_diamond():
    b, n = diamond()
    history = b.history()
    at = moment_of(history, "NODE_ENTER", n["n_b"])
    model = project(history, at, NOTHING)
    recorded = {box.fact.label: (box.state, box.waits_for) for box in model.nodes}
    assert recorded == {
        "x": ("waiting", 3),
        "Mul": ("ready", 0),
        "Exp": ("running", 0),
        "Add": ("done", 0),
    }
    assert model.run.running == (n["n_b"],)
    assert [row.label for row in model.ready] == ["Mul"]
    assert (model.run.done, model.run.total) == (1, 4)
    order = {box.fact.label: box.order for box in project(history, b.now, NOTHING).nodes}
    assert order == {"Add": 1, "Exp": 2, "Mul": 3, "x": 4}


def test_what_is_fixed_about_a_node():
    b, n = diamond()
    history = b.history()
    model = project(history, n["built"], NOTHING)
    (part,) = model.parts
    facts = {fact.label: fact for fact in part.nodes}
    assert (part.id, part.key) == (n["n_a"], (n["n_a"], 4, 5))
    assert facts["Mul"].op == "mul"
    assert facts["Mul"].line == 2
    assert facts["Add"].line == 4
    assert facts["Mul"].function == "<module>"
    assert [(e.index, e.next, e.input) for e in facts["Mul"].edges] == [
        (0, n["leaf"], 0),
        (1, n["leaf"], 0),
    ]
    assert facts["x"].leaf
    assert facts["x"].variable == n["x"]
    for moment in range(n["built"], b.now):
        assert project(history, moment, NOTHING).parts[0] is part, "laid out once, for good"


def test_saved_tensors_are_released_as_nodes_run():
    b, n = diamond()
    history = b.history()
    before = project(history, n["built"], NOTHING)
    saved = {s.name: (s.saved, s.current, s.released) for s in before.nodes.of(n["n_a"]).saved}
    assert saved == {"_saved_self": (0, 0, -1), "_saved_other": (0, 0, -1)}
    assert (before.saved_count, before.saved_bytes) == (3, 16)
    after = project(history, b.now, NOTHING)
    assert all(s.released > 0 and s.unpacked for s in after.nodes.of(n["n_a"]).saved)
    assert after.saved_count == after.saved_bytes == 0
    assert [row.label.partition(" ")[0] for row in after.freed if row.kind == "saved"] == [
        "_saved_other",
        "_saved_self",
        "_saved_result",
    ]
    assert after.freed_count == 3


def test_a_saved_tensor_that_was_written_names_the_line():
    b = GradBuilder()
    b.file("stale.py", "x = leaf()\ny = x.exp()\ny.add_(1)\ny.sum().backward()\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    y = b.result("ExpBackward0", (x,), {"result": 0}, bind="y")
    b.line(3)
    with b.op("add_.Scalar(Tensor self, Scalar other) -> Tensor", [y, 1]):
        b.write(y, [2.0, 3.0])
    b.line(4)
    history = b.history()
    node = b.made_by[y][0]
    model = project(history, b.now, NOTHING)
    (saved,) = model.nodes.of(node).saved
    assert model.stale == (node,)
    assert saved.stale
    assert (saved.saved, saved.current) == (0, 1)
    wrote = saved.overwrite
    assert (wrote.op, wrote.line, wrote.code, wrote.writes) == ("add_", 3, "y.add_(1)", 1)
    fresh = project(history, moment_of(history, "SAVE", node) + 3, NOTHING)
    assert not fresh.stale
    assert not fresh.nodes.of(node).saved[0].stale


def test_steps_of_one_node_go_both_ways_over_the_same_stops():
    b, _ = diamond()
    history = b.history()
    forward, m = [], 0
    while (further := history.next(m, "node")) != m:
        forward.append(m := further)
    back = [m]
    while (further := history.previous(m, "node")) != m:
        back.append(m := further)
    assert back[::-1] == [0, *forward]
    kinds = [history.event(m).kind for m in forward[:-1]]
    assert kinds[:3] == ["GRAD_FN"] * 3
    assert kinds[3:7] == ["NODE_ENTER"] * 4
    item = [to_json(project(history, m, NOTHING)) for m in forward]
    again = [to_json(project(b.history(), m, NOTHING)) for m in forward[::-1]]
    assert item == again[::-1]


def test_steps_of_a_training_loop_are_parts_of_their_own():
    b = GradBuilder()
    w = b.leaf(name="w")
    for _ in range(3):
        loss = b.result("MulBackward0", (b.result("ExpBackward0", (w,)),))
        b.backward(loss)
    model = project(b.history(), b.now, NOTHING)
    assert len(model.parts) == 3
    assert all(len(part.nodes) == 3 and part.nodes[0].leaf for part in model.parts)
    assert len(model.nodes) == 7, "the leaf is in each part and is one node"


def test_modules_are_known_by_the_names_of_their_parameters():
    b = GradBuilder()
    b.frame()
    x = b.tensor((2,), name="x")
    w, c = b.leaf(), b.leaf()
    b.bind("net._modules['fc1']._parameters['weight']", w, "SLOT")
    b.bind("net._modules['fc1']._parameters['bias']", c, "SLOT")
    turned = b.result("TBackward0", (w,))
    y = b.result("MmBackward0", (0, turned))
    z = b.result("ReluBackward0", (b.result("AddBackward0", (y, c)),))
    assert x != z
    (part,) = project(b.history(), b.now, NOTHING).parts
    recorded = {fact.label: fact.module for fact in part.nodes}
    assert recorded == {
        "net.fc1.weight": "net.fc1",
        "T": "net.fc1",
        "Mm": "net.fc1",
        "net.fc1.bias": "net.fc1",
        "Add": "net.fc1",
        "Relu": "",
    }


def test_the_node_in_focus():
    b, n = diamond()
    history = b.history()
    focus = project(history, n["built"], select(node=n["n_b"]))
    assert (focus.focus, focus.why) == (n["n_b"], "selected")
    focus = project(history, n["built"], select(tensor=n["y"]))
    assert (focus.focus, focus.why) == (n["n_y"], "grad_fn of y")
    assert [box.fact.id for box in focus.nodes if box.highlighted] == [n["n_y"]]
    focus = project(history, n["built"], select(tensor=n["x"]))
    assert (focus.focus, focus.why) == (n["leaf"], "adds into .grad of x")
    assert {box.fact.label for box in focus.nodes if box.highlighted} == {"x", "Mul"}
    assert project(history, n["built"], NOTHING).focus == n["n_y"]


def test_an_empty_trace_has_no_graph():
    model = project_view("autograd", GradBuilder().history(), -1, NOTHING)
    assert (len(model.nodes), model.parts, model.run, model.focus) == (0, (), None, 0)
    assert to_json(model)["nodes"] == []


def test_formulas_are_those_of_the_yaml_entries():
    recorded = {name: [(row.argument, row.text) for row in formula(name)] for name in OPERATORS}
    assert recorded["mul.Tensor"] == [
        ("self", "grad * conj(other)"),
        ("other", "grad * conj(self)"),
    ]
    assert recorded["mul_.Tensor"] == recorded["mul.Tensor"]
    assert recorded["argmax"] == []
    declared = {
        name
        for name, (family, line, *_) in OPERATORS.items()
        if "\n  gradient:\n" in ENTRIES[family, line]
        or (
            "\n  gradient: constant\n" in ENTRIES[family, line]
            and name.partition(".")[0][-1] == "_"
        )
    }
    assert declared == {name for name, rows in recorded.items() if rows}
    strange = {
        name: rows
        for name, rows in recorded.items()
        if any(text[:1] in "'\"|>" for _, text in rows)
    }
    assert not strange
