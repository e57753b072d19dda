"""Traces: sizes that are followed, what is warned of, calls of compiled code, results."""

from __future__ import annotations

import math
import re
import threading
import warnings

import pytest

import engine
from engine import jit
from tests.engine.jit.programs.traced import PROGRAMS, example

SOURCE = re.compile(r" # .*")
RANDOM = {"dropped"}  # times zero: the values are the same, the sign of zero is not


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [element for item in value for element in flat(item)]
    return [value]


def values(results):
    return [item.tolist() if isinstance(item, engine.Tensor) else item for item in flat(results)]


def traced(fn, x, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.TracerWarning)
        return jit.trace(lambda x: fn(engine, x), x, **options)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_a_trace_holds_for_other_sizes(fn):
    result = traced(fn, example(engine), check_trace=fn.__name__ not in RANDOM)
    for rows in (4, 2, 3, 4):
        if fn.__name__ == "split_by_size" and rows < 2:
            continue
        x = example(engine, rows)
        assert values(result(x.clone())) == values(fn(engine, x.clone())), rows


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_the_graph_of_a_trace_is_whole(fn):
    from engine._native import ffi, lib

    graph = traced(fn, example(engine), check_trace=False).graph
    assert lib.uh_graph_verify(graph._handle) == 0
    if "<Tensor>" not in str(graph):
        assert str(jit.Graph.parse(str(graph))) == str(graph)
    assert ffi.string(lib.uh_graph_lint(graph._handle)).decode() == ""


def test_tensors_answer_as_ever_when_the_trace_is_over():
    shape = engine.Tensor.shape
    jit.trace(lambda x: x.view(x.shape[0], -1), engine.ones(2, 3))
    with pytest.raises(ZeroDivisionError):
        jit.trace(lambda x: x / (1 // 0), engine.ones(2, 3))
    assert engine.Tensor.shape is shape
    sizes = engine.ones(2, 3).shape
    assert type(sizes[0]) is int
    assert type(engine.ones(2, 3).numel()) is int


def test_other_threads_have_plain_sizes_meanwhile():
    seen = []

    def fn(x):
        other = threading.Thread(target=lambda: seen.append(type(engine.ones(2).shape[0])))
        other.start()
        other.join()
        seen.append(type(x.shape[0]))
        return x.view(x.shape[0], -1)

    jit.trace(fn, engine.ones(2, 3), check_trace=False)
    assert seen == [int, engine.Tensor]


def test_factories_take_sizes():
    def fn(x):
        rows = x.shape[0]
        result = engine.zeros(rows, 1) + engine.ones((rows, x.shape[1])) + engine.arange(x.size(1))
        result = result + engine.full((rows, 1), 2.0) + engine.linspace(0, 1, rows).unsqueeze(1)
        return result + engine.eye(rows, x.shape[1]) + x.new_zeros(x.shape)

    traced = jit.trace(fn, example(engine))
    for rows in (4, 1):
        x = example(engine, rows)
        assert traced(x).tolist() == fn(x).tolist()


def test_a_first_call_that_loads_a_module_is_followed_too():
    import subprocess
    import sys

    program = (
        "import engine\n"
        "made = engine.jit.trace(lambda x: engine.full((2,), x.shape[0]), engine.ones(4, 3))\n"
        "print(made(engine.ones(6, 3)).tolist())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[6, 6]\n"


def test_a_split_follows_its_size():
    traced = jit.trace(lambda x: x.split(x.shape[0] // 2), example(engine, 4))
    x = example(engine, 6)
    assert [item.tolist() for item in traced(x)] == [element.tolist() for element in x.split(3)]


@pytest.mark.parametrize("size", [engine.tensor(2), engine.tensor([2]), engine.tensor(2.0)])
def test_a_tensor_of_one_element_splits(size):
    x = example(engine, 4)
    for pieces in (x.split(size), engine.split(x, size)):
        assert [piece.tolist() for piece in pieces] == [item.tolist() for item in x.split(2)]


# ---- warnings


def warned(fn, *args, **options):
    with warnings.catch_warnings(record=True) as actual:
        warnings.simplefilter("always")
        jit.trace(fn, args or (example(engine),), check_trace=False, **options)
    assert all(
        element.category is jit.TracerWarning and element.filename == __file__ for element in actual
    )
    return [str(item.message) for item in actual]


def steps(x):
    for i in range(x.shape[0]):
        x = x + i
    return x


def looped(x):
    for row in x:
        x = x + row
    return x


READS = [
    (lambda x: x * int(x.shape[0]), "Converting a tensor to a Python integer"),
    (lambda x: x / math.sqrt(x.shape[1]), "Converting a tensor to a Python float"),
    (lambda x: x * 2 if x.shape[0] > 2 else x, "Converting a tensor to a Python boolean"),
    (lambda x: x * 2 if x.sum() > 2 else x, "Converting a tensor to a Python boolean"),
    (lambda x: x * x[0, 0].item(), "Converting a tensor to a Python number"),
    (lambda x: x * x.tolist()[0][1], "Converting a tensor to a Python list"),
    (lambda x: x * float(x.numpy()[0, 1]), "Converting a tensor to a NumPy array"),
    (lambda x: x * len(x), "Using len to get tensor shape"),
    (looped, "Iterating over a tensor"),
    (lambda x: x * engine.tensor(2.0), "engine.tensor results are registered as constants"),
    (lambda x: x * engine.as_tensor([1.0]), "engine.as_tensor results are registered"),
]


@pytest.mark.parametrize(("fn", "text"), READS, ids=[text for _, text in READS])
def test_what_leaves_the_trace_is_warned_of(fn, text):
    output = warned(fn)
    assert len(output) == 1
    assert output[0].startswith(text)


def test_what_stays_in_the_trace_is_not_warned_of():
    assert warned(lambda x: x.view(x.shape[0], -1) * x.numel() / x.size(1)) == []
    assert warned(lambda x: x * x.dim()) == []
    assert warned(steps) == []  # as in PyTorch, though it is fixed
    layers = engine.nn.Sequential(engine.nn.Flatten(), engine.nn.Linear(3, 2))
    assert warned(layers) == []


def test_a_list_is_warned_of_and_a_dict_is_refused():
    assert warned(lambda x: [x, x])[0].startswith("Encountering a list at the output")
    assert warned(lambda x: [x, x], strict=False) == []
    with pytest.raises(RuntimeError, match="Encountering a dict at the output"):
        jit.trace(lambda x: {"a": x}, engine.ones(2))
    traced = jit.trace(lambda x: {"a": x + 1}, engine.ones(2), strict=False)
    assert values(traced(engine.zeros(2))) == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda x: None, "The traced function didn't return any values"),
        (lambda x: (x, 3), "Only tensors, lists, tuples of tensors"),
        (lambda x: "a", "Only tensors, lists, tuples of tensors"),
    ],
)
def test_what_a_trace_cannot_return(fn, text):
    with pytest.raises(RuntimeError, match=text):
        jit.trace(fn, engine.ones(2))


def test_inputs_are_made_of_tensors():
    with pytest.raises(RuntimeError, match="cannot be traced"):
        jit.trace(lambda x, n: x * n, (engine.ones(2), 2))


# ---- what is compiled is called


@jit.script
def by_sign(x):
    if x.sum() > 0:
        return x * 2
    return x * -1


@jit.script
def pair(x, n: int):
    for _ in range(n):
        x = x + 1
    return x, x * 2


@jit.script_if_tracing
def scripted_in_traces(x):
    if x.sum() > 0:
        return x * 2
    return x * -1


class Branches(engine.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = engine.nn.Linear(3, 3)

    def forward(self, x):
        if x.sum() > 0:
            return self.linear(x)
        return x


class Around(engine.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = jit.script(Branches())
        self.linear = engine.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(self.inner(x)) + 1


@pytest.mark.parametrize("fn", [by_sign, scripted_in_traces])
def test_a_compiled_function_is_called_with_its_branches(fn):
    traced = jit.trace(lambda x: fn(x) + 1, engine.ones(2))
    assert "prim::CallFunction(" in str(traced.graph)
    assert "prim::If" in str(traced.inlined_graph)
    for _ in range(3):
        assert traced(engine.tensor([1.0, 2.0])).tolist() == [3.0, 5.0]
        assert traced(engine.tensor([-1.0, -2.0])).tolist() == [2.0, 3.0]


def test_a_size_is_an_argument_of_a_compiled_function():
    traced = jit.trace(lambda x: pair(x, x.shape[0])[1], engine.zeros(2))
    assert traced(engine.zeros(4)).tolist() == [8.0] * 4


def test_a_compiled_module_is_called_as_a_submodule():
    module = Around()
    traced = jit.trace(module, engine.ones(2, 3))
    assert 'prim::CallMethod[name="forward"]' in str(traced.graph)
    for x in (engine.ones(4, 3), -engine.ones(1, 3)):
        assert traced(x).tolist() == module(x).tolist()


def test_a_compiled_module_from_outside_is_refused():
    inner = jit.script(Branches())
    with pytest.raises(RuntimeError, match="not part of the active trace"):
        jit.trace(lambda x: inner(x), engine.ones(2, 3))


def test_a_number_as_a_result_is_refused():
    @jit.script
    def count(x) -> int:
        return x.size(0)

    with pytest.raises(RuntimeError, match="Tracer cannot set value trace for type"):
        jit.trace(lambda x: x * count(x), engine.ones(2))


# ---- graphs


def c_string(fn, *args):
    traced = jit.trace(fn, args or (engine.ones(2, 3),), check_trace=False)
    return SOURCE.sub("", str(traced.graph))


def test_a_size_in_the_graph():
    assert c_string(lambda x: x.view(x.shape[0], -1)) == (
        "graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)):\n"
        "  %1 : int = prim::Constant[value=0]()\n"
        "  %2 : int = aten::size(%x, %1)\n"
        "  %3 : Long(device=cpu) = prim::NumToTensor(%2)\n"
        "  %7 : int = aten::Int(%3)\n"
        "  %8 : int = prim::Constant[value=-1]()\n"
        "  %9 : int[] = prim::ListConstruct(%7, %8)\n"
        "  %10 : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::view(%x, %9)\n"
        "  return (%10)\n"
    )


def named(x):
    y = x * 2
    y = y + x
    return y.relu_()


def test_names_are_those_of_python():
    assert c_string(named) == (
        "graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)):\n"
        "  %1 : Long(requires_grad=0, device=cpu) = prim::Constant[value={2}]()\n"
        "  %y.1 : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::mul(%x, %1)\n"
        "  %3 : int = prim::Constant[value=1]()\n"
        "  %y : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::add(%y.1, %x, %3)\n"
        "  %5 : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::relu_(%y)\n"
        "  return (%5)\n"
    )


def test_dead_nodes_are_gone():
    text = c_string(lambda x: (x * 5, engine.rand(2), x.shape, x + 1)[-1])
    assert text.count("aten::") == 1
    assert text.count("prim::") == 2  # the two numbers of aten::add


def test_numbers_of_arithmetic_keep_their_meaning():
    full = engine.tensor(3, dtype=engine.int32)
    traced = jit.trace(lambda x: x * 2, full)
    assert "{2}" in str(traced.graph)
    for _ in range(3):
        assert traced(full).dtype is engine.int32  # of a number, as Python has it


def test_in_place_results_are_the_tensor(tmp_path):
    traced = jit.trace(lambda x: x.add_(1).mul_(2), engine.ones(2))
    traced.save(tmp_path / "f.safetensors")
    for item in (traced, jit.load(tmp_path / "f.safetensors")):
        x = engine.ones(3)
        assert item(x).tolist() == [4.0] * 3
        assert x.tolist() == [4.0] * 3
