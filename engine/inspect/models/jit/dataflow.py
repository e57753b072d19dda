"""The flow of Values between the lines of a graph, and the boxes of a diagram of all its states.

Boxes are nodes, heads of blocks, and the returns of blocks and graphs. Constants and parameters of the graph
have none: they are written where they are used. The outputs of an If or a Loop come from the returns of its
blocks, so a diagram reads downwards as the program runs.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.inspect.history.cache import per_history
from engine.inspect.history.jit.ir import IrLine
from engine.inspect.models.jit.graph_timeline import GraphTimeline, timeline_of
from engine.inspect.models.jit.lines import Part, parts_of

if TYPE_CHECKING:
    from engine.inspect.history import History

_BLOCKS = ("prim::If", "prim::Loop")
CONSTANT = "prim::Constant"
MAX_LABEL = 30  # cells of a label
GONE_THROUGH = 40_000  # lines, over all its states, up to which a graph is small


@dataclass(frozen=True, slots=True)
class FlowBox:
    """A box of the diagram: its node, its label's maximum width, and its predecessors in any state."""

    node: int
    width: int
    above: tuple[int, ...]


def flows(lines: Iterable[IrLine]) -> dict[int, tuple[int, ...]]:
    """Return for each box of a graph, in the order of its text, the boxes that lead to it."""
    return _Flows().of(lines)


class _Flows:
    """Visit the lines of a graph and collect the boxes that define each Value."""

    def __init__(self) -> None:
        self.above: dict[int, tuple[int, ...]] = {}
        self.makers: dict[int, list[int]] = {}  # a Value -> the boxes that it comes from
        self.owner: dict[int, IrLine] = {}  # by depth: the last node
        self.block: dict[int, set[int]] = {}  # by depth: the boxes of the innermost block, so far
        self.first: dict[int, int] = {}  # by depth: its head
        self.groups: dict[str, int] = {}  # the name of a group -> its node

    def of(self, lines: Iterable[IrLine]) -> dict[int, tuple[int, ...]]:
        for line in lines:
            if line.role == "head" or line.kind == CONSTANT:
                continue
            if line.role in ("with", "block"):
                self._head(line)
            else:
                self._body(line)
        return self.above

    def _head(self, line: IrLine) -> None:
        """Place a block below its node, and a group's graph below the group."""
        if line.role == "with":
            above = (self.groups[line.kind],) if line.kind in self.groups else ()
        else:
            above = (self.owner[line.depth - 1].node,)
            self.makers |= {value.id: [line.node] for value in line.outputs}
        self.block[line.depth + 1] = {line.node}
        self.first[line.depth + 1] = line.node
        self.above[line.node] = above

    def _body(self, line: IrLine) -> None:
        above = dict.fromkeys(box for value, _ in line.inputs for box in self.makers.get(value, ()))
        mates = self.block.get(line.depth)
        if mates is not None:
            if mates.isdisjoint(above):  # it reads nothing of its block, but it is inside it
                above[self.first[line.depth]] = None
            mates.add(line.node)
        if line.role == "node":
            self.owner[line.depth] = line
            self.groups.setdefault(line.kind, line.node)
            inner = line.kind in _BLOCKS
            self.makers |= {value.id: [] if inner else [line.node] for value in line.outputs}
        elif line.role == "yield":
            for value in self.owner[line.depth - 2].outputs:
                self.makers[value.id].append(line.node)
            self._close(line)
        self.above[line.node] = tuple(above)

    def _close(self, line: IrLine) -> None:
        """End a block: its return belongs to the enclosing block."""
        self.block.pop(line.depth, None)
        if outer := self.block.get(line.depth - 2):
            outer.add(line.node)


def label(parts: Sequence[Part], constants: dict[int, str], wired: Container[int]) -> list[Part]:
    """Return the label of a box from the text of its line: `%y mul(·, 2)`, a dot for what comes by a wire."""
    shortened: list[Part] = []
    inputs = False
    for part, then in zip(parts, (*parts[1:], Part("")), strict=True):
        text, style = part.text.replace(" : ", ""), part.style
        if style == "type" or (text == " = " and not shortened):
            continue
        if inputs and part.value and then.text != " : ":  # that is where a block declares it
            known = constants.get(part.value)
            text = "·" if part.value in wired else part.text if known is None else known
            style = "number" if known is not None else style
        text = " " if text == " = " else text.removeprefix("aten::").removeprefix("prim::")
        inputs = inputs or style in ("op", "keyword") or text == "("
        shortened.append(Part(text, part.value, style))
    return shortened


def constants_of(lines: Iterable[Sequence[Part]]) -> dict[int, str]:
    """Return the sources of constants by their Value."""
    matches = {}
    for parts in lines:
        if len(parts) > 4 and parts[4].text == CONSTANT:  # one output: name : type = kind
            text = re.sub(r"^\[\w+=|\]$", "", parts[5].text)
            matches[parts[0].value] = "None" if text.startswith("(") else text
    return matches


class Flow(Sequence[FlowBox]):
    """The boxes of every state of a graph, in the order of the timeline; built on the first use."""

    def __init__(self, timeline: GraphTimeline) -> None:
        self._timeline = timeline
        self._built: tuple[FlowBox, ...] | None = None

    def boxes(self) -> tuple[FlowBox, ...]:
        if self._built is None:
            self._built = self._make()
        return self._built

    @property
    def is_built(self) -> bool:
        """Return whether they have been built already."""
        return self._built is not None

    def __len__(self) -> int:
        return len(self.boxes())

    def __getitem__(self, at: Any) -> Any:
        return self.boxes()[at]

    def _make(self) -> tuple[FlowBox, ...]:
        above: dict[int, dict[int, None]] = {}
        makers: dict[int, list[int]] = {}
        for state in self._states():
            flow = _Flows()
            for node, boxes in flow.of(self._timeline.lines(state).values()).items():
                above.setdefault(node, {}).update(dict.fromkeys(boxes))
            makers |= flow.makers
        self._between(above, makers)
        order = list(dict.fromkeys(f.key for f in self._timeline.frames if f.key in above))
        width = self._widths(above)
        present = set(order)
        return tuple(
            FlowBox(node, width[node], tuple(item for item in above[node] if item in present))
            for node in order
        )

    def _states(self) -> list[int]:
        """Return all states of a small graph; of a large one those after each pass."""
        timeline = self._timeline
        if len(timeline.moments) * len(timeline.frames) <= GONE_THROUGH:
            return list(range(len(timeline.moments)))
        return [*timeline.snapshots, len(timeline.moments) - 1]

    def _between(self, above: dict[int, dict[int, None]], makers: dict[int, list[int]]) -> None:
        """Return the boxes that existed only between those states, attached to their inputs."""
        lines = [line for frame in self._timeline.frames for line in frame.lines]
        lines = [line for line in lines if line.role == "node" and line.kind != CONSTANT]
        for line in lines:
            for value in line.outputs:
                makers.setdefault(value.id, [line.node])
        for line in lines:
            reads = [box for value, _ in line.inputs for box in makers.get(value, ())]
            above.setdefault(line.node, dict.fromkeys(reads))

    def _widths(self, boxes: Container[int]) -> dict[int, int]:
        """Return the maximum width of each box's label."""
        lines = [line for frame in self._timeline.frames for line in frame.lines]
        constants = constants_of(parts_of(line) for line in lines if line.kind == CONSTANT)
        wired = wired_values(lines, boxes)
        width: dict[int, int] = {}
        for line in lines:
            if line.node in boxes:
                description = label(parts_of(line), constants, wired)
                cells = min(sum(len(part.text) for part in description), MAX_LABEL)
                width[line.node] = max(width.get(line.node, 0), cells)
        return width


class Wires(Sequence[tuple[int, int]]):
    """The (from, to) boxes of the wires of one state; built on the first use."""

    def __init__(self, timeline: GraphTimeline, state: int) -> None:
        self._timeline, self._state = timeline, state
        self._built: tuple[tuple[int, int], ...] | None = None

    def pairs(self) -> tuple[tuple[int, int], ...]:
        if self._built is None:
            led = flows(self._timeline.lines(self._state).values())
            self._built = tuple((above, node) for node, boxes in led.items() for above in boxes)
        return self._built

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.pairs())

    def __len__(self) -> int:
        return len(self.pairs())

    def __getitem__(self, at: Any) -> Any:
        return self.pairs()[at]


def wired_values(lines: Iterable[IrLine], matches: Container[int]) -> frozenset[int]:
    """Return the Values that a box defines, from which wires lead to their readers."""
    return frozenset(
        value.id
        for line in lines
        if line.node in matches and line.role in ("node", "block")
        for value in line.outputs
    )


@per_history(max_entries=4096)
def flow_of(history: History, graph: int) -> Flow:
    """Return the boxes of a graph."""
    return Flow(timeline_of(history, graph))
