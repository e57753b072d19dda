"""The text of graphs: parsed, printed as it was, rejected with the position; also PyTorch's."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest

import engine
from engine.jit.ir.graph import Graph
from engine.jit.runtime.function import NativeFunction

LOOP = """\
graph(%x.1 : Float(2, 3),
      %n.1 : int):
  %true : bool = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=1]() # model.py:3:15
  %y : Tensor = prim::Loop(%n.1, %true, %x.1) # model.py:4:4
    block0(%i.1 : int, %c : Tensor):
      %7 : bool = aten::gt(%i.1, %1)
      %8 : Tensor = prim::If(%7) # model.py:5:8
        block0():
          %9 : Tensor = aten::add(%c, %i.1, %1)
          -> (%9)
        block1():
          -> (%c)
      -> (%true, %8)
  return (%y)
"""


def test_a_graph_is_written_as_it_was_read() -> None:
    graph = Graph.parse(LOOP)
    assert str(graph) == LOOP
    graph.lint()
    add = graph.findNode("aten::add")
    assert add is not None
    assert add.schema().startswith("add.Tensor(")
    loop = graph.findNode("prim::Loop")
    assert loop is not None
    assert loop.sourceRange() == "model.py:4:4"


def test_a_graph_that_was_read_runs() -> None:
    x = engine.ones(2, 3)
    graph = Graph.parse(LOOP)
    run = NativeFunction.of("loop", graph._handle)
    assert engine.equal(run.call([x, 4]), x + 2 + 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%1 : Tensor = aten::rleu(%x)", "line 2, column 17: there is no operator aten::rleu"),
        ("%1 : Tensor = aten::relu(%y)", "line 2, column 28: %y is not defined"),
        ("%1 : Tensor = aten::relu(%n)", "argument 'self' is a Tensor, and is given a int"),
        ("%1 : Tnsor = aten::relu(%x)", "line 2, column 8: unknown type specifier Tnsor"),
        ('%1 : int = prim::Constant[value="a"]()', "expected int, not a str"),
        ("%1 : Tensor = aten::relu(%x", "expected ',' or ')', not 'return'"),
        ("%1 : bool = prim::If(%n)", "it has 2 blocks, not 0"),
    ],
)
def test_a_wrong_graph_is_refused_with_the_place(line: str, message: str) -> None:
    with pytest.raises(RuntimeError) as error:
        Graph.parse(f"graph(%x : Tensor, %n : int):\n  {line}\n  return (%x)\n")
    assert message in str(error.value)


def nested_groups(n: int) -> str:
    text = "graph(%x : Tensor):\n  %1 : Tensor = prim::FusionGroup_0(%x)\n  return (%1)\n"
    for i in range(n):
        kind = f"prim::FusionGroup_{i + 1}" if i + 1 < n else "aten::relu"
        text += f"with prim::FusionGroup_{i} = graph(%x : Tensor):\n"
        text += f"  %1 : Tensor = {kind}(%x)\n  return (%1)\n"
    return text


def test_a_group_within_a_group_is_refused() -> None:
    assert "FusionGroup_0" in str(Graph.parse(nested_groups(1)))
    for n in (2, 50_000):  # what follows each into the next would need a stack as deep
        with pytest.raises(RuntimeError, match="a group holds no group"):
            Graph.parse(nested_groups(n))


def nested_branches(n: int) -> str:
    opened = "".join(
        f"  %{3 * i} : int = prim::Constant[value={i}]()\n"
        f"  %{3 * i + 1} : bool = aten::eq(%n, %{3 * i})\n"
        f"  %{3 * i + 2} : int = prim::If(%{3 * i + 1})\n"
        f"  block0():\n    -> (%{3 * i})\n"
        "  block1():\n"
        for i in range(n)
    )
    closed = "".join(f"    -> (%{3 * i + 2 if i < n else 'n'})\n" for i in range(n, 0, -1))
    return f"graph(%n : int):\n{opened}{closed}  return (%2)\n"


def test_a_long_row_of_elif_is_read_back_and_an_endless_one_refused() -> None:
    graph = Graph.parse(nested_branches(300))
    assert str(Graph.parse(str(graph))) == str(graph)
    assert [graph.run(i) for i in (0, 7, 299, 300)] == [0, 7, 299, 300]
    with pytest.raises(RuntimeError, match="nested too deeply"):
        Graph.parse(nested_branches(20_000))


def read(text: str) -> tuple[str, str]:
    """Return the printed graph, or the reason why its text is rejected."""
    try:
        return str(Graph.parse(text)), ""
    except RuntimeError as error:
        return "", str(error)


def test_damaged_texts_are_refused_or_read() -> None:
    draw = random.Random(0)
    for _ in range(2000):
        text = LOOP
        for _ in range(draw.randrange(1, 5)):
            at, n = draw.randrange(len(text)), draw.randrange(1, 9)
            subject = draw.choice(["", draw.choice("()[]%:,=->#"), text[at : at + n] * 2])
            text = text[:at] + subject + text[at + n :]
        written, refused = read(text)
        assert refused.startswith("graph: ") or read(written) == (written, "")


PROGRAMS = """
from typing import Dict, List, Optional, Tuple

import torch


def branch(x, n: int):
    if n > 2:
        y = torch.relu(x) * 2
    else:
        y = x - 1.5
    return y


def loop(x, n: int):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        total += i
        x = x @ x
    return x, total


def containers(names: List[str], sizes: Dict[str, int], other: Optional[int]):
    count = 0
    for name in names:
        if name in sizes:
            count += sizes[name] // 2
    if other is not None:
        count -= other
    names.append("{} of {}".format(count, 2.5))
    return names, (count, -count ** 2, [1.0, 2.5], max(count, 3))


def strings(a: str, b: float):
    parts = a.strip().split(",")
    return ("x" in a, parts[-1].upper(), f"{b}", a[1:3], len(a), int(b), a < "z")

"""


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_graphs_of_pytorch_are_read(tmp_path: Path) -> None:
    """PyTorch's graphs are parsed, and printed as PyTorch prints them, except for operators that take
    other arguments here (torch.sum's overloads are one operator)."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "tests.engine.jit.programs.py"
    path.write_text(PROGRAMS)
    spec = importlib.util.spec_from_file_location("programs_of_pytorch", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("branch", "loop", "containers", "strings"):
        text = str(torch.jit.script(getattr(module, name)).graph)
        assert str(Graph.parse(text)) == text
