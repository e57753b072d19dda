"""A fused group at a moment: its expression tree, its tile loop, its steps, its graph, its launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.inspect.history.jit.fused import Kernel, Launch
from engine.inspect.models._wording import shape_text
from engine.inspect.models.jit.explanation import story_of
from engine.inspect.models.jit.fused_traffic import bytes_of
from engine.inspect.models.jit.fused_tree import (
    ExpressionRow,
    LoopRow,
    Program,
    last_tile,
    lines_of,
)
from engine.inspect.models.jit.graph_timeline import timeline_of
from engine.inspect.models.jit.lines import Part, item_of_line, parts_of
from engine.inspect.models.jit.passes import title_of
from engine.inspect.models.jit.rule import short_path
from engine.inspect.models.jit.source import SourceRow, Sources, functions_of
from engine.inspect.selection import JitSelection, ValueSelection

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.history.facts import CommandFact
    from engine.inspect.selection import Selection


_COMMANDS = 40  # of one launch, at most: its kernel, and two for each reduction


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A kernel of the recording. at: its first launch, to jump to."""

    kernel: int
    name: str
    steps: int
    launches: int
    at: int
    current: bool


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line of the group's own graph, and the step that computes it (-1: none)."""

    parts: tuple[Part, ...]
    item: JitSelection
    step: int
    highlighted: bool
    selected: bool

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class LaunchRow:
    """One launch. ns -1: unknown; exact: the sizes of its tensors were recorded.

    last: the elements of its last tile. here: the last one up to the moment.
    """

    at: int
    index: int
    frame: int
    elements: int
    tiles: int
    last: int
    threads: int
    ns: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: tuple[int, ...]
    read_bytes: int
    written_bytes: int
    eager_bytes: int
    exact: bool
    current: bool
    ahead: bool


@dataclass(frozen=True, slots=True)
class FusedModel:
    """Everything the view of a fused kernel shows. `why`: a hint if there is none."""

    moment: int
    why: str = ""
    kernel: int = 0
    name: str = ""
    function: str = ""
    file: str = ""
    line: int = 0
    graph: int = 0  # that holds the group
    node: int = 0
    value: int = 0  # the node's first output
    device: str = ""  # that ran the last launch, if it was not the CPU
    device_source: tuple[str, ...] = ()  # of its kernel
    tile: int = 0
    l1_bytes: int = 0
    registers: tuple[int, ...] = ()  # bytes per element of each
    gathered: int = 0
    code_bytes: int = 0
    groups: tuple[GroupRow, ...] = ()
    tree: tuple[ExpressionRow, ...] = ()
    loop: tuple[LoopRow, ...] = ()
    lines: tuple[LineRow, ...] = ()
    source: tuple[SourceRow, ...] = ()
    why_no_source: str = ""
    launches: tuple[LaunchRow, ...] = ()
    selected: JitSelection | None = None
    story: tuple[str, ...] = ()


def project(history: History, moment: int, selection: Selection) -> FusedModel:
    """Return the kernel that ran last."""
    jit = history.jit
    number = jit.fused.at(moment)
    kernel = jit.fused.kernel(number, moment) if number else None
    if kernel is None:
        return FusedModel(moment, _why(jit))
    return _View(history, kernel, moment, selection.value).model()


def _why(jit: Any) -> str:
    kernels = jit.tables.kernels
    if len(kernels):
        return (
            f"No fused kernel has run yet: the first runs at event {int(kernels.since[0]):,}. "
            "Press . to go there."
        )
    if jit.tables.any:
        return (
            "No fused kernel ran in this recording. Pointwise operators that follow each other are "
            "fused once a function was called often enough to be specialised (a third call), and "
            "groups of at least two operators only."
        )
    return (
        "The compiler did nothing in this recording. Compile something: f = engine.jit.script(f)."
    )


class _View:
    """One kernel at one moment."""

    def __init__(
        self, history: History, kernel: Kernel, moment: int, selected: JitSelection | None
    ) -> None:
        self.history, self.jit, self.kernel = history, history.jit, kernel
        self.moment, self.selected = moment, selected
        self.family = (
            self.jit.links.family(self.jit.links.seeds(selected)) if selected else frozenset()
        )
        self.launches = self.jit.fused.launches(kernel.id)

    def model(self) -> FusedModel:
        kernel, jit = self.kernel, self.jit
        done = [launch for launch in self.launches if launch.moment <= self.moment]
        program = Program(kernel, self.family, self.selected)
        row = jit.tables.graphs.last("id", kernel.host, self.moment)
        number = int(jit.tables.graphs.function[row]) if row >= 0 else 0
        function = jit.function(number)
        source, source_range = self._source(function)
        recorded = kernel.program
        command = self._command(done[-1]) if done else None
        return FusedModel(
            moment=self.moment,
            kernel=kernel.id,
            name=kernel.name,
            function=title_of(function, self._host(), kernel.host),
            file=short_path(source_range.file) if source_range else "",
            line=source_range.line if source_range else 0,
            graph=kernel.host,
            node=kernel.node,
            value=self._value(),
            device=command.device if command else "",
            device_source=tuple(self.history.program_source(command.program).splitlines())
            if command
            else (),
            tile=kernel.tile,
            l1_bytes=int(recorded.get("launch", recorded).get("l1_bytes", 0)),
            registers=tuple(recorded.get("registers", ())),
            gathered=int(recorded.get("launch", {}).get("gathered", 0)),
            code_bytes=sum(int(unit.get("code_bytes", 0)) for unit in kernel.units),
            groups=self._groups(),
            tree=program.tree(),
            loop=program.loop(done[-1] if done else None),
            lines=self._lines(),
            source=source,
            why_no_source="" if source else "No source was recorded for this group.",
            launches=tuple(
                self._launch(at, item, done) for at, item in enumerate(self.launches, 1)
            ),
            selected=self.selected,
            story=story_of(jit, self.selected, kernel.host, self.moment),
        )

    def _command(self, launch: Launch) -> CommandFact | None:
        """Return the kernel of a device that a launch enqueued: after it came reductions at most."""
        if launch.tiles:
            return None
        newest = self.history.tables.commands.started_by(launch.moment) - 1
        facts = map(self.history.command, range(newest, max(-1, newest - _COMMANDS), -1))
        return next((fact for fact in facts if fact.name.startswith("fused")), None)

    def _value(self) -> int:
        values = self.jit.links.values_of.get(self.kernel.node, ())
        return int(values[0]) if values else 0

    def _host(self) -> str:
        """Return the name of the graph that contains the group."""
        return timeline_of(self.jit.history, self.kernel.host).name if self.kernel.host else ""

    def _groups(self) -> tuple[GroupRow, ...]:
        matches = []
        for number in dict.fromkeys(self.jit.tables.kernels.id.tolist()):
            kernel = self.jit.fused.kernel(int(number), 1 << 61)
            ran = self.jit.tables.launches.where("kernel", int(number))
            if kernel is None or not len(ran):
                continue
            first = int(self.jit.tables.launches.since[ran[0]])
            current = kernel.id == self.kernel.id
            steps = len(kernel.steps)
            matches.append(GroupRow(kernel.id, kernel.name, steps, len(ran), first, current))
        return tuple(matches)

    def _lines(self) -> tuple[LineRow, ...]:
        match, rows = self.kernel.match, []
        step_of = {value: step for step, values in match.values.items() for value in values}
        for line in lines_of(self.kernel.subgraph):
            results = {output.id for output in line.outputs} or {value for value, _ in line.inputs}
            item = item_of_line(line)
            step = next((step_of[out.id] for out in line.outputs if out.id in step_of), -1)
            selected = item == self.selected or (
                line.role != "return"
                and isinstance(self.selected, ValueSelection)
                and self.selected.value in results
            )
            rows.append(LineRow(parts_of(line), item, step, bool(results & self.family), selected))
        return tuple(rows)

    def _source(self, function: Any) -> tuple[tuple[SourceRow, ...], Any]:
        """Return the functions that the group comes from, and its first source line."""
        references = self.kernel.subgraph
        inside = references.graph["block"]["nodes"] if references is not None else []
        # A constant's source may be elsewhere: equal constants are pooled.
        nodes = [item for item in inside if item["kind"] != "prim::Constant"]
        known = self.jit.links.range_of
        source_ranges = [known[node["id"]] for node in nodes if node["id"] in known]
        if function is None or not source_ranges:
            return (), None
        matches = functions_of(self.jit, function, source_ranges, self.moment)
        values = {value["id"] for node in nodes for value in node["outputs"]}
        family = self.family if self.selected else frozenset(values)
        return Sources(self.jit, matches, family, self.selected).lines(), min(
            source_ranges, key=lambda source_range: (source_range.file, source_range.line)
        )

    def _launch(self, index: int, launch: Launch, done: list[Launch]) -> LaunchRow:
        moved = bytes_of(self.history, self.kernel, launch)
        return LaunchRow(
            launch.moment, index, launch.frame, launch.elements, launch.tiles,
            last_tile(launch.elements, launch.tiles, self.kernel.tile), launch.threads, launch.ns,
            self._shapes(launch.inputs, launch.moment), self._shapes(launch.outputs, launch.moment),
            (*launch.inputs, *launch.outputs), moved.read, moved.written, moved.eager, moved.exact,
            bool(done) and launch is done[-1], launch.moment > self.moment,
        )  # fmt: skip

    def _shapes(self, tensors: tuple[int, ...], moment: int) -> tuple[str, ...]:
        facts = [self.history.described(item, moment + 1) if item else None for item in tensors]
        return tuple(shape_text(fact.sizes) if fact is not None else "?" for fact in facts)
