"""The interpreter at work: instructions with the program counter, registers, stack, frames."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from engine.inspect.models.interpreter import (
    InstructionRow,
    InterpreterModel,
    SlotRow,
    SourceLine,
)
from engine.inspect.selection import TensorSelection, ValueSelection
from tui.render import Glyphs, Picture, Span, Target, cells, fit
from tui.render.boxes import Grid
from tui.render.glyphs import translated
from tui.render.highlight import python
from tui.views._view import DrawContext, action
from tui.views.jit.ir_view import IRView
from tui.views.jit.rows import Region, first, listed, put_cut, sentence

if TYPE_CHECKING:
    from tui.navigator import Navigator

HELP = {
    "instructions": "The code that runs: number, what it does, how often it ran, its line of the source.",
    "▴": "This many more rows above.",
    "▾": "This many more rows below.",
    "pc": "The program counter: the number of the instruction that ran last.",
    "▶": "This instruction ran last; its effect is shown.",
    "→": "This one runs next.",
    "✎": "Written by the instruction that ran last.",
    "▌": "It belongs to the selection.",
    "×": "How often this frame has run the instruction; or between the sizes of a shape.",
    "registers": "The values of the frame, by number, with the program's name and the Value (%) where they "
    "have one. After the last use of its Value a register is reused: "
    "MOVE empties it. A list is shown as it was when it was last stored or loaded.",
    "source": "The compiled function. The line of the instruction that ran last, and of the next one.",
    "stack": "Instructions take their inputs from its end and put their results there. The last is the top.",
    "frames": "The calls that have not returned, the outermost first. Each has its own registers.",
    "notes": "Guards that were checked, bail-outs and launches of fused kernels in this frame.",
    "LOAD": "Copies a register to the stack. MOVE: the same, then empties the register.",
    "STORE": "Moves the top of the stack into a register. STOREN: several, the last one first.",
    "CONST": "Pushes a constant.",
    "OP": "An operator pops its arguments and pushes its results.",
    "JUMP": "Jumps. JUMP_IF_FALSE: if the top of the stack is False. LOOP: to the next iteration, "
    "or out of the loop.",
    "GUARD": "Checks that an input has the dtype and rank that this code was compiled for.",
    "BAIL_OUT": "Guard failed: general code continues.",
    "FUSED": "A group of pointwise operators as one kernel, tile by tile.",
    "RETURN": "The frame ends; its results stay on the stack.",
    "✖": "It failed.",
    "✓": "The guard held, or the call is over.",
    "…": "Truncated, or more than fits.",
}

_BESIDE = 100  # from this width registers and stack are next to the instructions, else below


class InterpreterView(IRView):
    name = "interpreter"
    key = "I"
    title = "Interpreter"
    summary = "Instructions, registers, stack and frames."
    help = HELP
    grain = "instruction"
    fills_screen = True

    def draw(self, model: InterpreterModel, context: DrawContext) -> Picture:
        """Draw the instructions around the program counter, as many as there is room for."""
        width, height = max(40, context.width), max(10, context.height)
        grid = Grid(width, height, context.glyphs)
        if not model.frame:
            grid.put(2, 1, model.why, "dim")
            return grid.picture()
        _title(grid, model, context)
        if width >= _BESIDE:
            first_rule, second_rule = _rules(model, width)
            _source(grid, model, context, Region(0, first_rule, 2, height))
            grid.down(first_rule, 2, height - 1)
            grid.down(second_rule, 2, height - 1)
            _instructions(grid, model, context, Region(first_rule + 1, second_rule, 2, height))
            left = second_rule + 2
            y = _slots(grid, context, "registers", model.registers, left, width, 2, height)
            y = _slots(grid, context, "stack", model.stack, left, width, y + 1, height)
            y = _frames(grid, model, context, left, width, y + 1, height)
            _notes(grid, model, context, left, width, y + 1, height)
            return grid.picture()
        below = max(5, height * 2 // 5)
        line = height - below
        _instructions(grid, model, context, Region(0, width, 2, line))
        grid.across(0, width - 1, line)
        half = width // 2
        _slots(grid, context, "registers", model.registers, 1, half - 1, line + 1, height, True)
        y = _slots(grid, context, "stack", model.stack, half, width, line + 1, height)
        y = _frames(grid, model, context, half, width, y, height)
        _notes(grid, model, context, half, width, y, height)
        return grid.picture()

    def has_value(self, nav: Navigator) -> bool:
        """Return whether queries are about a Value: here tensors are selected, too."""
        return bool(nav.selection.value) and not nav.selection.tensor

    @action(
        "c",
        "run to call",
        "Run to the next call: an operator, a kernel, a function.",
        leads_in=True,
    )
    def run_to_call(self, nav: Navigator) -> str:
        return _run_to(nav, "call", 1)

    @action("x", "previous call", "Back to the previous call.", leads_in=True)
    def previous_call(self, nav: Navigator) -> str:
        return _run_to(nav, "call", -1)

    @action("b", "run to branch", "Run to the next branch, jump or loop iteration.", leads_in=True)
    def run_to_branch(self, nav: Navigator) -> str:
        return _run_to(nav, "branch", 1)

    @action("v", "previous branch", "Back to the previous branch.", leads_in=True)
    def previous_branch(self, nav: Navigator) -> str:
        return _run_to(nav, "branch", -1)

    @action(
        "right_parenthesis",
        "run to bail-out",
        "Run to the next bail-out or failed guard.",
        leads_in=True,
    )
    def run_to_bail_out(self, nav: Navigator) -> str:
        return _run_to(nav, "bail-out", 1)

    @action(
        "left_parenthesis", "previous bail-out", "Back to the previous bail-out.", leads_in=True
    )
    def previous_bail_out(self, nav: Navigator) -> str:
        return _run_to(nav, "bail-out", -1)


_OPS = {
    "call": ("OP", "CALL", "CALL_METHOD", "FUSED", "SCALAR"),
    "branch": ("JUMP", "JUMP_IF_FALSE", "LOOP"),
}


def _run_to(nav: Navigator, stop: str, direction: int) -> str:
    """Go to the next or previous instruction of that kind that ran."""
    registers = nav.history.jit.registers
    moments = registers.missed() if stop == "bail-out" else registers.ran(_OPS[stop])
    at = int(moments.searchsorted(nav.moment, "right" if direction > 0 else "left"))
    at -= direction < 0
    if not 0 <= at < len(moments):
        return f"no {'later' if direction > 0 else 'earlier'} {stop}"
    nav.move(int(moments[at]))
    return ""


def _rules(model: InterpreterModel, width: int) -> tuple[int, int]:
    """Return the columns of the two rules: source and instructions have what they need where there is room."""
    source = 8 + max((cells(line.text) for line in model.source), default=20)
    lengths = [cells(row.text) for row in model.instructions if row.op != "GUARD"]
    instructions = 9 + max(lengths, default=20) + sum(_tails(model.instructions))
    room = width - max(_BESIDE * 3 // 10, width // 4)  # what registers, stack and notes leave
    instructions = min(instructions, max(room - source, room * 45 // 100))
    source = min(source, room - instructions)
    return source, source + instructions


def _title(grid: Grid, model: InterpreterModel, context: DrawContext) -> None:
    glyphs = context.glyphs
    x = grid.put(1, 0, model.function, "title")
    x = grid.put(x + 1, 0, f"frame {model.frame} {glyphs.dot} code {model.code}", "dim")
    pc = "not started" if model.pc < 0 else f"pc {model.pc}"
    x = grid.put(x + 2, 0, pc, "head")
    if model.done:
        result = translated(model.result, glyphs)
        outcome = f"{glyphs.fail} raised" if model.error else f"{glyphs.done} returned {result}"
        grid.put(
            x + 2,
            0,
            fit(outcome, grid.width - x - 3, glyphs.ellipsis),
            "error" if model.error else "good",
        )
    else:
        grid.put(x + 2, 0, f"{model.steps:,} steps so far", "dim")
    if model.error:
        last = [line for line in model.error.splitlines() if line.strip()][-1:]
        grid.put(1, 1, fit(" ".join(last), grid.width - 2, glyphs.ellipsis), "error")
    elif model.source_range is not None:
        file = PurePath(model.source_range.file).name
        text = f"{file}:{model.source_range.line}  {model.line_text}"
        grid.put(1, 1, fit(text, grid.width - 2, glyphs.ellipsis), "text")


def _source(grid: Grid, model: InterpreterModel, context: DrawContext, region: Region) -> None:
    """Draw the function with its current line marked."""
    if not model.source:
        sentence(grid, region, "source", "No source was recorded for this function.")
        return
    coloured = python(tuple(row.text for row in model.source))
    glyphs, first_line = context.glyphs, model.source[0].line

    def draw(row: SourceLine, y: int) -> None:
        target = Target(row.item)
        if row.highlighted:
            grid.put(region.left, y, glyphs.highlighted, "path", target)
        if row.current:
            grid.put(region.left + 1, y, glyphs.current, "current", target)
        elif row.next:
            grid.put(region.left + 1, y, glyphs.arrow, "head", target)
        style = "current" if row.current else "dim"
        grid.put(region.left + 2, y, fit(str(row.line), 4, align=">"), style, target)
        highlighted = " highlighted" if row.current or row.highlighted else ""
        spans = [
            Span(span.text, f"{span.style}{highlighted}", target)
            for span in coloured.line(row.line - first_line)
        ]
        put_cut(grid, region.left + 7, y, spans, max(0, region.width - 7), glyphs)

    focus = first(model.source, lambda r: r.current, lambda r: r.next, lambda r: r.highlighted)
    listed(grid, region, glyphs, "source", model.source, focus, draw)


def _instructions(
    grid: Grid, model: InterpreterModel, context: DrawContext, region: Region
) -> None:
    at = model.pc if model.pc >= 0 else max(0, model.next_pc)
    tails = _tails(model.instructions)

    def draw(row: InstructionRow, y: int) -> None:
        _instruction(grid, y, row, context, region, tails)

    listed(grid, region, context.glyphs, "instructions", model.instructions, at, draw)


def _tails(rows: tuple[InstructionRow, ...]) -> tuple[int, int]:
    """Return the columns of how often each instruction ran, and of its line."""
    runs = max((row.runs for row in rows), default=0)
    lines = [row.source_range.line for row in rows if row.source_range is not None]
    return (len(f"{runs:,}") + 2 if runs > 1 else 0), len(str(max(lines, default=0))) + 2


def _instruction(
    grid: Grid,
    y: int,
    row: InstructionRow,
    context: DrawContext,
    region: Region,
    tails: tuple[int, int],
) -> None:
    glyphs, x = context.glyphs, region.left
    target = Target(ValueSelection(row.value)) if row.value else None
    style = "current" if row.current else "head" if row.next else "text" if row.runs else "dim"
    if row.highlighted:
        grid.put(x, y, glyphs.highlighted, "path", target)
    if row.current:
        grid.put(x + 1, y, glyphs.current, "current", target)
    elif row.next:
        grid.put(x + 1, y, glyphs.arrow, "head", target)
    grid.put(x + 2, y, fit(str(row.pc), 4, align=">"), "dim", target)
    times = f"{row.runs:,}{glyphs.times}" if row.runs > 1 else ""
    line = f":{row.source_range.line}" if row.source_range is not None else ""
    tail = f"{fit(times, tails[0], align='>')} {fit(line, tails[1] - 1)}"
    wide = region.width - 8 - cells(tail)
    highlighted = f"{style} highlighted" if row.highlighted or row.current else style
    grid.put(x + 7, y, fit(row.text, wide, glyphs.ellipsis), highlighted, target)
    grid.put(x + 7 + wide, y, tail, "number", target)


def _slot_target(slot: SlotRow) -> Target | None:
    """Return the target of a slot: its tensor and its Value, if it has them."""
    values = (ValueSelection(slot.value),) if slot.value else ()
    if slot.tensor:
        return Target(TensorSelection(slot.tensor, slot.storage), values)
    return Target(*values) if values else None


def _slots(
    grid: Grid,
    context: DrawContext,
    title: str,
    slots: tuple[SlotRow, ...],
    x: int,
    right: int,
    top: int,
    bottom: int,
    is_last: bool = False,
) -> int:
    """Draw the slots from line `top` on; return the line after them. is_last: nothing is drawn below."""
    if top >= bottom:
        return top
    glyphs = context.glyphs
    grid.put(x, top, title, "head")
    if not slots:
        grid.put(x + len(title) + 1, top, "empty", "dim")
        return top + 1
    limit = bottom - top - 1 if is_last else max(3, (bottom - top) // 2)
    room = max(1, min(len(slots), bottom - top - 1, limit))
    # The top of a stack matters most, and of the registers those that were written last.
    keep = slots[-room:] if title == "stack" else _selected_slots(slots, room)
    if len(keep) < len(slots):
        grid.put(x + len(title) + 1, top, f"{glyphs.ellipsis} {len(slots) - len(keep)} more", "dim")
    for y, slot in enumerate(keep, top + 1):
        if y >= bottom:
            break
        target = _slot_target(slot)
        if slot.highlighted:
            grid.put(x - 1, y, glyphs.highlighted, "path", target)
        if slot.fresh:
            grid.put(x, y, glyphs.write, "good", target)
        at = grid.put(x + 2, y, fit(str(slot.number), 3, align=">"), "dim", target)
        _put_slot(grid, slot, at + 1, y, right - 1, glyphs, target)
    return top + 1 + len(keep)


def _put_slot(
    grid: Grid, slot: SlotRow, x: int, y: int, right: int, glyphs: Glyphs, target: Target | None
) -> None:
    """Draw `scale  #47 float32 2×3  %scale.1`: the variable, what it is, and where there is room its Value."""
    own = slot.name and not slot.value  # the compiler's own: an iteration
    value = f"%{slot.name}" if slot.value else ""
    name = slot.variable or (slot.name if own else value)
    if name:
        style = "dim" if own else "name"
        x = (
            grid.put(
                x, y, fit(name, min(cells(name), (right - x) // 2), glyphs.ellipsis), style, target
            )
            + 1
        )
    style = "highlighted" if slot.highlighted else "type" if slot.tensor else "number"
    text = slot.text.replace("×", glyphs.times).removeprefix(f"{name} " if name else "")
    x = grid.put(
        x, y, fit(text, min(max(1, right - x), cells(text)), glyphs.ellipsis), style, target
    )
    if slot.variable and right - x > cells(value):
        grid.put(x + 1, y, value, "dim", target)


def _selected_slots(slots: tuple[SlotRow, ...], room: int) -> tuple[SlotRow, ...]:
    visible = sorted(slots, key=lambda slot: (slot.highlighted, slot.fresh, slot.number))[-room:]
    return tuple(sorted(visible, key=lambda slot: slot.number))


def _frames(
    grid: Grid,
    model: InterpreterModel,
    context: DrawContext,
    x: int,
    right: int,
    top: int,
    bottom: int,
) -> int:
    if top + 1 >= bottom:
        return top
    glyphs = context.glyphs
    visible = model.frames[-max(1, bottom - top - 1) :]  # the innermost
    at = grid.put(x, top, "frames", "head")
    if len(visible) < len(model.frames):
        grid.put(at + 1, top, f"{glyphs.arrow_up}{len(model.frames) - len(visible)}", "dim")
    for y, frame in enumerate(visible, top + 1):
        target = Target(event=frame.since)
        mark = glyphs.current if frame.current else " "
        pc = "not started" if frame.pc < 0 else f"pc {frame.pc}"
        text = f" {glyphs.dot} frame {frame.frame}, {pc}"
        name = fit(
            frame.function, min(cells(frame.function), right - x - 5 - cells(text)), glyphs.ellipsis
        )
        grid.put(x + 2, y, f"{mark} {name}{text}", "text", target, max(0, right - x - 3))
    return top + 1 + len(visible)


def _notes(
    grid: Grid,
    model: InterpreterModel,
    context: DrawContext,
    x: int,
    right: int,
    top: int,
    bottom: int,
) -> None:
    if not model.notes or top + 1 >= bottom:
        return
    glyphs = context.glyphs
    grid.put(x, top, "notes", "head")
    visible = model.notes[-(bottom - top - 1) :]
    if len(visible) < len(model.notes):
        grid.put(x + 6, top, f"{glyphs.ellipsis} {len(model.notes) - len(visible)} more", "dim")
    for y, note in enumerate(visible, top + 1):
        glyph = glyphs.done if note.good else glyphs.fail
        text = f"{glyph} {note.kind}: {' '.join(note.text.split())}"
        style = "text" if note.good else "warn"
        target = Target(event=note.moment)
        grid.put(x + 2, y, fit(text, right - x - 3, glyphs.ellipsis), style, target)
