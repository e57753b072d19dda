"""Lessons 13 to 20 describe graphs and memory as the engine recorded them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import engine
from engine.inspect import History, TraceReader
from engine.inspect.models import autograd
from engine.inspect.models.autograd import Autograd
from lessons._runner.loader import LESSONS, load, load_all
from lessons._runner.look_target import resolve_look
from lessons._runner.process import run_program
from lessons._runner.runner import Runner

# The node that the learner is to have before them where a lesson opens the autograd view.
FOCUS = {
    ("13_define_by_run", "See the graph"): "AddBackward0",
    ("14_backward_step_by_step", "Step through it"): "AddBackward0",
    ("15_backward_through_a_network", "See it, layer by layer"): "MeanBackward0",
    ("16_no_tape", "See it happen"): "SumBackward0",
    ("17_in_place_and_versions", "See the stale number"): "MulBackward0",
    ("17_in_place_and_versions", "See the slices"): "CopySlices",
    ("19_every_byte_of_training", "See the memory in use"): "NllLossBackward0",
}


def looked_at(name: str, title: str, folder: Path, *, at_end: bool = False) -> Autograd:
    """The autograd model of a look's recording, at its moment or at the recording's end."""
    lesson = load(name)
    step = next(step for step in lesson.steps if step.title == title)
    assert step.look is not None
    result = Runner(lesson, folder=folder).run_step(lesson.steps.index(step))
    assert result.error == ""
    assert result.trace_path is not None
    history = History(TraceReader.open(result.trace_path))
    moment, selection = resolve_look(step.look, history)
    return autograd.project(history, history.end - 1 if at_end else moment, selection)


def test_every_look_at_a_graph_is_listed() -> None:
    looks = {
        (lesson.name, step.title)
        for lesson in load_all()
        for step in lesson.steps
        if step.look is not None and step.look.view == "autograd"
    }
    assert looks == set(FOCUS)


@pytest.mark.parametrize(("name", "title"), FOCUS, ids=lambda text: text)
def test_a_look_has_the_node_it_speaks_of_in_focus(name: str, title: str, tmp_path: Path) -> None:
    model = looked_at(name, title, tmp_path)
    box = model.nodes.of(model.focus)
    assert box is not None
    assert box.fact.name == FOCUS[name, title]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("14_backward_step_by_step", "Step through it"),
        ("19_every_byte_of_training", "See the memory in use"),
    ],
    ids=lambda text: text,
)
def test_who_is_to_step_through_the_pass_stands_before_it(
    name: str, title: str, tmp_path: Path
) -> None:
    assert not any(box.order for box in looked_at(name, title, tmp_path).nodes)
    assert any(box.order for box in looked_at(name, title, tmp_path, at_end=True).nodes)


def test_the_stale_number_is_shown_with_the_line_that_wrote_it(tmp_path: Path) -> None:
    model = looked_at("17_in_place_and_versions", "See the stale number", tmp_path)
    assert model.focus in model.stale
    box = model.nodes.of(model.focus)
    assert box is not None
    (saved,) = {(saved.overwrite.code, saved.overwrite.line) for saved in box.saved if saved.stale}
    assert saved == ("a.add_(1)", 7)


def test_a_linear_layer_leaves_the_two_nodes_that_the_lesson_names() -> None:
    text = " ".join(load("15_backward_through_a_network").steps[0].text.split())
    assert "A `Linear` leaves two nodes: `AddmmBackward0`" in text
    layer = engine.nn.Linear(2, 8)(engine.ones(5, 2)).grad_fn
    assert layer is not None
    following = [type(node).__name__ for node, _ in layer.next_functions if node is not None]
    assert layer.name() == "AddmmBackward0"
    assert sorted(following) == ["AccumulateGrad", "TBackward0"]


def test_the_dead_branch_has_left_its_outline(tmp_path: Path) -> None:
    model = looked_at("16_no_tape", "See it happen", tmp_path)
    assert model.created - model.living == 4  # three exp and a sum


def test_the_exercises_backward_runs_as_the_engine_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = runpy.run_path(str(LESSONS / "14_backward_step_by_step" / "solution.py"))
    capsys.readouterr()
    lines = {space["c"].grad_fn: 6, space["b"].grad_fn: 5, space["a"].grad_fn: 4}
    foretold = [lines[node] for node in space["order"]]
    waits = space["dependencies"](space["c"])

    model = looked_at("14_backward_step_by_step", "Step through it", tmp_path, at_end=True)
    ran = sorted((box for box in model.nodes if box.order), key=lambda box: box.order)
    assert [box.fact.line for box in ran if not box.fact.leaf] == foretold
    counted = {box.fact.line: box.dependencies for box in ran[1:]}  # the root begins with its own
    leaf = next(box.fact.line for box in ran if box.fact.leaf)
    assert counted == {lines.get(node, leaf): n for node, n in waits.items() if n}


def test_every_byte_of_the_peak_is_told(tmp_path: Path) -> None:
    lesson = load("19_every_byte_of_training")
    number = next(i for i, s in enumerate(lesson.steps) if s.title == "Every byte of it")
    for trace in (None, tmp_path / "recorded.uht"):
        program = tmp_path / "program.py"
        program.write_text(lesson.steps[number].code)
        outcome = run_program(program, trace=trace)
        assert outcome.error == ""
        output, measured = outcome.stdout.splitlines()[-2:]
        assert output.split()[0] == measured.split()[0]
