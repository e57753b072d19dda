"""The graphs of programs: PyTorch's for the same source, with places, names and origins."""

import importlib
import json
import re
from pathlib import Path

import pytest
from canonical_text import of_ours, without_module

import engine
from engine import jit
from engine._native import ffi, lib
from engine.jit.frontend import compile_function
from tests.engine.jit.programs import control_flow, documented

FOLDER = Path(__file__).parent / "programs"
RECORDED = json.loads((FOLDER / "pytorch_graphs.json").read_text())
CODES = json.loads((FOLDER / "pytorch_code.json").read_text())
PROGRAMS = [
    fn
    for module in ("control_flow", "containers", "numbers_and_types", "documented", "classes")
    for fn, _ in importlib.import_module(f"tests.engine.jit.programs.{module}").CASES
]


@pytest.mark.parametrize("name", RECORDED)
def test_the_graph_is_that_of_pytorch(name):
    module, _, function = name.rpartition(".")
    fn = getattr(importlib.import_module(f"tests.engine.jit.programs.{module}"), function)
    assert of_ours(fn).splitlines() == RECORDED[name]


@pytest.mark.parametrize("name", CODES)
def test_the_source_again_is_that_of_pytorch(name):
    module, _, function = name.rpartition(".")
    fn = getattr(importlib.import_module(f"tests.engine.jit.programs.{module}"), function)
    assert without_module(jit.script(fn).code).splitlines() == CODES[name]


def noise(x: engine.Tensor, y: engine.Tensor):
    return x.normal_().add(y).sum(dim=[0], keepdim=True)


def test_the_source_again_leaves_out_defaults():
    expected = "torch.sum(torch.add(torch.normal_(x), y), [0], True)"
    assert expected in jit.script(noise).code


def test_there_are_a_few_dozen():
    assert len(RECORDED) >= 40
    assert len(CODES) >= 40


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_every_value_has_an_origin(fn):
    compiled = compile_function(fn)  # which the graph goes with
    graph = compiled.graph
    assert ffi.string(lib.uh_graph_lint(graph)).decode() == ""
    assert lib.uh_graph_verify(graph) == 0


def test_places_in_the_source():
    text = compile_function(documented.gate).text(with_source=True)
    first = documented.gate.__code__.co_firstlineno
    positions = re.findall(r"(aten::\w+|prim::If).*# .*documented\.py:(\d+):(\d+)", text)
    assert [(kind, int(line) - first, int(column)) for kind, line, column in positions] == [
        ("aten::sum", 1, 7),
        ("aten::gt", 1, 7),
        ("aten::Bool", 1, 7),
        ("prim::If", 1, 4),
        ("aten::neg", 4, 15),
    ]


def test_names_of_values():
    text = compile_function(control_flow.count_up).text()
    assert re.findall(r"%(\w+\.\d+) :", text) == [
        "n.1",
        "total.1",
        "total.4",
        "i.1",
        "total.2",
        "total.3",
    ]


def test_a_function_of_its_own_for_each_call():
    compiled = compile_function(documented.loop)
    assert [value.fn for value in compiled.calls.values()] == [documented.gate]
    assert 'prim::Constant[name="gate' in compiled.text()
    assert "prim::CallFunction(" in compiled.text()


def test_tokens_and_tree():
    source = compile_function(documented.gate).source
    first = documented.gate.__code__.co_firstlineno
    tokens = json.loads(source.tokens_json())
    assert tokens[0] == ["NAME", "def", first, 0, first, 3]
    tree = json.loads(source.tree_json())
    assert tree["kind"] == "FunctionDef"
    assert tree["body"][0]["kind"] == "If"
    assert tree["body"][0]["test"]["span"] == [first + 1, 7, first + 1, 18]


def test_indented_source_keeps_its_columns():
    def inner(x):
        return x + 1

    position = re.search(
        r"aten::add.*# .*test_script_graphs\.py:(\d+):(\d+)", compile_function(inner).text(True)
    )
    assert (int(position[1]), int(position[2])) == (inner.__code__.co_firstlineno + 1, 15)


def test_closures_and_defaults():
    k = 3

    def uses(x):
        return x + k

    with pytest.raises(RuntimeError, match="python value of type 'int' cannot be used as a value"):
        jit.script(uses)

    def defaults(x, n: int = 2, *, scale: float = 0.5):
        return x * n * scale

    scripted = jit.script(defaults)
    x = engine.ones(2)
    assert engine.equal(scripted(x), x)
    assert engine.equal(scripted(x, 3, scale=2.0), x * 6)


def test_scripted_functions_call_scripted_functions():
    inner = jit.script(documented.gate)

    def outer(x):
        return inner(x) * 2

    assert engine.equal(jit.script(outer)(-engine.ones(2)), engine.ones(2) * 2)
