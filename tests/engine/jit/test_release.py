"""Compiled functions, graphs, classes, code and memory are freed with their last reference."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine
from engine import nn
from engine._native import lib
from engine.inspect import live

TIMES = 20  # a leak of every call shows at once, one of some calls soon
KINDS = ("function", "graph", "class", "code")


def alive() -> dict[str, int]:
    """Count the objects of each kind, once everything unreachable was collected."""
    for _ in range(3):  # a ScriptModule and its methods know each other
        gc.collect()
    counts = {kind: int(lib.uh_jit_alive(kind.encode())) for kind in KINDS}
    return counts | {"bytes": live.allocator_stats("pool").live_bytes}


class Cell(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.deep = nn.Linear(size, size)

    def forward(self, x: engine.Tensor) -> engine.Tensor:
        return self.helper(self.deep(x))

    def helper(self, x: engine.Tensor) -> engine.Tensor:
        return x.relu() + x


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([Cell(3), Cell(3)])

    def forward(self, x: engine.Tensor) -> engine.Tensor:
        for cell in self.cells:
            x = cell(x)
        return x


def scripted_module(folder: Path) -> None:
    module = engine.jit.script(Reader())
    for _ in range(4):
        module(engine.ones(2, 3))
    module(engine.ones(2, 3)).sum().backward()


def structures_of_their_own(folder: Path) -> None:
    class Local(nn.Module):
        def forward(self, x: engine.Tensor) -> engine.Tensor:
            return x * 2

    engine.jit.script(Local())(engine.ones(2))


def traced_module(folder: Path) -> None:
    module = engine.jit.trace(Reader(), engine.ones(2, 3))
    for _ in range(4):
        module(engine.ones(4, 3))


def scripted_function(folder: Path) -> None:
    def helper(x: engine.Tensor) -> engine.Tensor:
        return x.exp() + 1

    def looped(x: engine.Tensor, n: int) -> engine.Tensor:
        for _ in range(n):
            x = helper(x)
        return x

    compiled = engine.jit.script(looped)
    for _ in range(4):
        compiled(engine.ones(3), 2)
    compiled(engine.ones(3, requires_grad=True), 2).sum().backward()


def traced_function(folder: Path) -> None:
    constant = engine.arange(4.0)
    compiled = engine.jit.trace(lambda x: x * constant + 1, engine.ones(4))
    for _ in range(4):
        compiled(engine.ones(4))


def loaded(folder: Path) -> None:
    path = folder / "m.safetensors"
    engine.jit.save(engine.jit.script(Reader()), path)
    module = engine.jit.load(path)
    module(engine.ones(2, 3))
    engine.jit.freeze(module.eval())(engine.ones(2, 3))


def graphs(folder: Path) -> None:
    module = engine.jit.script(Reader())
    saved = [module.graph.copy(), module.inlined_graph, module.graph_for(engine.ones(2, 3))]
    assert all(str(graph) for graph in saved)


def refused(folder: Path) -> None:
    class Odd(nn.Module):
        def forward(self, x: engine.Tensor) -> engine.Tensor:
            return eval("x")  # type: ignore[no-any-return]

    with pytest.raises(RuntimeError):
        engine.jit.script(Odd())


def with_python_inside(folder: Path) -> None:
    @engine.jit.ignore
    def plain(x: engine.Tensor) -> engine.Tensor:
        return x + 1

    def compiled(x: engine.Tensor) -> engine.Tensor:
        return plain(x) * 2

    engine.jit.script(compiled)(engine.ones(2))


@pytest.mark.parametrize(
    "make",
    [
        scripted_module,
        structures_of_their_own,
        traced_module,
        scripted_function,
        traced_function,
        loaded,
        graphs,
        refused,
        with_python_inside,
    ],
)
def test_nothing_is_left(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path)  # the engine's own functions are compiled once, and stay
    before = alive()
    for _ in range(TIMES):
        make(tmp_path)
    assert alive() == before


def test_a_method_stays_as_long_as_its_module() -> None:
    graph = engine.jit.script(Reader()).graph
    gc.collect()
    inlined = graph.copy()
    engine.jit.run_pass(inlined, "inline")
    kinds = [node.kind() for node in inlined.nodes()]
    assert "prim::CallMethod" in [node.kind() for node in graph.nodes()]
    assert "prim::CallMethod" not in kinds


def test_a_part_of_a_module_outlives_it() -> None:
    part: Any = getattr(engine.jit.script(Reader()).cells, "0")
    gc.collect()
    assert part(engine.ones(2, 3)).shape == (2, 3)


def test_a_second_module_shares_the_class_of_the_first() -> None:
    first = engine.jit.script(Cell(3))
    before = alive()["class"]
    second = engine.jit.script(Cell(3))
    assert alive()["class"] == before
    assert first._script_class == second._script_class


@pytest.mark.parametrize(
    "program",
    [
        """
        import engine
        x = engine.ones(2, requires_grad=True)
        y = (x * 2).exp()
        node, after = y.grad_fn, y.grad_fn.next_functions[0][0]
        kept = [node]; kept.append(kept)
        """,
        """
        import engine
        @engine.jit.script
        def f(x):
            return x + 1
        y = f(engine.ones(2, requires_grad=True))
        graph, node = f.graph, y.grad_fn
        class Holder:
            def __init__(self): self.me, self.held = self, (f, graph, node)
        holder = Holder()
        """,
    ],
    ids=["nodes", "compiled"],
)
def test_the_end_of_python_is_silent(program: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
