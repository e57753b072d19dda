"""Nodes of graphs are PyTorch's overloads, also where the engine has one operator for several."""

from __future__ import annotations

import re

import pytest
from canonical_text import canonical

import engine
from engine import jit
from tests.engine.jit.programs.operators import CALCULATED, RANDOM

EVERY = CALCULATED + RANDOM


def example(lib):
    return lib.arange(1.0, 7.0).reshape(2, 3)


def compiled(torch, text):  # the name is known to the text
    return torch.jit.CompilationUnit(f"def f(x):\n    return {text}\n").f


def traced(lib, text):
    code = compile(text, "<program>", "eval")
    fn = lambda x: eval(code, {"torch": lib, "x": x})  # noqa: E731
    return lib.jit.trace(fn, (example(lib),), check_trace=False)


def lines(graph) -> list[str]:
    """Without places and names of classes."""
    text = re.sub(r" # .*", "", str(graph))
    return canonical(text).splitlines()


@pytest.mark.parametrize("text", EVERY)
def test_a_compiled_call_is_written_as_pytorch_writes_it(text):
    torch = pytest.importorskip("torch")
    assert lines(compiled(engine, text).graph) == lines(compiled(torch, text).graph)


@pytest.mark.parametrize("text", EVERY)
@pytest.mark.filterwarnings("ignore")
def test_a_traced_call_is_written_as_pytorch_writes_it(text):
    torch = pytest.importorskip("torch")
    assert lines(traced(engine, text).graph) == lines(traced(torch, text).graph)


@pytest.mark.parametrize("compiled_by", [compiled, traced])
@pytest.mark.parametrize("text", CALCULATED)
@pytest.mark.filterwarnings("ignore")
def test_it_gives_what_python_gives(text, compiled_by):
    expected = eval(text, {"torch": engine, "x": example(engine)})
    fn = compiled_by(engine, text)
    for arguments in (
        fn(example(engine)),
        jit.Graph.parse(str(fn.inlined_graph)).run(example(engine)),
    ):
        assert arguments.dtype == expected.dtype
        assert arguments.tolist() == expected.tolist()


@pytest.mark.parametrize("text", RANDOM)
def test_it_draws_what_python_draws(text):
    engine.manual_seed(3)
    expected = eval(text, {"torch": engine, "x": example(engine)})
    fn = compiled(engine, text)
    engine.manual_seed(3)
    assert fn(example(engine)).tolist() == expected.tolist()


def test_gradients_pass_an_overload():
    x = example(engine).requires_grad_()
    compiled(engine, "(x.sum(0).squeeze() * x.mean()).sum()")(x).backward()
    y = example(engine).requires_grad_()
    (y.sum(0).squeeze() * y.mean()).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_a_graph_of_whole_operators_is_read():
    text = """graph(%x : Tensor):
  %1 : NoneType = prim::Constant()
  %2 : bool = prim::Constant[value=0]()
  %3 : Tensor = aten::sum(%x, %1, %2, %1)
  %4 : int[] = prim::Constant[value=[2]]()
  %5 : Tensor = aten::zeros(%4, %1, %1)
  %6 : Tensor = aten::squeeze(%x, %1)
  %7 : int = prim::Constant[value=1]()
  %8 : Tensor = aten::add(%3, %5, %7)
  return (%8)"""
    assert jit.Graph.parse(text).run(engine.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torch.zeros(2, layout=1)", "zeros: tensors are strided here; there is no layout 1"),
        ("x.all('a')", "Expected a value of type 'int' for argument 'dim'"),
    ],
)
def test_what_means_nothing_here_is_refused(text, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        compiled(engine, text)(example(engine))
