"""Recorded operator calls that the tests of the dispatch and microscope views look at."""

from __future__ import annotations

from tests.inspect.trace_builder import T, TraceBuilder

ADD = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
MM = "mm(Tensor self, Tensor mat2) -> Tensor"
CONV = (
    "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
    "int[2] dilation=1, int groups=1) -> Tensor"
)
KEYS = ("ADInplaceOrView", "CPU")


def added() -> tuple[TraceBuilder, dict[str, int]]:
    """x + y by two hops, with its loop."""
    b = TraceBuilder()
    b.file("demo.py", "x = ...\nz = x + y\n")
    b.line(1)
    x = b.tensor((2, 3), values=range(6), name="x")
    y = b.tensor((3,), values=range(3), name="y")
    b.line(2)
    at = {"x": x, "y": y}
    with b.op(ADD, [T(x), T(y), 1], hops=False) as call:
        op = b.string(ADD)
        b.hop(op, "ADInplaceOrView", "add_ad", ["Autograd", *KEYS])
        at["first hop"] = b.now
        b.hop(op, "CPU", "add_pointwise", ["CPU"])
        z = b.tensor((2, 3))
        at["plan"] = b.plan((2, 3), (4, 12, 4), (4, 12, 4), (4, 0, 4))
        b.write(z, [0, 2, 4, 3, 5, 7])
        call.results(z)
    at["end"] = b.now
    b.bind("z", z)
    return b, at | {"z": z}


def multiplied() -> tuple[TraceBuilder, dict[str, int]]:
    """x @ w: a row and a column meet in each cell."""
    b = TraceBuilder()
    b.file("demo.py", "y = x @ w\n")
    b.line(1)
    x = b.tensor((2, 3), values=range(6), name="x")
    w = b.tensor((3, 4), (1, 3), values=range(12), name="w")
    with b.op(MM, [T(x), T(w)]) as call:
        y = b.tensor((2, 4), values=[5, 14, 23, 32, 14, 50, 86, 122])
        call.results(y)
    b.bind("y", y)
    return b, {"x": x, "w": w, "y": y}


def convolved() -> tuple[TraceBuilder, dict[str, int]]:
    """A convolution with two channels and padding: four dimensions, and windows cut at the edge."""
    b = TraceBuilder()
    b.file("demo.py", "out = conv2d(image, kernel, padding=1)\n")
    b.line(1)
    image = b.tensor((1, 2, 5, 6), values=range(60), name="image")
    kernel = b.tensor((3, 2, 3, 3), values=range(54), name="kernel")
    arguments = [T(image), T(kernel), None, (1, 1), (1, 1), (1, 1), 1]
    with b.op(CONV, arguments) as call:
        out = b.tensor((1, 3, 5, 6), values=range(90))
        call.results(out)
    b.bind("out", out)
    return b, {"image": image, "kernel": kernel, "out": out}
