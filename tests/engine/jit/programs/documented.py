"""Functions in the manner of PyTorch's TorchScript documentation, one for each of its sections."""

# ruff: noqa  (as programs are written)
from typing import Dict, List, NamedTuple, Optional, Tuple

import engine
from engine import Tensor, jit


def annotated(x: Tensor, tup: Tuple[Tensor, Tensor]) -> Tensor:
    t0, t1 = tup
    return t0 + t1 + x


def commented(x, tup):
    # type: (Tensor, Tuple[Tensor, int]) -> Tensor
    t0, n = tup
    return t0 * n + x


def refined(x: Optional[Tensor], y: Optional[int]) -> int:
    n = 0
    if x is not None and y is not None:
        n = y + x.size(0)
    elif y is not None:
        n = y
    if y is not None:
        n = n * y
    return n


def empty_list(n: int) -> List[int]:
    xs: List[int] = []
    ys = jit.annotate(List[int], [])
    zs = []  # type: List[int]
    for i in range(n):
        xs.append(i)
        ys.append(-i)
        zs.append(i * i)
    return xs + ys + zs


class Sample(NamedTuple):
    image: Tensor
    label: int


def named(sample: Sample) -> Sample:
    return Sample(image=sample.image * 2, label=sample.label + 1)


def gate(x):
    if x.sum() > 0:
        return x
    else:
        return -x


def loop(x, n: int):
    y = x
    for i in range(n):
        if i > 2:
            y = y + gate(x * i)
        else:
            y = y - x
    return y


def maximum(x, y):
    if x.max() > y.max():
        r = x
    else:
        r = y
    return r


def while_sum(x):
    total = 0
    i = 0
    while i < x.size(0):
        total += int(x[i].sum())
        i += 1
    return total


def slicing(x):
    return x[1:3, ..., None].squeeze(-1), x[:, 1], x[-1]


def comparison(x: int, y: int, z: int):
    return x < y and y < z or not x == z


def dictionary(d: Dict[str, Tensor]) -> Tensor:
    total = engine.zeros(1)
    for name in d:
        if name != "skip":
            total = total + d[name].sum()
    return total


def print_and_assert(x, n: int):
    assert n > 0, "n has to be positive"
    return x / n


def power_of_two(n: int) -> bool:
    while n > 1:
        if n % 2 == 1:
            return False
        n = n // 2
    return True


def beam(scores: List[float], width: int) -> List[int]:
    best: List[int] = []
    for _ in range(width):
        top = -1
        for i, score in enumerate(scores):
            if i in best:
                continue
            if top < 0 or score > scores[top]:
                top = i
        best.append(top)
    return best


def dumb_function(x):
    return x.t().t()


def rnn(h, x, w_h, w_x, b_h, b_x):
    h = engine.tanh(x.mm(w_x.t()) + h.mm(w_h.t()) + b_h + b_x)
    return h, h


def lstm_step(x, h, c, w_ih, w_hh):
    gates = x.mm(w_ih.t()) + h.mm(w_hh.t())
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h, c


_STEP = [engine.ones(2, 3), engine.ones(2, 4) * 0.5, engine.ones(2, 4)]
_WEIGHTS = [engine.arange(48.0).view(16, 3) / 50, engine.arange(64.0).view(16, 4) / 70]
CASES = [
    (annotated, [(engine.ones(3), (engine.ones(3), engine.zeros(3)))]),
    (commented, [(engine.ones(3), (engine.ones(3), 4))]),
    (refined, [(None, None), (engine.ones(2), 3), (None, 3)]),
    (empty_list, [(0,), (4,)]),
    (named, [(Sample(engine.ones(2), 3),)]),
    (gate, [(engine.ones(2),), (-engine.ones(2),)]),
    (loop, [(engine.ones(2), 6)]),
    (maximum, [(engine.ones(2), engine.zeros(2)), (engine.ones(2), engine.ones(2) * 2)]),
    (while_sum, [(engine.arange(6.0).view(3, 2),)]),
    (slicing, [(engine.arange(12.0).view(4, 3),)]),
    (comparison, [(1, 2, 3), (3, 2, 3), (1, 5, 2)]),
    (dictionary, [({"a": engine.ones(2), "skip": engine.ones(5), "b": engine.ones(3)},)]),
    (print_and_assert, [(engine.ones(2), 4)]),
    (power_of_two, [(1,), (64,), (96,)]),
    (beam, [([0.1, 0.7, 0.3, 0.9], 3)]),
    (dumb_function, [(engine.arange(6.0).view(2, 3),)]),
    (
        rnn,
        [
            tuple(engine.ones(2, 2) * k for k in (0.1, 0.2, 0.3, 0.4))
            + (engine.ones(2), engine.zeros(2))
        ],
    ),
    (lstm_step, [(*_STEP, *_WEIGHTS)]),
]
