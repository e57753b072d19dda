"""Branches, loops, and leaving them early, as programs write them."""

# ruff: noqa  (as programs are written)
from typing import List, Optional

import engine


def two_ways(x, n: int):
    if n > 2:
        x = x + n
    else:
        x = x - n
    return x * 2


def several_ways(n: int) -> str:
    if n < 0:
        return "negative"
    elif n == 0:
        return "zero"
    elif n < 10:
        return "small"
    return "large"


def nested(x, n: int):
    if n > 3:
        return x
    if n > 2:
        x = x + 1
        if n > 1 and x.sum() > 2:
            return x * 2
        y = x
    else:
        y = x - 1
    return y


def ternary(n: int, flag: bool):
    a = n if flag else -n
    return (a + 1 if a > 3 else 0) * 2


def chain(a: int, b: float, c: int):
    return 0 < a < b <= c != 7, a == 1 or not b > 2, a > 5 and b / (a - a) > 1


def count_up(n: int):
    total = 0
    for i in range(n):
        total += i * i
    return total


def ranges(a: int, b: int, c: int):
    found = [0]
    for i in range(a, b, c):
        found.append(i)
    for i in range(b, a, -1):
        found.append(-i)
    return found


def collatz(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def early_break(x: int):
    for i in range(10):
        if i == x:
            break
        x = x + 1
    return x


def break_and_continue(n: int):
    total = 0
    while True:
        total += 1
        if total > n:
            break
        if total == 5:
            continue
        total += 2
    return total


def continue_in_for(xs: list[int]):
    kept = [0]
    for x in xs:
        if x < 0:
            continue
        if x == 99:
            break
        if x % 2:
            if x % 3:
                continue
            kept.append(-x)
        kept.append(x)
    return kept


def find(xs: list[int], wanted: int) -> int:
    for i, x in enumerate(xs):
        if x == wanted:
            return i
    return -1


def find_pair(xs: list[int], total: int) -> tuple[int, int] | None:
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            if xs[i] + xs[j] == total:
                return i, j
    return None


def search_rows(rows: list[list[int]], wanted: int):
    tried = 0
    for row in rows:
        if len(row) == 0:
            continue
        for x in row:
            tried += 1
            if x == wanted:
                return tried
            if x < 0:
                break
        tried += 100
    return -tried


def endless(n: int) -> int:
    while True:
        n += 3
        if n > 20:
            return n


def while_and(u: int, w: int):
    while w > 3 and u < 20:
        w -= 1
        if w == 7:
            continue
        u = u + 1
    return u, w


def both_return(x, flag: bool):
    if flag:
        y = x + 1
        return y
    else:
        y = x * 3
        return y.sum()


def raises(n: int):
    if n < 0:
        raise ValueError(f"negative: {n}")
    assert n != 3, "three"
    return n


def defined_later(n: int):
    if n > 0:
        a, b = n, 2.5
    else:
        a, b = -n, 0.5
    return a * b


def loop_over_tensor(x):
    total = engine.zeros(2)
    for row in x:
        total = total + row
    return total


def tensor_condition(x):
    if x.sum() > 3:
        y = x * 2
    else:
        y = x / 2
    while y.max() < 100:
        y = y * 3
    return y


def unrolled(x):
    for k in (1, 2.5, 3):
        x = x * k
    for name, power in (("a", 2), ("b", 3)):
        if name == "b":
            x = x**power
    return x


def returns_in_unrolled(n: int):
    for k in (1, 5, 9):
        if n < k:
            return k
    return 0


def zipped(xs: list[int], ys: list[float]):
    total = 0.0
    for i, (x, y) in enumerate(zip(xs, ys), 1):
        total += i * x * y
    return total


def while_with_variables(n: int):
    a, b = 0, 1
    names = ["x"]
    while len(names) < n:
        a, b = b, a + b
        names.append(str(a))
    return names, b


def shadowed(n: int):
    i = 100
    for i in range(n):
        pass
    return i


def returns_nothing(xs: list[int]) -> None:
    for x in xs:
        if x == 3:
            return
        xs[0] += x


def deep(n: int):
    out = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            for k in range(3):
                if k == j:
                    continue
                if i * j * k == 4:
                    return out * 1000
                out += i + j + k
            out += 7
        else_value = out
        out = else_value + 1
    return out


def returns_tuples_from_within(a: int, xs: List[int]):
    for i in range(a):
        while a > 3:
            a -= 1
            if i + a == 5:
                return i, 0.5, "a"
            for x in (1, 2):
                if x * a == 6:
                    return a, 1.5, "b"
        for x in xs:
            if x == i:
                return x, 2.5, "c"
    if a > 2:
        raise ValueError("none")
    return -1, 0.0, ""


def returns_optionals_from_within(n: int) -> Optional[int]:
    for i in range(n):
        if i > 3:
            return None
        while n == 2:
            return i
    return n


CASES = [
    (two_ways, [(engine.ones(3), 1), (engine.ones(3), 5)]),
    (several_ways, [(-1,), (0,), (5,), (50,)]),
    (nested, [(engine.ones(2), n) for n in (0, 2, 3, 4)] + [(-engine.ones(2), 3)]),
    (ternary, [(3, True), (3, False), (7, True)]),
    (chain, [(1, 2.0, 3), (0, 2.5, 7), (2, 2.0, 7), (3, 1.0, 2)]),
    (count_up, [(0,), (7,)]),
    (ranges, [(0, 10, 3), (5, 1, -1), (3, 3, 1)]),
    (collatz, [(1,), (27,)]),
    (early_break, [(0,), (3,), (100,)]),
    (break_and_continue, [(0,), (4,), (30,)]),
    (continue_in_for, [([1, -2, 4, 9, 99, 6],), ([],), ([3, 5, 7],)]),
    (find, [([4, 5, 6], 6), ([4, 5, 6], 7), ([], 1)]),
    (find_pair, [([1, 4, 6, 9], 10), ([1, 4], 50)]),
    (search_rows, [([[1, 2], [], [3, -1, 5], [7]], 7), ([[1, -2, 3], [9]], 3), ([], 0)]),
    (endless, [(0,), (30,)]),
    (while_and, [(1, 12), (19, 12), (1, 2)]),
    (both_return, [(engine.ones(2), True), (engine.ones(2), False)]),
    (raises, [(1,)]),
    (defined_later, [(3,), (-3,)]),
    (loop_over_tensor, [(engine.arange(6.0).view(3, 2),)]),
    (tensor_condition, [(engine.ones(2),), (engine.ones(5),)]),
    (unrolled, [(engine.ones(2) * 2,)]),
    (returns_in_unrolled, [(0,), (3,), (8,), (20,)]),
    (zipped, [([1, 2, 3], [0.5, 1.5])]),
    (while_with_variables, [(1,), (8,)]),
    (shadowed, [(0,), (4,)]),
    (returns_nothing, [([1, 2, 3, 4],)]),
    (returns_tuples_from_within, [(0, [1]), (2, [1]), (2, [5]), (5, [9]), (9, [4]), (3, [2])]),
    (returns_optionals_from_within, [(0,), (2,), (3,), (9,)]),
    (deep, [(0,), (2,), (4,), (6,)]),
]
