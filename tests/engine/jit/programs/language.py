"""More of the language, a function for each thing: what PyTorch's language reference names."""

# ruff: noqa  (as programs are written)
import math
from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import engine
from engine import jit


class Color(Enum):
    RED = 1
    GREEN = 5


class Pair(NamedTuple):
    x: engine.Tensor
    n: int = 2


@jit.ignore
def stays_python(n: int) -> int:
    return int("".join(reversed(str(n))))


@jit.unused
def never_reached(n: int) -> int:
    return sorted({n, 3})[0]


@jit.script
def scripted(n: int, k: int = 3) -> int:
    return n * k


def keywords(a: int, *, b: int, c: int = 3):
    return a + b * c


def largest(a: int, b: int, c: int):
    return max(a, b, c)


def calls(n: int):
    t = (n, 4, 2)
    unused = never_reached(n) if n > 1000 else 0
    whole = scripted(n) + scripted(n, k=2) + keywords(1, b=2) + keywords(1, b=n, c=0)
    return stays_python(n), unused, whole, largest(*t), largest(n, *(7, 8))


def enums(n: int):
    total = 0
    for color in Color:
        total += color.value * n
    if Color.RED == Color.GREEN or Color.RED is Color.GREEN:
        total = -1
    return total, Color.GREEN.name


def spread(t: Tuple[int, float, str, bool]):
    a, *rest = t
    *most, last = t
    first, *middle, end = t
    (b, c), (d, *e) = (1, 2), (a, 4, 5)
    return a, rest, most, last, first, middle, end, b, c, d, e


def tuples(t: Tuple[int, str]):
    return t + (2.5,) + t, (t[0], 4) == (3, 4), t[::-1], len(t + t), t[-1]


def member(n: int, s: str, xs: List[int], d: Dict[str, int]):
    return n in (1, 2, 3), s in ("a", "b"), n not in xs, s in d, s in "abc", n in [1]


def generators(xs: List[int]):
    return (
        any(x > 2 for x in xs),
        all(x > 0 for x in xs),
        sum(x * x for x in xs),
        list(x for x in xs),
    )


def backwards(xs: List[int], s: str, t: Tuple[int, str]):
    out = [0]
    for x in reversed(xs):
        out.append(x)
    for i, x in enumerate(reversed(xs)):
        out.append(i * x)
    return out, [c for c in reversed(s)], list(reversed([1, 2]))


def formats(x: float, n: int, s: str):
    return f"{x:.3f}|{n:5d}|{s:>4}|{n}{{}}|{x:e}|{n:,}", f"{n:x}"


def casts(x):
    return x.long(), x.int(), x.double(), x.half(), x.bool(), x.short(), x.float() + 1, x.byte()


def containers_looked_into(x: Optional[List[int]]):
    if jit.isinstance(x, List[int]):
        return len(x)
    return -1


def lists_of_dicts(x):
    d: Dict[str, List[engine.Tensor]] = {}
    d["a"] = [x]
    d["a"].append(x + 1)
    nested: Dict[int, Dict[str, int]] = {1: {"a": 2}}
    nested[1]["b"] = 3
    return d, nested


def refinements(x: Optional[int], y: Optional[int]):
    a = x if x is not None else 7
    b = 0
    if not x is None and y is not None:
        b = x + y
    if x is None or x > 3:
        b += 100
    while y is None:
        y = 5
    assert y is not None
    if x is None:
        return a, b, y
    return a, b, x * y


def deletes(xs: List[int], d: Dict[str, int]):
    del xs[0]
    del d["a"], xs[-1]
    n = 3
    del n
    n = "again"
    return xs, d, n


def named(x):
    p = Pair(x, n=3)
    q = Pair(x=x + 1)
    y, n = q
    return p.x * p.n + q.n + y * n, p


def takes_float(x: float, t: Tuple[int, float]):
    return x + t[1]


def numbers_of_tensors(x):
    out: List[Tuple[int, float]] = []
    plain: List[float] = []
    table: Dict[str, float] = {}
    for i in range(x.size(0)):
        out.append((i, x[i].item()))
        plain.append(x[i].item())
        plain.insert(0, x[i].item())
        table[str(i)] = x[i].item()
        plain[0] = x[0].item()
    return out, plain, table, takes_float(x[0].item(), (1, x[1].item()))


def text_methods(s: str):
    return (
        s.upper(),
        s.split(","),
        s.strip().title(),
        s.join(["x", "y"]),
        s.partition(","),
        s.center(10, "*"),
        s.zfill(8),
        s.find("a"),
        s[1:],
        s * 2,
        s < "b",
    )


def numbers(x: float, n: int):
    return (
        math.sqrt(x),
        math.floor(x),
        divmod(n, 3),
        round(x, 1),
        -n // 2,
        n % -4,
        x // 0.5,
        math.inf,
    )


def assigned_twice(t: Tuple[int, int]):
    a = b, c = t
    return a, b, c


def with_dtypes(x):
    return engine.zeros(2, dtype=engine.int32), x.to(dtype=engine.float64), x.to(engine.int64)


def defaults(n: int, x: Optional[engine.Tensor] = None, scale: float = 2) -> engine.Tensor:
    y = engine.zeros(n)
    if x is not None:
        y = y + x * scale
    return y


def products(xs: List[engine.Tensor]) -> engine.Tensor:
    out = xs[0]
    for i, x in enumerate(xs[1:]):
        out = out @ x + i
    return out


def written_in_place(x):
    x = x.clone()
    x[0, :] += 1
    x[:, 1] = x[:, 0] * 2
    x[x > 3] = 0
    x[engine.tensor([0]), 1] = 9
    return x[..., None, 0], x[::2], x[-1], x[:, -1:]


def best_scores(scores, k: int):
    best, idx = scores.topk(k)
    out: List[Tuple[float, int]] = []
    for i in range(k):
        out.append((best[i].item(), int(idx[i])))
    return out


def optionals_within(x: Optional[Tuple[int, Optional[int]]]):
    if x is not None:
        a, b = x
        if b is not None:
            return a + b
        return a
    return 0


def optional_values(d: Dict[str, Optional[int]]):
    v = d["a"]
    if v is None:
        return -1
    return v


def sizes(sizes: List[int]):
    return engine.zeros(sizes), engine.ones(sizes[0], sizes[1])


def leaves_early(x, n: int):
    for i in range(n):
        x = x + 1
        if x.sum() > 10:
            return x, i
    return x, -1


def chained(x):
    return x.relu().sum(dim=-1, keepdim=True).squeeze(-1).mean()


def with_options(x):
    return (
        engine.addmm(x, x, x, beta=0.5, alpha=2),
        engine.where(x > 0, x, -x),
        engine.clamp(x, min=0.0),
        engine.nn.functional.softmax(x, dim=1),
        engine.nn.functional.dropout(x, 0.0, False),
        engine.nn.functional.linear(x, x),
    )


def in_place(x):
    y = x.clone()
    y += 1
    y.mul_(2).add_(x, alpha=3)
    return y


def grows_lists():
    d: Dict[int, List[str]] = {}
    for i in range(3):
        if i not in d:
            d[i] = []
        d[i].append(str(i))
    return d


def containers_in_tuples(t: Tuple[List[int], Dict[str, float]]):
    xs, d = t
    return sum(xs), d["a"]


def until_large(x):
    while x.sum() < 100:
        x = x * 2
    return x


def concatenated(x):
    ys = [x, x + 1]
    ys += [x + 2]
    ys = ys + [x]
    return engine.cat(ys), len(ys), ys[-1]


def optional_dimension(x, dim: Optional[int] = None, keep: bool = False):
    if dim is None:
        return x.sum()
    return x.sum(dim, keep)


def unpacked(x):
    a, b = x.unbind(0)
    c, d = x
    return a + b, c - d


_X = engine.tensor([[1.0, -2.0], [3.0, 4.0]])
CASES = [
    (calls, [(3,), (12,)]),
    (enums, [(2,)]),
    (spread, [((1, 2.5, "c", True),)]),
    (tuples, [((3, "a"),)]),
    (member, [(2, "a", [1, 2], {"a": 1}), (7, "z", [1, 2], {"a": 1})]),
    (generators, [([1, 2, 3],), ([-1],), ([],)]),
    (backwards, [([1, 2, 3], "abc", (1, "a"))]),
    (formats, [(2.5, 12345, "ab"), (-1e10, 7, "")]),
    (casts, [(engine.tensor([1.5, 0.0, 3.0]),)]),
    (containers_looked_into, [([1, 2],), (None,)]),
    (lists_of_dicts, [(engine.ones(2),)]),
    (refinements, [(None, None), (1, 2), (9, None), (None, 4)]),
    (deletes, [([1, 2, 3], {"a": 1, "b": 2})]),
    (named, [(engine.ones(2),)]),
    (numbers_of_tensors, [(engine.tensor([1.5, 2.5]),)]),
    (text_methods, [("b,a,q",)]),
    (numbers, [(6.25, 7)]),
    (assigned_twice, [((1, 2),)]),
    (with_dtypes, [(_X,)]),
    (defaults, [(2,), (2, engine.ones(2), 3.0)]),
    (products, [([_X, _X, _X],)]),
    (written_in_place, [(_X,)]),
    (best_scores, [(engine.tensor([0.25, 0.75, 0.5]), 2)]),
    (optionals_within, [((1, None),), ((1, 3),), (None,)]),
    (optional_values, [({"a": None},), ({"a": 4},)]),
    (sizes, [([2, 3],)]),
    (leaves_early, [(_X, 5), (_X, 1)]),
    (chained, [(_X,)]),
    (with_options, [(_X,)]),
    (in_place, [(_X,)]),
    (grows_lists, [()]),
    (containers_in_tuples, [(([1, 2], {"a": 0.5}),)]),
    (until_large, [(_X,)]),
    (concatenated, [(_X,)]),
    (optional_dimension, [(_X,), (_X, 1, True)]),
    (unpacked, [(_X,)]),
]
