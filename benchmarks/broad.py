"""Hundreds of generated workloads compared with PyTorch: `python benchmarks/broad.py [REGEX] [--json FILE]`.

The other benchmarks were chosen by hand, so other cases can stay slow. These are products of tables:
operators x dtypes x layouts x sizes, with odd sizes among them. A figure is a ratio as in run.py: our time /
PyTorch's on one thread, in turn, in one process. `--json` stores the ratios, `--compare FILE` prints
the changes since they were stored.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
import operator
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run import Work, compare, geometric_mean

Make = Callable[[Any], Work]

ROUNDS = 5
BLOCK = 0.008  # seconds that one timed block lasts about
CHANGED = 1.15  # a ratio that grew or shrank by this factor is worth a line

FLOATS = ("float32", "float64", "bfloat16", "float16")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
ROWS, COLUMNS = 251, 403


@dataclass(frozen=True)
class Workload:
    """`make(module)` returns the function to time; `group` says which geometric mean it belongs to."""

    group: str
    name: str
    make: Make

    def __str__(self) -> str:
        return f"{self.group}/{self.name}"


# ---- operands


def numbers(m: Any, *shape: int, dtype: str = "float32", seed: int = 1) -> Any:
    """The same numbers in every module: in (0, 2) for floats, 1 to 100 for integers."""
    x = m.arange(math.prod(shape)).mul(2654435761 + seed).remainder(100).add(1).view(*shape)
    if dtype == "bool":
        return x > 50
    kind = getattr(m, dtype)
    return x.to(kind) if dtype in INTEGERS else x.to(m.float64).div(50.5).to(kind)


def indices(m: Any, limit: int, *shape: int) -> Any:
    return m.arange(math.prod(shape)).mul(2654435761).remainder(limit).view(*shape)


LAYOUTS: dict[str, Callable[..., Any]] = {
    "dense": lambda m, dtype, seed: numbers(m, ROWS, COLUMNS, dtype=dtype, seed=seed),
    "columns": lambda m, dtype, seed: numbers(m, ROWS, 2 * COLUMNS, dtype=dtype, seed=seed)[:, ::2],
    "transposed": lambda m, dtype, seed: numbers(m, COLUMNS, ROWS, dtype=dtype, seed=seed).t(),
    "row": lambda m, dtype, seed: numbers(m, COLUMNS, dtype=dtype, seed=seed),
    "column": lambda m, dtype, seed: numbers(m, ROWS, 1, dtype=dtype, seed=seed),
}


def operand(m: Any, layout: str, dtype: str, seed: int = 1) -> Any:
    return LAYOUTS[layout](m, dtype, seed)


def function(m: Any, name: str) -> Callable[..., Any]:
    """A function by its path below the module: `nn.functional.gelu`."""
    result: Callable[..., Any] = operator.attrgetter(name)(m)
    return result


# ---- the tables


def pointwise() -> Iterator[Workload]:
    unary = ("exp", "log", "tanh", "sigmoid", "sqrt", "sin", "abs", "neg", "nn.functional.gelu")
    for name, dtype, layout in itertools.product(unary, FLOATS, ("dense", "columns", "transposed")):

        def make(m: Any, name: str = name, dtype: str = dtype, layout: str = layout) -> Work:
            x, f = operand(m, layout, dtype), function(m, name)
            return lambda: f(x)

        yield Workload("unary", f"{name.split('.')[-1]}, {dtype}, {layout}", make)
    binary = {
        "add": (*FLOATS, *INTEGERS, "complex64"),
        "mul": (*FLOATS, *INTEGERS, "complex64"),
        "div": (*FLOATS, "int32", "complex64"),
        "maximum": ("float32", "bfloat16", "uint8", "int64"),
        "lt": ("float32", "float16", "int8", "int64"),
        "bitwise_and": ("bool", "uint8", "int64"),
        "logical_or": ("bool", "float32"),
        "pow": ("float32", "float64"),
        "atan2": ("float32",),
        "remainder": ("int32", "float32", "float64", "bfloat16"),
        "fmod": ("int16", "float32"),
        "floor_divide": ("int32", "float32"),
        "bitwise_left_shift": ("int8", "int16", "int32"),
        "bitwise_right_shift": ("uint8", "int16", "int64"),
    }
    for name, dtypes in binary.items():
        for dtype, layout in itertools.product(dtypes, ("dense", "row", "column", "transposed")):

            def make(m: Any, name: str = name, dtype: str = dtype, layout: str = layout) -> Work:
                x, y, f = operand(m, "dense", dtype), operand(m, layout, dtype, 2), getattr(m, name)
                return lambda: f(x, y)

            yield Workload("binary", f"{name}, {dtype}, {layout}", make)


def reductions() -> Iterator[Workload]:
    names = {
        "sum": ("float32", "float64", "bfloat16", "int32", "uint8", "bool"),
        "mean": ("float32", "float16"),
        "amax": ("float32", "float64", "bfloat16", "int8", "int16"),
        "argmax": ("float32", "int64"),
        "prod": ("float32", "int64"),
        "std": ("float32", "float64"),
        "logsumexp": ("float32",),
        "any": ("bool",),
        "linalg.vector_norm": ("float32",),
    }
    for name, dtypes in names.items():
        for dtype, dim in itertools.product(dtypes, (None, 0, 1)):
            if name == "logsumexp" and dim is None:
                continue

            def make(m: Any, name: str = name, dtype: str = dtype, dim: int | None = dim) -> Work:
                x, f = operand(m, "dense", dtype), function(m, name)
                return (lambda: f(x)) if dim is None else (lambda: f(x, dim=dim))

            over = "all" if dim is None else f"dim {dim}"
            yield Workload("reduction", f"{name.split('.')[-1]}, {dtype}, {over}", make)
    for name, dtype, dim in itertools.product(
        ("cumsum", "cumprod", "cummax", "softmax", "log_softmax", "median", "sort", "argsort"),
        ("float32", "float64"),
        (0, 1),
    ):

        def make(m: Any, name: str = name, dtype: str = dtype, dim: int = dim) -> Work:
            x, f = operand(m, "dense", dtype), getattr(m, name)
            return lambda: f(x, dim)

        yield Workload("scan and sort", f"{name}, {dtype}, dim {dim}", make)


def copies() -> Iterator[Workload]:
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "contiguous of columns": lambda m, x: x[:, ::2].contiguous(),
        "contiguous of transposed": lambda m, x: x.t().contiguous(),
        "cat rows": lambda m, x: m.cat((x, x)),
        "cat columns": lambda m, x: m.cat((x, x), 1),
        "stack last": lambda m, x: m.stack((x, x), -1),
        "flip": lambda m, x: x.flip(1),
        "roll": lambda m, x: x.roll(3, 1),
        "repeat": lambda m, x: x.repeat(2, 3),
        "pad": lambda m, x: m.nn.functional.pad(x, (1, 2, 3, 4)),
        "tril": lambda m, x: x.tril(),
        "where": lambda m, x: m.where(x > 1, x, x),
        "clamp": lambda m, x: x.clamp(1, 50),
        "fill_": lambda m, x: x.clone().fill_(1),
        "index rows": lambda m, x: x[indices(m, ROWS, 100)],
        "masked_fill": lambda m, x: x.masked_fill(x > 1, 0),
    }
    for name, dtype in itertools.product(calls, ("float32", "float64", "bfloat16", "uint8")):

        def make(m: Any, name: str = name, dtype: str = dtype) -> Work:
            x, call = operand(m, "dense", dtype), calls[name]
            return lambda: call(m, x)

        yield Workload("copy", f"{name}, {dtype}", make)
    kinds = ("float32", "float64", "bfloat16", "float16", "int8", "int64", "bool")
    for source, target in itertools.permutations(kinds, 2):

        def make(m: Any, source: str = source, target: str = target) -> Work:
            x, kind = operand(m, "dense", source), getattr(m, target)
            return lambda: x.to(kind)

        yield Workload("conversion", f"{source} to {target}", make)


def products() -> Iterator[Workload]:
    shapes = {
        "mm 64": ((64, 64), (64, 64)),
        "mm 256": ((256, 256), (256, 256)),
        "mm 255x129x67": ((255, 129), (129, 67)),
        "mm thin": ((4, 1024), (1024, 512)),
        "matvec": ((1000, 1001), (1001,)),
        "bmm 32": ((64, 32, 32), (64, 32, 32)),
        "bmm 7": ((500, 7, 7), (500, 7, 7)),
    }
    for (name, (a, b)), dtype in itertools.product(shapes.items(), (*FLOATS[:3], "int64")):

        def make(
            m: Any, a: tuple[int, ...] = a, b: tuple[int, ...] = b, dtype: str = dtype
        ) -> Work:
            x, y = numbers(m, *a, dtype=dtype), numbers(m, *b, dtype=dtype, seed=2)
            return lambda: x @ y

        yield Workload("product", f"{name}, {dtype}", make)
    square: dict[str, Callable[[Any, Any], Any]] = {
        "inv": lambda m, a: m.linalg.inv(a),
        "solve": lambda m, a: m.linalg.solve(a, a),
        "det": lambda m, a: m.linalg.det(a),
        "cholesky": lambda m, a: m.linalg.cholesky(a),
        "qr": lambda m, a: m.linalg.qr(a),
        "eigh": lambda m, a: m.linalg.eigh(a),
        "svd": lambda m, a: m.linalg.svd(a),
    }
    for name, size in itertools.product(square, ((20, 20), (129, 129), (30, 8, 8))):

        def make(m: Any, name: str = name, size: tuple[int, ...] = size) -> Work:
            x = numbers(m, *size)
            a, call = x @ x.mT + 3 * m.eye(size[-1]), square[name]
            return lambda: call(m, a)

        yield Workload("linalg", f"{name}, {'x'.join(map(str, size))}", make)
    for name, size in itertools.product(("fft", "rfft", "ifft", "fft2"), (64, 101, 1000, 1024)):

        def make(m: Any, name: str = name, size: int = size) -> Work:
            x, f = numbers(m, 16, size), getattr(m.fft, name)
            return lambda: f(x)

        yield Workload("fft", f"{name}, 16x{size}", make)


@dataclass(frozen=True)
class Convolution:
    """Sizes of one convolution: of the batch, channels, image and kernel."""

    dims: int
    channels: tuple[int, int]
    image: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    transposed: bool = False

    def __str__(self) -> str:
        options = "".join(
            f" {name} {value}"
            for name, value in (("stride", self.stride), ("dilation", self.dilation))
            if value != 1
        )
        groups = f" groups {self.groups}" if self.groups != 1 else ""
        transposed = " transposed" if self.transposed else ""
        sizes = f"{self.channels[0]} to {self.channels[1]}, image {self.image}"
        return f"{self.dims}-d kernel {self.kernel}, {sizes}{options}{groups}{transposed}"

    def make(self, m: Any, backward: bool) -> Work:
        batch, (inputs, outputs) = 4, self.channels
        x = numbers(m, batch, inputs, *(self.image,) * self.dims)
        channels = (inputs, outputs) if self.transposed else (outputs, inputs)
        w = numbers(m, channels[0], channels[1] // self.groups, *(self.kernel,) * self.dims, seed=2)
        name = f"conv{'_transpose' if self.transposed else ''}{self.dims}d"
        f = getattr(m.nn.functional, name)
        options = {
            "stride": self.stride,
            "dilation": self.dilation,
            "groups": self.groups,
            "padding": self.kernel // 2,
        }
        if not backward:
            return lambda: f(x, w, **options)
        x.requires_grad_()
        w.requires_grad_()
        gradient = m.ones_like(f(x, w, **options)).detach()
        return lambda: m.autograd.grad(f(x, w, **options), (x, w), gradient)


def layers() -> Iterator[Workload]:
    convolutions = [
        Convolution(2, (64, 64), 28, 1),
        Convolution(2, (256, 64), 7, 1),
        Convolution(2, (512, 512), 1, 1),
        Convolution(2, (512, 512), 1, 3),
        Convolution(2, (512, 512), 2, 3),
        Convolution(2, (3, 32), 64, 3),
        Convolution(2, (32, 32), 33, 3),
        Convolution(2, (16, 32), 28, 5),
        Convolution(2, (3, 16), 64, 7, stride=2),
        Convolution(2, (32, 64), 28, 3, stride=2),
        Convolution(2, (32, 32), 28, 3, dilation=2),
        Convolution(2, (64, 64), 28, 3, groups=64),
        Convolution(2, (64, 64), 28, 3, stride=2, groups=64),
        Convolution(2, (64, 64), 28, 3, groups=4),
        Convolution(2, (64, 64), 28, 3, stride=2, groups=4),
        Convolution(2, (32, 16), 14, 4, stride=2, transposed=True),
        Convolution(1, (32, 64), 501, 3),
        Convolution(1, (16, 16), 1000, 9, groups=16),
        Convolution(3, (8, 16), 12, 3),
    ]
    for convolution, backward in itertools.product(convolutions, (False, True)):

        def make(m: Any, convolution: Convolution = convolution, backward: bool = backward) -> Work:
            return convolution.make(m, backward)

        yield Workload("convolution", f"{convolution}{', with backward' if backward else ''}", make)
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "max_pool2d": lambda m, x: m.nn.functional.max_pool2d(x, 2),
        "avg_pool2d 3": lambda m, x: m.nn.functional.avg_pool2d(x, 3, 2, 1),
        "adaptive_avg_pool2d": lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, 5),
        "batch_norm": lambda m, x: m.nn.functional.batch_norm(x, None, None, training=True),
        "group_norm": lambda m, x: m.nn.functional.group_norm(x, 4),
        "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, x.shape[-1:]),
        "instance_norm": lambda m, x: m.nn.functional.instance_norm(x),
        "softmax of channels": lambda m, x: m.softmax(x, 1),
        "bilinear": lambda m, x: m.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
        "nearest": lambda m, x: m.nn.functional.interpolate(x, scale_factor=2),
        "leaky_relu": lambda m, x: m.nn.functional.leaky_relu(x, 0.1),
        "silu": lambda m, x: m.nn.functional.silu(x),
        "dropout": lambda m, x: m.nn.functional.dropout(x, 0.5),
        "attention": lambda m, x: m.nn.functional.scaled_dot_product_attention(x, x, x),
        "unfold": lambda m, x: m.nn.functional.unfold(x, 3),
        "pixel_shuffle": lambda m, x: m.nn.functional.pixel_shuffle(x, 2),
        "mse_loss": lambda m, x: m.nn.functional.mse_loss(x, x),
        "smooth_l1_loss": lambda m, x: m.nn.functional.smooth_l1_loss(x, x),
    }
    for (name, call), backward in itertools.product(calls.items(), (False, True)):

        def make(
            m: Any,
            call: Callable[[Any, Any], Any] = call,
            backward: bool = backward,
        ) -> Work:
            x = numbers(m, 4, 16, 31, 29)
            if not backward:
                return lambda: call(m, x)
            x.requires_grad_()
            gradient = m.ones_like(call(m, x)).detach()
            return lambda: m.autograd.grad(call(m, x), x, gradient)

        yield Workload("layer", f"{name}{', with backward' if backward else ''}", make)


def indexing() -> Iterator[Workload]:
    calls: dict[str, Callable[[Any, Any, Any], Any]] = {
        "gather": lambda m, x, i: x.gather(1, i),
        "scatter": lambda m, x, i: x.scatter(1, i, x),
        "scatter_add": lambda m, x, i: x.scatter_add(1, i, x),
        "take_along_dim": lambda m, x, i: m.take_along_dim(x, i, 1),
        "index_select": lambda m, x, i: x.index_select(1, i[0]),
        "index_add": lambda m, x, i: x.index_add(0, i[:, 0] % ROWS, x),
        "index pairs": lambda m, x, i: x[i[:, 0] % ROWS, i[:, 1]],
        "mask": lambda m, x, i: x[x > 1],
        "mask assigned": lambda m, x, i: x.clone().masked_fill_(x > 1, 2),
        "nonzero": lambda m, x, i: (x > 1).nonzero(),
        "topk": lambda m, x, i: x.topk(5, 1),
        "unique": lambda m, x, i: m.unique(x),
        "bincount": lambda m, x, i: m.bincount(i.view(-1)),
        "searchsorted": lambda m, x, i: m.searchsorted(x[0].sort()[0], x),
        "embedding": lambda m, x, i: m.nn.functional.embedding(i % ROWS, x),
        "one_hot": lambda m, x, i: m.nn.functional.one_hot(i[0] % 50, 50),
    }
    for (name, call), dtype in itertools.product(calls.items(), ("float32", "float64")):

        def make(m: Any, call: Callable[[Any, Any, Any], Any] = call, dtype: str = dtype) -> Work:
            x, i = operand(m, "dense", dtype), indices(m, COLUMNS, ROWS, COLUMNS)
            return lambda: call(m, x, i)

        yield Workload("indexing", f"{name}, {dtype}", make)


def overhead() -> Iterator[Workload]:
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda m, x: x + x,
        "add number": lambda m, x: x + 1.0,
        "mul_": lambda m, x: x.mul_(1.0),
        "exp": lambda m, x: x.exp(),
        "sum": lambda m, x: x.sum(),
        "sum dim": lambda m, x: x.sum(0),
        "t": lambda m, x: x.t(),
        "view": lambda m, x: x.view(-1),
        "reshape": lambda m, x: x.t().reshape(6, 4),
        "permute, reshape": lambda m, x: x.view(2, 3, 4).permute(2, 0, 1).reshape(4, 6),
        "index row": lambda m, x: x[1],
        "index slice": lambda m, x: x[1:, ::2],
        "index write": lambda m, x: x.__setitem__(1, 1.0),
        "matmul": lambda m, x: x @ x.t(),
        "cat": lambda m, x: m.cat((x, x)),
        "stack": lambda m, x: m.stack((x, x)),
        "softmax": lambda m, x: m.softmax(x, 1),
        "relu": lambda m, x: m.relu(x),
        "zeros": lambda m, x: m.zeros(4, 6),
        "tensor": lambda m, x: m.tensor([1.0, 2.0, 3.0]),
        "arange": lambda m, x: m.arange(6),
        "clone": lambda m, x: x.clone(),
        "to": lambda m, x: x.to(m.float64),
        "item": lambda m, x: x[0, 0].item(),
        "tolist": lambda m, x: x.tolist(),
        "max dim": lambda m, x: x.max(1),
        "where": lambda m, x: m.where(x > 1, x, 0.0),
        "compare": lambda m, x: x == x,
        "linear": lambda m, x: m.nn.functional.linear(x, x),
        "mse_loss": lambda m, x: m.nn.functional.mse_loss(x, x),
        "shape": lambda m, x: x.shape,
        "detach": lambda m, x: x.detach(),
    }
    for name, call in calls.items():

        def make(m: Any, call: Callable[[Any, Any], Any] = call) -> Work:
            x = numbers(m, 4, 6)
            return lambda: call(m, x)

        yield Workload("overhead", name, make)
    for name in ("exp", "sum", "matmul", "softmax", "mse_loss"):

        def make(m: Any, call: Callable[[Any, Any], Any] = calls[name]) -> Work:
            x = numbers(m, 4, 6).requires_grad_()
            return lambda: call(m, x).sum().backward()

        yield Workload("overhead", f"{name}, with backward", make)


def train(m: Any, network: Any, loss: Callable[[], Any], optimizer: str, **options: Any) -> Work:
    optimize = getattr(m.optim, optimizer)(network.parameters(), **options)

    def step() -> None:
        optimize.zero_grad()
        loss().backward()
        optimize.step()

    return step


def perceptron(m: Any, optimizer: str) -> Work:
    nn = m.nn
    network = nn.Sequential(
        nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    x, y = numbers(m, 32, 20), numbers(m, 32, 1, seed=2)
    return train(m, network, lambda: nn.functional.mse_loss(network(x), y), optimizer, lr=1e-3)


def convolutional(m: Any) -> Work:
    nn = m.nn
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    )
    x, y = numbers(m, 16, 3, 32, 32), indices(m, 10, 16)
    return train(
        m, network, lambda: nn.functional.cross_entropy(network(x), y), "SGD", lr=1e-2, momentum=0.9
    )


def recurrent(m: Any, layer: str) -> Work:
    network = getattr(m.nn, layer)(16, 32, batch_first=True)
    x = numbers(m, 8, 25, 16)
    return train(m, network, lambda: network(x)[0].square().mean(), "Adam")


def transformer(m: Any, heads: int, width: int) -> Work:
    network = m.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
    x = numbers(m, 4, 32, width)
    return train(m, network, lambda: network(x).square().mean(), "AdamW")


def training() -> Iterator[Workload]:
    for optimizer in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"):
        yield Workload(
            "training", f"perceptron, {optimizer}", lambda m, name=optimizer: perceptron(m, name)
        )
    yield Workload("training", "convolutional", convolutional)
    for layer in ("RNN", "LSTM", "GRU"):
        yield Workload("training", layer, lambda m, name=layer: recurrent(m, name))
    for heads, width in ((2, 16), (4, 64), (8, 256)):
        yield Workload(
            "training",
            f"transformer layer, {width} wide",
            lambda m, heads=heads, width=width: transformer(m, heads, width),
        )


FAMILIES = (
    overhead, pointwise, reductions, copies, products, layers, indexing, training,
)  # fmt: skip


# ---- measuring


def group_of(name: str) -> str:
    return name.partition("/")[0]


def print_groups(ratios: dict[str, float]) -> None:
    groups: dict[str, list[float]] = {}
    for name, ratio in ratios.items():
        groups.setdefault(group_of(name), []).append(ratio)
    throughput = [r for n, r in ratios.items() if group_of(n) not in ("overhead", "training")]
    if throughput:
        groups["all throughput"] = throughput
    print(f"\n{'':<16} {'count':>6} {'mean':>6} {'worst':>6} {'above 1.3':>10}")
    for name, group in groups.items():
        above = sum(ratio > 1.3 for ratio in group)
        print(
            f"{name:<16} {len(group):>6} {geometric_mean(group):>6.2f} {max(group):>6.2f} {above:>10}"
        )


def print_changes(ratios: dict[str, float], stored: dict[str, float]) -> None:
    changes = [
        (ratio / stored[name], name, stored[name], ratio)
        for name, ratio in ratios.items()
        if name in stored
    ]
    if not changes:
        print("\nno workload in common with the stored run")
        return
    mean = geometric_mean([factor for factor, *_ in changes])
    print(f"\n{len(changes)} workloads of the stored run: {mean:.2f} times its ratios")
    for factor, name, before, after in sorted(changes, reverse=True):
        if factor >= CHANGED or factor <= 1 / CHANGED:
            print(f"{name:<52} {before:6.2f} -> {after:6.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "pattern", nargs="?", default="", help="only workloads whose group/name matches"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the ratios")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare with stored ratios")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="print the N worst")
    parser.add_argument("--list", action="store_true", help="print the names, measure nothing")
    options = parser.parse_args()
    stored = json.loads(options.compare.read_text()) if options.compare else None
    workloads = [
        workload
        for family in FAMILIES
        for workload in family()
        if re.search(options.pattern, str(workload))
    ]
    if not workloads:
        parser.error(f"no workload matches {options.pattern!r}; --list prints them")
    if options.list:
        print(*workloads, sep="\n")
        return 0
    peers = [importlib.import_module("engine"), importlib.import_module("torch")]
    for module in peers:
        module.set_num_threads(1)
    begin, figures = time.perf_counter(), []
    for workload in workloads:
        figures.append(compare(str(workload), workload.make, peers, rounds=ROUNDS, block=BLOCK))
        print(figures[-1], flush=True)
    ratios = {figure.name: figure.ratio for figure in figures if figure.ratio is not None}
    print_groups(ratios)
    print(
        f"\nthe {options.worst} worst of {len(ratios)}, after {time.perf_counter() - begin:.0f} s"
    )
    for figure in sorted(figures, key=lambda f: -ratios[f.name])[: options.worst]:
        print(figure)
    if options.json:
        measured = {name: round(ratio, 3) for name, ratio in ratios.items()}
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    if stored is not None:
        print_changes(ratios, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
