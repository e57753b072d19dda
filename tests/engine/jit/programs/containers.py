"""Lists, dictionaries, tuples, strings."""

# ruff: noqa  (as programs are written)
from typing import NamedTuple

import engine
from engine import Tensor, jit


class Point(NamedTuple):
    x: int
    y: float = 1.5


def list_methods(xs: list[int]):
    xs.append(4)
    xs.extend([9, 8])
    xs.insert(1, 77)
    last = xs.pop()
    xs.remove(77)
    xs.reverse()
    copied = xs.copy()
    xs.sort()
    copied.clear()
    return xs, last, len(copied), xs.index(4), xs.count(9), 9 in xs, max(xs), min(xs), sum(xs)


def slices(xs: list[int], s: str):
    return xs[1:], xs[:-1], xs[::2], xs[-1], xs[1:3], s[1:3], s[0], s[-2:]


def comprehensions(xs: list[int]):
    squares = [x * x for x in xs]
    even = [x for x in xs if x % 2 == 0]
    pairs = [x * y for x in xs for y in [1, 10] if x > 1]
    names = {str(x): x * 0.5 for x in xs}
    return squares, even, pairs, names


def tensors_in_lists(x, n: int):
    parts: list[Tensor] = []
    for i in range(n):
        parts.append(x * i)
    return engine.cat(parts), engine.stack(parts, 0).sum(0)


def empty_then_filled(n: int):
    floats = jit.annotate(list[float], [])
    counts: dict[str, int] = {}
    for i in range(n):
        floats.append(i / 2)
        counts[str(i)] = i
    return floats, counts


def dictionaries(d: dict[str, int]):
    d["new"] = 5
    d["a"] += 2
    total = 0
    for k in d:
        total += d[k]
    for k, v in d.items():
        if k == "a":
            total += v * 100
    del d["new"]
    keys = [k for k in d.keys()]
    return d, total, "a" in d, "zz" in d, len(d), d.get("zz", -1), keys, list(d.values())


def word_counts(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in text.split(" "):
        if word not in counts:
            counts[word] = 0
        counts[word] += 1
    return counts


def tuples(t: tuple[int, float, str]):
    a, b, c = t
    (d, e), f = (a, b), c
    both = t[:2]
    return t[0] + a, both, both[1], f + c, len(t), (d, (e, a))


def swapped(a: int, b: int):
    a, b = b, a
    return a, b


def named(p: Point, n: int):
    q = Point(n)
    r = Point(y=2.0, x=p.x + q.x)
    x, y = r
    return r, p.y + q.y, r.x, x * y


def results_with_names(x):
    found = x.max(1)
    values, indices = x.min(dim=0)
    return found.values, found.indices, found[0], values, indices


def texts(name: str, n: int, x: float):
    s = f"{name} has {n}"
    t = "{}: {}".format(name, n)
    u = "%s %d %.2f" % (name, n, x)
    joined = ", ".join([s, t])
    return (
        s,
        t,
        u,
        joined,
        name.upper(),
        name.startswith("a"),
        name.replace("a", "b"),
        name * 2,
        s + t,
    )


def text_questions(s: str):
    parts = s.strip().split(",")
    return (
        parts,
        s.find("b"),
        s.count(","),
        len(s),
        "b" in s,
        s == "b",
        s.lower(),
        ord(s[0]),
        int("12"),
    )


def nested_lists(rows: list[list[int]]):
    total = 0
    for row in rows:
        row.append(1)
        for x in row:
            total += x
    rows[0][0] = 50
    rows.append([7])
    return rows, total


def shared(xs: list[int]):
    ys = xs
    ys.append(1)
    zs = xs + [2]
    zs.append(3)
    xs += [4]
    return xs, ys, zs


def optional_items(n: int) -> list[int | None]:
    found: list[int | None] = [None, n]
    found.append(None)
    return found


def unpacked(xs: list[int]):
    a, b, c = xs
    return a - b * c


def builtin_styles(
    xs: list[int], d: dict[str, float], t: tuple[int, bool]
) -> tuple[list[int], float]:
    if t[1]:
        xs = [t[0]] * len(xs)
    return sorted(xs), d["k"]


def booleans(xs: list[bool]):
    return any(xs), all(xs), [not x for x in xs], xs[0] != xs[1]


def ranges_as_lists(n: int):
    return list(range(n)), [i for i in range(1, n)], list("abc")


CASES = [
    (list_methods, [([3, 1, 2],)]),
    (slices, [([1, 2, 3, 4, 5], "abcdef")]),
    (comprehensions, [([1, 2, 3, 4],), ([],)]),
    (tensors_in_lists, [(engine.ones(2), 3)]),
    (empty_then_filled, [(3,), (0,)]),
    (dictionaries, [({"a": 1, "b": 2},)]),
    (word_counts, [("a b a c b a",)]),
    (tuples, [((1, 2.5, "x"),)]),
    (swapped, [(1, 2)]),
    (named, [(Point(3), 4)]),
    (results_with_names, [(engine.tensor([[1.0, 5.0], [7.0, 2.0]]),)]),
    (texts, [("ada", 3, 1.0)]),
    (text_questions, [("a,b,c",)]),
    (nested_lists, [([[1, 2], [3]],)]),
    (shared, [([5],)]),
    (optional_items, [(3,)]),
    (unpacked, [([7, 2, 3],)]),
    (builtin_styles, [([3, 1], {"k": 2.5}, (9, False)), ([3, 1], {"k": 2.5}, (9, True))]),
    (booleans, [([True, False],)]),
    (ranges_as_lists, [(4,)]),
]
