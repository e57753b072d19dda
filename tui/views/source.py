"""The source at a moment: code with the line that is about to run, names and call stack next to it."""

from __future__ import annotations

import textwrap
from pathlib import PurePath

from engine.inspect.models.source import BoundName, SourceLine, SourceModel
from engine.inspect.selection import LineSelection, NameSelection, TensorSelection
from tui.render import Picture, Span, Target, cut_middle, fit, line_width
from tui.render.boxes import Grid
from tui.render.highlight import python
from tui.views._view import DrawContext, View

HELP = {
    "▶": "The line that is about to run or, within it, the line that is running.",
    "◆": "This line created, wrote, named or viewed the selected tensor.",
    "▌": "This line, or this name, is selected.",
    "/": "How often the line has started: so far / in the whole recording, or only so far, rounded "
    "(100k); if there is room.",
    "✎": "The previous line bound this name.",
    "names": "The names of the running function and what they are bound to at this moment. After one that is the "
    "shortest way to its tensor, +2: two longer ways are not listed.",
    "output": "The lines that the program has written to stdout so far (stderr: underlined), each after the "
    "number of the line that wrote it; Enter goes there.",
    "stack": "The functions that have been called and have not returned; the lowest one is running.",
    "▾": "This many names do not fit.",
    "✖": "An exception: its message, the line that raised it. Underlined sizes do not fit together.",
    "│": "Between the code and the panes next to it.",
    "─": "Between the code and the panes below it.",
}

_SIDE_BY_SIDE = 100  # from this width names and stack are next to the code, else below it
_GUTTER = 8  # cells before the code: marks, line number; without the hits and a space after them
_HITS = 7  # cells of the hits at most
_SIDE = 42  # columns that names and stack keep where lines of code are long
_OUTPUT_BELOW = 3  # lines of output below the code
_NARROW = 60  # below this width the hits are left out


class SourceView(View):
    name = "source"
    key = "1"
    title = "Source"
    summary = "The source at a moment."
    help = HELP
    role = "side"

    def draw(self, model: SourceModel, context: DrawContext) -> Picture:
        """Draw the code around the selected or the current line, as many lines as there is room for."""
        width, height = max(24, context.width), max(8, context.height)
        grid = Grid(width, height, context.glyphs)
        _title(grid, model, context)
        top = _failure(grid, model, context)
        if width >= _SIDE_BY_SIDE:
            longest = _gutter_width(model) + max(
                (len(line.text) for line in model.lines), default=0
            )
            code = max(width // 2, min(longest + 1, width - _SIDE))
            grid.down(code, top, height - 1)
            _code(grid, model, context, code - 1, top, height)
            output = min(len(model.output) + 2, height // 3) if model.output else 0
            bottom = height - output
            below = _names(grid, model, context, code + 2, top, bottom - len(model.stack) - 2)
            _stack(grid, model, context, code + 2, below + 1, bottom)
            _output(grid, model, (code + 2, width), bottom + 1, height)
            return grid.picture()
        if model.output:
            height -= min(len(model.output), _OUTPUT_BELOW) + 1
            grid.across(0, width - 1, height)
            _output(grid, model, (1, width), height, grid.height)
        rows = min(len(model.names) + 1, max(2, (height - top) // 3))
        _code(grid, model, context, width, top, height - rows - 1)
        grid.across(0, width - 1, height - rows - 1)
        _names(grid, model, context, 1, height - rows, height)
        return grid.picture()


def _title(grid: Grid, model: SourceModel, context: DrawContext) -> None:
    x = grid.put(1, 0, PurePath(model.path).name or "no source yet", "title")
    if model.stack:
        way = f" {context.glyphs.arrow} ".join(frame.function for frame in model.stack)
        x = grid.put(x, 0, f" {context.glyphs.dot} {way}", "dim")
    if model.error and model.failure is None:
        grid.put(x + 2, 0, f"{context.glyphs.fail} {model.error}", "error")


def _failure(grid: Grid, model: SourceModel, context: DrawContext) -> int:
    """Draw the exception: its whole message, the operands with their sizes below each other. Returns
    the line after it."""
    failure, glyphs = model.failure, context.glyphs
    if failure is None:
        return 1
    target = Target(LineSelection(failure.file, failure.line), event=failure.moment)
    y = 1
    rows = _wrapped(failure.title, grid.width - 4)
    room = max(4, grid.height // 3)
    if len(rows) > room:  # the traceback of a worker ends with what went wrong
        rows = [*rows[: room - 3], glyphs.ellipsis, *rows[-2:]]
    for row in rows:
        grid.put(1, y, glyphs.fail if y == 1 else " ", "error", target)
        grid.put(3, y, row, "error", target)
        y += 1
    operands = failure.operands[: max(1, grid.height // 6)]
    if operands:
        grid.put(3, y, f"{failure.op} was called with", "dim")
        y += 1
    widths = [max((len(each.name) for each in operands), default=0)]
    widths.append(min(24, max((len(each.label) for each in operands), default=0)))
    widths.append(max((len(each.dtype) for each in operands), default=0))
    cells = _columns([each.sizes for each in operands])
    for each in operands:
        to = Target(TensorSelection(each.tensor))
        x = grid.put(5, y, fit(each.name, widths[0]), "dim", to) + 1
        x = (
            grid.put(
                x, y, fit(cut_middle(each.label, widths[1], glyphs.ellipsis), widths[1]), "name", to
            )
            + 1
        )
        x = grid.put(x, y, fit(each.dtype, widths[2]), "type", to) + 2
        x += sum(width + 3 for width in cells[: len(cells) - len(each.sizes)])
        own = cells[len(cells) - len(each.sizes) :]
        for i, (size, wrong, width) in enumerate(zip(each.sizes, each.wrong, own, strict=True)):
            x = grid.put(x, y, f" {glyphs.times} ", "dim", to) if i else x
            text = fit(str(size), width, align=">")
            x = grid.put(x, y, " " * (width - len(str(size))), "", to)
            x = grid.put(x, y, text.strip(), "error" if wrong else "number", to)
        if not each.sizes:
            grid.put(x, y, "()", "number", to)
        if len({operand.device for operand in operands}) > 1:
            grid.put(x + 1, y, f"on {each.device}", "type", to)
        y += 1
    hidden = len(failure.operands) - len(operands)
    more = f" {glyphs.arrow_down} {hidden} more" if hidden > 0 else ""
    grid.put(3, y, f"line {failure.line}; W explains it{more}", "dim", target)
    grid.across(0, grid.width - 1, y + 1)
    return y + 2


def _columns(shapes: list[tuple[int, ...]]) -> list[int]:
    """Return the width of each column of sizes, which are aligned at the right as in broadcasting."""
    rank = max((len(shape) for shape in shapes), default=0)
    rows = [(0,) * (rank - len(shape)) + shape for shape in shapes]
    return [max(len(str(row[column])) for row in rows) for column in range(rank)]


def _wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines; one that is too long breaks between words."""
    return [part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]]


def _code(
    grid: Grid, model: SourceModel, context: DrawContext, room: int, top: int, bottom: int
) -> None:
    """Draw the lines from `top` to `bottom`, the current or selected one a little above the middle."""
    rows = bottom - top
    focus = model.selected or model.current or 1
    first = max(0, min(focus - 1 - rows * 2 // 5, len(model.lines) - rows))
    spans = python(tuple(line.text for line in model.lines))
    gutter = _gutter_width(model) if room >= _NARROW else _GUTTER
    for y, line in enumerate(model.lines[first : first + rows], top):
        target = Target(LineSelection(model.file, line.number), event=line.event)
        _gutter(grid, y, line, model, context, target, gutter - _GUTTER - 1)
        code = [Span(span.text, span.style, target) for span in spans.line(line.number - 1)]
        if line.current:
            code = [Span(span.text, f"{span.style} highlighted", target) for span in code]
            code.append(Span(" " * (room - gutter - line_width(code)), "highlighted", target))
        grid.spans(gutter, y, code, room - gutter)


def _gutter(
    grid: Grid,
    y: int,
    line: SourceLine,
    model: SourceModel,
    context: DrawContext,
    target: Target,
    room: int,
) -> None:
    """Draw marks, line number, and the hits if they have room."""
    glyphs = context.glyphs
    if line.number == model.selected:
        grid.put(0, y, glyphs.highlighted, "path", target)
    if line.touched:
        grid.put(1, y, glyphs.mark, "name", target)
    if line.number == model.failed_line:
        grid.put(2, y, glyphs.fail, "error", target)
    elif line.current:
        grid.put(2, y, glyphs.current, "current", target)
    style = "head" if line.current else "dim"
    grid.put(3, y, fit(str(line.number), 4, align=">"), style, target)
    if line.total and room > 0:
        style = "number" if line.hits else "dim"
        grid.put(_GUTTER, y, fit(_hits(line), room, glyphs.ellipsis, ">"), style, target)


def _gutter_width(model: SourceModel) -> int:
    """Return the cells before the code: as many as the hits will need, so that no step moves the code."""
    totals = (2 * len(str(line.total)) + 1 for line in model.lines if line.total)
    return _GUTTER + 1 + min(_HITS, max(totals, default=0))


def _hits(line: SourceLine) -> str:
    """Return `3/8`, or rounded without the total if that is long."""
    times = f"{line.hits}/{line.total}"
    return times if len(times) <= _HITS else _rounded(line.hits)


def _rounded(count: int) -> str:
    """Return `850`, `12.3k`, `100k`, `4.56M`: three digits."""
    size, units = float(count), iter(("", "k", "M", "G"))
    unit = next(units)
    while size >= 999.5:
        size, unit = size / 1000, next(units)
    return f"{size:.3g}{unit}"


def _names(
    grid: Grid, model: SourceModel, context: DrawContext, x: int, top: int, bottom: int
) -> int:
    """Draw the names from line `top` on; the line after them."""
    grid.put(x, top, "names", "head")
    if not model.names:
        grid.put(x + 6, top, "none yet", "dim")
    room = max(1, bottom - top - 1)
    hidden = len(model.names) - room
    # the newest matter most; the selected one is never left out
    visible = sorted(model.names, key=lambda name: (name.highlighted, name.since))[-room:]
    if hidden > 0:
        grid.put(x + 6, top, f"{context.glyphs.arrow_down} {hidden} more", "dim")
    after = max((len(name.text) + len(_aside(name, ".")) for name in visible), default=0)
    wide = max(16, grid.width - x - 4 - after)
    wide = min(wide, max((len(name.name) for name in visible), default=0))
    for y, name in enumerate(sorted(visible, key=lambda name: name.since), top + 1):
        _name(grid, x, y, name, wide, context)
    return top + 1 + len(visible)


def _name(grid: Grid, x: int, y: int, name: BoundName, wide: int, context: DrawContext) -> None:
    glyphs = context.glyphs
    target = Target(NameSelection(name.tensor, name.storage, name.name), event=name.since)
    if name.highlighted:
        grid.put(x - 1, y, glyphs.highlighted, "path", target)
    if name.changed:
        grid.put(x, y, glyphs.write, "good", target)
    style = "name highlighted" if name.highlighted else "name"
    label = fit(cut_middle(name.name, wide, glyphs.ellipsis), wide)
    grid.put(x + 2, y, label, style, target)
    text = name.text.replace("×", glyphs.times) if name.tensor else name.text
    after = grid.put(x + 3 + wide, y, text, "type" if name.tensor else "text", target)
    if name.tensor:
        grid.put(after, y, _aside(name, glyphs.dot), "dim", target)


def _aside(name: BoundName, dot: str) -> str:
    """Return the tensor's number, and how many longer names it has."""
    others = f" {dot} +{name.others}" if name.others else ""
    return f" {dot} tensor {name.tensor}{others}"


def _output(
    grid: Grid,
    model: SourceModel,
    columns: tuple[int, int],
    top: int,
    bottom: int,
) -> None:
    """Draw the heading, and the newest lines that fit below it; the lines that this line wrote stand out."""
    left, right = columns
    if not model.output or top >= bottom:
        return
    grid.put(left, top, " output " if left == 1 else "output", "head")
    visible = model.output[-(bottom - top - 1) :] if bottom - top > 1 else ()
    for y, line in enumerate(visible, top + 1):
        target = Target(event=line.moment)
        newest = line.moment == model.moment
        style = "error" if line.stream == 2 else "highlighted" if newest else "text"
        number = f"{line.line or '-':>4} "
        x = grid.put(left, y, number, "dim", target)
        grid.put(x, y, line.text, style, target, right - x)


def _stack(
    grid: Grid, model: SourceModel, context: DrawContext, x: int, top: int, bottom: int
) -> None:
    if top >= bottom or not model.stack:
        return
    grid.put(x, top, "stack", "head")
    for y, frame in zip(range(top + 1, bottom), model.stack, strict=False):
        target = Target(LineSelection(frame.file, frame.line), event=frame.since)
        after = grid.put(x + 2, y, frame.function, "name", target)
        location = f" {context.glyphs.dot} {PurePath(frame.path).name} line {frame.line}"
        grid.put(after, y, location, "dim", target)
