"""Passes that inline, unroll, hoist, type, decompose, group and fuse, and the pipeline around them.

What a graph computes must be the same after any pass, and after all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

import engine
from engine.jit import Graph
from engine.jit.function import NativeFunction
from engine.jit.graph import number_of
from engine._native import lib
from tests.engine.jit.graph_programs import Program, evaluate, programs

FEW = settings(max_examples=60, deadline=None)
EXACT = ("unroll_loops", "hoist_invariants", "propagate_shapes", "decompose", "fuse")


def run_pass(graph: Graph, name: str) -> int:
    return number_of(lib.uh_pass_run(graph._handle, name.encode()))


def fresh(values: list[Any]) -> list[Any]:
    """What can be written to without anybody noticing."""
    return [one.clone() if isinstance(one, engine.Tensor) else one for one in values]


def same(a: Any, b: Any) -> bool:
    """Bit for bit, NaN included; of tensors their dtypes and shapes as well."""
    if not isinstance(a, engine.Tensor):
        return bool(a == b)
    return a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()


def close(a: Any, b: Any) -> bool:
    if not isinstance(a, engine.Tensor):
        return bool(a == b)
    scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and bool(engine.allclose(a, b, rtol=1e-4, atol=1e-5 * scale, equal_nan=True))
    )


def computed(graph: Graph, program: Program) -> list[Any]:
    """What it returns, and what it leaves of its inputs."""
    inputs = program.inputs()
    return evaluate(graph.snapshot(), inputs) + inputs


@pytest.mark.parametrize("name", EXACT)
@FEW
@given(program=programs())
def test_a_pass_changes_no_bit(name: str, program: Program) -> None:
    graph = Graph.parse(program.text)
    wanted = computed(graph, program)
    if name in ("decompose", "fuse", "hoist_invariants"):
        run_pass(graph, "propagate_shapes")  # they know as much as it found
    run_pass(graph, name)
    found = computed(graph, program)
    assert all(map(same, found, wanted)), f"{name}:\n{program.text}\n{graph}"
    assert run_pass(graph, name) == 0, f"{name} again:\n{program.text}\n{graph}"


@FEW
@given(program=programs())
def test_grouped_products_are_close(program: Program) -> None:
    graph = Graph.parse(program.text)
    wanted = computed(graph, program)
    run_pass(graph, "propagate_shapes")
    run_pass(graph, "group_products")
    assert all(map(close, computed(graph, program), wanted)), f"{program.text}\n{graph}"


@FEW
@given(program=programs(typed=False))
def test_the_whole_pipeline_computes_the_same(program: Program) -> None:
    graph = Graph.parse(program.text)
    wanted = computed(graph, program)
    _as_one(graph)
    function = NativeFunction.of("f", graph._handle)
    for _ in range(4):  # general code, profiled, then specialised
        inputs = program.inputs()
        found = [*function.call(inputs), *inputs]
        assert all(map(close, found, wanted)), f"{program.text}\n{function.graph_for(inputs)}"


def _as_one(graph: Graph) -> None:
    """A function returns one value: a tuple."""
    results = graph.outputs()
    graph.setInsertPoint(graph.block())
    made = graph.create("prim::TupleConstruct", results).output()
    made.setType(f"({', '.join(one.type() for one in results)})")
    for i in reversed(range(len(results))):
        number_of(lib.uh_block_drop_return(graph._handle, graph.block()._id, i))
    graph.registerOutput(made)
