"""One small program, recorded by hand: views that share a storage, a call, a temporary, foreign memory."""

from __future__ import annotations

from dataclasses import dataclass

from engine.inspect.history import History
from tests.inspect.trace_builder import T, TraceBuilder

PATH = "/home/me/demo.py"
SOURCE = """import engine

x = engine.arange(6.0).view(2, 3)
y = x.t()

def double(t):
    t.mul_(2)
    return t

double(y)
z = x[:, 1]
w = engine.from_numpy(a)
"""


@dataclass(frozen=True)
class Story:
    """The history, the tensors' numbers, and moments: each just before the line of that number runs."""

    history: History
    x: int
    y: int
    z: int
    w: int
    arange: int  # a temporary: freed when `x` has been made from it
    scalar: int  # a tensor that never had a Python object
    lines: dict[int, int]
    inside: int  # while `transpose` runs inside `t`
    end: int


def record() -> Story:
    """Record the story."""
    b = TraceBuilder()
    lines: dict[int, int] = {}
    b.file(PATH, SOURCE)
    b.frame("<module>")
    lines[1] = b.line(1)
    b.bind("engine", text="<module 'engine'>")
    lines[3] = b.line(3)
    with b.op("arange(Scalar end) -> Tensor", [6.0]) as call:
        arange = b.tensor((6,), values=range(6))
        call.results(arange)
    with b.op("view(Tensor(a) self, int[] size) -> Tensor(a)", [T(arange), (2, 3)]) as call:
        x = b.tensor((2, 3), base=arange)
        call.results(x)
    b.free(arange)
    b.bind("x", x)
    b.object(x, 2)
    lines[4] = b.line(4)
    with b.op("t(Tensor(a) self) -> Tensor(a)", [T(x)]) as call:
        with b.op("transpose(Tensor(a) self, int a, int b) -> Tensor(a)", [T(x), 0, 1]):
            y = b.tensor((3, 2), (1, 3), base=x)
            inside = b.now
        call.results(y)
    b.bind("y", y)
    b.object(y, 2)
    lines[6] = b.line(6)
    b.bind("double", text="<function double>")
    lines[10] = b.line(10)
    b.frame("double", 6)
    b.bind("t", y)
    lines[7] = b.line(7)
    with b.op("mul_(Tensor(a!) self, Scalar other) -> Tensor(a!)", [T(y), 2]):
        scalar = b.tensor((), wrap=False)
        b.write(y, [0, 2, 4, 6, 8, 10])
    lines[8] = b.line(8)
    b.pop_frame()
    lines[11] = b.line(11)
    with b.op("select(Tensor(a) self, int dim, int index) -> Tensor(a)", [T(x), 1, 1]) as call:
        z = b.tensor((2,), (3,), 1, base=x)
        call.results(z)
    b.bind("z", z)
    b.bind("zs[0]", z, "SLOT")
    b.object(z, 3)
    lines[12] = b.line(12)
    w = b.tensor((2, 2), values=[1, 2, 3, 4], allocator="foreign")
    b.retain_storage(b.state[w]["storage"], "NUMPY", 1)
    b.bind("w", w)
    b.object(w, 2)
    b.exception("RuntimeError", "no more", 12)
    return Story(b.history(), x, y, z, w, arange, scalar, lines, inside, b.now)
