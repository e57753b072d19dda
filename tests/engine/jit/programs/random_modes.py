"""Random programs of tensors with `with no_grad()` and its kin around any of their statements."""

import random

HEADER = "def {name}(x, w, n: int, on: bool):"
NAMES = ("a", "b", "c")
MODES = (
    "no_grad()",
    "no_grad()",
    "enable_grad()",
    "set_grad_enabled(on)",
    "set_grad_enabled(not on)",
)


class Writer:
    """Writes one function of two matrices from a seed."""

    def __init__(self, seed, name):
        self.random = random.Random(seed)
        self.lines = []
        self.name = name

    def tensor(self):
        return self.random.choice(["x", "w", *NAMES, *NAMES])

    def value(self):
        a, b = self.tensor(), self.tensor()
        return self.random.choice(
            [
                f"{a} * {b}",
                f"{a} + {b}",
                f"({a} - {b}).tanh() * {a}",
                f"{a} * 1",
                f"{a} + 0",
                f"{a}.t().t()",
                f"({a} @ {b}) * 0.25",
                f"{a} @ w + {b}",
                f"{a}.relu() + {b}.sigmoid()",
                f"{a}[0] + {b}",
                f"{a}.clone()",
                f"({a} * 2 + 1).relu() * 0.5",
            ]
        )

    def add(self, indent, line):
        self.lines.append("    " * indent + line)

    def block(self, indent, depth, in_loop):
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.5 or depth > 2:
                self.add(indent, f"{self.random.choice(NAMES)} = {self.value()}")
            elif kind < 0.72:
                self.add(indent, f"with engine.{self.random.choice(MODES)}:")
                self.block(indent + 1, depth + 1, in_loop)
            elif kind < 0.82:
                test = self.random.choice(["on", "n > 2", "not on", "n == 1"])
                self.add(indent, f"if {test}:")
                self.block(indent + 1, depth + 1, in_loop)
            elif kind < 0.92:
                self.add(indent, f"for i{depth} in range({self.random.choice(['n', '2'])}):")
                self.block(indent + 1, depth + 1, True)
            else:
                self.add(indent, f"if n == {self.random.randint(1, 3)}:")
                words = ["return a, b, c"] + ["break", "continue"] * in_loop
                self.add(indent + 1, self.random.choice(words))

    def lines_of(self):
        """The program, line by line."""
        self.add(0, HEADER.format(name=self.name))
        for name, value in zip(NAMES, ("x * 0.5", "w + 1", "x - w"), strict=True):
            self.add(1, f"{name} = {value}")
        for _ in range(3):
            self.block(1, 0, False)
        self.add(1, "return a, b, c")
        return self.lines
