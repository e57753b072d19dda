"""Graphs and moments that the tests of the autograd view draw."""

from __future__ import annotations

from functools import lru_cache

from engine.inspect.history import History
from engine.inspect.models import project
from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.models.test_autograd import diamond
from tests.inspect.selections import select
from tests.inspect.trace_builder import T
from tui.render import SETS, Picture
from tui.views import DrawContext, view
from tui.views.autograd.scene import AutogradOptions

FORMS = ("boxes", "rows", "list")
SIZES = ((60, 18), (80, 19), (83, 34), (118, 34), (200, 60))


def drawn(
    history: History,
    moment: int,
    width: int = 100,
    height: int = 34,
    glyphs: str = "unicode",
    options: AutogradOptions | None = None,
    **selected: int,
) -> Picture:
    selection = select(**selected)
    context = DrawContext(
        width, height, SETS[glyphs], selection, "node", options or AutogradOptions()
    )
    return view("autograd").draw(project("autograd", history, moment, selection), context)


def stops(history: History) -> list[int]:
    return [int(moment) for moment in history.tables.node_stops]


def network(layers: int, names: bool = True) -> tuple[GradBuilder, int]:
    """relu(addmm(b, h, w.t())) again and again, then a mean; the builder and the loss."""
    b = GradBuilder()
    b.file(
        "net.py",
        "x = leaf()\nfor w, b in layers:\n    h = relu(linear(h, w, b))\nloss = h.mean()\n",
    )
    b.line(1)
    parameters = [
        (b.leaf((8, 8), f"w{at}" if names else ""), b.leaf((8,), f"b{at}" if names else ""))
        for at in range(layers)
    ]
    h = 0
    for weight, bias in parameters:
        b.line(3)
        turned = b.result("TBackward0", (weight,), op="t", sizes=(8, 8), is_view=True)
        h = b.result("AddmmBackward0", (bias, h, turned), {"mat2": turned}, (4, 8), op="addmm")
        h = b.result("ReluBackward0", (h,), {"result": 0}, (4, 8))
    b.line(4)
    return b, b.result("MeanBackward0", (h,), sizes=(), bind="loss")


@lru_cache(maxsize=1)
def trained() -> tuple[History, dict[str, int]]:
    b, named = diamond()
    return b.history(), named


@lru_cache(maxsize=1)
def deep() -> tuple[History, int]:
    b, loss = network(12)
    built = b.now
    b.backward(loss)
    return b.history(), built


@lru_cache(maxsize=1)
def stale() -> tuple[History, int, int]:
    """x is saved by a product and then written in place."""
    b = GradBuilder()
    b.file("stale.py", "x = leaf()\nw = x.exp()\ny = w * w\nw.add_(1)\n")
    b.line(1)
    x = b.leaf(name="x", values=[1.0, 2.0])
    b.line(2)
    w = b.result("ExpBackward0", (x,), bind="w")
    b.line(3)
    y = b.result("MulBackward0", (w, w), {"self": w, "other": w}, bind="y")
    b.line(4)
    with b.op("add_(Tensor(a!) self, Scalar other) -> Tensor(a!)", [T(w), 1]):
        b.write(w, [2.0, 3.0])
    return b.history(), b.made_by[y][0], b.now


# What the picture says
