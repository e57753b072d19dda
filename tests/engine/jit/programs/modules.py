"""Modules as users write them: attributes, submodules, containers, methods."""

# ruff: noqa  (as programs are written)
from enum import Enum
from typing import Dict, Final, List, NamedTuple, Optional, Tuple

import engine
import engine.nn.functional as F
from engine import Tensor, jit, nn


class Scaled(nn.Module):
    """Attributes of several types, a buffer, a parameter that is None."""

    names: List[str]
    table: Dict[str, float]
    maybe: Optional[int]

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale
        self.power = 2
        self.flag = True
        self.names = []
        self.table = {"a": 2.0}
        self.maybe = None
        self.pair = (1, 0.5)
        self.sizes = [1, 2]
        self.weight = nn.Parameter(engine.ones(3) * 2)
        self.register_buffer("shift", engine.arange(3.0))
        self.register_parameter("bias", None)

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.weight * self.scale + self.shift**self.power
        if self.bias is not None:
            y = y + self.bias
        if self.flag:
            y = y * self.table["a"]
        maybe = self.maybe
        if maybe is not None:
            y = y + maybe
        return y + self.pair[0] - self.pair[1] + len(self.names) + self.sizes[1]


class Counter(nn.Module):
    """Attributes that are written, and a buffer that is written in place."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("total", engine.zeros(2))

    def forward(self, x):
        self.calls += 1
        self.total += x
        self.total = self.total * 1.0
        return self.total * self.calls


class Constants(nn.Module):
    """Constants that are compiled into the graph."""

    __constants__ = ["mode", "count"]
    offset: Final[int]

    def __init__(self, mode: str):
        super().__init__()
        self.mode = mode
        self.count = 3
        self.offset = 10

    def forward(self, x):
        for _ in range(self.count):
            x = x + self.offset
        if self.mode == "double":
            x = x * 2
        return x


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = F.relu(self.first(x))
        x = self.dropout(x)
        return F.log_softmax(self.second(x), dim=-1)


class Stack(nn.Module):
    """ModuleList, ModuleDict and Sequential, iterated over and indexed."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)])
        self.heads = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(3, 2)})
        self.tail = nn.Sequential(nn.Linear(3, 3), nn.GELU())

    def forward(self, x) -> Tuple[Tensor, Dict[str, Tensor], int]:
        found: Dict[str, Tensor] = {}
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, head in self.heads.items():
            found[name] = head(x)
        for part in self.tail:
            x = part(x)
        x = self.layers[0](x) + self.layers[-1](x) + self.heads["a"](x)
        return self.tail(x), found, len(self.layers)


class Cell(nn.Module):
    """The cell of PyTorch's TorchScript tutorial, with control flow added."""

    def __init__(self, gate: nn.Module):
        super().__init__()
        self.gate = gate
        self.linear = nn.Linear(4, 4)

    def forward(self, x, h):
        new_h = engine.tanh(self.gate(self.linear(x)) + h)
        return new_h, new_h


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        else:
            return -x


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell(Gate())

    def forward(self, xs):
        h, y = engine.zeros(3, 4), engine.zeros(3, 4)
        for i in range(xs.size(0)):
            y, h = self.cell(xs[i], h)
        return y, h


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 2

    @property
    def twice(self) -> int:
        return self.n * 2

    @staticmethod
    def added(x, y: int):
        return x + y

    def helper(self, x, k: int = 3, *, flag: bool = False):
        if flag:
            return x - k
        return x * k

    @jit.export
    def other(self, x) -> Tensor:
        return self.helper(x, flag=True)

    @jit.unused
    def never(self, x):
        return [y for y in {1, 2}], lambda: x

    def forward(self, x):
        if not jit.is_scripting():
            self.helper(x)
        return self.added(self.helper(x, k=self.twice), self.n)


class EarlyExit(nn.Module):
    """Submodules called in branches and loops that are left early."""

    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        self.limit = 1.5

    def forward(self, x) -> Tuple[Tensor, int]:
        taken = 0
        for step in self.steps:
            x = step(x)
            taken += 1
            if x.abs().max() > self.limit:
                return x, taken
        return x * 0, taken


class Mode(Enum):
    ADD = 1
    MULTIPLY = 2


class Chosen(nn.Module):
    """An attribute that is a member of an Enum."""

    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def forward(self, x):
        if self.mode == Mode.ADD:
            return x + self.mode.value
        return x * self.mode.value


class Parent(nn.Module):
    def forward(self, x, n: int = 2):
        return x * n

    def other(self, x):
        return x - 1


class Child(Parent):
    def forward(self, x, n: int = 3):
        return super().forward(x, n) + super().other(x)


class Grandchild(Child):
    def other(self, x):
        return x + 100

    def forward(self, x, n: int = 4):
        return super(Grandchild, self).forward(x) + self.other(x) * n


class StaysPython(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 2

    @jit.ignore
    def outside(self, x: Tensor, k: int) -> Tensor:
        return x * k + len({self.n, 3, 4})

    @jit.unused
    def never(self, x):
        return sorted(x, key=lambda y: y)

    def forward(self, x, flag: bool = False):
        if flag:
            return self.never(x)
        return self.outside(x, self.n)


class Result(NamedTuple):
    value: Tensor
    count: int


class Named(nn.Module):
    def forward(self, x) -> Tuple[Result, List[Result]]:
        return Result(x, 3), [Result(x + 1, count=4)]


class Declared(nn.Module):
    """Attributes whose types only annotations show."""

    xs: List[int]
    cache: Dict[str, Tensor]
    last: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = []
        self.cache = {}
        self.last = None

    def forward(self, x):
        self.xs.append(2)
        self.cache["x"] = x
        last = self.last
        if last is not None:
            x = x + last
        self.last = x
        return x, len(self.xs), self.cache["x"]


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
        self.by_name = nn.ModuleDict({"x": nn.Tanh(), "y": nn.Sigmoid()})
        self.steps = nn.Sequential(nn.ReLU(), nn.Tanh())
        self.scales = nn.ParameterList([nn.Parameter(engine.ones(2) * k) for k in (2, 3)])
        self.function = doubled

    def forward(self, x):
        for layer in self.layers:
            x = self.function(layer(x))
        for name, layer in self.by_name.items():
            x = layer(x) + len(name)
        for i, layer in enumerate(self.steps):
            x = layer(x) + i
        for first, second in zip(self.layers, self.steps):
            x = second(first(x))
        for scale in self.scales:
            x = x * scale
        there = "x" in self.by_name, "z" in self.by_name
        return self.layers[0](x) + self.by_name["x"](x) + self.steps[-1](x), len(self.layers), there


@jit.script
def doubled(x, n: int = 2):
    return x * n


def made(build):
    """A module whose weights are the same whenever it is made."""
    engine.manual_seed(7)
    return build()


CASES = {
    "scaled": (lambda: Scaled(1.5), (engine.ones(3),)),
    "constants": (lambda: Constants("double"), (engine.ones(2),)),
    "other_constants": (lambda: Constants("single"), (engine.ones(2),)),
    "counter": (Counter, (engine.ones(2),)),
    "mlp": (lambda: MLP().eval(), (engine.arange(8.0).view(2, 4),)),
    "stack": (Stack, (engine.arange(6.0).view(2, 3) / 5,)),
    "loop": (Loop, (engine.arange(24.0).view(2, 3, 4) / 20,)),
    "methods": (Methods, (engine.ones(2),)),
    "early_exit": (EarlyExit, (engine.ones(1, 2) * 3,)),
    "chosen": (lambda: Chosen(Mode.ADD), (engine.ones(2),)),
    "chosen_otherwise": (lambda: Chosen(Mode.MULTIPLY), (engine.ones(2),)),
    "child": (Child, (engine.ones(2),)),
    "grandchild": (Grandchild, (engine.ones(2), 5)),
    "stays_python": (StaysPython, (engine.ones(2),)),
    "named": (Named, (engine.ones(2),)),
    "declared": (Declared, (engine.ones(2),)),
    "containers": (Containers, (engine.ones(1, 2),)),
    "late_exit": (EarlyExit, (engine.zeros(1, 2),)),
}
