"""The workloads of broad.py: products of tables of operators, dtypes, layouts and sizes."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from run import Work

Make = Callable[[Any], Work]

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
    """Return the same numbers in every module: in (0, 2) for floats, 1 to 100 for integers.

    Quadratic residues, so that no branch predictor learns their order.
    """
    i = m.arange(math.prod(shape))
    x = i.mul(i).mul(48271).add(i * (7919 * seed)).remainder(65521).view(*shape)
    if dtype == "bool":
        return x > 32760
    kind = getattr(m, dtype)
    if dtype in INTEGERS:
        return x.remainder(100).add(1).to(kind)
    return x.add(1).to(m.float64).div(32762).to(kind)


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
    """Return a function by its path below the module: `nn.functional.gelu`."""
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


# ---- calls of many kinds, by group: each takes the module and a matrix (images in `layer calls`)

Call = Callable[[Any, Any], Any]

POINTWISE_CALLS: dict[str, Call] = {
    "erf": lambda m, x: m.erf(x),
    "erfinv": lambda m, x: m.erfinv(x - 1),
    "lgamma": lambda m, x: m.lgamma(x),
    "digamma": lambda m, x: m.digamma(x),
    "log1p": lambda m, x: m.log1p(x),
    "expm1": lambda m, x: m.expm1(x),
    "cos": lambda m, x: m.cos(x),
    "tan": lambda m, x: m.tan(x),
    "asin": lambda m, x: m.asin(x - 1),
    "atan": lambda m, x: m.atan(x),
    "asinh": lambda m, x: m.asinh(x),
    "sinh": lambda m, x: m.sinh(x),
    "round": lambda m, x: m.round(x - 1),
    "trunc": lambda m, x: m.trunc(x),
    "frac": lambda m, x: m.frac(x),
    "reciprocal": lambda m, x: m.reciprocal(x),
    "rsqrt": lambda m, x: m.rsqrt(x),
    "square": lambda m, x: m.square(x),
    "sign": lambda m, x: m.sign(x - 1),
    "isnan": lambda m, x: m.isnan(x),
    "isclose": lambda m, x: m.isclose(x, x),
    "nan_to_num": lambda m, x: m.nan_to_num(x - 1),
    "lerp": lambda m, x: m.lerp(x, x, 0.3),
    "addcmul": lambda m, x: m.addcmul(x, x, x),
    "addcdiv": lambda m, x: m.addcdiv(x, x, x),
    "hypot": lambda m, x: m.hypot(x, x),
    "logaddexp": lambda m, x: m.logaddexp(x, x),
    "xlogy": lambda m, x: m.xlogy(x, x),
    "copysign": lambda m, x: m.copysign(x, x - 1),
    "heaviside": lambda m, x: m.heaviside(x, x),
    "softplus": lambda m, x: m.nn.functional.softplus(x),
    "mish": lambda m, x: m.nn.functional.mish(x - 1),
    "hardswish": lambda m, x: m.nn.functional.hardswish(x - 1),
    "elu": lambda m, x: m.nn.functional.elu(x - 1),
    "selu": lambda m, x: m.nn.functional.selu(x - 1),
    "logsigmoid": lambda m, x: m.nn.functional.logsigmoid(x),
    "glu": lambda m, x: m.nn.functional.glu(x[1:], 0),
    "pow 3": lambda m, x: x**3,
    "pow 1.5": lambda m, x: x**1.5,
    "i0": lambda m, x: m.i0(x),
    "sinc": lambda m, x: m.sinc(x),
}

INTEGER_CALLS: dict[str, Call] = {
    "abs": lambda m, x: x.abs(),
    "neg": lambda m, x: -x,
    "clamp": lambda m, x: x.clamp(10, 50),
    "square": lambda m, x: x.square(),
    "floor_divide": lambda m, x: x // 7,
    "remainder": lambda m, x: x % 7,
    "where": lambda m, x: m.where(x > 50, x, 0),
    "eq": lambda m, x: x == x,
    "bitwise_not": lambda m, x: ~x,
    "sum": lambda m, x: x.sum(),
    "sum dim 0": lambda m, x: x.sum(0),
    "sum dim 1": lambda m, x: x.sum(1),
    "prod dim 1": lambda m, x: x.prod(1),
    "amin dim 0": lambda m, x: x.amin(0),
    "max dim 1": lambda m, x: x.max(1),
    "argmin dim 0": lambda m, x: x.argmin(0),
    "any dim 1": lambda m, x: x.any(1),
    "all": lambda m, x: x.all(),
    "count_nonzero": lambda m, x: m.count_nonzero(x),
    "cumsum dim 0": lambda m, x: x.cumsum(0),
    "cumsum dim 1": lambda m, x: x.cumsum(1),
    "cummax dim 1": lambda m, x: x.cummax(1),
    "sort dim 1": lambda m, x: x.sort(1),
    "sort dim 0": lambda m, x: x.sort(0),
    "argsort stable": lambda m, x: x.argsort(dim=1, stable=True),
    "topk": lambda m, x: x.topk(5, 1),
    "topk half": lambda m, x: x.topk(COLUMNS // 2, 1),
    "kthvalue": lambda m, x: x.kthvalue(100, 1),
    "median": lambda m, x: x.median(),
    "mode": lambda m, x: x.mode(1),
    "unique": lambda m, x: m.unique(x),
    "unique counts": lambda m, x: m.unique(x, return_inverse=True, return_counts=True),
    "isin": lambda m, x: m.isin(x, x[0, :20]),
    "mask": lambda m, x: x[x > 50],
    "nonzero": lambda m, x: (x > 90).nonzero(),
    "flip": lambda m, x: x.flip(0, 1),
    "roll": lambda m, x: x.roll((3, 5), (0, 1)),
    "repeat_interleave": lambda m, x: x.repeat_interleave(3, 1),
    "cat of columns": lambda m, x: m.cat((x[:, ::2], x[:, 1::2]), 1),
    "diff": lambda m, x: x.diff(),
}

STATISTICS_CALLS: dict[str, Call] = {
    "quantile": lambda m, x: m.quantile(x, 0.3),
    "quantile dim 1": lambda m, x: m.quantile(x, m.tensor([0.1, 0.5], dtype=x.dtype), 1),
    "nanmedian": lambda m, x: m.nanmedian(x),
    "median dim 0": lambda m, x: x.median(0),
    "kthvalue dim 1": lambda m, x: x.kthvalue(100, 1),
    "mode dim 1": lambda m, x: x.mode(1),
    "topk 50": lambda m, x: x.topk(50, 1),
    "topk dim 0": lambda m, x: x.topk(5, 0),
    "topk of one row": lambda m, x: x.view(-1).topk(10),
    "topk smallest": lambda m, x: x.topk(5, 1, largest=False),
    "sort of one row": lambda m, x: x.view(-1).sort(),
    "sort descending": lambda m, x: x.sort(1, descending=True),
    "histc": lambda m, x: m.histc(x, 50),
    "histogram": lambda m, x: m.histogram(x, 50),
    "bincount, weighted": lambda m, x: m.bincount((x * 50).long().view(-1), x.view(-1)),
    "bucketize": lambda m, x: m.bucketize(x, m.linspace(0, 2, 17, dtype=x.dtype)),
    "var_mean": lambda m, x: m.var_mean(x, 0),
    "cov": lambda m, x: m.cov(x[:40]),
    "corrcoef": lambda m, x: m.corrcoef(x[:40]),
    "logcumsumexp": lambda m, x: m.logcumsumexp(x, 1),
    "cummin dim 0": lambda m, x: x.cummin(0),
    "aminmax": lambda m, x: m.aminmax(x),
    "nansum": lambda m, x: m.nansum(x, 1),
    "norm 1": lambda m, x: m.linalg.vector_norm(x, 1, 1),
    "norm 3": lambda m, x: m.linalg.vector_norm(x, 3, 1),
    "norm inf": lambda m, x: m.linalg.vector_norm(x, float("inf"), 0),
    "renorm": lambda m, x: m.renorm(x, 2, 0, 1.0),
    "cdist": lambda m, x: m.cdist(x[:, :20], x[:, 20:40]),
    "cdist 1": lambda m, x: m.cdist(x[:, :20], x[:, 20:40], p=1.0),
    "pdist": lambda m, x: m.nn.functional.pdist(x[:100, :20]),
    "cosine_similarity": lambda m, x: m.nn.functional.cosine_similarity(x, x, 1),
    "pairwise_distance": lambda m, x: m.nn.functional.pairwise_distance(x, x.flip(0)),
    "normalize": lambda m, x: m.nn.functional.normalize(x, dim=0),
    "trapezoid": lambda m, x: m.trapezoid(x, dim=1),
    "diff 2": lambda m, x: m.diff(x, n=2),
    "softmin": lambda m, x: m.nn.functional.softmin(x, 0),
    "gumbel": lambda m, x: m.nn.functional.gumbel_softmax(x, dim=1),
    "multinomial": lambda m, x: m.multinomial(x, 5),
    "equal": lambda m, x: m.equal(x, x.clone()),
    "allclose": lambda m, x: m.allclose(x, x),
    "unique rows": lambda m, x: m.unique(x[:, :2].round(), dim=0),
    "unique_consecutive": lambda m, x: m.unique_consecutive(x),
}

MOVEMENT_CALLS: dict[str, Call] = {
    "flip rows": lambda m, x: x.flip(0),
    "flip both": lambda m, x: x.flip(0, 1),
    "roll flat": lambda m, x: x.roll(77),
    "rot90": lambda m, x: x.rot90(),
    "repeat_interleave": lambda m, x: x.repeat_interleave(3, 0),
    "tile": lambda m, x: x.tile(3, 1),
    "kron": lambda m, x: m.kron(x[:20, :20], x[:16, :16]),
    "outer": lambda m, x: m.outer(x[0], x[1]),
    "triu": lambda m, x: x.triu(-3),
    "tril of a batch": lambda m, x: x[:, :400].view(251, 20, 20).tril(),
    "cat of many": lambda m, x: m.cat(list(x)),
    "cat of many columns": lambda m, x: m.cat([x[:, :3]] * 60, 1),
    "stack of many": lambda m, x: m.stack(list(x[:100]), 1),
    "stack first": lambda m, x: m.stack((x, x)),
    "hstack of transposed": lambda m, x: m.hstack((x.t(), x.t())),
    "split, cat": lambda m, x: m.cat(x.split(31, 1), 1),
    "pad reflect": lambda m, x: m.nn.functional.pad(x[None], (3, 3), mode="reflect"),
    "pad replicate": lambda m, x: m.nn.functional.pad(x[None], (3, 3), mode="replicate"),
    "pad circular": lambda m, x: m.nn.functional.pad(x[None], (3, 3), mode="circular"),
    "pad reflect, 2-d": lambda m, x: m.nn.functional.pad(x[None], (3, 3, 2, 2), mode="reflect"),
    "permute, 3-d": lambda m, x: x[:, :400].reshape(251, 20, 20).permute(2, 0, 1).contiguous(),
    "to channels last": lambda m, x: (
        x[:240, :400].reshape(4, 60, 20, 20).permute(0, 2, 3, 1).contiguous()
    ),
    "from channels last": lambda m, x: (
        x[:240, :400].reshape(4, 20, 20, 60).permute(0, 3, 1, 2).contiguous()
    ),
    "channel_shuffle": lambda m, x: m.nn.functional.channel_shuffle(
        x[:240, :400].reshape(4, 60, 20, 20), 4
    ),
    "expand, clone": lambda m, x: x[0].expand(251, 403).contiguous(),
    "expand columns": lambda m, x: x[:, :1].expand(251, 403).contiguous(),
    "every second row": lambda m, x: x[::2].contiguous(),
    "every third, 2-d": lambda m, x: x[::3, ::3].contiguous(),
    "copy_ columns": lambda m, x: x.clone()[:, ::2].copy_(x[:, ::2]),
    "sliding windows": lambda m, x: x.unfold(1, 5, 2).contiguous(),
    "diagonal": lambda m, x: x.diagonal().contiguous(),
    "diag_embed": lambda m, x: m.diag_embed(x[:, :20]),
    "block_diag": lambda m, x: m.block_diag(x[:50, :50], x[:30, :70], x[:60, :20]),
    "meshgrid": lambda m, x: [g.contiguous() for g in m.meshgrid(x[0], x[1], indexing="ij")],
    "cartesian_prod": lambda m, x: m.cartesian_prod(x[0, :200], x[1, :200]),
    "combinations": lambda m, x: m.combinations(x[0, :100]),
    "vander": lambda m, x: m.vander(x[0], 10),
    "take": lambda m, x: m.take(x, indices(m, ROWS * COLUMNS, 20_000)),
    "where broadcast": lambda m, x: m.where(x[:, :1] == x[0], x, x[0]),
}

WRITING_CALLS: dict[str, Call] = {
    "index_put": lambda m, x: x.clone().index_put_(
        (indices(m, ROWS, 500), indices(m, COLUMNS, 500)), x[0, :1]
    ),
    "index_put accumulate": lambda m, x: x.clone().index_put_(
        (indices(m, 100, 400),), x[0], accumulate=True
    ),
    "index_put accumulate pairs": lambda m, x: x.clone().index_put_(
        (indices(m, ROWS, 20_000), indices(m, COLUMNS, 20_000)),
        x.view(-1)[:20_000],
        accumulate=True,
    ),
    "scatter number": lambda m, x: x.scatter(1, indices(m, COLUMNS, ROWS, 50), 2.0),
    "scatter dim 0": lambda m, x: x.scatter(0, indices(m, ROWS, 100, COLUMNS), x),
    "scatter_add dim 0": lambda m, x: x.scatter_add(0, indices(m, ROWS, 100, COLUMNS), x),
    "scatter_reduce amax": lambda m, x: x.scatter_reduce(
        1, indices(m, COLUMNS, ROWS, 100), x, "amax"
    ),
    "scatter_reduce mean": lambda m, x: x.scatter_reduce(
        1, indices(m, COLUMNS, ROWS, 100), x, "mean"
    ),
    "scatter_reduce prod": lambda m, x: x.scatter_reduce(
        0, indices(m, ROWS, 100, COLUMNS), x, "prod"
    ),
    "index_copy": lambda m, x: x.index_copy(0, indices(m, ROWS, 50), x[:50]),
    "index_fill": lambda m, x: x.index_fill(1, indices(m, COLUMNS, 50), 1.0),
    "index_add columns": lambda m, x: x.index_add(1, indices(m, COLUMNS, 100), x[:, :100]),
    "masked_scatter": lambda m, x: x.masked_scatter(x > 1, x),
    "masked_select": lambda m, x: m.masked_select(x, x > 1.8),
    "mask of rows": lambda m, x: x[x[:, 0] > 1],
    "put_": lambda m, x: x.clone().put_(indices(m, ROWS * COLUMNS, 5000), x.view(-1)[:5000]),
    "nonzero, few": lambda m, x: (x > 1.95).nonzero(),
    "nonzero, tuple": lambda m, x: (x > 1.5).nonzero(as_tuple=True),
    "argwhere": lambda m, x: m.argwhere(x > 1),
    "index_select rows": lambda m, x: x.index_select(0, indices(m, ROWS, 1000)),
    "gather dim 0": lambda m, x: x.gather(0, indices(m, ROWS, 300, COLUMNS)),
    "index of two lists": lambda m, x: x[indices(m, ROWS, 100, 1), indices(m, COLUMNS, 1, 100)],
    "embedding_bag": lambda m, x: m.nn.functional.embedding_bag(indices(m, ROWS, 64, 10), x),
    "embedding_bag mean": lambda m, x: m.nn.functional.embedding_bag(
        indices(m, ROWS, 64, 10), x, mode="mean"
    ),
    "embedding_bag max": lambda m, x: m.nn.functional.embedding_bag(
        indices(m, ROWS, 64, 10), x, mode="max"
    ),
    "one_hot of many": lambda m, x: m.nn.functional.one_hot(indices(m, 100, 1000), 100),
}

PRODUCT_CALLS: dict[str, Call] = {
    "einsum ij,kj->ik": lambda m, x: m.einsum("ij,kj->ik", x, x),
    "einsum bij,bjk->bik": lambda m, x: m.einsum(
        "bij,bjk->bik", x[:, :400].view(251, 20, 20), x[:, :400].view(251, 20, 20)
    ),
    "einsum ij,ij->i": lambda m, x: m.einsum("ij,ij->i", x, x),
    "einsum ij->ji": lambda m, x: m.einsum("ij->ji", x).contiguous(),
    "einsum bhid,bhjd->bhij": lambda m, x: m.einsum(
        "bhid,bhjd->bhij",
        x[:250, :400].reshape(5, 4, 50, 100),
        x[:250, :400].reshape(5, 4, 50, 100),
    ),
    "tensordot": lambda m, x: m.tensordot(
        x[:, :400].view(251, 20, 20), x[:, :400].view(251, 20, 20), ([0, 1], [0, 1])
    ),
    "addmm": lambda m, x: m.addmm(x[:, :251], x, x.t()),
    "addmv": lambda m, x: m.addmv(x[:, 0], x, x[0]),
    "addr": lambda m, x: m.addr(x[:, :251], x[:, 0], x[:, 1]),
    "baddbmm": lambda m, x: m.baddbmm(
        x[:, :400].view(251, 20, 20), x[:, :400].view(251, 20, 20), x[:, :400].view(251, 20, 20)
    ),
    "transposed @ transposed": lambda m, x: x[:, :251].t() @ x.t()[:251],
    "columns @ columns": lambda m, x: x[:, ::2] @ x[:, ::2].t(),
    "vector @ matrix": lambda m, x: x[:, 0] @ x,
    "dot": lambda m, x: m.dot(x.view(-1), x.view(-1)),
    "bmm, broadcast": lambda m, x: x[:, :400].view(251, 20, 20) @ x[:20, :20],
    "linear with bias": lambda m, x: m.nn.functional.linear(x, x, x[:, 0]),
    "bilinear": lambda m, x: m.nn.functional.bilinear(
        x[:, :20], x[:, :20], x[:, :400].view(251, 20, 20)
    ),
    "chain_matmul": lambda m, x: m.linalg.multi_dot((x, x.t(), x[:, :10])),
    "matrix_power": lambda m, x: m.linalg.matrix_power(x[:100, :100], 5),
    "cross": lambda m, x: m.linalg.cross(x[:, :402].reshape(-1, 3), x[:, 1:403].reshape(-1, 3)),
}

DECOMPOSITION_CALLS: dict[str, Call] = {
    "svd": lambda m, a: m.linalg.svd(a),
    "svdvals": lambda m, a: m.linalg.svdvals(a),
    "eigh": lambda m, a: m.linalg.eigh(a),
    "eigvalsh": lambda m, a: m.linalg.eigvalsh(a),
    "eig": lambda m, a: m.linalg.eig(a),
    "qr": lambda m, a: m.linalg.qr(a),
    "cholesky": lambda m, a: m.linalg.cholesky(a),
    "cholesky_solve": lambda m, a: m.cholesky_solve(a, a.tril()),
    "solve_triangular": lambda m, a: m.linalg.solve_triangular(a.tril(), a, upper=False),
    "lu": lambda m, a: m.linalg.lu(a),
    "slogdet": lambda m, a: m.linalg.slogdet(a),
    "inv": lambda m, a: m.linalg.inv(a),
    "pinv": lambda m, a: m.linalg.pinv(a),
    "lstsq": lambda m, a: m.linalg.lstsq(a, a),
    "matrix_exp": lambda m, a: m.matrix_exp(a / a.shape[-1]),
    "matrix_norm 2": lambda m, a: m.linalg.matrix_norm(a, 2),
}

TRANSFORM_CALLS: dict[str, Call] = {
    "fft, 97": lambda m, x: m.fft.fft(x[:, :97]),
    "fft, 401": lambda m, x: m.fft.fft(x[:, :401]),
    "fft, 360": lambda m, x: m.fft.fft(x[:, :360]),
    "fft of columns": lambda m, x: m.fft.fft(x, dim=0),
    "fft of one row": lambda m, x: m.fft.fft(x.view(-1)),
    "rfft, 397": lambda m, x: m.fft.rfft(x[:, :397]),
    "irfft": lambda m, x: m.fft.irfft(m.complex(x[:, :201], x[:, :201])),
    "rfft2": lambda m, x: m.fft.rfft2(x[:240, :400]),
    "irfft2": lambda m, x: m.fft.irfft2(m.complex(x[:240, :201], x[:240, :201])),
    "fftn": lambda m, x: m.fft.fftn(x[:240, :400].reshape(60, 40, 40)),
    "hfft": lambda m, x: m.fft.hfft(x[:, :201]),
    "fftshift": lambda m, x: m.fft.fftshift(x),
    "stft": lambda m, x: m.stft(
        x.view(-1), 400, 100, window=m.hann_window(400, dtype=x.dtype), return_complex=True
    ),
    "istft": lambda m, x: m.istft(
        m.complex(x[:201, :], x[:201, :]), 400, 100, window=m.hann_window(400, dtype=x.dtype)
    ),
}

LAYOUT_CALLS: dict[str, Call] = {
    "sum": lambda m, x: x.sum(),
    "sum dim 0": lambda m, x: x.sum(0),
    "sum dim 1": lambda m, x: x.sum(1),
    "amax dim 1": lambda m, x: x.amax(1),
    "argmax dim 0": lambda m, x: x.argmax(0),
    "var": lambda m, x: x.var(1),
    "softmax": lambda m, x: m.softmax(x, 1),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, x.shape[1:]),
    "cumsum dim 1": lambda m, x: x.cumsum(1),
    "sort dim 1": lambda m, x: x.sort(1),
    "topk": lambda m, x: x.topk(5, 1),
    "product": lambda m, x: x @ x.t(),
    "relu": lambda m, x: m.relu(x),
    "add itself": lambda m, x: x + x,
    "add in place": lambda m, x: x.clone().add_(x),
    "where": lambda m, x: m.where(x > 1, x, 0.0),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "to bfloat16": lambda m, x: x.to(m.bfloat16),
    "clone": lambda m, x: x.clone(),
    "reshape": lambda m, x: x.reshape(-1),
    "cat": lambda m, x: m.cat((x, x)),
    "flip": lambda m, x: x.flip(1),
    "index rows": lambda m, x: x[indices(m, 200, 300)],
    "mask": lambda m, x: x[x > 1],
    "dropout": lambda m, x: m.nn.functional.dropout(x),
}

MORE_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "columns": lambda m: operand(m, "columns", "float32"),
    "transposed": lambda m: operand(m, "transposed", "float32"),
    "zero stride": lambda m: operand(m, "row", "float32").expand(ROWS, COLUMNS),
    "rows apart": lambda m: numbers(m, ROWS, COLUMNS + 13)[:, 13:],
}


def by_calls() -> Iterator[Workload]:
    """One table of calls for each group, on each dtype."""
    tables: list[tuple[str, dict[str, Call], tuple[str, ...], tuple[int, ...]]] = [
        ("more pointwise", POINTWISE_CALLS, ("float32", "float64", "bfloat16"), (ROWS, COLUMNS)),
        ("integers", INTEGER_CALLS, ("uint8", "int16", "int64"), (ROWS, COLUMNS)),
        ("statistics", STATISTICS_CALLS, ("float32", "float64"), (ROWS, COLUMNS)),
        ("movement", MOVEMENT_CALLS, ("float32", "complex64", "int16"), (ROWS, COLUMNS)),
        ("writing", WRITING_CALLS, ("float32", "float64", "float16"), (ROWS, COLUMNS)),
        ("more products", PRODUCT_CALLS, ("float32", "float64"), (ROWS, COLUMNS)),
        ("transforms", TRANSFORM_CALLS, ("float32", "float64"), (ROWS, COLUMNS)),
    ]
    for group, calls, dtypes, shape in tables:
        for name, dtype in itertools.product(calls, dtypes):

            def make(
                m: Any, call: Call = calls[name], dtype: str = dtype, shape: tuple[int, ...] = shape
            ) -> Work:
                x = numbers(m, *shape, dtype=dtype)
                return lambda: call(m, x)

            yield Workload(group, f"{name}, {dtype}", make)
    for name, layout in itertools.product(LAYOUT_CALLS, MORE_LAYOUTS):

        def make_layout(m: Any, name: str = name, layout: str = layout) -> Work:
            x, call = MORE_LAYOUTS[layout](m), LAYOUT_CALLS[name]
            return lambda: call(m, x)

        yield Workload("layouts", f"{name}, {layout}", make_layout)
    for name, size in itertools.product(
        DECOMPOSITION_CALLS, ((64, 16, 16), (100, 3, 3), (200, 200))
    ):

        def make_matrix(m: Any, name: str = name, size: tuple[int, ...] = size) -> Work:
            x = numbers(m, *size)
            a, call = x @ x.mT + 3 * m.eye(size[-1]), DECOMPOSITION_CALLS[name]
            return lambda: call(m, a)

        yield Workload("decompositions", f"{name}, {'x'.join(map(str, size))}", make_matrix)


# ---- layers on images, sequences and classes


def ctc(m: Any, x: Any) -> Any:
    """CTC over a batch of 8 sequences of 60 steps, 20 classes, targets of 15."""
    logits = x.view(-1)[: 60 * 8 * 20].view(60, 8, 20).log_softmax(2)
    targets = indices(m, 19, 8, 15) + 1
    return m.nn.functional.ctc_loss(
        logits, targets, m.full((8,), 60, dtype=m.int64), m.full((8,), 15, dtype=m.int64)
    )


def classes(x: Any) -> Any:
    """Return the images as 1798 rows of 32 scores."""
    return x.view(-1, 32)[:1798]


MORE_LAYERS: dict[str, Call] = {
    "bicubic": lambda m, x: m.nn.functional.interpolate(x, scale_factor=2, mode="bicubic"),
    "bilinear, aligned": lambda m, x: m.nn.functional.interpolate(
        x, size=(45, 37), mode="bilinear", align_corners=True
    ),
    "bilinear, smaller, antialiased": lambda m, x: m.nn.functional.interpolate(
        x, size=(13, 11), mode="bilinear", antialias=True
    ),
    "area": lambda m, x: m.nn.functional.interpolate(x, size=(13, 11), mode="area"),
    "nearest-exact": lambda m, x: m.nn.functional.interpolate(
        x, size=(45, 37), mode="nearest-exact"
    ),
    "linear, 1-d": lambda m, x: m.nn.functional.interpolate(
        x.view(4, 16, -1), size=500, mode="linear"
    ),
    "trilinear": lambda m, x: m.nn.functional.interpolate(
        x[None], scale_factor=2, mode="trilinear"
    ),
    "max_pool1d": lambda m, x: m.nn.functional.max_pool1d(x.view(4, 16, -1), 3, 2),
    "max_pool2d 3, stride 1": lambda m, x: m.nn.functional.max_pool2d(x, 3, 1, 1),
    "max_pool3d": lambda m, x: m.nn.functional.max_pool3d(x, 2),
    "avg_pool1d": lambda m, x: m.nn.functional.avg_pool1d(x.view(4, 16, -1), 4),
    "avg_pool2d 2": lambda m, x: m.nn.functional.avg_pool2d(x, 2),
    "avg_pool3d": lambda m, x: m.nn.functional.avg_pool3d(x, 2),
    "lp_pool2d": lambda m, x: m.nn.functional.lp_pool2d(x, 2, 3),
    "adaptive_max_pool2d": lambda m, x: m.nn.functional.adaptive_max_pool2d(x, 7),
    "adaptive_avg_pool1d": lambda m, x: m.nn.functional.adaptive_avg_pool1d(x.view(4, 16, -1), 50),
    "global average": lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, 1),
    "grid_sample": lambda m, x: m.nn.functional.grid_sample(
        x, x[:, :2].permute(0, 2, 3, 1) - 1, align_corners=False
    ),
    "grid_sample, nearest": lambda m, x: m.nn.functional.grid_sample(
        x, x[:, :2].permute(0, 2, 3, 1) - 1, mode="nearest", align_corners=False
    ),
    "affine_grid": lambda m, x: m.nn.functional.affine_grid(
        x.view(-1)[:24].view(4, 2, 3), [4, 1, 31, 29], align_corners=False
    ),
    "fold": lambda m, x: m.nn.functional.fold(
        x[:, :, :28, :28].reshape(4, 16, 784), (56, 56), 2, stride=2
    ),
    "pixel_unshuffle": lambda m, x: m.nn.functional.pixel_unshuffle(x[:, :, :30, :28], 2),
    "local_response_norm": lambda m, x: m.nn.functional.local_response_norm(x, 5),
    "batch_norm, inference": lambda m, x: m.nn.functional.batch_norm(
        x, *x[0, :, 0, :2].detach().t()
    ),
    "group_norm, scaled": lambda m, x: m.nn.functional.group_norm(
        x, 4, x[0, :, 0, 0], x[0, :, 0, 1]
    ),
    "layer_norm of images": lambda m, x: m.nn.functional.layer_norm(x, x.shape[1:]),
    "rms_norm": lambda m, x: m.nn.functional.rms_norm(x.view(-1, 464), (464,)),
    "prelu": lambda m, x: m.nn.functional.prelu(x - 1, x[0, :, 0, 0]),
    "glu": lambda m, x: m.nn.functional.glu(x, 1),
    "softmax, 2-d": lambda m, x: m.softmax(x, -3),
    "dropout2d": lambda m, x: m.nn.functional.dropout2d(x),
    "cross_entropy": lambda m, x: m.nn.functional.cross_entropy(classes(x), indices(m, 32, 1798)),
    "cross_entropy, smoothed": lambda m, x: m.nn.functional.cross_entropy(
        classes(x), indices(m, 32, 1798), label_smoothing=0.1
    ),
    "cross_entropy, weighted": lambda m, x: m.nn.functional.cross_entropy(
        classes(x), indices(m, 32, 1798), weight=classes(x)[0].detach()
    ),
    "cross_entropy of images": lambda m, x: m.nn.functional.cross_entropy(
        x, indices(m, 16, 4, 31, 29)
    ),
    "cross_entropy, probabilities": lambda m, x: m.nn.functional.cross_entropy(
        classes(x), classes(x).detach()
    ),
    "nll_loss, sum": lambda m, x: m.nn.functional.nll_loss(
        classes(x), indices(m, 32, 1798), reduction="sum"
    ),
    "kl_div": lambda m, x: m.nn.functional.kl_div(x, x.detach(), reduction="batchmean"),
    "binary_cross_entropy": lambda m, x: m.nn.functional.binary_cross_entropy(
        x / 3, x.detach() / 3
    ),
    "bce with logits": lambda m, x: m.nn.functional.binary_cross_entropy_with_logits(x, x.detach()),
    "huber_loss": lambda m, x: m.nn.functional.huber_loss(x, x.detach().flip(0)),
    "multi_margin_loss": lambda m, x: m.nn.functional.multi_margin_loss(
        classes(x), indices(m, 32, 1798)
    ),
    "triplet_margin_loss": lambda m, x: m.nn.functional.triplet_margin_loss(
        classes(x), classes(x).flip(0), classes(x).flip(1)
    ),
    "cosine_embedding_loss": lambda m, x: m.nn.functional.cosine_embedding_loss(
        classes(x), classes(x).flip(0), indices(m, 2, 1798) * 2 - 1
    ),
    "ctc_loss": ctc,
    "attention, causal": lambda m, x: m.nn.functional.scaled_dot_product_attention(
        *(x.view(-1)[: 4 * 4 * 64 * 32].view(4, 4, 64, 32),) * 3, is_causal=True
    ),
    "attention, masked": lambda m, x: m.nn.functional.scaled_dot_product_attention(
        *(x.view(-1)[: 4 * 4 * 64 * 32].view(4, 4, 64, 32),) * 3,
        attn_mask=x.view(-1)[: 64 * 64].view(64, 64).detach() > 1,
    ),
    "embedding": lambda m, x: m.nn.functional.embedding(indices(m, 1798, 64, 20), classes(x)),
    "unfold, strided": lambda m, x: m.nn.functional.unfold(x, 3, stride=2, padding=1),
    "cumsum": lambda m, x: x.cumsum(2),
    "cumprod": lambda m, x: x.cumprod(3),
    "sort": lambda m, x: x.sort(3)[0],
    "topk": lambda m, x: x.topk(3, 3)[0],
    "max dim": lambda m, x: x.max(1)[0],
    "logsumexp": lambda m, x: x.logsumexp((2, 3)),
    "std": lambda m, x: x.std((0, 2, 3)),
    "gather": lambda m, x: x.gather(3, indices(m, 29, 4, 16, 31, 10)),
    "index": lambda m, x: x[:, indices(m, 16, 40)],
    "where": lambda m, x: m.where(x > 1, x, -x),
    "pad reflect": lambda m, x: m.nn.functional.pad(x, (2, 2, 2, 2), mode="reflect"),
    "cat of branches": lambda m, x: m.cat((x, x.flip(3), x * 2), 1),
    "einsum": lambda m, x: m.einsum("bchw,dc->bdhw", x, x[0, :, :16, 0]),
    "norm": lambda m, x: m.linalg.vector_norm(x, dim=1),
    "cdist": lambda m, x: m.cdist(classes(x)[:200], classes(x)[200:400]),
    "std of rows": lambda m, x: x.var(-1, keepdim=True),
}


def sequence_layer(m: Any, layer: str, options: dict[str, Any]) -> Work:
    """Inference of a recurrent or attention layer, without gradients."""
    network = getattr(m.nn, layer)(32, *(() if "num_heads" in options else (48,)), **options)
    network.eval()
    x = numbers(m, 10, 30, 32)

    def work() -> None:
        with m.no_grad():
            network(*(x,) * (3 if layer == "MultiheadAttention" else 1))

    return work


def more_layers() -> Iterator[Workload]:
    for (name, call), backward in itertools.product(MORE_LAYERS.items(), (False, True)):

        def make(m: Any, call: Call = call, backward: bool = backward) -> Work:
            x = numbers(m, 4, 16, 31, 29)
            if not backward:
                return lambda: call(m, x)
            x.requires_grad_()
            result = call(m, x)
            if not result.requires_grad:
                return lambda: call(m, x)
            gradient = m.ones_like(result).detach()
            return lambda: m.autograd.grad(call(m, x), x, gradient)

        yield Workload("more layers", f"{name}{', with backward' if backward else ''}", make)
    sequences: list[tuple[str, dict[str, Any]]] = [
        ("LSTM", {}),
        ("LSTM", {"num_layers": 2, "bidirectional": True}),
        ("GRU", {}),
        ("GRU", {"batch_first": True, "bidirectional": True}),
        ("RNN", {"nonlinearity": "relu"}),
        ("MultiheadAttention", {"num_heads": 4}),
        ("MultiheadAttention", {"num_heads": 2, "batch_first": True}),
    ]
    for layer, options in sequences:
        described = "".join(f", {name} {value}" for name, value in options.items())

        def make_sequence(m: Any, layer: str = layer, options: dict[str, Any] = options) -> Work:
            return sequence_layer(m, layer, options)

        yield Workload("more layers", f"{layer}{described}", make_sequence)


def complex_numbers() -> Iterator[Workload]:
    calls: dict[str, Call] = {
        "abs": lambda m, z: z.abs(),
        "angle": lambda m, z: z.angle(),
        "exp": lambda m, z: z.exp(),
        "log": lambda m, z: z.log(),
        "sqrt": lambda m, z: z.sqrt(),
        "sin": lambda m, z: z.sin(),
        "tanh": lambda m, z: z.tanh(),
        "reciprocal": lambda m, z: z.reciprocal(),
        "square": lambda m, z: z.square(),
        "pow": lambda m, z: z**2.5,
        "conj_physical": lambda m, z: m.conj_physical(z),
        "mul conj": lambda m, z: z * z.conj(),
        "mul number": lambda m, z: z * 2j,
        "sum": lambda m, z: z.sum(),
        "sum dim 0": lambda m, z: z.sum(0),
        "sum dim 1": lambda m, z: z.sum(1),
        "mean": lambda m, z: z.mean(1),
        "prod": lambda m, z: z.prod(1),
        "cumsum": lambda m, z: z.cumsum(1),
        "product": lambda m, z: z @ z.t(),
        "product conj": lambda m, z: z @ z.mH,
        "transposed": lambda m, z: z.t().contiguous(),
        "view_as_real": lambda m, z: m.view_as_real(z).clone(),
        "complex": lambda m, z: m.complex(z.real, z.imag),
        "polar": lambda m, z: m.polar(z.real, z.imag),
        "eq": lambda m, z: z == z,
        "columns, exp": lambda m, z: z[:, ::2].exp(),
        "index rows": lambda m, z: z[indices(m, ROWS, 100)],
        "fft": lambda m, z: m.fft.fft(z),
        "ifft of columns": lambda m, z: m.fft.ifft(z, dim=0),
    }
    for (name, call), dtype in itertools.product(calls.items(), ("float32", "float64")):

        def make(m: Any, call: Call = call, dtype: str = dtype) -> Work:
            z = m.complex(operand(m, "dense", dtype), operand(m, "dense", dtype, 2))
            return lambda: call(m, z)

        yield Workload("complex", f"{name}, complex of {dtype}", make)


def more_overhead() -> Iterator[Workload]:
    calls: dict[str, Call] = {
        "sub number": lambda m, x: 1.0 - x,
        "pow 2": lambda m, x: x**2,
        "neg": lambda m, x: -x,
        "add_": lambda m, x: x.add_(0.0),
        "masked_fill": lambda m, x: x.masked_fill(x > 1, 0.0),
        "clamp": lambda m, x: x.clamp(0.0, 1.0),
        "mean": lambda m, x: x.mean(),
        "std": lambda m, x: x.std(),
        "argmax": lambda m, x: x.argmax(),
        "sort": lambda m, x: x.sort(),
        "topk": lambda m, x: x.topk(2),
        "cumsum": lambda m, x: x.cumsum(0),
        "norm": lambda m, x: x.norm(),
        "any": lambda m, x: (x > 1).any(),
        "unsqueeze": lambda m, x: x.unsqueeze(0),
        "squeeze": lambda m, x: x[None].squeeze(0),
        "expand": lambda m, x: x[None].expand(3, 4, 6),
        "transpose": lambda m, x: x.transpose(0, 1),
        "chunk": lambda m, x: x.chunk(2),
        "split": lambda m, x: x.split(1),
        "unbind": lambda m, x: x.unbind(),
        "flatten": lambda m, x: x.flatten(),
        "iterate": lambda m, x: list(x),
        "index list": lambda m, x: x[[0, 2]],
        "index mask": lambda m, x: x[x > 1],
        "gather": lambda m, x: x.gather(1, x.argmax(1, keepdim=True)),
        "full": lambda m, x: m.full((4, 6), 2.0),
        "ones_like": lambda m, x: m.ones_like(x),
        "rand": lambda m, x: m.rand(4, 6),
        "randn": lambda m, x: m.randn(4, 6),
        "empty": lambda m, x: m.empty(4, 6),
        "eye": lambda m, x: m.eye(4),
        "linspace": lambda m, x: m.linspace(0, 1, 6),
        "randperm": lambda m, x: m.randperm(6),
        "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (6,)),
        "gelu": lambda m, x: m.nn.functional.gelu(x),
        "dropout": lambda m, x: m.nn.functional.dropout(x, 0.5),
        "log_softmax": lambda m, x: m.log_softmax(x, 1),
        "einsum": lambda m, x: m.einsum("ij,kj->ik", x, x),
        "bmm": lambda m, x: m.bmm(x[None], x.t()[None]),
        "outer": lambda m, x: m.outer(x[0], x[1]),
        "numel": lambda m, x: x.numel(),
        "size": lambda m, x: x.size(0),
        "dtype": lambda m, x: x.dtype,
        "device": lambda m, x: x.device,
        "len": lambda m, x: len(x),
        "float": lambda m, x: float(x[0, 0]),
        "bool": lambda m, x: bool(x[0, 0] > 0),
        "numpy": lambda m, x: x.numpy(),
        "repr": lambda m, x: repr(x),
        "is_contiguous": lambda m, x: x.is_contiguous(),
        "stride": lambda m, x: x.stride(),
        "dim": lambda m, x: x.dim(),
        "data_ptr": lambda m, x: x.data_ptr(),
        "storage_offset": lambda m, x: x.storage_offset(),
        "element_size": lambda m, x: x.element_size(),
        "nbytes": lambda m, x: x.nbytes,
        "is_floating_point": lambda m, x: x.is_floating_point(),
        "requires_grad": lambda m, x: x.requires_grad,
        "is_leaf": lambda m, x: x.is_leaf,
        "grad": lambda m, x: x.grad,
        "is_cuda": lambda m, x: x.is_cuda,
        "cpu": lambda m, x: x.cpu(),
        "type_as": lambda m, x: x.type_as(x),
        "copy_": lambda m, x: x.copy_(x),
        "zero_": lambda m, x: x.add_(0.0).mul_(1.0),
        "equal": lambda m, x: m.equal(x, x),
        "allclose": lambda m, x: m.allclose(x, x),
    }
    for name, call in calls.items():

        def make(m: Any, call: Call = call) -> Work:
            x = numbers(m, 4, 6)
            return lambda: call(m, x)

        yield Workload("more overhead", name, make)


FAMILIES = (
    overhead, pointwise, reductions, copies, products, layers, indexing, training,
    by_calls, more_layers, complex_numbers, more_overhead,
)  # fmt: skip


def workloads() -> Iterator[Workload]:
    return itertools.chain.from_iterable(family() for family in FAMILIES)
