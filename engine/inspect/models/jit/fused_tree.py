"""A fused program as rows: its outputs as expression trees, and its tile loop with every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.inspect.history.jit.fused import Kernel
from engine.inspect.history.jit.ir import IrGraph, Json
from engine.inspect.models._wording import bytes_text, pluralise
from engine.inspect.selection import JitSelection, ValueSelection


@dataclass(frozen=True, slots=True)
class ExpressionRow:
    """A step of the tree, below the one that reads it; step -1: an output, the root of a tree.

    path: for each branching above, whether more branches follow; head: the first row of its branch.
    again: it was drawn above, and its operands are not repeated.
    """

    step: int
    text: str
    path: tuple[bool, ...]
    head: bool
    name: str  # of the Value that it computes, with %
    dtype: str
    again: bool
    value: int
    highlighted: bool
    selected: bool


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A line of the tile loop. kind: loop, note, unit, step, fold, end."""

    kind: str
    text: str
    aside: str = ""
    step: int = -1
    name: str = ""
    expression: str = ""
    value: int = 0
    highlighted: bool = False
    selected: bool = False


class Program:
    """The rows of one kernel, with the selection highlighted."""

    def __init__(
        self, kernel: Kernel, family: frozenset[int], selected: JitSelection | None
    ) -> None:
        self.kernel, self.match = kernel, kernel.match
        self.family = family
        self.selected = selected.value if isinstance(selected, ValueSelection) else 0
        self.rows: list[ExpressionRow] = []
        self._drawn: set[int] = set()

    # The tree

    def tree(self) -> tuple[ExpressionRow, ...]:
        """Return each output, then the steps that lead to it, from the last to the first."""
        graph = self.kernel.subgraph
        returned = graph.graph["block"]["returns"] if graph is not None else []
        for at, output in enumerate(self.kernel.outputs):
            value = int(returned[at]) if at < len(returned) else 0
            subject = self._reduction(output) if "reduce" in output else ""
            self.rows.append(
                ExpressionRow(
                    -1, f"out{at}{subject}", (), True, self._name(value), output["dtype"], False, value,
                    value in self.family, value == self.selected,
                )
            )  # fmt: skip
            self._grow(output["tree"], (), True)
        return tuple(self.rows)

    @staticmethod
    def _reduction(output: Json) -> str:
        dims = output.get("dims", -1)
        over = (
            "all elements"
            if dims < 0
            else f"the last {pluralise(dims, 'dimension')}"
            if dims > 1
            else "the last dimension"
        )
        return f" = {output['reduce']} over {over}"

    def _grow(self, tree: Json, path: tuple[bool, ...], head: bool) -> None:
        if "step" not in tree:
            self._add(tree, path, head, str(tree["leaf"]), False)
            return
        step = int(tree["step"])
        recorded = self.match.trees[step]
        again = step in self._drawn
        self._drawn.add(step)
        inner = [item for item in recorded["operands"] if "step" in item]
        description = ", ".join(
            "·" if "step" in item else str(item["leaf"]) for item in recorded["operands"]
        )
        text = short(recorded["op"])
        self._add(
            recorded,
            path,
            head,
            f"{text}, drawn above" if again else f"{text}({description})",
            again,
        )
        if again:
            return
        for at, operand in enumerate(inner):
            if len(inner) == 1:
                self._grow(operand, path, False)
            else:
                self._grow(operand, (*path, at + 1 < len(inner)), True)

    def _add(self, tree: Json, path: tuple[bool, ...], head: bool, text: str, again: bool) -> None:
        step = int(tree.get("step", -1))
        values = self.match.of_step(step) if step >= 0 else ()
        if step < 0 and text in self.match.leaves:
            values = (self.match.leaves[text],)
        self.rows.append(
            ExpressionRow(
                step, text, path, head, self._name(*values[:1]), str(tree.get("dtype", "")), again,
                values[0] if values else 0, bool(self.family & set(values)),
                self.selected in values,
            )
        )  # fmt: skip

    def _name(self, value: int = 0) -> str:
        graph = self.kernel.subgraph
        if graph is None or value not in graph.values:
            return ""
        return f"%{graph.values[value]['name']}"

    # The loop

    def loop(self, launch: Any) -> tuple[LoopRow, ...]:
        """Return the rows of the loop: `for each tile`, the loads, each unit with its steps, the stores."""
        rows = [LoopRow("loop", *_tiles(self.kernel, launch)), *self._notes()]
        steps = self.kernel.steps
        for number, unit in enumerate(self.kernel.units):
            kind = "machine code" if unit["kind"] == "block" else "loop"
            size = f", {unit['code_bytes']:,} bytes" if "code_bytes" in unit else ""
            ways = f"{' '.join(unit['reads'])} to {' '.join(unit['writes'])}"
            rows.append(LoopRow("unit", f"{kind} {number}{size}", ways))
            rows += [
                self._step(at, operand)
                for at, operand in enumerate(steps)
                if int(operand["unit"]) == number
            ]
        for at, output in enumerate(self.kernel.outputs):
            if "reduce" in output:
                over = self._register(output["tree"])
                rows.append(
                    LoopRow("fold", f"out{at} = {output['reduce']}(out{at}, {over})", "added up")
                )
        rows.append(LoopRow("end", "next tile"))
        return tuple(rows)

    def _notes(self) -> list[LoopRow]:
        """Return the L1 cache use of a tile, and the inputs that are copied for it."""
        program = self.kernel.program
        launch = program.get("launch", program)
        notes = []
        if registers := len(program.get("registers", ())):
            size = bytes_text(int(launch.get("l1_bytes", 0)))
            notes.append(
                LoopRow("note", f"{pluralise(registers, 'register')} in the first cache", size)
            )
        if gathered := int(launch.get("gathered", 0)):
            notes.append(
                LoopRow("note", f"{pluralise(gathered, 'input')} copied tile by tile", "into order")
            )
        return notes

    def _register(self, tree: Json) -> str:
        """Return the register of the result of a part of the tree."""
        if "step" not in tree:
            return str(tree["leaf"])
        return str(self.kernel.steps[int(tree["step"])]["to"])

    def _step(self, at: int, operand: Json) -> LoopRow:
        values = self.match.of_step(at)
        operands = ", ".join(operand["operands"])
        odd = [text for text in operand["parameters"] if text != "1"]
        gradients = f"; {', '.join(odd)}" if odd else ""
        name = self._name(*values[:1])
        if at in self.match.part_of:
            name = f"for {name}" if name else "conversion"
        elif len(values) > 1:
            name += f" +{len(values) - 1}"
        dtype = str(operand["dtype"])
        aside = dtype if dtype == operand["computes"] else f"{dtype} in {operand['computes']}"
        return LoopRow(
            "step", f"{operand['to']} = {short(operand['op'])}({operands}{gradients})", aside, at, name,
            str(operand["expr"]), values[0] if values else 0, bool(self.family & set(values)),
            self.selected in values,
        )  # fmt: skip


def _tiles(kernel: Kernel, launch: Any) -> tuple[str, str]:
    if launch is None:
        return f"for each tile of {kernel.tile:,} elements", ""
    last = last_tile(launch.elements, launch.tiles, kernel.tile)
    description = f"for each of {pluralise(launch.tiles, 'tile')} of {kernel.tile:,} elements"
    return description, f"the last has {last:,}" if last != kernel.tile else ""


def last_tile(elements: int, tiles: int, tile: int) -> int:
    """Return the elements of the last tile."""
    return elements - (tiles - 1) * tile if tiles else 0


def short(op: str) -> str:
    """Return `mul` of `aten::mul.Tensor`."""
    return op.removeprefix("aten::").partition(".")[0]


def lines_of(graph: IrGraph | None) -> tuple[Any, ...]:
    """Return the lines of a group's graph."""
    return tuple(graph.lines()) if graph is not None else ()
