"""Arithmetic of numbers, conversions, Optional and its refinement by conditions."""

# ruff: noqa  (as programs are written)
import math
from typing import Any

import engine
from engine import Tensor


def arithmetic(a: int, b: int, x: float):
    return (
        a + b,
        a - b,
        a * b,
        a / b,
        a // b,
        a % b,
        -a,
        +b,
        a & b,
        a | b,
        a ^ b,
        a << 2,
        a >> 1,
        x // 2,
        x % 3,
        x**2,
    )


def conversions(n: int, x: float, t):
    return (
        int(x),
        float(n),
        bool(n),
        str(n),
        int(t),
        float(t),
        bool(t),
        str(x),
        int(True),
        float("2.5"),
    )


def functions(x: float, n: int):
    return (
        math.sqrt(x),
        math.floor(x),
        math.ceil(x),
        math.exp(x),
        math.log(x),
        math.pi * x,
        math.sin(x) + math.cos(x),
        abs(-n),
        min(n, 3),
        max(x, 1.5),
        divmod(n, 3),
        math.gcd(n, 12),
        math.isnan(x),
        pow(x, 2.0),
    )


def is_none(x: int | None) -> int:
    if x is None:
        return -1
    return x + 1


def is_not_none(x: int | None, y: float | None):
    total = 0.0
    if x is not None and y is not None:
        total = x * y
    if x is not None:
        total += x
    elif y is not None:
        total -= y
    return total


def asserted(x: int | None):
    assert x is not None
    return x * 2


def raised(x: Tensor | None):
    if x is None:
        raise RuntimeError("nothing")
    return x.sum()


def or_none(x: int | None, y: int):
    if x is None or x < y:
        return y
    return x


def default(x: list[int] | None = None, n: int = 2):
    if x is None:
        x = [n]
    return len(x) + n


def ternary_none(x: int | None):
    return x if x is not None else 7


def assigned_none(flag: bool) -> int | None:
    x: int | None = None
    if flag:
        x = 3
    return x


def in_loop(n: int):
    best: int | None = None
    for i in range(n):
        if best is None:
            best = i
        elif (i * 7) % 5 > best:
            best = (i * 7) % 5
    return best


def isinstances(x: int | None, y: int | None, z: list[int]):
    found = 0
    if isinstance(x, int):
        found += x
    if not isinstance(y, int):
        found += 100
    if isinstance(z, list):
        found += 1000
    if isinstance(z, (str, float)):
        found += nothing_of_the_kind(z)  # noqa: F821  (never compiled)
    return found


def nothing(x: Any | None = None) -> bool:
    return x is None


def numbers_and_tensors(x, n: int, f: float):
    return x + n, n - x, f * x, n / x, x // 2, x % 3, -x, x**2, 2 - x, n + f, x == n, x > f


def in_place(x):
    y = x
    y += 1
    y *= 2
    y -= 0.5
    y /= 4
    return x, y


def indices(x, i):
    return (
        x[0],
        x[-1],
        x[1:],
        x[:, 0],
        x[..., 1],
        x[None],
        x[i],
        x[x > 2],
        x[0, 1],
        x[:, None, 1:],
        x[i, 0],
        x[[1, 0]],
    )


def written(x, i):
    x[0] = 5
    x[1, 1] = 7.0
    x[:, 0] += 10
    x[i] = x[i] * 2
    x[x > 20] = 0
    x[1:] -= 1
    return x


def shapes(x):
    b, n = x.shape
    return (
        x.size(0),
        b * n,
        x.dim(),
        x.numel(),
        x.view(-1).shape[0],
        x.t().shape,
        len(x),
        x.dtype == engine.float32,
    )


def views(x):
    a, b = x.split(1)
    c, d = x.unbind(1)
    return (
        a + b,
        c * d,
        x.reshape(4, 1).squeeze(),
        x.transpose(0, 1).contiguous(),
        x.permute(1, 0),
        x.unsqueeze(-1),
    )


def makes(n: int):
    return (
        engine.zeros(n, 2),
        engine.ones([2, n]),
        engine.full((n,), 2.5),
        engine.arange(n),
        engine.eye(n),
        engine.tensor([1, n]),
        engine.zeros(2, dtype=engine.int64),
    )


def reductions(x):
    return (
        x.sum(),
        x.sum(1),
        x.mean(0),
        x.max(),
        x.argmax(),
        x.sum(dim=0, keepdim=True),
        x.std(),
        engine.max(x, x * 2),
        x.any(),
        x.norm(),
    )


CASES = [
    (arithmetic, [(7, 3, 2.5), (-7, 3, -2.5)]),
    (conversions, [(3, 2.7, engine.tensor(4))]),
    (functions, [(2.25, 8)]),
    (is_none, [(None,), (3,)]),
    (is_not_none, [(None, None), (2, None), (None, 1.5), (2, 1.5)]),
    (asserted, [(3,)]),
    (raised, [(engine.ones(2),)]),
    (or_none, [(None, 2), (1, 2), (3, 2)]),
    (default, [(), ([1, 2, 3],), (None, 7)]),
    (ternary_none, [(None,), (2,)]),
    (assigned_none, [(True,), (False,)]),
    (in_loop, [(0,), (6,)]),
    (isinstances, [(1, None, [2]), (None, 5, [])]),
    (nothing, [(), (None,)]),
    (numbers_and_tensors, [(engine.tensor([1.0, 4.0]), 3, 0.5)]),
    (in_place, [(engine.tensor([1.0, 2.0]),)]),
    (indices, [(engine.tensor([[1.0, 2.0], [3.0, 4.0]]), engine.tensor([1, 0]))]),
    (written, [(engine.tensor([[1.0, 2.0], [3.0, 4.0]]), engine.tensor([1]))]),
    (shapes, [(engine.ones(2, 2),)]),
    (views, [(engine.tensor([[1.0, 2.0], [3.0, 4.0]]),)]),
    (makes, [(3,)]),
    (reductions, [(engine.tensor([[1.0, 2.0], [3.0, 5.0]]),)]),
]
