"""The recorded fused groups: each program with the nodes that its steps compute, and each launch.

A program is recorded as steps, not as nodes: equal steps are one, a conversion of dtype is a step without
a node. `Match` finds the nodes of the steps, from the outputs down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engine.inspect.history.jit.ir import IrGraph, Json

if TYPE_CHECKING:
    from engine.inspect.history.jit import Jit

NUMBERS = ("int", "float", "bool", "complex", "number", "Scalar")
"""Types of inputs that are numbers; all others are tensors."""
CONVERSION = "aten::_to_copy"
_CONVERSIONS = (CONVERSION, "aten::to", "aten::type_as")
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_NEAR = 8  # launches before and after the write of a tensor that are searched for its own
_LOOKED_BACK = 200  # events before a launch that are searched for the last one of its thread


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel. ns -1: unknown, because its program was being recorded.

    inputs, outputs: tensors (0: a number, or unknown), in the order of the group's.
    """

    moment: int
    frame: int
    elements: int
    tiles: int
    threads: int
    ns: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Kernel:
    """A recorded fused group: its program, its Subgraph, and the node that holds it."""

    def __init__(self, jit: Jit, row: int) -> None:
        table = jit.tables.kernels
        self.moment, self.id = int(table.since[row]), int(table.id[row])
        self.graph, self.tile = int(table.graph[row]), int(table.tile[row])
        self.program = jit.json(self.moment)
        self.host, self.node, self.name, self.subgraph = _holder(jit, self.graph, self.moment)
        self.name = self.name or f"kernel {self.id}"

    @property
    def steps(self) -> list[Json]:
        return list(self.program.get("steps", ()))

    @property
    def units(self) -> list[Json]:
        return list(self.program.get("units", ()))

    @property
    def outputs(self) -> list[Json]:
        return list(self.program.get("outputs", ()))

    @cached_property
    def match(self) -> Match:
        return Match(self.subgraph, self.outputs)

    def formula(self, output: int) -> str:
        """Write an output as an expression of the group's inputs: `(%x.1 * 2.0) + %y`."""
        if output >= len(self.outputs):
            return ""
        text = self._expression(self.outputs[output]["tree"])
        reduced = self.outputs[output].get("reduce")
        return f"{reduced}({_bare(text)})" if reduced else _bare(text)

    def _expression(self, tree: Json) -> str:
        if "step" not in tree:
            leaf = str(tree["leaf"])
            value = self.match.leaves.get(leaf, 0)
            known = self.subgraph.values if self.subgraph is not None else {}
            return f"%{known[value]['name']}" if value in known else leaf
        recorded = self.match.trees[tree["step"]]
        operands = [self._expression(each) for each in recorded["operands"]]
        name = str(recorded["op"]).removeprefix("aten::").partition(".")[0]
        if name in _INFIX and len(operands) == 2:
            return f"({operands[0]} {_INFIX[name]} {operands[1]})"
        return f"{name}({', '.join(map(_bare, operands))})"


def _bare(text: str) -> str:
    """Return an expression without the parentheses around all of it."""
    return text[1:-1] if text.startswith("(") else text


def _holder(jit: Jit, expected: int, moment: int) -> tuple[int, int, str, IrGraph | None]:
    """Return the graph and node that contain a group's graph, its name in the text, and that graph; zeros
    if it was not recorded."""
    recorded = jit.tables.graphs
    graphs = dict.fromkeys(recorded.id[: recorded.started_by(moment)].tolist()[::-1])
    for graph in graphs:
        state = jit.graph_at(int(graph), moment)
        for node, _, references in state.subgraphs() if state is not None else ():
            if references.id == expected and state is not None:
                lines = (line for line in state.every_line() if line.role == "node")
                kind = next((line.kind for line in lines if line.node == node), "")
                return int(graph), node, kind.removeprefix("prim::"), references
    return 0, 0, "", None


class Match:
    """The match between steps and nodes of a Subgraph, and between `in0`, `n0` and its inputs."""

    def __init__(self, graph: IrGraph | None, outputs: list[Json]) -> None:
        self.values: dict[int, list[int]] = {}  # a step -> the Values that it computes
        self.part_of: dict[int, int] = {}  # a step without a node -> the step that reads it
        self.leaves: dict[str, int] = {}  # of in0, n0: the Value
        self.trees: dict[int, Json] = {}  # by step: the tree with its operands
        for output in outputs:
            self._keep(output["tree"])
        self._maker: dict[int, Json] = {}
        if graph is None:
            return
        block = graph.graph["block"]
        for value in block["params"]:
            prefix = "n" if value["type"].partition("[")[0] in NUMBERS else "in"
            index = sum(name.rstrip("0123456789") == prefix for name in self.leaves)
            self.leaves[f"{prefix}{index}"] = value["id"]
        for node in block["nodes"]:
            for value in node["outputs"]:
                self._maker[value["id"]] = node
        for value, output in zip(block["returns"], outputs, strict=False):
            if "reduce" in output:  # the tree is the operand of the sum
                value = next(iter(self._maker.get(value, {}).get("inputs", ())), 0)
            self._unify(value, output["tree"])

    def _keep(self, tree: Json) -> None:
        if "op" in tree:
            self.trees[tree["step"]] = tree
            for operand in tree["operands"]:
                self._keep(operand)

    def _unify(self, value: int, tree: Json, reader: int = -1) -> None:
        """Match a Value with the part of the tree that computes it."""
        node = self._maker.get(value)
        while "step" in tree and self._converts(tree, node):
            self.part_of[tree["step"]] = reader
            tree = self.trees[tree["step"]]["operands"][0]
        if "step" not in tree or node is None:
            return
        step = tree["step"]
        known = self.values.setdefault(step, [])
        if value in known:
            return
        known.append(value)
        remaining = list(node["inputs"])
        for operand in self.trees[step]["operands"]:
            matches = next((v for v in remaining if self._can_be(v, operand)), None)
            if matches is not None:
                remaining.remove(matches)
                self._unify(matches, operand, step)

    def _converts(self, tree: Json, node: Json | None) -> bool:
        recorded = self.trees[tree["step"]]
        return recorded["op"] == CONVERSION and (node is None or node["kind"] not in _CONVERSIONS)

    def _can_be(self, value: int, tree: Json) -> bool:
        """Return whether an operand may be this input of the node: the known kinds agree."""
        node = self._maker.get(value)
        while "step" in tree and self._converts(tree, node):
            tree = self.trees[tree["step"]]["operands"][0]
        if "leaf" in tree:
            leaf = str(tree["leaf"])
            if leaf in self.leaves:
                return self.leaves[leaf] == value
            return node is not None and node["kind"] == "prim::Constant"
        if node is None or node["kind"].startswith("prim::"):
            return False
        name = self.trees[tree["step"]]["op"].partition(".")[0]
        return bool(name == node["kind"] or name not in self._kinds)

    @cached_property
    def _kinds(self) -> frozenset[str]:
        """Names of steps that are operators of the graph; others stand for some (gelu's, square's)."""
        return frozenset(node["kind"] for node in self._maker.values())

    def of_step(self, step: int) -> tuple[int, ...]:
        """Return the Values that a step computes; of a conversion those of the step that needs it."""
        while step not in self.values and step in self.part_of:
            step = self.part_of[step]
        return tuple(self.values.get(step, ()))


class Fused:
    """Every kernel and launch of a recording."""

    def __init__(self, jit: Jit) -> None:
        self._jit = jit
        self._kernels: dict[int, Kernel] = {}
        self._launches: dict[int, tuple[Launch, ...]] = {}

    def kernel(self, number: int, m: int) -> Kernel | None:
        """Return the last recording of a kernel up to a moment."""
        row = self._jit.tables.kernels.last("id", number, m)
        if row < 0:
            return None
        if row not in self._kernels:
            self._kernels[row] = Kernel(self._jit, row)
        return self._kernels[row]

    def at(self, m: int) -> int:
        """Return the kernel that ran last; 0 before the first."""
        launches = self._jit.tables.launches
        row = launches.started_by(m) - 1
        if row >= 0:
            return int(launches.kernel[row])
        kernels = self._jit.tables.kernels
        return int(kernels.id[kernels.started_by(m) - 1]) if kernels.started_by(m) else 0

    def of_node(self, node: int) -> int:
        """Return the kernel of a FusionGroup node, or of a node in its Subgraph; 0: none ran."""
        for number in dict.fromkeys(self._jit.tables.kernels.id.tolist()):
            kernel = self.kernel(int(number), 1 << 61)
            if kernel is None or kernel.subgraph is None:
                continue
            inner = {item["id"] for item in kernel.subgraph.graph["block"]["nodes"]}
            if node == kernel.node or node in inner:
                return int(number)
        return 0

    def launches(self, kernel: int) -> tuple[Launch, ...]:
        """Return every launch of a kernel, in order."""
        if kernel not in self._launches:
            rows = self._jit.tables.launches.where("kernel", kernel)
            self._launches[kernel] = tuple(self._launch(int(row)) for row in rows)
        return self._launches[kernel]

    def launch_of(self, tensor: int, moment: int) -> tuple[Kernel, Launch] | None:
        """Return the launch that computed a tensor; it is near the moment at which the tensor was written."""
        table = self._jit.tables.launches
        middle = int(table.since.searchsorted(moment))
        for row in range(max(0, middle - _NEAR), min(middle + _NEAR, len(table))):
            launch = self._launch(row)
            if tensor in launch.outputs:
                kernel = self.kernel(int(table.kernel[row]), launch.moment)
                return None if kernel is None else (kernel, launch)
        return None

    def _launch(self, row: int) -> Launch:
        table = self._jit.tables.launches
        moment, frame = int(table.since[row]), int(table.frame[row])
        kernel = self.kernel(int(table.kernel[row]), moment)
        block = kernel.subgraph.graph["block"] if kernel is not None and kernel.subgraph else {}
        used, results = len(block.get("params", ())), len(block.get("returns", ()))
        before, after = self._stacks(frame, moment)
        return Launch(
            moment, frame, int(table.elements[row]), int(table.tiles[row]),
            int(table.threads[row]), self._time(moment), _top(before, used), _top(after, results),
        )  # fmt: skip

    def _stacks(self, frame: int, moment: int) -> tuple[list[Any], list[Any]]:
        """Return the frame's stack before a launch, and after it."""
        steps = self._jit.tables.steps
        rows = steps.where("frame", frame) if frame else ()
        index = int(steps.since[rows].searchsorted(moment)) if frame else 0
        references = [
            self._jit.json(int(steps.since[rows[at]])).get("stack", [])
            if 0 <= at < len(rows)
            else []
            for at in (index - 1, index)
        ]
        return references[0], references[1]

    def _time(self, moment: int) -> int:
        """Return the time from the thread's last event, the allocation of the outputs, to the launch."""
        events = self._jit.history.tables.events
        kinds = self._jit.history.tables.numbers("FUSED_NEW")
        recorded = int(kinds.searchsorted(moment))
        for at in range(moment - 1, max(-1, moment - _LOOKED_BACK), -1):
            if events["thread"][at] == events["thread"][moment]:
                if (
                    recorded and int(kinds[recorded - 1]) == at
                ):  # the kernel was recorded: that event has it, too
                    return int(self._jit.json(at).get("launch", {}).get("ns", -1))
                return int(events["t"][moment]) - int(events["t"][at])
        return -1


def _top(stack: list[Any], count: int) -> tuple[int, ...]:
    """Return the tensors among the top `count` values of a stack."""
    if len(stack) < count:
        return (0,) * count
    return tuple(int(item.get("tensor", 0)) for item in stack[len(stack) - count :])
