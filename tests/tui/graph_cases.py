"""Graphs of the shapes that autograd builds: a name per node, edges from users down to their inputs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Case:
    names: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    tails: list[int] = field(default_factory=list)

    def node(self, name: str, *below: int) -> int:
        self.names.append(name)
        for tail in below:
            self.heads.append(len(self.names) - 1)
            self.tails.append(tail)
        return len(self.names) - 1

    def leaf(self) -> int:
        return self.node("AccumulateGrad")

    @property
    def widths(self) -> list[int]:
        return [len(name) + 4 for name in self.names]


def diamond() -> Case:
    c = Case()
    x = c.leaf()
    c.node("Sum", c.node("Mul", c.node("Sin", x), c.node("Cos", x)))
    return c


def chain(count: int) -> Case:
    c = Case()
    x = c.leaf()
    for _ in range(count):
        x = c.node("Mul", x)
    return c


def mlp(layers: int) -> Case:
    c = Case()
    x = -1
    for _ in range(layers):
        below = [c.leaf()] + ([x] if x >= 0 else []) + [c.node("T", c.leaf())]
        x = c.node("Relu", c.node("Addmm", *below))
    c.node("Mean", x)
    return c


def residual(blocks: int) -> Case:
    c = Case()
    x = c.leaf()
    for _ in range(blocks):
        inner = c.node("Conv", c.node("Relu", c.node("Conv", x, c.leaf())), c.leaf())
        x = c.node("Add", x, inner)
    return c


def attention(blocks: int) -> Case:
    c = Case()
    x = c.leaf()
    for _ in range(blocks):
        norm = c.node("NativeLayerNorm", x, c.leaf(), c.leaf())
        q, k, v = (
            c.node(
                "Transpose", c.node("Addmm", c.leaf(), c.node("View", norm), c.node("T", c.leaf()))
            )
            for _ in range(3)
        )
        out = c.node("Bmm", c.node("Softmax", c.node("Bmm", q, c.node("Transpose", k))), v)
        x = c.node("Add", x, c.node("Addmm", c.leaf(), c.node("View", out), c.node("T", c.leaf())))
    return c


def recurrent(steps: int) -> Case:
    c = Case()
    w, u, b = c.leaf(), c.leaf(), c.leaf()
    h = -1
    for _ in range(steps):
        a = c.node("Addmm", b, c.node("T", w))
        h = c.node("Tanh", a if h < 0 else c.node("Add", a, c.node("Mm", h, c.node("T", u))))
    return c


def tree(leaves: int) -> Case:
    c = Case()
    level = [c.leaf() for _ in range(leaves)]
    while len(level) > 1:
        level = [c.node("Add", *level[at : at + 2]) for at in range(0, len(level), 2)]
    return c


def wide(count: int) -> Case:
    c = Case()
    c.node("Stack", *[c.node("Mul", c.leaf()) for _ in range(count)])
    return c


def tangle(count: int, reach: int = 12, seed: int = 1) -> Case:
    chance = random.Random(seed)
    c = Case()
    c.leaf()
    for at in range(1, count):
        c.node("Mul", *{chance.randrange(max(0, at - reach), at) for _ in range(2)})
    return c


ALL = {
    "diamond": diamond(),
    "chain": chain(40),
    "mlp": mlp(6),
    "residual": residual(12),
    "attention": attention(3),
    "recurrent": recurrent(30),
    "tree": tree(23),
    "wide": wide(30),
    "tangle": tangle(120),
    "far tangle": tangle(150, 60, 2),
    "one": chain(0),
    "none": Case(),
}
