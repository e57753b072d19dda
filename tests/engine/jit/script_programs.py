"""Random functions of the scripted subset: branches, loops, in-place writes, views, numbers, lists.

Each is Python source that runs as it is, too. What it computes stays finite and never depends on
memory that was not written.
"""

from __future__ import annotations

from random import Random

UNARY = (
    "{}.relu()", "{}.tanh()", "{}.sigmoid()", "{}.abs()", "{}.neg()", "({} * 2)", "({} + 1)",
    "{}.clamp(min=-1.0, max=1.0)", "{}.t().t()", "{}.contiguous()", "({} - 0.5)", "{}.square()",
    "{}.reshape(3, 4).reshape(2, 6).reshape(3, 4)", "{}.sin()", "({} / 2)", "{}.exp().log()",
)  # fmt: skip
BINARY = (
    "({} + {})", "({} - {})", "({} * {})", "engine.maximum({}, {})", "engine.minimum({}, {})",
    "engine.where({0} > {1}, {0}, {1})", "({} * {}.tanh())", "engine.add({}, {}, alpha=2)",
)  # fmt: skip
VIEWS = ("{}[0]", "{}[1:]", "{}[:, 1:3]", "{}.select(1, 2)", "{}.view(-1)", "{}.t()", "{}[-1, 1:]")
WRITES = (
    "{}.add_(1.0)",
    "{}.mul_(0.5)",
    "{}.relu_()",
    "{}.zero_()",
    "{}.copy_({}.tanh())",
    "{}.neg_()",
)
CONDITIONS = (
    "{t}.sum() > 0", "n > {k}", "n % 2 == 0", "flag", "not flag", "{t}.mean() < 0.5 and n < {k}",
    "s > {k}.0 or flag", "{t}.dim() == 2", "len(xs) > {k}",
)  # fmt: skip
NUMBERS = ("n + {k}", "n * 2 - {k}", "n // 2", "n % 3", "max(n, {k})", "abs(n - {k})", "n", "{k}")
REALS = (
    "s + {k}.5",
    "s * 0.5",
    "s - n",
    "min(s, 3.0)",
    "float(n)",
    "s / 4",
    "float({t}.sum()) * 0.1",
)


class Program:
    """One function `f(x, y, n, flag)`, drawn by `random`."""

    def __init__(self, random: Random, size: int = 8) -> None:
        self.random = random
        self.lines: list[str] = []
        self.own = 0  # copies that may be written to
        body = ["s = 0.25", "xs = [x]", "a = x.clone()", "b = x + y"]
        for line in body:
            self.lines.append(f"    {line}")
        self._block(1, size, 2)
        self.lines += [
            "    for one in xs:",
            "        a = a + one",
            "    return a, b, n, s, len(xs)",
        ]

    @property
    def source(self) -> str:
        head = "import engine\n\n\ndef f(x, y, n: int, flag: bool):\n"
        return head + "\n".join(self.lines) + "\n"

    def _say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _tensor(self) -> str:
        return self.random.choice(("x", "y", "a", "b"))

    def _filled(self, text: str) -> str:
        return text.format(t=self._tensor(), k=self.random.randint(0, 4))

    def _expression(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self._tensor()
        if self.random.random() < 0.5:
            return self.random.choice(UNARY).format(self._expression(depth - 1))
        return self.random.choice(BINARY).format(
            self._expression(depth - 1), self._expression(depth - 1)
        )

    def _block(self, depth: int, size: int, nesting: int) -> None:
        for _ in range(self.random.randint(1, size)):
            self._statement(depth, nesting)

    def _statement(self, depth: int, nesting: int) -> None:
        choice = self.random.random()
        name = self.random.choice(("a", "b"))
        if choice < 0.34:
            self._say(depth, f"{name} = {self._expression()}")
        elif choice < 0.44:
            self._say(depth, f"n = {self._filled(self.random.choice(NUMBERS))}")
        elif choice < 0.52:
            self._say(depth, f"s = {self._filled(self.random.choice(REALS))}")
        elif choice < 0.66:
            self._write(depth)
        elif choice < 0.72:
            self._say(depth, f"xs.append({self._expression(1)})")
        elif choice < 0.78:
            self._say(depth, f"{name} = {name} * s")
        elif nesting == 0:
            self._say(depth, f"{name} = {self._expression(1)}")
        elif choice < 0.9:
            self._say(depth, f"if {self._filled(self.random.choice(CONDITIONS))}:")
            self._block(depth + 1, 3, nesting - 1)
            if self.random.random() < 0.6:
                self._say(depth, "else:")
                self._block(depth + 1, 3, nesting - 1)
        else:
            count = self.random.choice(("n % 4", "2", "3", "0", "len(xs)"))
            index = f"i{depth}"
            self._say(depth, f"for {index} in range({count}):")
            self._block(depth + 1, 3, nesting - 1)
            if self.random.random() < 0.3:
                self._say(depth + 1, f"if {index} == 1:")
                self._say(depth + 2, self.random.choice(("break", "continue")))
                self._say(depth + 1, f"s = s + {index}")

    def _write(self, depth: int) -> None:
        """In place, to a copy of the function's own or to a view of one."""
        name = self.random.choice(("a", "b"))
        self.own += 1
        copy = f"w{self.own}"
        self._say(depth, f"{copy} = {name}.clone()")
        view = self.random.choice(VIEWS).format(copy) if self.random.random() < 0.6 else copy
        write = self.random.choice(WRITES)
        self._say(depth, write.format(view, view) if write.count("{}") == 2 else write.format(view))
        if self.random.random() < 0.3:
            self._say(
                depth,
                f"{copy}[{self.random.choice(('0', '1, 2', ':, 0'))}] = {self.random.choice(('0.5', 's'))}",
            )
        self._say(depth, f"{name} = {name} + {copy} if flag else {copy}")
