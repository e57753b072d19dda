"""The feeding rules against the engine itself: poison one input cell, see which output cells change.

A NaN goes wherever its cell is read, so for floats the rule must name exactly the cells that change;
an index or a mask is changed to another value, and then what changes must be among the cells named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import engine
import engine.nn.functional as F
from engine._generated.declarations import OPERATORS
from engine.inspect import live
from engine.inspect.models._dependencies import OpCall, base_name, rule_of

Args = dict[str, Any]
Rng = np.random.Generator


@dataclass(frozen=True)
class Fact:
    """A tensor as a rule sees it."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    itemsize: int
    storage: int


@dataclass(frozen=True)
class Case:
    """`name` is the operator's full name, `make` its arguments by their names in the schema."""

    name: str
    run: Callable[[Args], Any]
    make: Callable[[Rng], Args]
    writes: bool = False  # an index says where to write: another one would change other cells
    exact: bool = True  # poison shows wherever the cell is used; not so where it is chosen by value
    outs: tuple[int, ...] = (0,)
    poison: float = float("nan")


def floats(r: Rng, *sizes: int) -> engine.Tensor:
    """Values with both signs, in one of several layouts of the same sizes."""
    values = r.normal(size=sizes).astype(np.float32)
    layout = r.integers(3)
    if layout == 1 and len(sizes) > 1:  # columns side by side
        order = tuple(reversed(range(len(sizes))))
        return engine.from_numpy(np.ascontiguousarray(values.transpose(order))).permute(order)
    if layout == 2 and sizes:  # every second element of something larger
        wide = np.repeat(values, 2, axis=-1)
        return engine.from_numpy(wide)[..., ::2]
    return engine.tensor(values.tolist()).view(sizes)


def ints(r: Rng, high: int, *sizes: int) -> engine.Tensor:
    return engine.tensor(r.integers(0, high, size=sizes).tolist()).view(sizes)


def bools(r: Rng, *sizes: int) -> engine.Tensor:
    return ints(r, 2, *sizes).to(engine.bool)


def f(*sizes: int, **more: Any) -> Callable[[Rng], Args]:
    """One tensor `self` of these sizes, and constants."""
    return lambda r: {"self": floats(r, *sizes), **more}


def pair(a: str, first: tuple, b: str, second: tuple, **more: Any) -> Callable[[Rng], Args]:
    return lambda r: {a: floats(r, *first), b: floats(r, *second), **more}


def method(name: str, *names: str) -> Callable[[Args], Any]:
    """`self.name(arguments in this order)`."""
    return lambda a: getattr(a["self"], name)(*(a[n] for n in names))


ZERO_TIMES = 1e3  # padding may be multiplied as zeros: a NaN of the weight would show there

CASES = [
    # pointwise, with broadcasting
    Case("add.Tensor", lambda a: engine.add(a["self"], a["other"], alpha=2),
         pair("self", (2, 1, 3), "other", (4, 1), alpha=2)),
    Case("mul.Tensor", method("mul", "other"), pair("self", (3,), "other", (2, 3))),
    Case("exp", method("exp"), f(2, 3)),
    Case("where.self", lambda a: engine.where(a["condition"], a["self"], a["other"]),
         lambda r: {"condition": bools(r, 2, 3), "self": floats(r, 3), "other": floats(r, 2, 1)}, exact=False),
    Case("masked_fill.Scalar", method("masked_fill", "mask", "value"),
         lambda r: {"self": floats(r, 2, 3), "mask": bools(r, 3), "value": 7.0}, exact=False),
    Case("clone", method("clone"), f(3, 2)),
    # reductions and scans
    Case("sum", lambda a: a["self"].sum(a["dim"]), f(2, 3, 4, dim=(0, -1))),
    Case("sum", lambda a: a["self"].sum(a["dim"], True), f(2, 3, dim=(1,), keepdim=True)),
    Case("sum", method("sum"), f(2, 3)),
    Case("mean", method("mean", "dim"), f(2, 3, dim=0)),
    Case("prod", method("prod", "dim"), f(2, 3, dim=1)),
    Case("amax", method("amax", "dim"), f(3, 2, dim=1)),
    Case("max.dim", method("max", "dim"), f(3, 2, dim=0), exact=False, outs=(0, 1)),
    Case("argmin", method("argmin", "dim"), f(3, 2, dim=0), exact=False),
    Case("var.dim", method("var", "dim"), f(3, 4, dim=1)),
    Case("logsumexp", method("logsumexp", "dim"), f(3, 4, dim=1)),
    Case("cumsum", method("cumsum", "dim"), f(2, 4, dim=1)),
    Case("cumprod", method("cumprod", "dim"), f(4, 2, dim=-2)),
    Case("softmax.int", method("softmax", "dim"), f(2, 3, dim=1)),
    Case("log_softmax.int", method("log_softmax", "dim"), f(2, 3, dim=0)),
    Case("sort", method("sort", "dim"), f(2, 4, dim=1), exact=False, outs=(0, 1)),
    Case("topk", method("topk", "k", "dim"), f(2, 4, k=2, dim=1), exact=False, outs=(0, 1)),
    Case("trace", method("trace"), f(3, 4)),
    Case("layer_norm", lambda a: F.layer_norm(a["input"], a["normalized_shape"], a["weight"], a["bias"]),
         lambda r: {"input": floats(r, 2, 3), "normalized_shape": (3,), "weight": floats(r, 3), "bias": floats(r, 3)}),
    Case("diff", lambda a: engine.diff(a["self"], dim=a["dim"]), f(3, 4, n=1, dim=0)),
    Case("glu", lambda a: F.glu(a["self"], a["dim"]), f(2, 4, dim=1)),
    Case("gelu", lambda a: F.gelu(a["self"]), f(2, 3)),
    # products
    Case("mm", method("mm", "mat2"), pair("self", (2, 3), "mat2", (3, 4))),
    Case("bmm", method("bmm", "mat2"), pair("self", (2, 2, 3), "mat2", (2, 3, 2))),
    Case("mv", method("mv", "vec"), pair("self", (2, 3), "vec", (3,))),
    Case("dot", method("dot", "tensor"), pair("self", (3,), "tensor", (3,))),
    Case("matmul", method("matmul", "other"), pair("self", (2, 1, 2, 3), "other", (3, 3, 2))),
    Case("matmul", method("matmul", "other"), pair("self", (3,), "other", (2, 3, 2))),
    Case("matmul", method("matmul", "other"), pair("self", (2, 2, 3), "other", (3,))),
    Case("addmm", lambda a: engine.addmm(a["self"], a["mat1"], a["mat2"], beta=2, alpha=3),
         lambda r: {"self": floats(r, 4), "mat1": floats(r, 2, 3), "mat2": floats(r, 3, 4), "beta": 2, "alpha": 3}),
    Case("baddbmm", lambda a: engine.baddbmm(a["self"], a["batch1"], a["batch2"]),
         lambda r: {"self": floats(r, 2, 1), "batch1": floats(r, 2, 2, 3), "batch2": floats(r, 2, 3, 2)}),
    Case("addbmm", lambda a: engine.addbmm(a["self"], a["batch1"], a["batch2"]),
         lambda r: {"self": floats(r, 2, 2), "batch1": floats(r, 2, 2, 3), "batch2": floats(r, 2, 3, 2)}),
    Case("outer", method("outer", "vec2"), pair("self", (2,), "vec2", (3,))),
    Case("addr", lambda a: engine.addr(a["self"], a["vec1"], a["vec2"]),
         lambda r: {"self": floats(r, 2, 3), "vec1": floats(r, 2), "vec2": floats(r, 3)}),
    Case("inner", method("inner", "other"), pair("self", (2, 3), "other", (4, 3))),
    Case("linear", lambda a: F.linear(a["input"], a["weight"], a["bias"]),
         lambda r: {"input": floats(r, 2, 2, 3), "weight": floats(r, 4, 3), "bias": floats(r, 4)}),
    Case("einsum", lambda a: engine.einsum(a["equation"], *a["tensors"]),
         lambda r: {"equation": "bij,bjk->ik", "tensors": [floats(r, 2, 2, 3), floats(r, 2, 3, 2)]}),
    # windows
    Case("conv1d", lambda a: F.conv1d(a["input"], a["weight"], None, a["stride"], a["padding"]),
         lambda r: {"input": floats(r, 1, 2, 5), "weight": floats(r, 2, 2, 3), "stride": (2,),
                    "padding": (1,)}, poison=ZERO_TIMES),
    Case("conv2d",
         lambda a: F.conv2d(a["input"], a["weight"], a["bias"], a["stride"], a["padding"], a["dilation"], a["groups"]),
         lambda r: {"input": floats(r, 1, 2, 4, 5), "weight": floats(r, 2, 1, 2, 2), "bias": floats(r, 2),
                    "stride": (1, 2), "padding": (1, 0), "dilation": (2, 1), "groups": 2}, poison=ZERO_TIMES),
    Case("conv_transpose2d.input",
         lambda a: F.conv_transpose2d(a["input"], a["weight"], a["bias"], a["stride"], a["padding"]),
         lambda r: {"input": floats(r, 1, 2, 2, 3), "weight": floats(r, 2, 1, 3, 2), "bias": floats(r, 1),
                    "stride": (2, 1), "padding": (1, 0)}, poison=ZERO_TIMES),
    Case("avg_pool2d", lambda a: F.avg_pool2d(a["self"], a["kernel_size"], a["stride"], a["padding"]),
         f(1, 1, 4, 5, kernel_size=(2, 3), stride=(2, 1), padding=(1, 1))),
    Case("max_pool2d", lambda a: F.max_pool2d(a["self"], a["kernel_size"]), f(1, 2, 4, 4, kernel_size=(2, 2))),
    Case("max_pool1d", lambda a: F.max_pool1d(a["self"], a["kernel_size"], a["stride"], a["padding"], a["dilation"]),
         f(1, 2, 7, kernel_size=(2,), stride=(2,), padding=(1,), dilation=(2,))),
    Case("adaptive_avg_pool2d", lambda a: F.adaptive_avg_pool2d(a["self"], a["output_size"]),
         f(1, 2, 5, 4, output_size=(3, 2))),
    # indices that are data
    Case("gather", method("gather", "dim", "index"),
         lambda r: {"self": floats(r, 3, 4), "dim": 1, "index": ints(r, 4, 2, 3)}),
    Case("index_select", method("index_select", "dim", "index"),
         lambda r: {"self": floats(r, 3, 4), "dim": 0, "index": ints(r, 3, 5)}),
    Case("embedding", lambda a: F.embedding(a["indices"], a["weight"]),
         lambda r: {"weight": floats(r, 4, 3), "indices": ints(r, 4, 2, 2)}),
    Case("take", method("take", "index"), lambda r: {"self": floats(r, 2, 3), "index": ints(r, 6, 4)}),
    Case("index.Tensor", lambda a: a["self"][:, a["indices"][1], a["indices"][2]],
         lambda r: {"self": floats(r, 2, 3, 4), "indices": [None, ints(r, 3, 2, 1), ints(r, 4, 3)]}),
    Case("index.Tensor", lambda a: a["self"][a["indices"][0], :, a["indices"][2]],
         lambda r: {"self": floats(r, 2, 3, 4), "indices": [ints(r, 2, 2), None, ints(r, 4, 2)]}),
    Case("scatter.src", method("scatter", "dim", "index", "src"),
         lambda r: {"self": floats(r, 3, 4), "dim": 1, "index": ints(r, 4, 2, 3),
                    "src": floats(r, 3, 3)}, exact=False, writes=True),
    Case("scatter_add", method("scatter_add", "dim", "index", "src"),
         lambda r: {"self": floats(r, 3, 4), "dim": 0, "index": ints(r, 3, 2, 3), "src": floats(r, 3, 3)}, writes=True),
    Case("index_add", method("index_add", "dim", "index", "source"),
         lambda r: {"self": floats(r, 3, 2), "dim": 0, "index": ints(r, 3, 4), "source": floats(r, 4, 2)}, writes=True),
    Case("index_copy", method("index_copy", "dim", "index", "source"),
         lambda r: {"self": floats(r, 2, 4), "dim": 1, "index": engine.tensor([2, 0]),
                    "source": floats(r, 2, 2)}, writes=True),
    Case("masked_select", method("masked_select", "mask"),
         lambda r: {"self": floats(r, 2, 3), "mask": engine.tensor([True, False, True])}),
    Case("index_put", lambda a: a["self"].index_put((a["indices"][0],), a["values"], True),
         lambda r: {"self": floats(r, 3, 2), "indices": [ints(r, 3, 4)],
                    "values": floats(r, 4, 2), "accumulate": True}, writes=True),
    # cells that only move
    Case("cat", lambda a: engine.cat(a["tensors"], a["dim"]),
         lambda r: {"tensors": [floats(r, 2, 1), floats(r, 2, 3)], "dim": 1}, writes=True),
    Case("stack", lambda a: engine.stack(a["tensors"], a["dim"]),
         lambda r: {"tensors": [floats(r, 2, 3), floats(r, 2, 3)], "dim": 1}),
    Case("hstack", lambda a: engine.hstack(a["tensors"]),
         lambda r: {"tensors": [floats(r, 2), floats(r, 3)]}),
    Case("hstack", lambda a: engine.hstack(a["tensors"]),
         lambda r: {"tensors": [floats(r, 2, 1), floats(r, 2, 2)]}),
    Case("vstack", lambda a: engine.vstack(a["tensors"]),
         lambda r: {"tensors": [floats(r, 3), floats(r, 2, 3)]}),
    Case("dstack", lambda a: engine.dstack(a["tensors"]),
         lambda r: {"tensors": [floats(r, 2, 3), floats(r, 2, 3, 2)]}),
    Case("dstack", lambda a: engine.dstack(a["tensors"]), lambda r: {"tensors": [floats(r, 3), floats(r, 3)]}),
    Case("column_stack", lambda a: engine.column_stack(a["tensors"]),
         lambda r: {"tensors": [floats(r, 2), floats(r, 2, 2)]}),
    Case("flip", method("flip", "dims"), f(2, 3, dims=(0, -1))),
    Case("roll", lambda a: engine.roll(a["self"], a["shifts"], a["dims"]), f(3, 4, shifts=(1, -2), dims=(0, 1))),
    Case("roll", lambda a: engine.roll(a["self"], a["shifts"]), f(3, 4, shifts=(5,), dims=())),
    Case("repeat", method("repeat", "repeats"), f(2, 3, repeats=(2, 1, 2))),
    Case("tril", method("tril", "diagonal"), f(3, 4, diagonal=1)),
    Case("diag", method("diag", "diagonal"), f(3, diagonal=-1)),
    Case("diag", method("diag", "diagonal"), f(3, 4, diagonal=1)),
    Case("pad", lambda a: F.pad(a["self"], a["pad"]), f(2, 3, pad=(1, -1, 2, 0))),
    Case("pad", lambda a: F.pad(a["self"], a["pad"], a["mode"]), f(1, 2, 4, pad=(2, 3), mode="reflect")),
    Case("pad", lambda a: F.pad(a["self"], a["pad"], a["mode"]), f(1, 2, 4, pad=(1, 2), mode="circular")),
    Case("rot90", lambda a: engine.rot90(a["self"], a["k"], a["dims"]), f(2, 3, k=3, dims=(0, 1))),
    Case("repeat_interleave.self_int", lambda a: a["self"].repeat_interleave(a["repeats"], a["dim"]),
         f(2, 3, repeats=2, dim=1)),
    Case("reshape", method("reshape", "shape"), f(3, 4, shape=(2, 6))),
    # views
    Case("t", method("t"), f(2, 3)),
    Case("permute", method("permute", "dims"), f(2, 3, 4, dims=(2, 0, 1))),
    Case("select.int", method("select", "dim", "index"), f(2, 3, dim=1, index=2)),
    Case("expand", method("expand", "size"), f(2, 1, size=(3, 2, 4))),
    Case("unfold", method("unfold", "dimension", "size", "step"), f(5, 2, dimension=0, size=3, step=1)),
    Case("diagonal", method("diagonal"), f(3, 4)),
    Case("split.Tensor", method("split", "split_size"), f(5, 2, split_size=2), outs=(0, 1, 2)),
]  # fmt: skip
NUMBERED = [pytest.param(case, id=f"{case.name}-{n}") for n, case in enumerate(CASES)]


def fact(t: engine.Tensor) -> Fact:
    return Fact(
        tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.element_size(), live.storage_id(t)
    )


def tensors_of(args: Args) -> Iterator[tuple[str, engine.Tensor]]:
    """Yield the tensors by their names: the items of a list are `tensors[1]`."""
    for name, value in args.items():
        if isinstance(value, engine.Tensor):
            yield name, value
        elif isinstance(value, list):
            yield from ((f"{name}[{i}]", t) for i, t in enumerate(value) if t is not None)


def replaced(args: Args, name: str, tensor: engine.Tensor) -> Args:
    """Return the arguments with another tensor in this place."""
    head, _, position = name.rstrip("]").partition("[")
    if not position:
        return args | {name: tensor}
    return args | {head: [tensor if i == int(position) else t for i, t in enumerate(args[head])]}


def results(case: Case, args: Args) -> tuple[engine.Tensor, ...]:
    result = case.run(args)
    return (
        result
        if isinstance(result, tuple)
        else tuple(result)
        if isinstance(result, list)
        else (result,)
    )


def changed(t: engine.Tensor, index: tuple[int, ...], poison: float) -> engine.Tensor:
    """Return a copy with another value in one cell: the poison, or another index, or the other truth."""
    copy = engine.empty_strided(t.shape, t.stride(), dtype=t.dtype)
    copy.copy_(t)
    if t.dtype == engine.float32:
        value: Any = poison
    elif t.dtype == engine.bool:
        value = not t[index].item()
    else:
        value = (t[index].item() + 1) % max(2, int(t.max().item()) + 1)
    copy[index] = value
    return copy


def cells(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return product(*map(range, sizes))


def array(t: engine.Tensor) -> np.ndarray:
    return np.array(t.tolist())


@pytest.mark.parametrize("case", NUMBERED)
@pytest.mark.parametrize("seed", range(2))
def test_the_rule_names_the_cells_that_matter(case: Case, seed: int) -> None:
    if case.name not in OPERATORS:
        pytest.skip(f"the engine does not declare {case.name}")
    args = case.make(np.random.default_rng(seed))
    tensors = dict(tensors_of(args))
    before = results(case, args)
    for number in case.outs:
        out = before[number]
        call = OpCall(
            op=base_name(case.name),
            overload=case.name.partition(".")[2],
            tensors={name: fact(t) for name, t in tensors.items()},
            values={n: v for n, v in args.items() if not isinstance(v, (engine.Tensor, list))},
            out=fact(out),
            result=number,
            read=lambda name, index: tensors[name][index].item(),
        )
        shares = "self" in tensors and live.storage_id(out) == live.storage_id(tensors["self"])
        rule = rule_of(case.name, shares)
        assert rule is not None, f"there is no rule for {case.name}"
        recorded: dict[tuple[str, tuple[int, ...]], set[tuple[int, ...]]] = {}
        for element in cells(call.out.sizes):
            for cell_input in rule(call, element).cells():
                recorded.setdefault((cell_input.argument, cell_input.index), set()).add(element)
        values = array(out)
        for name, t in tensors.items():
            for index in cells(tuple(t.shape)):
                other = array(
                    results(case, replaced(args, name, changed(t, index, case.poison)))[number]
                )
                if other.shape != values.shape:
                    continue  # a mask that selects another number of cells
                same = (other == values) | ((other != other) & (values != values))
                moved = {tuple(map(int, at)) for at in np.argwhere(~same)}
                claimed = recorded.get((name, index), set())
                if case.writes and t.dtype != engine.float32:
                    continue
                assert moved <= claimed, f"{name}{index} also changes {moved - claimed}"
                if case.exact and t.dtype == engine.float32:
                    assert claimed == moved, f"{name}{index} does not change {claimed - moved}"
        outside = {
            (name, index)
            for name, index in recorded
            if any(not 0 <= i < n for i, n in zip(index, tensors[name].shape, strict=True))
        }
        assert not outside, f"cells that do not exist: {outside}"
