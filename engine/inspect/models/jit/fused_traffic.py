"""The memory traffic of a fused group's launch, and of its nodes without fusion."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING

from engine.inspect.events import itemsize
from engine.inspect.history.jit.fused import Kernel, Launch
from engine.inspect.history.jit.ir import Json

if TYPE_CHECKING:
    from engine.inspect.history import History

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes moved between memory and processor. exact: the sizes of all tensors were recorded."""

    read: int
    written: int
    eager: int  # moved by its operators without fusion
    exact: bool


def bytes_of(history: History, kernel: Kernel, launch: Launch) -> Bytes:
    """Compute the traffic from the sizes of this launch's tensors, else from its elements."""
    if kernel.subgraph is None or "inputs" not in kernel.program:
        program = kernel.program
        total = [
            int(program.get(name, 0)) * launch.elements
            for name in ("read_bytes", "written_bytes", "eager_bytes")
        ]
        return Bytes(total[0], total[1], total[2], False)
    return _Count(history, kernel, launch).bytes()


class _Count:
    def __init__(self, history: History, kernel: Kernel, launch: Launch) -> None:
        self.kernel, self.launch = kernel, launch
        self.exact = True
        self.shapes: dict[int, Sizes] = {}
        self.width: dict[int, int] = {}
        self.block = kernel.subgraph.graph["block"] if kernel.subgraph else {}
        at_rest = {value: name for name, value in kernel.match.leaves.items()}
        for value, tensor in zip(self.block["params"], launch.inputs, strict=True):
            name = at_rest.get(value["id"], "")
            if not name.startswith("in"):
                continue
            recorded = self._input(name)
            self.width[value["id"]] = itemsize(recorded["dtype"])
            self.shapes[value["id"]] = self._sizes(history, tensor, bool(recorded["zero_dim"]))
        for value, tensor, output in zip(
            self.block["returns"], launch.outputs, kernel.outputs, strict=False
        ):
            self.width[value] = itemsize(output["dtype"])
            if "reduce" in output:
                self.shapes[value] = self._sizes(history, tensor, True)

    def _input(self, name: str) -> Json:
        """Return the declaration of `in0` in the program; a guess if a damaged trace lacks it."""
        recorded, index = self.kernel.program["inputs"], int(name[2:])
        if index < len(recorded):
            return dict(recorded[index])
        self.exact = False
        return {"dtype": "float32", "zero_dim": False, "used": True}

    def _sizes(self, history: History, tensor: int, zero_dim: bool) -> Sizes:
        fact = history.described(tensor, self.launch.moment) if tensor else None
        if fact is not None:
            return tuple(fact.sizes)
        self.exact = False
        return () if zero_dim else (self.launch.elements,)

    def bytes(self) -> Bytes:
        eager = 0
        steps, match = self.kernel.steps, self.kernel.match
        for step, values in match.values.items():
            for value in values:
                self.width.setdefault(value, itemsize(steps[step]["dtype"]))
        for node in self.block["nodes"]:
            if node["kind"].startswith("prim::"):
                continue
            read = [value for value in node["inputs"] if value in self.shapes]
            for value in node["outputs"]:
                number = value["id"]
                self.shapes.setdefault(number, _broadcast([self.shapes[item] for item in read]))
                self.width.setdefault(number, 4)
                eager += self._bytes(number)
            eager += sum(self._bytes(value) for value in read)
        used = {
            value
            for name, value in match.leaves.items()
            if name.startswith("in") and self._input(name)["used"]
        }
        read_bytes = sum(self._bytes(value) for value in used)
        written = sum(self._bytes(value) for value in dict.fromkeys(self.block["returns"]))
        return Bytes(read_bytes, written, eager, self.exact)

    def _bytes(self, value: int) -> int:
        return prod(self.shapes.get(value, ())) * self.width.get(value, 4)


def _broadcast(shapes: list[Sizes]) -> Sizes:
    """Return the sizes to which these broadcast."""
    matches = [
        next((n for n in column if n != 1), 1)
        for column in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1)
    ]
    return tuple(matches[::-1])
