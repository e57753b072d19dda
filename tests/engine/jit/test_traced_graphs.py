"""The graphs of traces are PyTorch's: of functions and modules that are traced by both."""

from __future__ import annotations

import re
import warnings

import pytest
from canonical_text import canonical

import engine
from tests.engine.jit.programs.traced import PROGRAMS, example

TENSOR = re.compile(r"value=[^\[]*\[ CPU\w+\{[\d,]*\} \]\]")


def comparable(graph) -> list[str]:
    """Return the text without places, and without the order in which attributes of modules are read."""
    text = re.sub(r", scope: .*", "", re.sub(r" # .*", "", str(graph)))
    text = TENSOR.sub("value=<Tensor>]", text)
    text = re.sub(r"__torch__\.[\w.]+", "Module", text)
    return [line for line in canonical(text).splitlines() if "prim::GetAttr" not in line]


def traced(lib, fn, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lib.jit.trace(fn, args, check_trace=False)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_the_graph_of_a_function_is_that_of_pytorch(fn):
    torch = pytest.importorskip("torch")
    ours, other = (
        traced(lib, lambda x, of=lib: fn(of, x), example(lib)) for lib in (engine, torch)
    )
    assert comparable(ours.graph) == comparable(other.graph)


def layers(lib):
    return lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 2))


def dropping(lib):
    return lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Dropout(0.5), lib.nn.Softmax(-1))


def skipping(lib):
    class Skip(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = lib.nn.Linear(3, 3)
            self.norm = lib.nn.LayerNorm(3)
            self.register_buffer("scale", lib.ones(3))

        def forward(self, x):
            y = self.norm(self.linear(x))
            return lib.relu(y * self.scale + x).view(x.shape[0], -1)

    return Skip()


def counting(lib):
    class Count(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", lib.zeros(3))

        def forward(self, x):
            self.calls.add_(1)
            return x * self.calls

    return Count()


@pytest.mark.parametrize("make", [layers, dropping, skipping, counting])
def test_the_graph_of_a_module_is_that_of_pytorch(make):
    torch = pytest.importorskip("torch")
    ours, other = (traced(lib, make(lib), example(lib)) for lib in (engine, torch))
    assert comparable(ours.inlined_graph) == comparable(other.inlined_graph)


def recurrent(lib):
    return lib.nn.LSTM(3, 4)


def cell(lib):
    return lib.nn.LSTMCell(3, 4)


@pytest.mark.parametrize("make", [layers, skipping, recurrent, cell])
def test_the_trace_of_a_module_holds_for_other_sizes(make):
    module = make(engine)
    traced = engine.jit.trace(
        module, example(engine).reshape((2, 1, 3) if make is recurrent else (2, 3))
    )
    for rows in (4, 1):
        x = example(engine, 2 * rows).reshape((2, rows, 3) if make is recurrent else (2 * rows, 3))
        actual, expected = traced(x), module(x)
        if isinstance(expected, tuple):
            actual, expected = actual[0], expected[0]
        assert actual.shape == expected.shape
        assert float((actual - expected).abs().max()) < 1e-6
