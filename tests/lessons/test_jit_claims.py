"""Lessons 21 to 24 and 30 describe compiled programs as the compiler recorded them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import engine
from engine.inspect import History, TraceReader
from engine.inspect.history.jit import Jit
from engine.inspect.models import jit
from engine.inspect.models.jit import JitModel
from lessons._runner.loader import LESSONS, load, load_all
from lessons._runner.look_target import resolve_look
from lessons._runner.process import run_program
from lessons._runner.runner import Runner

# The function and a node of its graph that the learner is to have before them at each look.
SHOWN = {
    ("21_tracing_and_scripting", "See it in the JIT view"): ("doubled", "prim::Loop"),
    ("22_from_source_to_ir", "See where it came from"): ("power", "prim::Loop"),
    ("23_the_optimiser", "See every rewrite"): ("f", "aten::mul"),
    ("24_write_your_own_pass", "Compare it with the native passes"): ("f", "aten::mul"),
    ("24_write_your_own_pass", "Everything up to the failure"): ("f", "aten::mul"),
    ("30_from_script_to_ship", "See both graphs"): ("damped", "prim::Loop"),
}


def looked_at(name: str, title: str, folder: Path) -> JitModel:
    """The JIT model of a look's recording, at its moment."""
    lesson = load(name)
    step = next(step for step in lesson.steps if step.title == title)
    assert step.look is not None
    result = Runner(lesson, folder=folder).run_step(lesson.steps.index(step))
    assert result.error == ""
    assert result.trace_path is not None
    history = History(TraceReader.open(result.trace_path))
    return jit.project(history, *resolve_look(step.look, history))


def test_every_look_at_the_compiler_is_listed() -> None:
    looks = {
        (lesson.name, step.title)
        for lesson in load_all()
        for step in lesson.steps
        if step.look is not None and step.look.view == "jit"
    }
    assert looks == set(SHOWN)


@pytest.mark.parametrize(("name", "title"), SHOWN, ids=lambda text: text)
def test_a_look_shows_the_function_and_its_graph(name: str, title: str, tmp_path: Path) -> None:
    model = looked_at(name, title, tmp_path)
    function, node = SHOWN[name, title]
    assert model.function == function
    assert model.source
    assert model.tree
    assert any(node in row.text for row in model.rows), model.why_no_graph


def test_the_front_end_of_the_exercise_makes_the_graphs_of_the_compiler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to_graph = runpy.run_path(str(LESSONS / "22_from_source_to_ir" / "solution.py"))["to_graph"]
    capsys.readouterr()
    sources = (
        "def f(x, y):\n    return x * y + x\n",
        "def f(x, y):\n    z = x - y\n    w = z\n    z = -z * w\n    return z * (w + x) - y\n",
        "def f(x, y):\n    x = x * 2\n    x = x + y\n    return x * x\n",
    )
    for number, source in enumerate(sources):
        program = tmp_path / f"source{number}.py"
        program.write_text(source)
        compiled = engine.jit.script(runpy.run_path(str(program))["f"]).graph
        built = to_graph(source)
        built.lint()
        kinds = [
            [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"]
            for graph in (compiled, built)
        ]
        assert kinds[0] == kinds[1]
        x, y = engine.tensor(5.0), engine.tensor(3.0)
        assert compiled.run(x, y).item() == built.run(x, y).item()


def test_dead_code_is_what_another_pass_has_left(tmp_path: Path) -> None:
    step = next(step for step in load("23_the_optimiser").steps if step.title == "Dead code")
    program = tmp_path / "program.py"
    program.write_text(step.code)
    names = runpy.run_path(str(program))
    operators = ["mul", "add_", "mul_", "exp", "sum"]
    assert names["too_early"] == 0
    assert names["before"] == [f"aten::{name}" for name in operators]
    assert names["left"] == ["aten::mul_"]
    # Alone, `total` has no dead code, and neither has what the compiler or the tracer makes.
    graph = engine.jit.script(names["total"]).graph.copy()
    assert engine.jit.run_pass(graph, "dce") == 0
    unused = engine.jit.trace(lambda x: (x.exp(), x * 2)[1], engine.ones(2))
    assert [node.kind() for node in unused.graph.nodes()].count("aten::exp") == 0


def test_the_table_of_passes_is_what_was_recorded(tmp_path: Path) -> None:
    lesson = load("23_the_optimiser")
    code = next(step.code for step in lesson.steps if step.title == "All together")
    (tmp_path / "program.py").write_text(code)
    outcome = run_program(tmp_path / "program.py", trace=tmp_path / "program.uht")
    assert outcome.error == ""
    lines = [line.split() for line in outcome.stdout.splitlines() if " rewrites, " in line]
    recorded = [(terms[0], int(terms[1])) for terms in lines]
    assert len(recorded) == 7
    facts = Jit(History(TraceReader.open(tmp_path / "program.uht")))
    graphs = {int(graph) for graph in facts.tables.runs.graph}
    of_graph = [facts.runs(graph, facts.history.end) for graph in graphs]
    copied = [runs for runs in of_graph if [(run.name, run.changes) for run in runs] == recorded]
    assert len(copied) == 1
    assert all(len(facts.rewrites(run.id)) == run.changes for run in copied[0])
