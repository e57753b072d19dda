"""Lessons 25 to 27 describe groups, instructions and files as they ran and were recorded."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.inspect import History, TraceReader
from engine.inspect.models import project
from lessons._runner.lesson import Step
from lessons._runner.loader import LESSONS, load, load_all
from lessons._runner.look_target import resolve_look
from lessons._runner.process import run_program
from lessons._runner.runner import Runner

LISTING = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
CPP = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)


def step_of(name: str, title: str) -> Step:
    return next(step for step in load(name).steps if step.title == title)


def looked_at(name: str, title: str, folder: Path) -> Any:
    """The model of a look's recording, at its moment."""
    lesson, step = load(name), step_of(name, title)
    assert step.look is not None
    result = Runner(lesson, folder=folder).run_step(lesson.steps.index(step))
    assert result.error == ""
    assert result.trace_path is not None
    history = History(TraceReader.open(result.trace_path))
    return project(step.look.view, history, *resolve_look(step.look, history))


def after(name: str, title: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that a step's code defines; it is run from a file, where `script` can read it."""
    program = folder / "program.py"
    program.write_text(step_of(name, title).code, encoding="utf-8")
    monkeypatch.chdir(folder)
    return runpy.run_path(str(program), run_name="program")


def test_every_look_at_what_runs_is_tried_here() -> None:
    looks = {
        (lesson.number, step.title)
        for lesson in load_all()
        for step in lesson.steps
        if step.look is not None and step.look.view in ("interpreter", "fused")
    }
    assert looks == {(25, "How it runs"), (26, "Step by step"), (26, "The reason")}


def test_the_group_is_seen_with_its_tiles(tmp_path: Path) -> None:
    model = looked_at("25_fusion", "How it runs", tmp_path)
    assert model.function == "steps"
    assert model.tile == 512
    assert (model.launches[-1].elements, model.launches[-1].tiles) == (5000, 10)
    assert len([row for row in model.loop if row.kind == "step"]) == 6


def test_bytes_counted_from_operators_are_those_that_the_group_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = after("25_fusion", "As a group", tmp_path, monkeypatch)
    assert names["launch"].eager_bytes == names["eager"]
    names = after("25_fusion", "A guess", tmp_path, monkeypatch)
    steps = names["steps"]
    eager = names["recorded"](lambda: steps(names["engine"].ones(1000)))
    assert names["launch"].eager_bytes == names["moved"](eager)


def test_every_step_is_there_to_go_back_to(tmp_path: Path) -> None:
    model = looked_at("26_the_interpreter", "Step by step", tmp_path)
    assert (model.function, model.done, model.result) == ("collatz", True, "7")
    assert {"JUMP_IF_FALSE", "LOOP", "MOVE"} <= {row.op for row in model.instructions}
    assert model.steps > 100


def test_the_reason_of_the_bail_out_is_there(tmp_path: Path) -> None:
    model = looked_at("26_the_interpreter", "The reason", tmp_path)
    assert model.done
    assert [note.kind for note in model.notes] == ["guard", "bail-out"]
    assert "Double" in model.notes[1].text
    assert "GUARD" not in {row.op for row in model.instructions}  # the code that continued


@pytest.mark.parametrize(("title", "name"), [("A branch", "distance"), ("A loop", "squares")])
def test_listings_in_the_text_are_the_engines(
    title: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (listing,) = LISTING.findall(step_of("26_the_interpreter", title).text)
    function = after("26_the_interpreter", title, tmp_path, monkeypatch)[name]
    inputs = (3, 7)[: len(function.graph.inputs())]
    assert listing.splitlines() == function.instructions(*inputs).splitlines()


def test_the_machine_of_the_exercise_makes_the_recorded_steps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = runpy.run_path(str(LESSONS / "26_the_interpreter" / "solution.py"))
    capsys.readouterr()
    for name, inputs in (
        ("straight", (5, 9)),
        ("distance", (4, 4)),
        ("distance", (9, 4)),
        ("squares", (0,)),
        ("squares", (5,)),
        ("collatz", (1,)),
        ("collatz", (6,)),
    ):
        function = names[name]
        own = names["run"](function.instructions(*inputs), *inputs)
        assert own == names["recorded"](function, *inputs), (name, inputs)
        assert own[-1][1] == [function(*inputs)]


def test_the_machine_of_the_talk_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = after("26_the_interpreter", "Round by round", tmp_path, monkeypatch)
    for n, expected in ((0, 1), (1, 1), (5, 120)):
        assert names["run"](names["factorial"], n)[0][1] == expected


@pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")),
    reason="there is no C compiler",
)
def test_the_c_program_says_what_python_says(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    code = step_of("27_saving_and_running_without_python", "Without Python").code
    program.write_text(code, encoding="utf-8")
    outcome = run_program(program, time_limit=120)
    assert outcome.error == ""
    python, native, torn, *_ = outcome.stdout.splitlines()
    assert python.split()[1:] == native.split()[1:]
    assert "refused" in torn
    assert "libpython" not in outcome.stdout


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_the_cpp_program_says_what_python_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no C compiler: that program has its own test
    title = "Without Python"
    names = after("27_saving_and_running_without_python", title, tmp_path, monkeypatch)
    monkeypatch.undo()
    (source,) = CPP.findall(step_of("27_saving_and_running_without_python", title).text)
    (tmp_path / "main.cpp").write_text(source, encoding="utf-8")
    library = names["library"]
    flags = [f"-I{names['headers']}", f"-L{library}", "-lunderhood", f"-Wl,-rpath,{library}"]
    build = ["g++", "-std=c++20", "main.cpp", "-o", "main", *flags]
    subprocess.run(build, cwd=tmp_path, check=True)
    completed = subprocess.run(
        ["./main", "net.safetensors"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    engine = names["engine"]
    expected = names["net"](engine.tensor([[1.0, 2.0, 3.0]]))[0].tolist()
    assert [float(word) for word in completed.split()] == pytest.approx(expected, abs=1e-6)


def test_without_a_compiler_the_step_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    code = step_of("27_saving_and_running_without_python", "Without Python").code
    program.write_text(code, encoding="utf-8")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    if any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("the compiler is in Python's folder")
    outcome = run_program(program)
    assert outcome.error == ""
    assert "There is no C compiler" in outcome.stdout
