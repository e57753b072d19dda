"""Random programs: branches, loops and what leaves them, numbers, strings, lists, dictionaries.

Every program ends: a `while` counts its rounds and stops with the count. Numbers stay small, so that
none needs more than the 64 bits of a scripted int.
"""

import random

INTS, FLOATS, BOOLS, TEXTS = ("a", "b", "t"), ("u", "v"), ("p", "q"), ("s", "w")
HEADER = "def {name}(a: int, b: int, n: int, u: float, p: bool, s: str):"
RESULT = "return a, b, t, u, v, p, q, s, w, xs, d, pair"


class Writer:
    """Writes one function from a seed."""

    def __init__(self, seed, name="f"):
        self.random = random.Random(seed)
        self.lines = []
        self.name = name
        self.counters = 0

    def one(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    # ---- expressions

    def int(self, depth=0):
        if depth > 1 or self.chance(0.3):
            return self.one("a", "b", "n", "t", str(self.random.randint(-3, 6)))
        op = self.one("+", "-", "*")
        whole = f"({self.int(depth + 1)} {op} {self.int(depth + 1)})"
        return self.one(
            whole,
            whole,
            f"({self.int(depth + 1)} // {self.one('3', '-2', 'n')})",
            f"({self.int(depth + 1)} % {self.one('5', '-4', 'n')})",
            f"abs({self.int(depth + 1)})",
            f"{self.one('min', 'max')}({self.int(depth + 1)}, {self.int(depth + 1)})",
            "len(xs)",
            f"len({self.one(*TEXTS)})",
            f"xs[{self.one('0', '-1', self.int(2))}]",
            'd["a"]',
            "pair[0]",
            f"int({self.one(*BOOLS)})",
            f"({self.int(depth + 1)} if {self.condition(depth + 1)} else {self.int(depth + 1)})",
        )

    def small(self, depth=0):
        """An int that does not grow from assignment to assignment."""
        return f"{self.int(depth)} % {self.one('97', '13', '-7')}"

    def float(self, depth=0):
        if depth > 1 or self.chance(0.3):
            return self.one("u", "v", "0.5", "-1.25", "3.0")
        op = self.one("+", "-", "*")
        return self.one(
            f"({self.float(depth + 1)} {op} {self.float(depth + 1)})",
            f"({self.int(depth + 1)} {op} {self.float(depth + 1)})",
            f"({self.int(depth + 1)} / 4)",
            f"float({self.int(depth + 1)})",
            f"abs({self.float(depth + 1)})",
            "pair[1]",
            f"({self.float(depth + 1)} if {self.condition(depth + 1)} else {self.float(depth + 1)})",
        )

    def bounded(self):
        return f"{self.float()} % 9.5"

    def comparison(self, depth):
        op = self.one("<", ">", "==", "!=", "<=", ">=")
        first = f"{self.int(depth)} {op} {self.int(depth)}"
        return self.one(
            first,
            first,
            f"{self.float(depth)} {op} {self.float(depth)}",
            f"{self.int(2)} < {self.int(2)} <= {self.int(2)}",
            f"{self.one(*TEXTS)} {self.one('==', '!=', '<')} {self.text(2)}",
            f"{self.int(2)} {self.one('in', 'not in')} xs",
            f"{self.text(2)} {self.one('in', 'not in')} d",
            f"{self.text(2)} in {self.one(*TEXTS)}",
            *BOOLS,
        )

    def condition(self, depth=1):
        first = self.comparison(depth)
        second = self.comparison(2)
        return self.one(
            first, first, f"{first} and {second}", f"({first} or {second})", f"not ({first})"
        )

    def text(self, depth=0):
        if depth > 0 or self.chance(0.3):
            return self.one("s", "w", '"a"', '"b"', '"ab"', '""')
        return self.one(
            f"({self.text(1)} + {self.text(1)})",
            f"str({self.int(1)})",
            f"{self.text(1)}.upper()",
            f'f"{{{self.one(*INTS)}}}:{{{self.one(*TEXTS)}}}"',
            f'{self.text(1)}.replace("a", "bc")',
            f"({self.text(1)} * 2)",
        )

    # ---- statements

    def add(self, indent, line):
        self.lines.append("    " * indent + line)

    def assignment(self, indent):
        name = self.one(*INTS)
        kept = self.one(*TEXTS)
        self.add(
            indent,
            self.one(
                f"{name} = {self.small()}",
                f"{name} = {self.small()}",
                f"{name} += {self.small(1)}",
                f"{self.one(*FLOATS)} = {self.bounded()}",
                f"{self.one(*FLOATS)} -= {self.bounded()}",
                f"{self.one(*BOOLS)} = {self.condition()}",
                f"{kept} = {self.text()}[:5]",
                f"{kept} += {self.text()}[-2:]",
                f"xs.append({self.small()})",
                f"xs[{self.one('0', '-1', self.int(2))}] = {self.small(1)}",
                f"xs = [{self.small(1)}, {self.small(1)}]",
                f"xs = [x + {self.int(2)} for x in xs[:4] if x != {self.int(2)}] + [1]",
                f"xs = xs[{self.int(2)} % 3 :] + [{self.small(1)}]",
                f"d[{self.text(1)}[:3]] = {self.small(1)}",
                f"pair = ({self.small(1)}, {self.bounded()})",
                "a, b = b, a",
                "t, u = pair",
                f"{name} += sum(xs) % 11",
            ),
        )

    def branch(self, indent, depth, in_loop):
        self.add(indent, f"if {self.condition()}:")
        self.block(indent + 1, depth + 1, in_loop)
        if self.chance(0.2):
            self.add(indent, f"elif {self.condition()}:")
            self.block(indent + 1, depth + 1, in_loop)
        if self.chance(0.5):
            self.add(indent, "else:")
            self.block(indent + 1, depth + 1, in_loop)

    def loop(self, indent, depth):
        i, x, k = f"i{depth}", f"x{depth}", f"k{depth}"
        header, uses = self.random.choice(
            [
                (f"for {i} in range(n):", f"t += {i} % 5"),
                (f"for {i} in range(1, 6, 2):", f"t += {i} % 5"),
                (f"for {i} in range(3, -2, -2):", f"t += {i} % 5"),
                (f"for {i} in [a, t, 2]:", f"b += {i} % 5"),
                (f"for {i}, {x} in enumerate([b, 3, a]):", f"t += ({i} + {x}) % 5"),
                (f"for {i} in xs[:4]:", f"a += {i} % 5"),
                (f"for {i}, {x} in zip(xs[:3], [a, 1, t]):", f"t += ({i} * {x}) % 5"),
                (f"for {k} in s[:3]:", f"w = ({k} + w)[:5]"),
                (f"for {k} in d:", f"t += d[{k}] % 5"),
                (f"for {k}, {x} in d.items():", f"t += ({x} + len({k})) % 5"),
                (f"for {i} in (a, 2):", f"t += {i} % 5"),
            ]
        )
        self.add(indent, header)
        self.add(indent + 1, uses)
        if header.endswith(
            (" d:", " d.items():")
        ):  # whose size must not change while it is iterated over
            self.add(indent + 1, f"a = {self.small()}")
            return
        unrolled = header.endswith("(a, 2):")
        self.block(indent + 1, depth + 1, in_loop=not unrolled)

    def while_loop(self, indent, depth):
        name = f"c{self.counters}"
        self.counters += 1
        self.add(indent, f"{name} = 0")
        test = self.one(f"({self.condition()})", f"not ({self.condition()})", "True")
        self.add(indent, f"while {name} < {self.random.randint(1, 4)} and {test}:")
        self.add(indent + 1, f"{name} += 1")
        self.block(indent + 1, depth + 1, True)

    def leave(self, indent, in_loop):
        self.add(indent, f"if {self.condition()}:")
        words = [RESULT, f'raise ValueError("stopped at " + {self.text(1)})']
        words += ["break", "continue"] * (3 * in_loop)
        self.add(indent + 1, self.random.choice(words))

    def block(self, indent, depth, in_loop):
        for _ in range(self.random.randint(1, 3)):
            chance = self.random.random()
            if chance < 0.4 or depth > 2:
                self.assignment(indent)
            elif chance < 0.6:
                self.branch(indent, depth, in_loop)
            elif chance < 0.74:
                self.loop(indent, depth)
            elif chance < 0.82:
                self.while_loop(indent, depth)
            else:
                self.leave(indent, in_loop)

    def lines_of(self):
        """The program, line by line."""
        self.add(0, HEADER.format(name=self.name))
        for line in ("t = 0", "v = 0.25", "q = False", 'w = "b"', "xs = [0, 2]", 'd = {"a": 1}'):
            self.add(1, line)
        self.add(1, "pair = (1, 0.5)")
        for _ in range(3):
            self.block(1, 0, False)
        self.add(1, RESULT)
        return self.lines
