"""Recorded programs: the view says at every moment what the engine's events say, and holders add up."""

from __future__ import annotations

import pytest

from engine.inspect.history.why import why_no_grad, why_stale
from engine.inspect.models import to_json
from engine.inspect.models.autograd import project
from engine.inspect.selection import Selection
from tests.inspect.autograd_programs import PROGRAMS, history_of
from tests.inspect.autograd_replay import assert_agrees, assert_queue_order

NOTHING = Selection()
PASSES = sorted(set(PROGRAMS) - {"leak"})


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_moment_agrees_with_the_books(name):
    history = history_of(name)
    assert len(history.autograd.tables.nodes) > 0
    assert_agrees(history, project, NOTHING)


@pytest.mark.parametrize("name", PASSES)
def test_the_queue_gives_what_is_first_in_it(name):
    assert assert_queue_order(history_of(name), project, NOTHING) >= 2


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_holders_add_up_to_use_counts(name):
    """At each line of the program, between operators, every holder of a tensor is known."""
    history = history_of(name)
    for moment in history.tables.lines.since.tolist():
        for fact in history.tensors_at(moment):
            owners = history.owners(fact.id, moment).impl
            output = ", ".join(f"{holder.count} {holder.name}" for holder in owners.holders)
            location = (
                f"line {history.line_at(moment).line}, tensor {history.label(fact.id, moment)}"
            )
            assert sum(holder.count for holder in owners.holders) == owners.count, location
            assert not any(h.kind == "ELSEWHERE" for h in owners.holders), f"{location}: {output}"


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_back_and_forth_is_the_same(name):
    history = history_of(name)
    stops, moment = [], 0
    while (further := history.next(moment, "node")) != moment:
        stops.append(moment := further)
    back = [moment]
    while (before := history.previous(moment, "node")) != moment:
        back.append(moment := before)
    assert back[::-1] == [0, *stops]
    target = [to_json(project(history, m, NOTHING)) for m in stops]
    assert target == [to_json(project(history, m, NOTHING)) for m in reversed(stops)][::-1]


def boxes(history, moment):
    return {box.fact.label: box for box in project(history, moment, NOTHING).nodes}


def lines_of(history):
    return {
        line: int(since)
        for line, since in zip(
            history.tables.lines.line.tolist(), history.tables.lines.since.tolist(), strict=True
        )
    }


def test_the_diamond_in_detail():
    history = history_of("diamond")
    before = lines_of(history)[6]
    result = boxes(history, before)
    assert set(result) == {"x", "Mul", "Exp", "Add", "Sum"}
    assert [result[label].fact.line for label in ("Mul", "Exp", "Add", "Sum")] == [3, 4, 5, 5]
    assert [result[label].fact.op for label in ("Mul", "Exp")] == ["mul.Tensor", "exp"]
    assert result["x"].fact.leaf
    assert history.label(result["x"].fact.variable, before) == "x"
    assert all(result[label].formula for label in ("Mul", "Exp"))
    after = boxes(history, history.end - 1)
    assert {label: box.state for label, box in after.items()} == dict.fromkeys(result, "done")
    assert after["x"].inputs[0].state == "sum"
    assert after["x"].inputs[0].arrived == after["x"].inputs[0].expected == 3


def test_what_the_diamond_saves():
    history = history_of("diamond")
    before = lines_of(history)[6]
    result = boxes(history, before)
    assert {saved.name: saved.label for saved in result["Mul"].saved} == {
        "_saved_self": "x",
        "_saved_other": "x",
    }
    assert [(saved.name, saved.label) for saved in result["Exp"].saved] == [("_saved_result", "b")]
    after = boxes(history, history.end - 1)
    assert not any(saved.released < 0 for box in after.values() for saved in box.saved)


def test_the_stale_tensor():
    history = history_of("stale")
    (event,) = map(int, history.tables.numbers("STALE"))
    model = project(history, event, NOTHING)
    (node,) = model.stale
    box = model.nodes.of(node)
    (saved,) = (each for each in box.saved if each.stale)
    assert (saved.overwrite.op, saved.overwrite.line) == ("add_", 4)
    assert box.state == "running"
    (answer,) = why_stale(history, node, event)
    assert answer.line == 4
    end = project(history, history.end - 1, NOTHING)
    assert end.run.failed
    assert "modified by an inplace operation" in end.run.error


def test_training_steps_are_parts_of_their_own():
    history = history_of("mlp")
    last = int(history.autograd.tables.runs.since[-1])
    model = project(history, last, NOTHING)
    assert history.autograd.tables.runs.started_by(last) == 3
    assert len(model.parts) <= 2, "this step's, and the last one's if it is still there"


@pytest.mark.parametrize(
    ("line", "name", "answer"),
    [
        (5, "c", "c was detached from w on line 4"),
        (7, "d", "d was made on line 6 of detached.py (`d = w * 2`) by mul while gradients were"),
        (8, "y", "y is not a leaf"),
        (8, "w", "w is a leaf, and no backward pass has run yet"),
        (9, "w", "no backward pass reached w"),
        (9, "u", "u.grad is tensor #"),
    ],
)
def test_why_there_is_no_gradient(line, name, answer):
    history = history_of("detached")
    moment = lines_of(history)[line]
    (tensor,) = {fact.tensor for fact in history.names_at(moment) if fact.name == name}
    assert why_no_grad(history, tensor, moment).text.startswith(answer)


def test_a_leak_is_kept_by_the_list_and_the_graph_by_the_losses():
    history = history_of("leak")
    moment = lines_of(history)[7]
    model = project(history, moment, NOTHING)
    assert len(model.parts) == 4
    (loss,) = {fact.tensor for fact in history.names_at(moment) if fact.name == "losses[0]"}
    owners = history.owners(loss, moment)
    assert [holder.name for holder in owners.object.holders] == ["losses[0]"]
