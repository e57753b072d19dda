"""Traced modules are hierarchical, as PyTorch's: each submodule that was called has its own graphs."""

from __future__ import annotations

import copy
import json
import warnings

import pytest

import engine
from engine import jit, nn
from tests.engine.jit.programs.traced_modules import NETWORKS
from tests.engine.jit.programs.traced_wiring import WIRINGS
from tests.engine.jit.traced_text import RECORDED, printed, traced

PROGRAMS = NETWORKS + WIRINGS
THEIRS = json.loads(RECORDED.read_text())
by_name = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
# What PyTorch's own modules do otherwise inside.
OTHERS_WITHIN = {"lstm_cell", "lstm"}
# The results of its convolutions do not say that they have a gradient.
WITH_CONVOLUTIONS = {"residual", "lenet"}


@pytest.mark.parametrize(
    "program",
    [item for item in PROGRAMS if item.__name__ not in OTHERS_WITHIN],
    ids=lambda p: p.__name__,
)
def test_graphs_and_source_are_those_of_pytorch(program):
    actual, expected = printed(traced(engine, program)), THEIRS[program.__name__]
    if program.__name__ in WITH_CONVOLUTIONS:
        actual, expected = without_requires_grad(actual), without_requires_grad(expected)
    assert list(actual) == list(expected)
    for method, text in expected.items():
        assert actual[method] == text, method


def without_requires_grad(snapshot):
    return json.loads(json.dumps(snapshot).replace("requires_grad=1", "requires_grad=0"))


def flat(value):
    if isinstance(value, engine.Tensor):
        return [value]
    return [element for item in value for element in flat(item)]


def run(module, args):
    """The results, and the gradients of all parameters."""
    results = flat(module(*[arg.clone() for arg in args]))
    total = sum((result.sum() for result in results), engine.tensor(0.0))
    if total.requires_grad:
        total.backward()
    grads = {name: item.grad for name, item in module.named_parameters()}
    for parameter in module.parameters():
        parameter.grad = None
    return results, grads


def assert_same(actual, expected):
    for item, other in zip(actual[0], expected[0], strict=True):
        assert engine.allclose(item, other, atol=1e-6)
    assert actual[1].keys() == expected[1].keys()
    for name, grad in expected[1].items():
        assert (grad is None) == (actual[1][name] is None), name
        assert grad is None or engine.allclose(actual[1][name], grad, atol=1e-6), name


@by_name
def test_a_trace_gives_what_the_module_gives(program):
    result = traced(engine, program)
    engine.manual_seed(0)
    module, args = program(engine)
    for _ in range(3):  # general, and specialised
        module.load_state_dict(result.state_dict())
        actual, expected = run(result, args), run(module, args)
        if program.__name__ == "under_no_grad":  # which no trace knows of, as in PyTorch
            actual = actual[0], {name: grad for name, grad in actual[1].items() if "head" in name}
            expected = (
                expected[0],
                {name: grad for name, grad in expected[1].items() if "head" in name},
            )
        assert_same(actual, expected)


@by_name
def test_it_is_the_same_when_it_is_loaded(program, tmp_path):
    result = traced(engine, program)
    args = program(engine)[1]
    result.save(str(tmp_path / "m.st"))
    again = jit.load(str(tmp_path / "m.st"))
    before = copy.deepcopy(dict(result.named_buffers()))
    actual = run(again, args)
    assert {name: item.tolist() for name, item in result.named_buffers()} == {
        name: element.tolist() for name, element in before.items()
    }
    assert_same(actual, run(result, args))
    assert printed(again)[".forward"] == printed(result)[".forward"]


@by_name
def test_every_graph_is_whole(program):
    result = traced(engine, program)
    for module in result.modules():
        for method in module._methods.values():
            for graph in (method.graph, method.inlined_graph):
                graph.lint()
                assert graph.without_origin() == []
                if "<Tensor>" not in str(graph):
                    assert str(jit.Graph.parse(str(graph))) == str(graph)


def test_values_of_inlined_graphs_lead_back_to_those_of_submodules():
    result = traced(engine, NETWORKS[0])
    inner = {
        value.unique() for node in getattr(result, "0").graph.nodes() for value in node.outputs()
    }
    inlined = [v for node in result.inlined_graph.nodes() for v in node.outputs()]
    assert any(inner & set(value.origins()) for value in inlined)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(self.linear(x).relu())

    def other(self, x):
        return self.linear(x) * 2


def test_submodules_are_called_like_modules():
    module, x = Twice(), engine.rand(2, 3)
    traced = jit.trace(module, x)
    assert engine.equal(traced.linear(x), module.linear(x))
    assert engine.equal(traced.linear.forward1(x), module.linear(x))
    assert traced.linear.weight is module.linear.weight
    assert (
        str(traced) == "Twice(\n  original_name=Twice\n  (linear): Linear(original_name=Linear)\n)"
    )


def test_every_method_of_trace_module_adds_methods_below():
    module, x = Twice(), engine.rand(2, 3)
    traced = jit.trace_module(module, {"forward": x, "other": x})
    assert sorted(traced.linear._methods) == ["forward", "forward1", "forward2"]
    assert 'prim::CallMethod[name="forward2"]' in str(traced.other.graph)
    assert engine.equal(traced.other(x), module.other(x))


def test_what_was_compiled_before_stays_a_call():
    scripted = jit.script(Twice())
    traced = jit.trace(
        nn.Sequential(scripted, jit.trace(Twice(), engine.rand(2, 3))), engine.rand(2, 3)
    )
    assert getattr(traced, "0") is scripted
    assert str(traced.graph).count("prim::CallMethod") == 2
    assert sorted(scripted._methods) == ["forward"]
    assert "RecursiveScriptModule(\n    original_name=Twice" in str(traced)


def test_a_submodule_that_raises_leaves_its_scope():
    class Fails(nn.Module):
        def forward(self, x):
            y = x * 2
            raise ValueError(str(y.dim()))

    class Tries(nn.Module):
        def __init__(self):
            super().__init__()
            self.fails, self.linear = Fails(), nn.Linear(3, 3)

        def forward(self, x):
            try:
                return self.fails(x)
            except ValueError:
                return self.linear(x)

    traced = jit.trace(Tries(), engine.rand(2, 3))
    assert "scope: __module.linear\n" in str(traced.linear.graph.text(print_source_ranges=False))
    assert engine.equal(traced(x := engine.rand(4, 3)), traced.linear(x))


def test_modules_are_called_as_ever_when_the_trace_is_over():
    call = nn.Module.__call__
    with pytest.raises(ZeroDivisionError):
        jit.trace(nn.Sequential(nn.Linear(3, 3), nn.Flatten(1 // 1, 1 // 0)), engine.rand(2, 3))
    jit.trace(Twice(), engine.rand(2, 3))
    assert nn.Module.__call__ is call


@pytest.mark.parametrize("name", ["my layer", "läyer", "a#b", 'say "hi"', "line\nbreak"])
def test_modules_have_any_name(name, tmp_path):
    module = nn.Sequential()
    module.add_module(name, nn.Linear(3, 2))
    traced = jit.trace(module, x := engine.rand(2, 3))
    traced.save(str(tmp_path / "m.st"))
    again = jit.load(str(tmp_path / "m.st"))
    assert engine.equal(again(x), module(x))
    assert str(jit.Graph.parse(str(traced.inlined_graph))) == str(traced.inlined_graph)


def test_dropout_of_a_trace_is_that_of_its_mode():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = jit.trace(nn.Sequential(nn.Dropout(0.5)).eval(), engine.ones(100))
    assert traced(engine.ones(100)).tolist() == [1.0] * 100


def test_a_trace_is_frozen_with_its_submodules():
    module, x = Twice().eval(), engine.rand(2, 3)
    result = jit.freeze(jit.trace(module, x))
    assert "prim::CallMethod" not in str(result.graph)
    assert engine.allclose(result(x), module(x))


def test_nodes_say_which_module_they_come_from():
    nested = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.ReLU())
    graph = jit.trace(nested, engine.ones(1, 2)).inlined_graph
    scopes = [node.scopeName() for node in graph.nodes() if node.kind().startswith("aten::")]
    assert scopes == ["__module.0/__module.0.0", "__module.1"]
