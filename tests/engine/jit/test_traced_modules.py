"""Traced modules are hierarchical, as PyTorch's: each submodule that was called has graphs of its own."""

from __future__ import annotations

import copy
import json
import warnings

import pytest

import engine
from engine import jit, nn
from tests.engine.jit.programs.traced_modules import NETWORKS
from tests.engine.jit.programs.traced_wiring import WIRINGS
from tests.engine.jit.traced_text import RECORDED, texts, traced

PROGRAMS = NETWORKS + WIRINGS
THEIRS = json.loads(RECORDED.read_text())
by_name = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
# What PyTorch's own modules do otherwise inside.
OTHERS_WITHIN = {"lstm_cell", "lstm"}
# The results of its convolutions do not say that they have a gradient.
WITH_CONVOLUTIONS = {"residual", "lenet"}


@pytest.mark.parametrize(
    "program",
    [one for one in PROGRAMS if one.__name__ not in OTHERS_WITHIN],
    ids=lambda p: p.__name__,
)
def test_graphs_and_source_are_those_of_pytorch(program):
    found, wanted = texts(traced(engine, program)), THEIRS[program.__name__]
    if program.__name__ in WITH_CONVOLUTIONS:
        found, wanted = without_requires_grad(found), without_requires_grad(wanted)
    assert list(found) == list(wanted)
    for method, text in wanted.items():
        assert found[method] == text, method


def without_requires_grad(found):
    return json.loads(json.dumps(found).replace("requires_grad=1", "requires_grad=0"))


def flat(value):
    if isinstance(value, engine.Tensor):
        return [value]
    return [one for item in value for one in flat(item)]


def run(module, args):
    """The results, and the gradients of all parameters."""
    results = flat(module(*[one.clone() for one in args]))
    total = sum((one.sum() for one in results), engine.tensor(0.0))
    if total.requires_grad:
        total.backward()
    grads = {name: one.grad for name, one in module.named_parameters()}
    for one in module.parameters():
        one.grad = None
    return results, grads


def assert_same(found, wanted):
    for one, other in zip(found[0], wanted[0], strict=True):
        assert engine.allclose(one, other, atol=1e-6)
    assert found[1].keys() == wanted[1].keys()
    for name, grad in wanted[1].items():
        assert (grad is None) == (found[1][name] is None), name
        assert grad is None or engine.allclose(found[1][name], grad, atol=1e-6), name


@by_name
def test_a_trace_gives_what_the_module_gives(program):
    made = traced(engine, program)
    engine.manual_seed(0)
    module, args = program(engine)
    for _ in range(3):  # general, and specialised
        module.load_state_dict(made.state_dict())
        found, wanted = run(made, args), run(module, args)
        if program.__name__ == "under_no_grad":  # which no trace knows of, as in PyTorch
            found = found[0], {name: grad for name, grad in found[1].items() if "head" in name}
            wanted = wanted[0], {name: grad for name, grad in wanted[1].items() if "head" in name}
        assert_same(found, wanted)


@by_name
def test_it_is_the_same_when_it_is_loaded(program, tmp_path):
    made = traced(engine, program)
    args = program(engine)[1]
    made.save(str(tmp_path / "m.st"))
    again = jit.load(str(tmp_path / "m.st"))
    before = copy.deepcopy(dict(made.named_buffers()))
    found = run(again, args)
    assert {name: one.tolist() for name, one in made.named_buffers()} == {
        name: one.tolist() for name, one in before.items()
    }
    assert_same(found, run(made, args))
    assert texts(again)[".forward"] == texts(made)[".forward"]


@by_name
def test_every_graph_is_whole(program):
    made = traced(engine, program)
    for one in made.modules():
        for method in one._methods.values():
            for graph in (method.graph, method.inlined_graph):
                graph.lint()
                assert graph.without_origin() == []
                if "<Tensor>" not in str(graph):
                    assert str(jit.Graph.parse(str(graph))) == str(graph)


def test_values_of_inlined_graphs_lead_back_to_those_of_submodules():
    made = traced(engine, NETWORKS[0])
    inner = {
        value.unique() for node in getattr(made, "0").graph.nodes() for value in node.outputs()
    }
    inlined = [v for node in made.inlined_graph.nodes() for v in node.outputs()]
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
    made = jit.trace(module, x)
    assert engine.equal(made.linear(x), module.linear(x))
    assert engine.equal(made.linear.forward1(x), module.linear(x))
    assert made.linear.weight is module.linear.weight
    assert str(made) == "Twice(\n  original_name=Twice\n  (linear): Linear(original_name=Linear)\n)"


def test_every_method_of_trace_module_adds_methods_below():
    module, x = Twice(), engine.rand(2, 3)
    made = jit.trace_module(module, {"forward": x, "other": x})
    assert sorted(made.linear._methods) == ["forward", "forward1", "forward2"]
    assert 'prim::CallMethod[name="forward2"]' in str(made.other.graph)
    assert engine.equal(made.other(x), module.other(x))


def test_what_was_compiled_before_stays_a_call():
    scripted = jit.script(Twice())
    made = jit.trace(
        nn.Sequential(scripted, jit.trace(Twice(), engine.rand(2, 3))), engine.rand(2, 3)
    )
    assert getattr(made, "0") is scripted
    assert str(made.graph).count("prim::CallMethod") == 2
    assert sorted(scripted._methods) == ["forward"]
    assert "RecursiveScriptModule(\n    original_name=Twice" in str(made)


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

    made = jit.trace(Tries(), engine.rand(2, 3))
    assert "scope: __module.linear\n" in str(made.linear.graph.text(print_source_ranges=False))
    assert engine.equal(made(x := engine.rand(4, 3)), made.linear(x))


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
    made = jit.trace(module, x := engine.rand(2, 3))
    made.save(str(tmp_path / "m.st"))
    again = jit.load(str(tmp_path / "m.st"))
    assert engine.equal(again(x), module(x))
    assert str(jit.Graph.parse(str(made.inlined_graph))) == str(made.inlined_graph)


def test_dropout_of_a_trace_is_that_of_its_mode():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = jit.trace(nn.Sequential(nn.Dropout(0.5)).eval(), engine.ones(100))
    assert made(engine.ones(100)).tolist() == [1.0] * 100


def test_a_trace_is_frozen_with_its_submodules():
    module, x = Twice().eval(), engine.rand(2, 3)
    made = jit.freeze(jit.trace(module, x))
    assert "prim::CallMethod" not in str(made.graph)
    assert engine.allclose(made(x), module(x))
