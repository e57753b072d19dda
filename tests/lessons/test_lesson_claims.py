"""The lessons' rules that are written in Python agree with the engine's recordings."""

from __future__ import annotations

import re
import resource
import runpy
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.inspect import History, TraceReader, live
from engine.inspect.models import dispatch, microscope
from lessons._runner.lesson import Lesson, Step
from lessons._runner.loader import LESSONS, load, load_all
from lessons._runner.look_target import resolve_look
from lessons._runner.process import run_program
from lessons._runner.runner import Runner

# What the learner is to see where a lesson opens one of the views on an operator call.
CALLS = {
    ("08_broadcasting", "The plan"): "add.Tensor",
    ("08_broadcasting", "One cell of the result"): "add.Tensor",
    ("09_dispatch", "See the hops"): "neg_",
    ("09_dispatch", "The tree of a call"): "flatten",
    ("10_one_declaration", "The whole way"): "reciprocal",
    ("11_contiguity_and_speed", "How the sum walks"): "sum",
    ("11_contiguity_and_speed", "See it in the plan"): "add.Tensor",
}


# Facts that are easily mentioned and not taught: the predictions by which they are.
PREDICTED = {
    "A4": ("12", "One function, any device"),
    "A6": ("12", "Work that is still to come"),
    "E7": ("28", "Where Python still runs"),
    "G4": ("20", "Ancestors: a function composed of functions"),
    "P3": ("11", "Which number counts?"),
    "T3": ("26", "Three floors"),
}


def looked_at(lesson: Lesson, step: Step, folder: Path) -> tuple[History, Any]:
    """The recording of a look, and what its view makes of it."""
    result = Runner(lesson, folder=folder).run_step(lesson.steps.index(step))
    assert result.error == ""
    assert result.trace_path is not None
    assert step.look is not None
    history = History(TraceReader.open(result.trace_path))
    project = {"dispatch": dispatch.project, "microscope": microscope.project}[step.look.view]
    return history, project(history, *resolve_look(step.look, history))


def find(name: str, title: str) -> tuple[Lesson, Step]:
    lesson = load(name)
    return lesson, next(step for step in lesson.steps if step.title == title)


def test_every_look_at_a_call_is_listed() -> None:
    looks = {
        (lesson.name, step.title)
        for lesson in load_all()
        for step in lesson.steps
        if step.look is not None and step.look.view in ("dispatch", "microscope")
    }
    assert set(CALLS) <= looks
    assert {look for look in looks if "07" <= look[0] < "13"} == set(CALLS)


@pytest.mark.parametrize(("name", "title"), CALLS, ids=lambda text: text)
def test_a_look_shows_the_call_it_speaks_of(name: str, title: str, tmp_path: Path) -> None:
    _, model = looked_at(*find(name, title), tmp_path)
    assert model.name == CALLS[name, title]


def test_broadcasting_is_zeros_in_the_plan(tmp_path: Path) -> None:
    _, model = looked_at(*find("08_broadcasting", "The plan"), tmp_path)
    steps = {operand.name: operand.strides for operand in model.plans[0].operands}
    assert steps == {"out": (32, 8), "self": (8, 0), "other": (0, 8)}


def test_the_microscope_points_at_the_cells_the_lesson_names(tmp_path: Path) -> None:
    _, model = looked_at(*find("08_broadcasting", "One cell of the result"), tmp_path)
    assert model.index == (1, 2)
    assert [(feed.label, feed.index) for feed in model.feeds] == [("column", (1, 0)), ("row", (2,))]


def test_the_entry_and_all_that_it_becomes_is_shown(tmp_path: Path) -> None:
    _, model = looked_at(*find("10_one_declaration", "The whole way"), tmp_path)
    assert model.origin.path.endswith(".yaml")
    assert {"dispatcher entry", "kernel", "C function"} <= {
        item.name for item in model.origin.generated
    }


def test_merged_dimensions_are_those_of_the_plan(tmp_path: Path) -> None:
    lesson, step = find("11_contiguity_and_speed", "See it in the plan")
    _, model = looked_at(lesson, step, tmp_path)
    (plan,) = model.plans
    space: dict[str, Any] = {}
    exec(step.code, space)
    ours = {(size, *(4 * stride for stride in strides)) for size, *strides in space["left"]}
    columns = zip(plan.sizes, *(operand.strides for operand in plan.operands), strict=True)
    assert ours == set(columns)


def page_faults(size: int) -> int:
    """Count the page faults of a sum of that many numbers that has been computed before."""
    x = engine.ones(size)
    counts = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        x + 1
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(counts)


def test_the_pool_saves_page_faults_of_large_blocks_only() -> None:
    _, step = find("12_devices_and_allocators", "What it saves")
    small, large = (int(size) for size in re.findall(r"\(([\d_]+), \d+\)", step.code))
    assert [page_faults(small), page_faults(large)] == [0, 0]
    live.set_pool_enabled(False)
    try:
        assert page_faults(small) < 3
        assert page_faults(large) > 10
    finally:
        live.set_pool_enabled(True)


def test_the_paper_is_not_said_to_advise_against_writes_in_place() -> None:
    _, step = find("17_in_place_and_versions", "How PyTorch argues")
    paper, documentation = step.text.split("PyTorch's documentation adds advice that is not in")
    assert "seldom" not in paper
    assert "seldom save much memory" in documentation


PROGRAM = """\
import engine

x = engine.ones(2, 3)
m = engine.ones(2, 3, device="meta")
n = engine.tensor(1.0)
a = engine.neg(x)
x.neg_()
b = m.t()
c = n + m
m.add_(n)
d = engine.zeros(3)
"""


def test_hops_of_the_exercise_are_those_that_were_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hops = runpy.run_path(str(LESSONS / "09_dispatch" / "solution.py"))["hops"]
    capsys.readouterr()
    x, m, n = engine.ones(2, 3), engine.ones(2, 3, device="meta"), engine.tensor(1.0)
    foretold = {
        "neg": hops("neg", x),
        "neg_": hops("neg_", x),
        "t": hops("t", m),
        "add.Tensor": hops("add.Tensor", n, m),
        "add_.Tensor": hops("add_.Tensor", m, n),
        "zeros": hops("zeros"),
    }
    (tmp_path / "program.py").write_text(PROGRAM)
    outcome = run_program(tmp_path / "program.py", trace=tmp_path / "program.uht")
    assert outcome.error == ""
    history = History(TraceReader.open(tmp_path / "program.uht"))
    recorded = {}
    for number in history.tables.calls.id:
        call = history.call(int(number))
        name = call.schema.partition("(")[0]
        if name in foretold and not call.parent:
            recorded[name] = [hop.key for hop in history.hops(call.id)]
    assert recorded == foretold


@pytest.mark.parametrize("lesson", load_all(), ids=lambda lesson: lesson.name)
def test_nothing_is_right_or_wrong_by_the_clock(lesson: Lesson) -> None:
    """Times are shown; answers and goals are about states, which are the same on every machine."""
    for step in lesson.steps:
        if step.predict is not None:
            for clock in ("perf_counter", "process_time", "monotonic"):
                assert clock not in step.code, step.title
        if step.exercise is not None:
            for goal in step.exercise.goals:
                assert not re.search(r"\btime\b|_time\b|perf_counter", goal.check), goal.check


@pytest.mark.parametrize("lesson", load_all(), ids=lambda lesson: lesson.name)
def test_times_are_the_best_of_the_processors(lesson: Lesson) -> None:
    """As the README says: `process_time`, of a device's queue `monotonic`, the best of several, and ratios."""
    for step in lesson.steps:
        if "import time" in step.code and "sleep" not in step.code:
            assert "perf_counter" not in step.code, step.title
            clock = "monotonic" if "synchronize" in step.code else "process_time"
            assert f"time.{clock}()" in step.code, step.title
            assert "return min(taken)" in step.code, step.title


@pytest.mark.parametrize("fact", PREDICTED)
def test_a_fact_that_is_covered_is_predicted(fact: str) -> None:
    lesson, step = find(*PREDICTED[fact])
    assert fact in lesson.covers
    assert step.kind == "predict"
