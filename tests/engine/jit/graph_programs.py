"""Random graphs as text, and what a graph means: an evaluator that knows only its snapshot.

Every pass is tried on both: what a graph computes before and after must be the same.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st

import engine
from engine import nn
from engine._native import lib
from engine.jit.c_results import c_integer

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((), (3,), (1, 3), (2, 3), (3, 3), (0, 3))
# Names of types, PyTorch's code for them in graphs, and a type to convert by way of.
DTYPES = {
    engine.float32: ("Float", 6, 7),
    engine.float64: ("Double", 7, 6),
    engine.bfloat16: ("BFloat16", 15, 6),
}
UNARY = ("tanh", "sigmoid", "relu", "neg", "sin", "abs", "selu")


# What a graph means


def evaluate(snapshot: dict[str, Any], inputs: list[Any]) -> list[Any]:
    """Evaluate the graph of a snapshot node by node."""
    values: dict[int, Any] = {}
    return _run_block(snapshot["block"], inputs, values)


def _run_block(block: dict[str, Any], args: list[Any], values: dict[int, Any]) -> list[Any]:
    for param, arg in zip(block["params"], args, strict=True):
        values[param["id"]] = arg
    for node in block["nodes"]:
        inputs = [values[i] for i in node["inputs"]]
        result = _run_node(node, inputs, values)
        for output, value in zip(node["outputs"], result, strict=True):
            values[output["id"]] = value
    return [values[i] for i in block["returns"]]


def _run_node(node: dict[str, Any], inputs: list[Any], values: dict[int, Any]) -> list[Any]:
    kind = node["kind"]
    if kind == "prim::Constant":
        return [_constant(node)]
    if kind == "prim::ListConstruct":
        return [inputs]
    if kind == "prim::TupleConstruct":
        return [tuple(inputs)]
    if kind in ("prim::TupleUnpack", "prim::ListUnpack"):
        return list(inputs[0])
    if kind == "prim::If":
        return _run_block(node["blocks"][0 if inputs[0] else 1], [], values)
    if kind == "prim::Loop":
        maximum, go, *carried = inputs
        i = 0
        while go and i < maximum:
            go, *carried = _run_block(node["blocks"][0], [i, *carried], values)
            i += 1
        return carried
    if kind == "prim::FusionGroup":
        return evaluate(node["graphs"]["Subgraph"], inputs)
    result = OPERATORS[kind.removeprefix("aten::")](*inputs)
    return [result] if node["outputs"] else []


def _constant(node: dict[str, Any]) -> Any:
    text = node["attributes"].get("value")
    if text is None:
        return None
    value = ast.literal_eval(text)
    return bool(value) if node["outputs"][0]["type"] == "bool" else value


def _to(x: Any, code: int, *_: Any) -> Any:
    return x.to({code: dtype for dtype, (_, code, _) in DTYPES.items()}[code])


OPERATORS: dict[str, Any] = {
    **{name: getattr(engine, name) for name in (*UNARY, "mul", "gt", "mm", "where")},
    "add": lambda x, y, alpha=None: x + y if alpha is None else engine.add(x, y, alpha=alpha),
    "sub": lambda x, y, alpha=None: x - y if alpha is None else engine.sub(x, y, alpha=alpha),
    "sum": lambda x, dim, keepdim, dtype: engine.sum(x, dim, keepdim),
    "mean": lambda x, dim, keepdim, dtype: engine.mean(x, dim, keepdim),
    "elu": engine.ops.aten.elu,
    "t": lambda x: x.t(),
    "add_": lambda x, y, alpha: x.add_(y, alpha=alpha),
    "mul_": lambda x, y: x.mul_(y),
    "relu_": lambda x: x.relu_(),
    "linear": nn.functional.linear,
    "lt": lambda a, b: a < b,
    "floordiv": lambda a, b: a // b,
    "to": _to,
    "_to_copy": _to,
}


def as_one(graph: Any) -> None:
    """A function returns one value: a tuple."""
    results = graph.outputs()
    graph.setInsertPoint(graph.block())
    produced = graph.create("prim::TupleConstruct", results).output()
    produced.setType(f"({', '.join(result.type() for result in results)})")
    for i in reversed(range(len(results))):
        c_integer(lib.uh_block_drop_return(graph._handle, graph.block()._id, i))
    graph.registerOutput(produced)


# Random programs


@dataclass
class Writer:
    """Grows the text of a graph; knows the shapes of its tensors and its ints."""

    draw: Any
    dtype: Any
    lines: list[str] = field(default_factory=list)
    tensors: list[tuple[str, Shape]] = field(default_factory=list)
    ints: list[str] = field(default_factory=list)
    depth: int = 1
    count: int = 0

    def emit(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"%{letter}{self.count}"

    def constant(self, type: str, value: Any) -> str:
        name = self.fresh("k")
        output = "" if value is None else f"[value={value}]"
        self.emit(f"{name} : {type} = prim::Constant{output}()")
        return name

    def tensor(self, shape: Shape | None = None) -> tuple[str, Shape]:
        candidates = [t for t in self.tensors if shape is None or t[1] == shape]
        return candidates[self.draw(st.integers(0, len(candidates) - 1))]

    def emit_tensor(self, call: str, shape: Shape) -> tuple[str, Shape]:
        name = self.fresh("v")
        self.emit(f"{name} : Tensor = aten::{call}")
        self.tensors.append((name, shape))
        return name, shape

    def statement(self) -> None:
        kinds = [self.unary, self.binary, self.binary, self.choose, self.fold, self.product]
        kinds += [self.write, self.convert]
        if self.depth < 5:
            kinds += [self.branch, self.loop]
        self.draw(st.sampled_from(kinds))()

    def unary(self) -> None:
        x, shape = self.tensor()
        self.emit_tensor(f"{self.draw(st.sampled_from(UNARY))}({x})", shape)

    def binary(self) -> None:
        x, a = self.tensor()
        y, b = self.tensor()
        try:
            shape = tuple(engine.broadcast_shapes(a, b))
        except RuntimeError:
            y, shape = x, a
        op = self.draw(st.sampled_from(("add", "sub", "mul")))
        alpha = "" if op == "mul" else f", {self.constant('int', self.draw(st.integers(1, 2)))}"
        self.emit_tensor(f"{op}({x}, {y}{alpha})", shape)

    def choose(self) -> None:
        x, shape = self.tensor()
        mask, _ = self.emit_tensor(f"gt({x}, {self.constant('int', 0)})", shape)
        self.tensors.pop()  # it is a mask, not a float
        y, _ = self.tensor(shape)
        self.emit_tensor(f"where({mask}, {x}, {y})", shape)

    def fold(self) -> None:
        x, shape = self.tensor()
        if not shape:
            return
        dim = self.draw(st.sampled_from([None, *range(-len(shape), 0)]))
        keep = self.draw(st.booleans())
        if dim is None:
            dims, left = self.constant("NoneType", None), (1,) * len(shape) if keep else ()
        else:
            item, dims = self.constant("int", dim), self.fresh("l")
            self.emit(f"{dims} : int[] = prim::ListConstruct({item})")
            at = dim + len(shape)
            left = (*shape[:at], *((1,) if keep else ()), *shape[at + 1 :])
        flag, none = self.constant("bool", int(keep)), self.constant("NoneType", None)
        result, _ = self.emit_tensor(
            f"{self.draw(st.sampled_from(('sum', 'mean')))}({x}, {dims}, {flag}, {none})", left
        )
        if left not in SHAPES:
            self.tensors.pop()
            self.emit_tensor(f"tanh({result})", left)
            self.tensors.pop()

    def product(self) -> None:
        known = [t for t in self.tensors if len(t[1]) == 2 and t[1][1] == 3]
        if not known:
            return
        x, a = known[self.draw(st.integers(0, len(known) - 1))]
        y, b = known[self.draw(st.integers(0, len(known) - 1))]
        turned, _ = self.emit_tensor(f"t({y})", b[::-1])
        self.tensors.pop()
        result, shape = self.emit_tensor(f"mm({x}, {turned})", (a[0], b[0]))
        self.tensors.pop()
        scale = self.constant("float", 0.125)
        self.emit_tensor(f"mul({result}, {scale})", shape)
        if shape not in SHAPES:
            self.tensors.pop()

    def write(self) -> None:
        x, _shape = self.tensor()
        y = self.constant("int", self.draw(st.integers(1, 2)))
        mode = self.draw(st.integers(0, 2))
        if mode == 0:
            self.emit(f" = aten::mul_({x}, {y})")
        elif mode == 1:
            self.emit(f" = aten::relu_({x})")
        else:
            self.emit(f" = aten::add_({x}, {y}, {self.constant('int', 1)})")

    def convert(self) -> None:
        x, shape = self.tensor()
        no, none = self.constant("bool", 0), self.constant("NoneType", None)
        _, own, other = DTYPES[self.dtype]
        result, _ = self.emit_tensor(
            f"to({x}, {self.constant('int', other)}, {no}, {no}, {none})", shape
        )
        self.tensors.pop()
        self.emit_tensor(f"to({result}, {self.constant('int', own)}, {no}, {no}, {none})", shape)

    def within(self, indent: int) -> tuple[list[tuple[str, Shape]], list[str]]:
        """Some statements of a block; what was there before is found again after it."""
        tensors, ints = list(self.tensors), list(self.ints)
        self.depth += indent
        for _ in range(self.draw(st.integers(0, 3))):
            self.statement()
        self.depth -= indent
        return tensors, ints

    def branch(self) -> None:
        _x, shape = self.tensor()
        number = self.draw(st.sampled_from(self.ints))
        test, result = self.fresh("b"), self.fresh("v")
        self.emit(f"{test} : bool = aten::lt({number}, {self.constant('int', 2)})")
        self.emit(f"{result} : Tensor = prim::If({test})")
        for block in range(2):
            self.emit(f"  block{block}():")
            before = self.within(2)
            self.emit(f"    -> ({self.tensor(shape)[0]})")
            self.tensors, self.ints = before
        self.tensors.append((result, shape))

    def loop(self) -> None:
        x, shape = self.tensor()
        known = self.draw(st.booleans())
        maximum = (
            self.constant("int", self.draw(st.integers(0, 3)))
            if known
            else self.draw(st.sampled_from(self.ints))
        )
        yes, result = self.constant("bool", 1), self.fresh("v")
        i, carried = self.fresh("i"), self.fresh("c")
        self.emit(f"{result} : Tensor = prim::Loop({maximum}, {yes}, {x})")
        self.emit(f"  block0({i} : int, {carried} : Tensor):")
        saved = list(self.tensors), list(self.ints)
        self.tensors.append((carried, shape))
        self.ints.append(i)
        self.within(2)
        self.emit(f"    -> ({yes}, {self.tensor(shape)[0]})")
        self.tensors, self.ints = saved
        self.tensors.append((result, shape))


@dataclass(frozen=True)
class Program:
    """A graph's text, and inputs for it."""

    text: str
    shapes: tuple[Shape, ...]
    ints: tuple[int, ...]
    seed: int
    dtype: Any

    def inputs(self) -> list[Any]:
        generator = engine.Generator().manual_seed(self.seed)
        tensors = [engine.randn(s, generator=generator).to(self.dtype) for s in self.shapes]
        return [*tensors, *self.ints]


def type_of(dtype: Any, shape: Shape, exact: bool) -> str:
    return f"{DTYPES[dtype][0]}({', '.join(str(n) if exact else '*' for n in shape)})"


@st.composite
def programs(draw: Any, typed: bool = True) -> Program:
    """Programs of a dozen statements over tensors of one dtype and two ints."""
    shapes = tuple(draw(st.sampled_from(SHAPES)) for _ in range(3))
    exact = draw(st.booleans())
    dtype = draw(st.sampled_from(list(DTYPES)))
    writer = Writer(draw, dtype)
    writer.tensors = [(f"%x{i}", shape) for i, shape in enumerate(shapes)]
    writer.ints = ["%n", "%m"]
    for _ in range(draw(st.integers(3, 12))):
        writer.statement()
    results = [name for name, _ in writer.tensors[3:][-3:]] or ["%x0"]
    params = [
        f"%x{i} : {type_of(dtype, s, exact) if typed else 'Tensor'}" for i, s in enumerate(shapes)
    ]
    head = f"graph({', '.join(params)}, %n : int, %m : int):\n"
    tail = f"\n  return ({', '.join(results)})\n"
    ints = (draw(st.integers(0, 3)), draw(st.integers(0, 3)))
    return Program(
        head + "\n".join(writer.lines) + tail, shapes, ints, draw(st.integers(0, 9)), dtype
    )
