"""Passes that inline, unroll, hoist, type, decompose, group and fuse, and the pipeline around them.

What a graph computes must be the same after any pass, and after all of them.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine import nn
from engine._native import lib
from engine.inspect.events import kind_of
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader
from engine.jit import Graph, Value
from engine.jit.c_results import c_integer
from engine.jit.custom_passes import passes, pipeline, run_pass
from engine.jit.runtime.function import NativeFunction
from tests.engine.jit.graph_programs import Program, as_one, evaluate, programs

FEW = settings(max_examples=60, deadline=None)
EXACT = (
    "unroll_loops",
    "hoist_loop_invariants",
    "propagate_shapes",
    "remove_mutation",
    "decompose_ops",
    "fuse",
)


def fresh(values: list[Any]) -> list[Any]:
    """Copies that can be written to without an effect on others."""
    return [value.clone() if isinstance(value, engine.Tensor) else value for value in values]


def same(a: Any, b: Any) -> bool:
    """Bit for bit, NaN included; of tensors their dtypes and shapes as well."""
    if not isinstance(a, engine.Tensor):
        return bool(a == b)
    if a.dtype is engine.bfloat16:  # NumPy has none
        return a.dtype == b.dtype and same(a.float(), b.float())
    return a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()


def close(a: Any, b: Any) -> bool:
    if not isinstance(a, engine.Tensor):
        return bool(a == b)
    scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
    tolerance = 0.05 if b.dtype is engine.bfloat16 else 1e-4
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and bool(
            engine.allclose(a, b, rtol=tolerance, atol=0.1 * tolerance * scale, equal_nan=True)
        )
    )


def computed(graph: Graph, program: Program) -> list[Any]:
    """Run a graph; return its results, and its inputs after the run."""
    inputs = program.inputs()
    return evaluate(graph.snapshot(), inputs) + inputs


@pytest.mark.parametrize("name", EXACT)
@FEW
@given(program=programs(), typed=st.booleans())
def test_a_pass_changes_no_bit(name: str, program: Program, typed: bool) -> None:
    graph = Graph.parse(program.text)
    expected = computed(graph, program)
    if typed and name not in ("unroll_loops", "propagate_shapes"):
        run_pass(graph, "propagate_shapes")  # they know as much as it found
    run_pass(graph, name)
    actual = computed(graph, program)
    assert all(map(same, actual, expected)), f"{name}:\n{program.text}\n{graph}"
    assert run_pass(graph, name) == 0, f"{name} again:\n{program.text}\n{graph}"


@FEW
@given(program=programs())
def test_grouped_products_are_close(program: Program) -> None:
    graph = Graph.parse(program.text)
    expected = computed(graph, program)
    run_pass(graph, "propagate_shapes")
    run_pass(graph, "batch_mm")
    assert all(map(close, computed(graph, program), expected)), f"{program.text}\n{graph}"


@FEW
@given(program=programs(typed=False))
def test_the_whole_pipeline_computes_the_same(program: Program) -> None:
    graph = Graph.parse(program.text)
    expected = computed(graph, program)
    as_one(graph)
    function = NativeFunction.of("f", graph._handle)
    for _ in range(4):  # general code, profiled, then specialised
        inputs = program.inputs()
        actual = [*function.call(inputs), *inputs]
        assert all(map(close, actual, expected)), f"{program.text}\n{function.graph_for(inputs)}"


# Inlining


def function_of(name: str, text: str) -> NativeFunction:
    graph = Graph.parse(text)  # a name, as it is to live until the function has taken it
    return NativeFunction.of(name, graph._handle)


def call_of(graph: Graph, function: NativeFunction, *args: Value) -> Value:
    number = c_integer(lib.uh_graph_function(graph._handle, function.handle))
    return graph.create("prim::CallFunction", [Value(graph, number), *args]).output()


TWICE = """graph(%a : Tensor):
  %two : int = prim::Constant[value=2]()
  %b : Tensor = aten::mul(%a, %two)
  return (%b)
"""


def test_what_is_called_comes_in_its_place() -> None:
    twice = function_of("twice", TWICE)
    outer = Graph(name="outer")
    x = outer.addInput("x")
    first = call_of(outer, twice, x)
    outer.registerOutput(call_of(outer, twice, first))
    called = NativeFunction.of("outer", outer._handle)
    assert called.call([engine.ones(2)]).tolist() == [4, 4]

    (result,) = (value for value in twice.graph.outputs())
    run_pass(outer, "inline")
    assert [node.kind() for node in outer.nodes()] == ["prim::Constant", "aten::mul"] * 2
    for node in outer.findAllNodes("aten::mul"):
        assert result.unique() in node.output().origins(), "it leads into the callee"
    assert not outer.without_origin()
    assert evaluate(outer.snapshot(), [engine.ones(2)])[0].tolist() == [4, 4]


def test_calls_within_calls_and_blocks() -> None:
    twice = function_of("twice", TWICE)
    middle = Graph(name="middle")
    middle.registerOutput(call_of(middle, twice, call_of(middle, twice, middle.addInput("x"))))
    within = NativeFunction.of("middle", middle._handle)
    outer = Graph.parse("""graph(%x : Tensor, %yes : bool):
      %y : Tensor = prim::If(%yes)
        block0():
          -> (%x)
        block1():
          -> (%x)
      return (%y)
    """)
    block = outer.nodes()[0].blocks()[0]
    outer.setInsertPoint(block)
    result = call_of(outer, within, outer.inputs()[0])
    c_integer(lib.uh_block_set_return(outer._handle, block._id, 0, result._id))
    run_pass(outer, "inline")
    outer.lint()
    assert len(outer.findAllNodes("aten::mul")) == 2
    assert not outer.findAllNodes("prim::CallFunction")
    assert evaluate(outer.snapshot(), [engine.ones(1), True])[0].item() == 4


def test_recursion_is_refused() -> None:
    graph = Graph.parse("""graph(%x : Tensor):
      %f : Function = prim::Constant[name="f"]()
      %y : Tensor = prim::CallFunction(%f, %x)
      return (%y)
    """)
    function = NativeFunction.of("f", graph._handle)
    c_integer(lib.uh_graph_bind(graph._handle, b"f", function.handle))
    with pytest.raises(RuntimeError, match=r"'f' is called recursively .*f -> f"):
        run_pass(graph.copy(), "inline")


# What is written elsewhere


def test_a_users_pass_stands_in_the_pipeline() -> None:
    seen = []

    @engine.jit.register_pass(after="peephole")
    def double_is_sum(graph: Graph) -> None:
        for node in graph.findAllNodes("aten::mul"):
            seen.append(node.kind())
            if node.input(1).toIValue() != 2:
                continue
            with graph.rewrite("x * 2 -> x + x", node):
                graph.setInsertPoint(node)
                result = graph.call("aten::add", node.input(0), node.input(0))
                node.output().replaceAllUsesWith(result.output())
                node.destroy()

    try:
        assert "double_is_sum" in passes()
        for phase in pipeline():
            row = phase["passes"]
            following = [after for name, after in itertools.pairwise(row) if name == "peephole"]
            assert set(following) <= {"double_is_sum"}, phase["name"]
        function = function_of("f", TWICE)
        assert function.call([engine.ones(2)]).tolist() == [2, 2]
        text = str(function.graph_for([engine.ones(2)]))
        assert seen
        assert "aten::add" in text
        assert "aten::mul" not in text
    finally:
        engine.jit.unregister_pass("double_is_sum")
    assert "double_is_sum" not in passes()


def test_a_users_pass_runs_alone_as_native_ones_do() -> None:
    @engine.jit.register_pass
    def shorter(graph: Graph) -> None:
        for node in graph.findAllNodes("aten::mul"):
            with graph.rewrite("x * 2 -> x", node):
                node.output().replaceAllUsesWith(node.input())

    @engine.jit.register_pass
    def careless(graph: Graph) -> None:
        graph.findAllNodes("aten::mul")[0].output().setDebugName("other")

    @engine.jit.register_pass
    def torn(graph: Graph) -> None:
        with graph.rewrite("one input less", graph.findAllNodes("aten::mul")[0]):
            graph.findAllNodes("aten::mul")[0].removeInput(1)

    @engine.jit.register_pass
    def lost(graph: Graph) -> None:
        raise LookupError("no idea")

    try:
        graph = Graph.parse(TWICE)
        assert run_pass(graph, "shorter") == len(graph.findAllNodes("aten::mul"))
        with pytest.raises(SystemError, match="pass careless: 1 edits were made outside"):
            run_pass(Graph.parse(TWICE), "careless")
        with pytest.raises(SystemError, match="pass torn broke the graph"):
            run_pass(Graph.parse(TWICE), "torn")
        with pytest.raises(LookupError, match="no idea"):
            run_pass(Graph.parse(TWICE), "lost")
        assert run_pass(graph, "dce") > 0  # nothing was left open
    finally:
        for name in ("shorter", "careless", "torn", "lost"):
            engine.jit.unregister_pass(name)
    with pytest.raises(ValueError, match="there is no pass 'lost'"):
        run_pass(graph, "lost")


def test_a_users_pass_that_fails_is_named() -> None:
    @engine.jit.register_pass
    def wrong(graph: Graph) -> None:
        raise LookupError("no idea")

    try:
        with pytest.raises(LookupError, match="no idea"):
            function_of("f", TWICE).call([engine.ones(2)])
    finally:
        engine.jit.unregister_pass("wrong")


# Facts


def test_what_a_trace_saw_is_not_promised() -> None:
    traced = engine.jit.trace(lambda x: (x * 2 + 1).tanh(), engine.ones(3))
    for shape in ((3,), (5,), (2, 3), (), (0,), (3,), (5,), (2, 3)):
        for _ in range(3):
            x = engine.randn(shape)
            assert same(traced(x), (x * 2 + 1).tanh())


@pytest.mark.parametrize("dtype", [engine.float64, engine.int32, engine.bool, engine.complex64])
def test_other_dtypes_after_specialisation(dtype: Any) -> None:
    def fn(x: Any) -> Any:
        return (x * 2 + 1) * x

    traced = engine.jit.trace(fn, engine.ones(3))
    for _ in range(4):
        traced(engine.ones(3))
    for _ in range(4):
        x = engine.arange(4).to(dtype)
        assert same(traced(x), fn(x))


def test_the_default_dtype_is_asked_when_it_runs() -> None:
    def fn(x: Any) -> Any:
        return (x * 0.5 + 1) * 2

    traced = engine.jit.trace(fn, engine.arange(4))
    for _ in range(4):
        assert traced(engine.arange(4)).dtype is engine.float32
    engine.set_default_dtype(engine.float64)
    try:
        assert traced(engine.arange(4)).dtype is engine.float64
    finally:
        engine.set_default_dtype(engine.float32)


def test_sizes_that_do_not_fit_are_refused_as_eagerly() -> None:
    traced = engine.jit.trace(lambda x, y: (x * y + 1).tanh(), (engine.ones(3), engine.ones(3)))
    for _ in range(4):
        traced(engine.ones(3), engine.ones(3))
    with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match"):
        traced(engine.ones(3), engine.ones(4))


def test_frozen_projections_are_one_product() -> None:
    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q = nn.Linear(256, 256)
            self.k = nn.Linear(256, 256)
            self.v = nn.Linear(256, 320)

        def forward(self, x: Any) -> Any:
            return self.q(x), self.k(x), self.v(x)

    heads = Heads().eval()
    x = engine.randn(8, 256)
    frozen = engine.jit.freeze(engine.jit.trace(heads, x))
    for _ in range(4):
        actual = frozen(x)
    text = str(frozen.graph_for(x))
    assert text.count("aten::linear") == 1, text
    for a, b in zip(actual, heads(x), strict=True):
        assert engine.allclose(a, b, atol=1e-5)
        assert a.stride() == b.stride()


def test_a_group_of_unknown_tensors_looks_at_what_comes() -> None:
    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Linear(4, 4)
            self.scale = nn.Parameter(engine.randn(4))

        def forward(self, x: Any, h: Any) -> Any:
            return ((self.w(x) + h) * self.scale).tanh() * h

    cell = Cell()
    x, h = engine.randn(3, 4), engine.randn(3, 4)
    traced = engine.jit.trace(cell, (x, h))
    for _ in range(4):
        traced(x, h)
    assert "prim::FusionGroup" in str(traced.graph_for(x, h))
    for dtype in (engine.float32, engine.float64, engine.bfloat16):
        cell.to(dtype)
        x, h = x.to(dtype), h.to(dtype).requires_grad_()
        expected = cell(x, h)
        for _ in range(4):
            assert same(traced(x, h).detach(), expected.detach())
        actual = engine.autograd.grad(traced(x, h).sum(), (h, cell.scale))
        assert all(map(close, actual, engine.autograd.grad(expected.sum(), (h, cell.scale))))


# Records for the explorer


def test_passes_graphs_and_launches_are_recorded(tmp_path: Path) -> None:
    traced = engine.jit.trace(lambda x: (x * 2 + 1).tanh(), engine.ones(3))
    x = engine.ones(3, requires_grad=True)
    with record(tmp_path / "t.uht", lines=False):
        for _ in range(5):
            traced(engine.ones(3))
        for _ in range(5):
            traced(x).sum().backward()
    trace = TraceReader.open(tmp_path / "t.uht")
    events = [(kind_of(int(e["kind"])).name, e) for e in trace.events]

    started = [trace.string(int(e["d"])) for name, e in events if name == "PASS_BEGIN"]
    ended = [e for name, e in events if name == "PASS_END"]
    assert len(started) == len(ended)
    assert {"peephole", "propagate_shapes", "fuse"} <= set(started)
    assert all(int(e["d"]) == 0 for e in ended), "none failed"
    phases = [trace.string(int(e["c"])) for name, e in events if name == "GRAPH"]
    changing = [name for name, e in zip(started, ended, strict=True) if int(e["b"]) > 0]
    assert [phase for phase in phases if phase in started] == changing

    kernels = [e for name, e in events if name == "FUSED_NEW"]
    runs = [int(e["a"]) for name, e in events if name == "FUSED_RUN"]
    ids = [int(e["a"]) for e in kernels]
    assert len(set(ids)) == len(ids) == 3, "without gradients, with them, and backwards"
    assert set(runs) == set(ids)
    names = [name for name, _ in events]
    launches = [i for i, name in enumerate(names) if name == "FUSED_RUN"]
    assert all(names[i + 1] == "WRITE" for i in launches), "what it made is seen"
    for kernel in kernels:
        output = json.loads(trace.blob(int(kernel["n"])))
        assert output["steps"]
        assert int(kernel["d"]) == output["launch"]["tile"]


@FEW
@given(program=programs())
def test_printed_groups_can_be_parsed(program: Program) -> None:
    graph = Graph.parse(program.text)
    expected = computed(graph, program)
    run_pass(graph, "propagate_shapes")
    run_pass(graph, "fuse")
    as_one(graph)
    again = Graph.parse(graph.str(False))
    assert again.str(False) == graph.str(False)
    function = NativeFunction.of("f", again._handle)
    for _ in range(4):
        inputs = program.inputs()
        assert all(map(close, [*function.call(inputs), *inputs], expected)), graph.str(False)


def test_nodes_are_not_moved_to_where_nothing_stands() -> None:
    text = (
        "graph(%x : Tensor, %c : bool):\n"
        "  %1 : Tensor = aten::relu(%x)\n"
        "  %2 : Tensor = prim::If(%c)\n"
        "    block0():\n"
        "      %3 : Tensor = aten::neg(%1)\n"
        "      -> (%3)\n"
        "    block1():\n"
        "      -> (%1)\n"
        "  return (%2)\n"
    )
    graph = Graph.parse(text)
    before = str(graph)
    relu, branch = graph.nodes()
    params, inner = graph.inputs()[0].node(), branch.blocks()[0].nodes()[0]
    for moved, item in (
        (relu, params),
        (params, relu),
        (graph.return_node(), relu),
        (branch, inner),
    ):
        with pytest.raises(RuntimeError):
            moved.moveBefore(item)
    with pytest.raises(RuntimeError):
        graph.setInsertPoint(params)
    assert str(graph) == before
    graph.setInsertPoint(branch.blocks()[0])
    branch.output().replaceAllUsesWith(relu.output())
    branch.destroy()
    graph.insertConstant(3)  # the block that it would have gone into is not there any more
    assert [node.kind() for node in graph.nodes()] == ["aten::relu", "prim::Constant"]


def test_a_graph_is_no_part_of_itself() -> None:
    text = "graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x)\n  return (%1)\n"
    outer, inner = Graph.parse(text), Graph.parse(text)
    put = lib.uh_node_set_graph
    c_integer(put(outer._handle, outer.nodes()[0]._id, b"Subgraph", inner._handle))
    for retained in (inner, outer):
        with pytest.raises(RuntimeError, match="its own graph"):
            c_integer(put(inner._handle, inner.nodes()[0]._id, b"Subgraph", retained._handle))
