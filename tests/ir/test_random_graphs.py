"""Random graphs of views, writes in place, lists, branches and loops: no pass changes what is seen of them.

`UNDERHOOD_GRAPHS=5000 pytest tests/ir/test_random_graphs.py` looks at more of them, UNDERHOOD_GRAPHS_FIRST=7000 at
others. The inputs are two tensors apart, or two views of one.
"""

from __future__ import annotations

import os
from random import Random

import pytest

import engine
from tests.ir.test_results import INEXACT, comparable, parts

Graph = engine.jit.Graph
COUNT = int(os.environ.get("UNDERHOOD_GRAPHS", "200"))
FIRST = int(os.environ.get("UNDERHOOD_GRAPHS_FIRST", "0"))
SHARE = 20  # graphs per test
# The order in which they follow each other matters as well: what one leaves, the next finds.
PASSES = [
    "peephole",
    "cse",
    "constant_propagation",
    "fold_constant_branches",
    "lower_all_tuples",
    "dce",
]
# And all others but those that sum in another order: a tolerance is for tests/engine/jit.
PASSES += sorted({*engine.jit.passes(), *PASSES} - {*PASSES, *INEXACT})

NEW = ["relu(%{a})", "neg(%{a})", "mul(%{a}, %{b})", "add(%{a}, %{b}, %one)", "clone(%{a}, %none)"]
NEW += ["mul(%{a}, %one)", "sub(%{a}, %zero, %one)"]
VIEW = ["t(%{a})", "transpose(%{a}, %zero, %one)", "reshape(%{a}, %size)", "detach(%{a})"]
VIEW += ["contiguous(%{a}, %none)", "slice(%{a}, %zero, %none, %none, %one)"]
VIEW += ["expand(%{a}, %size, %false)", "unsqueeze(%{a}, %zero)", "permute(%{a}, %turned)"]
WRITE = ["mul_(%{a}, %two)", "neg_(%{a})", "add_(%{a}, %{b}, %one)", "copy_(%{a}, %{b}, %false)"]
TYPE = "Float(3, 3, strides=[3, 1], requires_grad=0, device=cpu)"
CONSTANTS = """  %none : NoneType = prim::Constant()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %size : int[] = prim::Constant[value=[3, 3]]()
  %turned : int[] = prim::Constant[value=[1, 0]]()
"""


class Writer:
    """The text of a graph. Every tensor is 3 x 3, so that any may stand anywhere."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.count = 0
        self.calls: list[tuple[str, str, str]] = []  # what was computed, to be computed again

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}.1"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def node(self, depth: int, tensors: list[str], lists: list[str]) -> None:
        """Write one more node; its results are added to the values in scope."""
        random = self.random
        a, b, result = random.choice(tensors), random.choice(tensors), self.name()
        kind = random.choices(
            ["new", "view", "write", "list", "append", "item", "if", "loop"],
            [6, 6, 4, 1, 2, 2, 1.5 if depth < 4 else 0, 1.5 if depth < 4 else 0],
        )[0]
        if kind in ("new", "view"):
            call = random.choice(NEW if kind == "new" else VIEW).format(a=a, b=b)
            again = [old for old in self.calls if old[0] in tensors and old[1] in tensors]
            if again and random.random() < 0.3:
                a, b, call = random.choice(again)
            self.calls.append((a, b, call))
            if "unsqueeze" in call:
                self.line(depth, f"%u{result} : Tensor = aten::{call}")
                self.line(depth, f"%u{result}l : int[] = prim::ListConstruct(%zero)")
                call = f"squeeze(%u{result}, %u{result}l)"
            self.line(depth, f"%{result} : Tensor = aten::{call}")
            tensors.append(result)
        elif kind == "write":
            self.line(depth, " = aten::" + random.choice(WRITE).format(a=a, b=b))
        elif kind == "list":
            self.line(depth, f"%{result} : Tensor[] = prim::ListConstruct(%{a}, %{b})")
            lists.append(result)
        elif kind == "append" and lists:
            self.line(depth, f"%{result} : Tensor[] = aten::append(%{random.choice(lists)}, %{a})")
        elif kind == "item" and lists:
            index = random.choice(["zero", "one"])
            retained = random.choice(lists)
            self.line(depth, f"%{result} : Tensor = aten::__getitem__(%{retained}, %{index})")
            tensors.append(result)
        elif kind == "if":
            condition = random.choice(["yes", "yes", "true", "false"])
            self.line(depth, f"%{result} : Tensor, %l{result} : Tensor[] = prim::If(%{condition})")
            for i in range(2):
                self.line(depth + 1, f"block{i}():")
                self.body(depth + 2, tensors, [*lists], ends="")
            tensors.append(result)
            lists.append("l" + result)
        elif kind == "loop":
            trips, again = self.random.choice(["two", "two", "n", "zero"]), self.name()
            self.line(
                depth,
                f"%{result} : Tensor, %l{result} : Tensor = prim::Loop(%{trips}, %true, %{a}, %{b})",
            )
            self.line(
                depth + 1, f"block0(%i{result} : int, %{again} : Tensor, %l{again} : Tensor):"
            )
            self.body(depth + 2, [*tensors, again, "l" + again], [*lists], ends="%true")
            tensors += [result, "l" + result]

    def body(self, depth: int, tensors: list[str], lists: list[str], ends: str) -> None:
        tensors = [*tensors]
        for _ in range(self.random.randint(0, 4)):
            self.node(depth, tensors, lists)
        a, b = self.random.choice(tensors), self.random.choice(tensors)
        if ends:
            self.line(depth, f"-> ({ends}, %{a}, %{b})")
            return
        retained = self.random.choice([*lists, ""])
        if not retained:
            retained = self.name()
            self.line(depth, f"%{retained} : Tensor[] = prim::ListConstruct(%{a}, %{b})")
        self.line(depth, f"-> (%{a}, %{retained})")


def text_of(seed: int) -> str:
    writer = Writer(Random(seed))
    tensors, lists = ["x", "y"], []
    for _ in range(writer.random.randint(3, 14)):
        writer.node(1, tensors, lists)
    seen = writer.random.sample(tensors, min(len(tensors), 3)) + lists[:1]
    returned = ", ".join("%" + name for name in seen)
    body = "\n".join(writer.lines) + "\n"
    head = f"graph(%x : {TYPE}, %y : {TYPE}, %yes : bool, %n : int):\n"
    return f"{head}{CONSTANTS}{body}  return ({returned})\n"


def ran(graph: Graph, seed: int, apart: bool) -> tuple[list[object], list[int]] | None:
    """Returned values and inputs, and which are one memory; None where a write meets itself turned."""
    x = engine.arange(9.0).reshape(3, 3) - 4
    y = engine.arange(9.0).reshape(3, 3) * 0.25 if apart else x.view(3, 3)
    try:
        actual = [x, y, *parts(graph.run(x, y, seed % 2 == 0, seed % 3))]
    except RuntimeError as error:
        if "refer to a single memory location" not in str(error):
            raise
        return None
    memory = [element.untyped_storage().data_ptr() for element in actual]
    return [comparable(item) for item in actual], [memory.index(entry) for entry in memory]


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, SHARE))
def test_no_pass_changes_what_is_seen(first: int) -> None:
    for seed in range(first, min(first + SHARE, FIRST + COUNT)):
        text = text_of(seed)
        expected = [ran(Graph.parse(text), seed, apart) for apart in (True, False)]
        chain = Graph.parse(text)
        with_types = seed % 2 == 1  # what is known of the inputs is known of everything
        if with_types:
            engine.jit.run_pass(chain, "propagate_shapes")
        for name in PASSES:
            alone = Graph.parse(text)
            if with_types:
                engine.jit.run_pass(alone, "propagate_shapes")
            for graph in (alone, chain):
                if not engine.jit.run_pass(graph, name):
                    continue
                which = "alone" if graph is alone else "after the passes before it"
                for apart, item in zip((True, False), expected, strict=True):
                    actual = ran(graph, seed, apart) if item else None
                    assert actual == item, f"seed {seed}, {name} {which}:\n{text}\n{graph}"
