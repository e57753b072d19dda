"""The interpreter at a moment: instructions with the program counter, registers, stack, frames."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy import bincount

from engine.inspect.history.cache import per_history
from engine.inspect.history.jit.ir import SourceRange
from engine.inspect.models._wording import method_name
from engine.inspect.selection import SyntaxSelection

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

WATCHED = 400  # frames that are searched for the one that ended last


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """One instruction of the code that runs."""

    pc: int
    text: str
    op: str
    source_range: SourceRange | None
    value: int  # the (first) Value of the graph that it computes or moves; 0: none
    runs: int  # how often this frame has run it so far
    current: bool  # it ran last; the next one is `next`
    next: bool
    highlighted: bool  # it belongs to the selected Value's family


@dataclass(frozen=True, slots=True)
class SlotRow:
    """The content of a register or a slot of the stack."""

    number: int
    text: str
    kind: str  # the type's name; "Tensor" for a tensor
    tensor: int
    storage: int
    name: str  # of the Value, without %
    variable: str  # the program's name for it: `scale` for the Value %scale.1; "" without one
    value: int
    fresh: bool  # written by the instruction that ran last
    highlighted: bool


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A call of the interpreter that has not returned; the last one runs."""

    frame: int
    function: str
    code: int
    pc: int
    since: int
    current: bool


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A checked guard, a bail-out, a specialisation, or a launch of a fused kernel."""

    moment: int
    kind: str  # guard, bail-out, specialised, fused
    text: str
    good: bool


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a compiled function. here: it is the source of the last instruction; next: of the next one.
    item: the target of selecting it."""

    line: int
    text: str
    item: SyntaxSelection
    current: bool
    next: bool
    highlighted: bool


@dataclass(frozen=True, slots=True)
class InterpreterModel:
    """Everything the interpreter view shows. `frame` 0: nothing runs, and `why`."""

    moment: int
    why: str = ""
    frame: int = 0
    function: str = ""
    code: int = 0
    graph: int = 0
    pc: int = -1
    next_pc: int = -1
    done: bool = False
    result: str = ""
    error: str = ""
    instructions: tuple[InstructionRow, ...] = ()
    registers: tuple[SlotRow, ...] = ()
    stack: tuple[SlotRow, ...] = ()
    frames: tuple[FrameRow, ...] = ()
    notes: tuple[NoteRow, ...] = ()
    source_range: SourceRange | None = None
    line_text: str = ""
    steps: int = 0
    source: tuple[SourceLine, ...] = ()  # of the function that the instruction comes from


def project(history: History, moment: int, selection: Selection) -> InterpreterModel:
    """Return the innermost frame that runs at the moment, else the one that ran last before it."""
    jit = history.jit
    frames = jit.tables.frames
    if not len(frames):
        return InterpreterModel(moment, _why(jit))
    running = frames.at(moment)
    started = frames.started_by(moment)
    if not started:
        return InterpreterModel(
            moment, "Nothing has run in the interpreter yet: the first frame comes later."
        )
    row = int(running[-1]) if len(running) else _last_ended(frames, started)
    return _Frame(history, row, moment, selection).model(running)


def _why(jit: Any) -> str:
    if jit.tables.any:
        return "The compiler worked here, but no compiled function was called while recording."
    return "No compiled function ran. Compile one: f = engine.jit.script(f), then call it."


def _last_ended(frames: Any, started: int) -> int:
    """Return the frame that ended last; of nested ones that is the outermost."""
    return int(max(range(max(0, started - WATCHED), started), key=lambda row: frames.until[row]))


@per_history(max_entries=1024)
def _described(history: History, code: int) -> list[tuple[str, str, SourceRange | None, int]]:
    """Return the text, operation, place in the source and Value of each instruction of a code."""
    fact = history.jit.code(code)
    return [
        (
            instruction["text"],
            instruction["op"],
            SourceRange(*instruction["span"]) if instruction["span"] else None,
            min(_values_made(history, instruction), default=0),
        )
        for instruction in (fact.instructions if fact is not None else ())
    ]


@per_history(max_entries=1024)
def _register_names(history: History, code: int) -> dict[tuple[int, int], tuple[int, str]]:
    """Return the Value and its name that each instruction of a code moves into each register. Where several
    are stored at once, or for the compiler's own use, it is the Value for which the register is read."""
    fact = history.jit.code(code)
    listed = fact.instructions if fact is not None else ()
    names: dict[tuple[int, int], tuple[int, str]] = {}
    later: dict[int, tuple[int, str]] = {}  # the Value as which each register is read later
    for pc in range(len(listed) - 1, -1, -1):
        op, x, n = listed[pc]["op"], int(listed[pc]["x"]), int(listed[pc]["n"])
        value, name = int(listed[pc]["value"]), _value_name(listed[pc])
        if op in ("STORE", "STOREN"):
            for register in range(x, x + (n if op == "STOREN" else 1)):
                names[register, pc] = later.pop(register, (0, ""))
        if op == "STORE" and value:
            names[x, pc] = (value, name)
        elif op in ("LOAD", "MOVE", "DROPR") and value:
            later[x] = (value, name)
        elif op == "LOOP":
            names[n, pc] = later[n] = (0, "iteration")
            later[n + 1] = (0, "trip count")
    return names


def _value_name(instruction: dict[str, Any]) -> str:
    """Return the name of an instruction's Value, without %."""
    return str(instruction["text"]).partition("(%")[2].rstrip(")")


def _values_made(history: History, instruction: dict[str, Any]) -> frozenset[int]:
    """Return the Value that an instruction moves, or those that its node makes."""
    value, node = int(instruction["value"]), int(instruction["node"])
    return frozenset((value,)) if value else frozenset(history.jit.links.values_of.get(node, ()))


def _dark(_: dict[str, Any]) -> bool:
    """Return False: no instruction belongs to the selection."""
    return False


class _Frame:
    """One frame, with its steps up to the moment."""

    def __init__(self, history: History, row: int, moment: int, selection: Selection) -> None:
        self.history, self.jit, self.moment = history, history.jit, moment
        table = self.jit.tables.frames
        self.row = row
        self.number = int(table.id[row])
        self.since, self.until = int(table.since[row]), int(table.until[row])
        self.code_since = self.since  # the start of the present code
        self.code = self.jit.code(self._code_now(int(table.code[row])))
        self.selection = selection
        self.family = (
            self.jit.links.family(self.jit.links.seeds(selection.value))
            if selection.value
            else frozenset()
        )

    def _code_now(self, code: int) -> int:
        """Return the code of the frame: after a bail-out another code runs, from its first step on."""
        steps, outs = self.jit.tables.steps, self.jit.tables.bail_outs
        rows = steps.until_now("frame", self.number, self.moment)
        last = int(steps.since[rows[-1]]) if len(rows) else -1
        for row in outs.until_now("frame", self.number, last):
            self.code_since, code = int(outs.since[row]), int(outs.to[row])
        return code

    def model(self, running: Any) -> InterpreterModel:
        steps = self.jit.tables.steps
        rows = steps.until_now("frame", self.number, self.moment)
        pc = int(steps.pc[rows[-1]]) if len(rows) else -1
        over = self.until <= self.moment
        end = self.jit.json(self.until) if over else {}
        stack = self._stack(rows)
        next_pc = -1 if over else self._next_pc(rows, pc)
        index, function = self._source_range(pc if pc >= 0 else next_pc)
        source = self._source(function, index, next_pc)
        return InterpreterModel(
            moment=self.moment,
            frame=self.number,
            function=self._function(self.row),
            code=self.code.id if self.code else 0,
            graph=self.code.graph if self.code else 0,
            pc=pc,
            next_pc=next_pc,
            done=over,
            result=", ".join(self._text(value) for value in end.get("outputs", ())),
            error=str(end.get("error", "")),
            instructions=self._instructions(rows, pc, next_pc),
            registers=self._registers(rows),
            stack=stack,
            frames=self._frames(running),
            notes=self._notes(),
            source_range=index,
            line_text=next((line.text.strip() for line in source if line.current), ""),
            steps=len(rows),
            source=source,
        )

    # The code

    def _instructions(self, rows: Any, pc: int, next_pc: int) -> tuple[InstructionRow, ...]:
        if self.code is None:
            return ()
        steps = self.jit.tables.steps
        ran = steps.pc[rows[steps.since[rows] > self.code_since]]
        size = len(self.code.instructions)
        runs = bincount(ran[(ran >= 0) & (ran < size)], minlength=size)  # in a damaged trace
        is_highlighted = self._is_highlighted if self.selection.line or self.family else _dark
        return tuple(
            InstructionRow(
                number, text, op, index, value, int(count), number == pc, number == next_pc,
                is_highlighted(instruction),
            )
            for number, ((text, op, index, value), instruction, count) in enumerate(
                zip(_described(self.history, self.code.id), self.code.instructions, runs.tolist(), strict=True)
            )
        )  # fmt: skip

    def _at(self, pc: int) -> dict[str, Any] | None:
        """Return the instruction; None before the first, and for a program counter out of range (damaged trace)."""
        listed = self.code.instructions if self.code is not None else ()
        return listed[pc] if 0 <= pc < len(listed) else None

    def _is_highlighted(self, instruction: dict[str, Any]) -> bool:
        selected = self.selection.line
        if selected is not None and instruction["span"]:
            path, _ = self.history.source(selected.file) if selected.file else ("", "")
            file, line, _, last = instruction["span"][:4]
            if path == file and line <= selected.line <= max(line, last):
                return True
        return bool(self.family) and bool(_values_made(self.history, instruction) & self.family)

    def _next_pc(self, rows: Any, pc: int) -> int:
        """Return the instruction of the frame's next recorded step; -1: it is in other code."""
        steps = self.jit.tables.steps
        own = steps.where("frame", self.number)
        ran = self._at(pc)
        bailed = ran is not None and ran["op"] == "BAIL_OUT"
        return int(steps.pc[own[len(rows)]]) if len(rows) < len(own) and not bailed else -1

    def _source_range(self, pc: int) -> tuple[SourceRange | None, Any]:
        """Return the source range of an instruction, and its function."""
        instruction = self._at(pc)
        if instruction is None or not instruction["span"]:
            return None, self.jit.function(int(self.jit.tables.frames.function[self.row]))
        source_range = SourceRange(*instruction["span"])
        references = (f for f in self.jit.functions(self.moment) if self._holds(f, source_range))
        return source_range, next(references, None)

    def _source(
        self, function: Any, source_range: SourceRange | None, next_pc: int
    ) -> tuple[SourceLine, ...]:
        if function is None:
            return ()
        follows = self._at(next_pc)
        then = follows["span"] if follows is not None else None
        next_line = then[1] if then and then[0] == function.file else 0
        indices = self.jit.links.own_ranges(self.family) if self.family else frozenset()
        highlighted = {value.line for value in indices if value.file == function.file}
        return tuple(
            SourceLine(
                line, text, SyntaxSelection(function.id, "line", line),
                source_range is not None and source_range.line == line, next_line == line, line in highlighted,
            )
            for line, text in enumerate(function.source.splitlines(), function.first_line)
        )  # fmt: skip

    @staticmethod
    def _holds(function: Any, source_range: SourceRange) -> bool:
        last = function.first_line + len(function.source.splitlines())
        return (
            function.file == source_range.file and function.first_line <= source_range.line < last
        )

    # Registers and stack

    def _registers(self, rows: Any) -> tuple[SlotRow, ...]:
        current = int(self.jit.tables.steps.since[rows[-1]]) if len(rows) else -1
        return tuple(
            self._slot(
                value.register,
                value.value,
                self._names.get((value.register, value.pc), (0, "")),
                value.moment == current,
            )
            for value in self.jit.registers.after(self.number, rows)
        )

    def _stack(self, rows: Any) -> tuple[SlotRow, ...]:
        if len(rows):
            references = self.jit.json(int(self.jit.tables.steps.since[rows[-1]])).get("stack", [])
        else:
            references = self.jit.json(self.since).get("inputs", [])
        return tuple(self._slot(i, value, (0, ""), False) for i, value in enumerate(references))

    @property
    def _names(self) -> dict[tuple[int, int], tuple[int, str]]:
        return _register_names(self.history, self.code.id) if self.code is not None else {}

    def _slot(
        self, number: int, value: dict[str, Any], named: tuple[int, str], fresh: bool
    ) -> SlotRow:
        tensor = int(value.get("tensor", 0))
        ir_value, name = named
        fact = self.history.described(tensor, self.moment) if tensor else None
        return SlotRow(
            number, self._text(value), "Tensor" if tensor else str(value.get("type", "")), tensor,
            fact.storage if fact else 0, name, self._variable(name), ir_value, fresh,
            bool(tensor and tensor == self.selection.tensor) or ir_value in self.family,
        )  # fmt: skip

    def _variable(self, name: str) -> str:
        """Return the source's name for a Value; "" without one."""
        base = name.rpartition(".")[0] if name.rpartition(".")[2].isdigit() else name
        function = self.jit.function(int(self.jit.tables.frames.function[self.row]))
        if function is None or not base.isidentifier():
            return ""
        return base if re.search(rf"\b{re.escape(base)}\b", function.source) else ""

    def _text(self, value: dict[str, Any]) -> str:
        tensor = int(value.get("tensor", 0))
        if not tensor:
            text = str(value.get("text", ""))
            return str(text == "1") if value.get("type") == "bool" else text
        fact = self.history.described(tensor, self.moment)
        label = self.history.label(tensor, self.moment)
        if fact is None:
            return f"tensor {label}"
        sizes = "×".join(map(str, fact.sizes)) if fact.sizes else "()"
        return f"{label} {fact.dtype} {sizes}"

    # Frames and source

    def _function(self, row: int) -> str:
        number = int(self.jit.tables.frames.function[row])
        function = self.jit.function(number)
        if function is not None:
            return method_name(str(function.name))
        code = self.jit.code(int(self.jit.tables.frames.code[row]))
        return method_name(code.name) if code else f"function {number}"

    def _frames(self, running: Any) -> tuple[FrameRow, ...]:
        table, steps = self.jit.tables.frames, self.jit.tables.steps
        rows = [int(row) for row in running] or [self.row]
        matches = []
        for row in rows:
            number = int(table.id[row])
            ran = steps.until_now("frame", number, self.moment)
            pc = int(steps.pc[ran[-1]]) if len(ran) else -1
            matches.append(
                FrameRow(
                    number, self._function(row), int(table.code[row]), pc, int(table.since[row]),
                    number == self.number,
                )
            )  # fmt: skip
        return tuple(matches)

    def _notes(self) -> tuple[NoteRow, ...]:
        tables, text = self.jit.tables, self.history.text
        matches = []
        for row in tables.guards.until_now("frame", self.number, self.moment):
            moment, good = int(tables.guards.since[row]), bool(tables.guards.ok[row])
            matches.append(NoteRow(moment, "guard", text(moment), good))
        for row in tables.bail_outs.until_now("frame", self.number, self.moment):
            moment = int(tables.bail_outs.since[row])
            matches.append(NoteRow(moment, "bail-out", text(moment), False))
        for row in tables.launches.until_now("frame", self.number, self.moment):
            moment = int(tables.launches.since[row])
            description = (
                f"kernel {int(tables.launches.kernel[row])}: "
                f"{int(tables.launches.elements[row]):,} elements in "
                f"{int(tables.launches.tiles[row]):,} tiles on "
                f"{int(tables.launches.threads[row])} threads"
            )
            matches.append(NoteRow(moment, "fused", description, True))
        return tuple(sorted(matches, key=lambda note: note.moment))
