"""A small recorded program for the explorer's tests: a view, a write through it, a function call."""

from __future__ import annotations

from pathlib import Path

from tests.inspect.trace_builder import T, TraceBuilder

SOURCE = """\
import engine as torch

def shift(t):
    u = t + 1
    return u

x = torch.zeros(2, 3)
y = x.t()
z = x[0]
z.fill_(7)
w = shift(y)
"""
ZEROS = "zeros(int[] size) -> Tensor"
TRANSPOSE = "t(Tensor self) -> Tensor"
SELECT = "select.int(Tensor self, int dim, int index) -> Tensor"
FILL = "fill_.Scalar(Tensor self, Scalar value) -> Tensor"
ADD = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def program() -> TraceBuilder:
    """Return the events of SOURCE, with the tensors x=1, y=2, z=3 on storage 1 and w=4 on storage 2."""
    b = TraceBuilder()
    b.file("/home/me/demo.py", SOURCE)
    b.frame("<module>")
    for line in (1, 3, 7):
        b.line(line)
    with b.op(ZEROS, [(2, 3)]) as call:
        x = b.tensor((2, 3), values=range(6))
        call.results(x)
    b.object(x)
    b.bind("x", x)
    b.line(8)
    with b.op(TRANSPOSE, [T(x)]) as call:
        y = b.tensor((3, 2), (1, 3), base=x)
        call.results(y)
    b.bind("y", y)
    b.line(9)
    with b.op(SELECT, [T(x), 0, 0]) as call:
        z = b.tensor((3,), (1,), base=x)
        call.results(z)
    b.bind("z", z)
    b.line(10)
    with b.op(FILL, [T(z), 7]) as call:
        b.write(z, [7, 7, 7])
        call.results()
    b.line(11)
    b.frame("shift", 3)
    b.bind("t", y)
    b.line(4)
    with b.op(ADD, [T(y), 1, 1]) as call:
        w = b.tensor((3, 2), values=range(6))
        call.results(w)
    b.bind("u", w)
    b.line(5)
    b.pop_frame()
    b.bind("w", w)
    b.pop_frame()
    return b


def saved(folder: Path) -> Path:
    """Return the program as a trace file."""
    return program().save(folder / "demo.uht")
