"""A small recorded program that the tests of three views look at.

x = arange(6.).view(2, 3)     # line 1
y = x.t()                     # line 2
z = x[:, 1]                   # line 3
z.mul_(10)                    # line 4
"""

from __future__ import annotations

from engine.inspect.history import History
from tests.inspect.trace_builder import T, TraceBuilder


def program() -> tuple[TraceBuilder, dict[str, int]]:
    """Return the builder, at line 5, and the tensors by name."""
    builder = TraceBuilder()
    builder.file("demo.py", "x = arange(6.).view(2, 3)\ny = x.t()\nz = x[:, 1]\nz.mul_(10)\n")
    builder.frame("<module>")
    builder.line(1)
    with builder.op("arange(Scalar end) -> Tensor", [6.0]) as call:
        x = builder.tensor((2, 3), values=range(6))
        call.results(x)
    builder.bind("x", x)
    builder.line(2)
    with builder.op("t(Tensor(a) self) -> Tensor(a)", [T(x)]) as call:
        y = builder.tensor((3, 2), (1, 3), base=x)
        call.results(y)
    builder.bind("y", y)
    builder.line(3)
    with builder.op("select(Tensor(a) self, int dim, int i) -> Tensor(a)", [T(x), 1, 1]) as call:
        z = builder.tensor((2,), (3,), 1, base=x)
        call.results(z)
    builder.bind("z", z)
    builder.line(4)
    with builder.op("mul_(Tensor self, Scalar other) -> Tensor", [T(z), 10]) as call:
        builder.write(z, [10.0, 2, 3, 40.0])
        call.results(z)
    builder.line(5)
    return builder, {"x": x, "y": y, "z": z}


def history() -> tuple[History, dict[str, int]]:
    builder, tensors = program()
    return builder.history(), tensors
