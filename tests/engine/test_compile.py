"""compile: compiled where the compiler understands the program, else eager with one sentence why."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import engine
from engine.compiler import _Compiled


def scaled_sine(x, y):
    return engine.sin(x) * y + 1


def prints(x):
    global_names = {name for name in dir(x)}  # noqa: C416  # no set comprehensions in scripts
    return x + len(global_names) * 0


def test_a_function_is_compiled():
    compiled = _Compiled(scaled_sine, fullgraph=True)
    x, y = engine.randn(5), engine.randn(5)
    assert engine.allclose(compiled(x, y), scaled_sine(x, y))
    (form,) = compiled._forms.values()
    assert "aten::sin" in str(form.graph)
    x.requires_grad_()
    engine.compile(scaled_sine)(x, y).sum().backward()
    assert engine.allclose(x.grad, x.detach().cos() * y)


def test_a_module_shares_its_parameters_and_follows_its_mode():
    module = engine.nn.Sequential(engine.nn.Linear(3, 3), engine.nn.Dropout(0.5))
    compiled = engine.compile(module)
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    compiled.eval()
    x = engine.ones(2, 3)
    assert engine.allclose(compiled(x), module(x))
    with engine.no_grad():
        module[0].weight.zero_()
    assert engine.allclose(compiled(x), module[0].bias.expand(2, 3))
    engine.manual_seed(0)
    compiled.train()
    assert (compiled(engine.ones(100, 3)) == 0).any()
    assert compiled._orig_mod is module


def test_others_run_eagerly_and_say_why():
    compiled = engine.compile(prints)
    with pytest.warns(UserWarning, match="compile: prints runs eagerly: "):
        assert compiled(engine.ones(1)).item() == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(engine.ones(1)).item() == 1  # it says so once
    with pytest.raises(RuntimeError, match="runs eagerly"):
        engine.compile(prints, fullgraph=True)(engine.ones(1))


def test_numbers_and_hooks_run_eagerly():
    with pytest.warns(UserWarning, match="an argument is a float"):
        assert engine.compile(scaled_sine)(engine.zeros(1), 2.0).item() == 1
    module = engine.nn.Linear(1, 1)
    calls = []
    module.register_forward_hook(lambda *args: calls.append(1))
    with pytest.warns(UserWarning, match="hooks"):
        engine.compile(module)(engine.ones(1))
    assert calls == [1]


def test_decorators_and_switches():
    @engine.compile(mode="reduce-overhead")
    def double(x):
        return x * 2

    assert double(engine.ones(1)).item() == 2
    assert engine.compile(scaled_sine, backend="eager") is scaled_sine
    eager = engine.compile(engine.nn.Linear(1, 1), backend="eager")
    assert eager(engine.ones(1)).shape == (1,)
    assert engine.compiler.is_compiling() is False
    with pytest.raises(AssertionError, match="got int"):
        engine.compile(3)


def test_a_module_compiles_itself():
    model = engine.nn.Sequential(engine.nn.Linear(3, 3), engine.nn.Tanh())
    x = engine.ones(2, 3)
    expected = model(x)
    model.compile(fullgraph=True)
    assert engine.allclose(model(x), expected)
    assert engine.allclose(copy.deepcopy(model)(x), expected)
    assert engine.allclose(pickle.loads(pickle.dumps(model))(x), expected)
    model.compile(backend="eager")
    assert engine.equal(model(x), expected)
    with pytest.raises(TypeError, match="unexpected keyword argument 'full'"):
        model.compile(full=True)
