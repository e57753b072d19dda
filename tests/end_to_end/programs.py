"""Small random programs that use everything that can hold a tensor."""

from __future__ import annotations

import random

_HEAD = """\
import engine
import numpy
engine.manual_seed({seed})


class Box:
    def __init__(self, inside):
        self.inside = inside

    def swap(self, other):
        before = self.inside
        self.inside = other
        return before


class Slots:
    __slots__ = ("a", "b")


def doubled(t):
    twice = t + t
    return twice


def keeps(t):
    def later(k):
        return t * k
    return later


def gives(t):
    for i in range(2):
        row = t[i]
        yield row


def fails(t):
    local = t.clone()
    try:
        local.view(7, 11)
    finally:
        other = local.t()
    return other


def deep(t, n):
    part = t[:1]
    return part if n == 0 else deep(t, n - 1)


t0 = engine.rand(3, 4)
t1 = engine.arange(12.0).view(3, 4)
xs = [t0]
table = {{"first": t1}}
box = Box(t0)
slots = Slots()
slots.a = t1
"""

_STEPS = [
    "t{i} = engine.rand(3, 4)",
    "t{i} = t{j}.t().t()",
    "wide = t{j}[:1].expand(3, 4)\nt{i} = wide.contiguous()",
    "t{i} = t{j}.as_strided((3, 4), (4, 1))",
    "t{i} = doubled(t{j})",
    "t{i} = t{j}.detach()",
    "t{i} = t{j}.data",
    "t{i} = deep(t{j}, {k}).expand(3, 4).clone()",
    "t{i} = t{j} + 1",
    "t{i} += 1",
    "t{i}.mul_({k})",
    "t{i}[{r}] = t{j}[{r}].clone()",
    "t{i}[:, 1] = {k}.5",
    "t{i}.copy_(t{j}.clone())",
    "xs.append(t{j})",
    "xs[:0] = [t{i}, t{j}.view(12)]",
    "del xs[-1:]",
    "xs = [x.clone() for x in xs[:4]]",
    "table['k{k}'] = t{j}",
    "table.pop('k{k}', None)",
    "table = dict(table, again=[t{i}, (t{j},)])",
    "box.inside = t{j}",
    "gone = box.swap(t{i})\ndel gone",
    "slots.a, slots.b = t{i}, t{j}",
    "shared = t{i}.numpy()\nshared[0] = {k}\ndel shared",
    "given = numpy.ones((3, 4), 'float32')\nt{i} = engine.from_numpy(given)\ngiven[1] = {k}",
    "inner = keeps(t{j})\nt{i} = inner({k})",
    "inner = None",
    "for row in gives(t{j}):\n    part = row * 2",
    "waiting = gives(t{j})\nnext(waiting)",
    "waiting = None",
    "try:\n    fails(t{j})\nexcept RuntimeError as error:\n    print(error)",
    "caught = []\ntry:\n    engine.zeros(2) + t{j}\nexcept RuntimeError as error:\n    caught.append(error)",
    "caught = None",
    "if t{j}.sum().item() > 20:\n    t{i} = engine.zeros(3, 4)\nelse:\n    t{i} = engine.ones(3, 4)",
    "t{i} = t{j} @ t{j}.t() @ t{j}",
    "print(t{i}.sum().item(), t{j}.tolist()[0])",
    "both = t{i}, t{j}\ndel both",
    "t{i}, t{j} = t{j}, t{i}",
    "ring = [t{i}]\nring.append(ring)\ndel ring",
]


def random_program(seed: int, steps: int = 25) -> str:
    """Return a program that ends well, or with an exception, as the seed will have it."""
    chooser = random.Random(seed)
    lines = [_HEAD.format(seed=seed)]
    for _ in range(steps):
        step = chooser.choice(_STEPS)
        i, j = chooser.sample(range(2), 2)
        lines.append(step.format(i=i, j=j, k=chooser.randrange(1, 5), r=chooser.randrange(3)))
    lines.append("print([t.tolist() for t in (t0, t1)], len(xs), sorted(table))")
    if seed % 5 == 4:
        lines.append("raise SystemExit(3)" if seed % 2 else "t0.view(5, 5)")
    return "\n".join(lines) + "\n"
