"""The kernel microscope: one cell of a result, the sum it is, and the cells that go into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.inspect.models._grid import GridCell
from engine.inspect.models._wording import pluralise, shape_text
from engine.inspect.models.microscope import MicroscopeModel, TableRow, cell_name
from engine.inspect.selection import CallSelection, Selection, TensorSelection
from tui.render import Glyphs, Line, Picture, Span, Target, cells, clean, cut, fit
from tui.render.target import LaunchItem
from tui.views._cells import cell_target, facts, numbers_text, padded, wrapped
from tui.views._table import slice_lines, table_width, window
from tui.views._view import DrawContext, View

if TYPE_CHECKING:
    from tui.navigator import Navigator

HELP = {
    "out": "The result of the call. Move over its cells to see how each is computed.",
    "[ ]": "Around the cell of the result, and around every input cell that feeds it.",
    "◆": "A cell of the result that the picked cell of an input goes into.",
    "=": "The value of the cell: first with the names of the cells, below with their numbers.",
    "* ** / // %": "Times, to the power of, divided by, divided and rounded down, the remainder of a division.",
    "|x|": "The absolute value of x.",
    "& ^ ~": "Bitwise and, bitwise exclusive or, bitwise not. | between two: bitwise or.",
    "? :": "`c ? a : b` is a where c is true, else b. A ? alone: the trace does not hold the value.",
    "...": "More terms of the same form are left out of the formula.",
    "feeds": "The input cells of this one cell, with the address of each.",
    "byte": "The offset of the cell in its storage.",
    "goes into": "How many cells of the result the picked cell of an input feeds.",
    "i0 \\ i1": "Dimension 0 runs downwards, dimension 1 to the right.",
    "[1,:,:]": "After a name: the slice of a tensor with more than two dimensions that is shown.",
    "slice": "Which table of a result with more than two dimensions is shown.",
    "◂ ▸": "At a dimension of the slice: select to go one index back or forward.",
    "before, after": "Inputs are shown as they were just before the call, the result as it was just after.",
    "…": "More rows, columns or cells than fit, or a truncated text.",
}

LABEL = 6  # cells left of a table, for the row's index
MAX_ROWS = 12
_GAP = 3  # cells between two tables


class MicroscopeView(View):
    name = "microscope"
    key = "9"
    title = "Microscope"
    summary = "One cell of a result and what it is computed from."
    help = HELP

    def opened(self, nav: Navigator) -> str:
        """Show what the value of a selected tensor was computed from. A fused kernel has its own view."""
        from tui.actions.queries import last_write

        write = last_write(nav)
        if write is None or nav.selection.call is not None or nav.history.calls_at(nav.moment):
            return ""
        if write.call:
            nav.selection = replace(nav.selection, call=CallSelection(write.call))
            return ""
        label = nav.history.label(nav.selection.tensor, nav.moment)
        if (launched := nav.history.jit.fused.launch_of(write.tensor, write.moment)) is None:
            return f"{label} was made from numbers: no operator computed it"
        kernel, launch = launched
        formula = kernel.formula(launch.outputs.index(write.tensor))
        nav.remember()
        nav.open(Target(LaunchItem(launch.moment)))
        return f"{label} = {formula}, computed by {kernel.name}; Backspace: back"

    def draw(self, model: MicroscopeModel, context: DrawContext) -> Picture:
        """Draw the formula, then the tables side by side, then every feeding cell with its address."""
        width, glyphs = context.width, context.glyphs
        if not model.call:
            return Picture.of([(), (Span("  " + model.why, "dim"),)], width)
        lines: list[Line] = [_head(model, context), ()]
        lines += _formula(model, context)
        if model.why:
            lines += [*wrapped(model.why, width - 2, "warn", 1), ()]
        if model.picked is not None:
            lines += [_picked(model, context), ()]
        if model.out is not None:
            lines += slice_lines(model.out.tensor, model.out.storage, model.out.grid, context)
        tables = ([model.out] if model.out is not None else []) + list(model.inputs)
        lines += _side_by_side([_table(model, table, context) for table in tables], width)
        if model.hidden:
            more = f" {glyphs.ellipsis} {pluralise(model.hidden, 'more tensor')} of the call"
            lines += [(Span(f"{more} not drawn: no cell of them feeds this one", "dim"),), ()]
        lines += _feeds(model, context)
        if model.arguments:
            lines += [_constants(model, width, glyphs.ellipsis)]
        return Picture.of([_clipped(line, width, glyphs.ellipsis) for line in lines], width)


def _head(model: MicroscopeModel, context: DrawContext) -> Line:
    ellipsis = context.glyphs.ellipsis
    call = f"  call {model.call}" + (f"  line {model.line}" if model.line else "")
    later = "  not yet returned: the result is from later" if model.running else ""
    room = max(12, context.width - cells(f"{model.name}  {call}{later}") - 1)
    pairs = [
        (model.name, "op"),
        (f"  {cut(model.text, room, ellipsis)}", "text"),
        (call, "dim"),
        (later, "warn"),
    ]
    return facts(pairs, context.width, ellipsis)


def _formula(model: MicroscopeModel, context: DrawContext) -> list[Line]:
    """Names over numbers, their equals signs one below the other when each fits on a line."""
    width = context.width
    if not model.symbolic:
        return [*wrapped(model.note, width - 2, "dim", 1), ()] if model.note else []
    lines: list[Line] = []
    named, _, does = model.symbolic.partition(" = ")
    value, _, numbers = model.numeric.partition(" = ")
    indent = max(cells(named), cells(value)) + 1
    for left, right, style in ((named, does, "name"), (value, numbers, "number")):
        if not left:
            continue
        first, *rest = wrapped(right, width - 5, style, indent + 3)
        target = _result_cell(model) if left == named else None
        blank, highlighted = padded(left, indent, f"{style} highlighted", target, align=">")
        lines += [(Span(blank.text), highlighted, Span(" = ", "dim"), first[1]), *rest]
    if model.note:
        lines += wrapped(model.note, width - 2, "dim", indent + 3)
    return [*lines, ()]


def _result_cell(model: MicroscopeModel) -> Target | None:
    """Return the cell that the formula is about: the cursor begins there."""
    if model.out is None or not model.known:
        return None
    byte = model.out.grid.extent.byte(model.index)
    return cell_target(model.out.tensor, model.out.storage, byte, model.index)


def _picked(model: MicroscopeModel, context: DrawContext) -> Line:
    assert model.picked is not None
    picked = model.picked
    at_least = "" if model.goes_counted else "at least "
    pairs = [
        (cell_name(picked.label, picked.index), "name highlighted"),
        (f" of {picked.argument} goes into ", "text"),
        (f"{at_least}{pluralise(model.goes, 'cell')} of the result", "head"),
        (f" {context.glyphs.mark}" if model.goes else "", "head"),
    ]
    return facts(pairs, context.width, context.glyphs.ellipsis)


# Tables


def _table(model: MicroscopeModel, table: TableRow, context: DrawContext) -> list[Line]:
    """Draw one tensor: its name, what it is, and the part of its cells around those that take part."""
    glyphs, grid = context.glyphs, table.grid
    if grid.at_row < 0:
        return [
            _title(table, context.selection, glyphs),
            (Span(" no element: a size is 0", "dim"),),
        ]
    visible = [index for index in table.fed if index[: max(0, grid.rank - 2)] == grid.lead]
    width = table_width(grid)
    room = max(4, min(MAX_ROWS, context.height - 12))
    rows = _part([index[-2] for index in visible] if grid.rank > 1 else [0], grid.rows, room)
    room = max(2, (context.width * 3 // 5 - LABEL) // width)  # leaves room for another table
    columns = _part([index[-1] for index in visible] if grid.rank else [0], grid.columns, room)
    lines: list[Line] = [_title(table, context.selection, glyphs), _about(table, glyphs)]
    corner = {0: "", 1: "i0"}.get(grid.rank, f"i{grid.rank - 2}\\i{grid.rank - 1}")
    numbers = "".join(fit(str(n), width - 1, "", ">") + " " for n in columns)
    lines.append((Span(fit(corner, LABEL, "", ">"), "dim"), Span(numbers, "dim")))
    for row in rows:
        label = fit(str(row) if grid.rank > 1 else "", LABEL, glyphs.ellipsis, ">")
        row_cells = grid.row(row, columns.start, len(columns))
        lines.append(
            (Span(label, "dim"), *(_cell(model, table, c, width, glyphs) for c in row_cells))
        )
    if len(rows) < grid.rows or len(columns) < grid.columns:
        full_shape = shape_text((grid.rows, grid.columns), glyphs.times)
        lines.append((Span(f"      {glyphs.ellipsis} {full_shape} in all", "dim"),))
    if len(visible) < len(table.fed):
        lines.append(
            (Span(f"      {len(table.fed) - len(visible):,} more in other slices", "dim"),)
        )
    return lines


def _part(fed: Sequence[int], count: int, room: int) -> range:
    """Return the range to show: all fed indices if they fit, else from the first of them on."""
    low, high = min(fed, default=0), max(fed, default=0)
    if high - low < room:
        return window((low + high) // 2, count, room)
    first = max(0, min(low, count - room))
    return range(first, min(first + room, count))


def _title(table: TableRow, selection: Selection, glyphs: Glyphs) -> Line:
    lead = "".join(f"{at}," for at in table.grid.lead)
    part = f"[{lead}:,:]" if table.grid.lead else ""
    target = Target(TensorSelection(table.tensor, table.storage))
    name = cut(clean(table.label), 24, glyphs.ellipsis)
    style = "head" if table.argument == "out" else "name"
    selected = table.tensor == selection.tensor
    edge = Span(glyphs.highlighted, "highlighted") if selected else Span(" ")
    spans = [
        edge,
        Span(name, f"{style} highlighted" if selected else style, target),
        Span(part, "dim"),
    ]
    if table.argument != table.label:
        spans.append(Span(f"  {table.argument}", "type"))
    return tuple(spans)


def _about(table: TableRow, glyphs: Glyphs) -> Line:
    text = f" {table.dtype} {shape_text(table.sizes, glyphs.times)}"
    return (Span(f"{text}  strides {numbers_text(table.strides)}", "dim"),)


def _cell(
    model: MicroscopeModel, table: TableRow, cell: GridCell, width: int, glyphs: Glyphs
) -> Span:
    """Return a value; in brackets when it takes part."""
    text = fit(cell.text if cell.known else glyphs.unknown, width - 3, glyphs.ellipsis, ">")
    target = cell_target(table.tensor, table.storage, cell.byte, cell.index)
    if table.argument == "out":
        if cell.index == model.index:
            return Span(f" [{text}]", "number highlighted", target)
        mark = glyphs.mark if cell.index in table.fed else " "
        return Span(f"  {text}{mark}", "number" if cell.known else "unknown", target)
    if cell.index in table.fed:
        return Span(f" [{text}]", "number path", target)
    return Span(f"  {text} ", "dim" if cell.known else "unknown", target)


def _side_by_side(blocks: Sequence[Sequence[Line]], width: int) -> list[Line]:
    """Put as many blocks next to each other as fit, then the next row of blocks."""
    rows: list[list[Sequence[Line]]] = [[]]
    used = 0
    for block in blocks:
        wide = max(sum(span.width for span in line) for line in block) + _GAP
        if rows[-1] and used + wide - _GAP > width:
            rows.append([])
            used = 0
        rows[-1].append(block)
        used += wide
    lines: list[Line] = []
    for row in filter(None, rows):
        widths = [max(sum(s.width for s in line) for line in block) + _GAP for block in row]
        for y in range(max(map(len, row))):
            line: list[Span] = []
            for column, (block, wide) in enumerate(zip(row, widths, strict=True)):
                own = block[y] if y < len(block) else ()
                line += own
                blank = wide - sum(span.width for span in own)
                if column < len(row) - 1:
                    line.append(Span(" " * blank))
            lines.append(tuple(line))
        lines.append(())
    return lines


def _clipped(line: Line, width: int, ellipsis: str) -> Line:
    """Return the line, cut at the width with an ellipsis."""
    if sum(span.width for span in line) <= width:
        return line
    clipped, x = [], 0
    for span in line:
        text = cut(span.text, width - x, ellipsis)
        clipped.append(Span(text, span.style, span.target))
        x += cells(text)
        if text != span.text:
            break
    return tuple(clipped)


# The list of feeding cells


def _feeds(model: MicroscopeModel, context: DrawContext) -> list[Line]:
    glyphs, width = context.glyphs, context.width
    if not model.feeds:
        return []
    lines: list[Line] = [
        (
            Span(" feeds ", "head"),
            Span(f"{pluralise(model.total, 'cell')} in, one cell out", "dim"),
        )
    ]
    name = max(cells(clean(cell_name(f.label, f.index))) for f in model.feeds)
    role = max(cells(f.argument) for f in model.feeds)
    name, role = min(name, 28), min(role, 14)
    for feed in model.feeds:
        target = cell_target(feed.tensor, feed.storage, feed.byte, feed.index)
        spans = [
            Span("   "),
            *padded(feed.argument, role + 2, "type", ellipsis=glyphs.ellipsis),
            *padded(
                cell_name(feed.label, feed.index), name + 2, "name", target, "<", glyphs.ellipsis
            ),
            *padded(f"byte {feed.byte}", 12, "number"),
        ]
        if width >= 60:
            spans += padded(f"{feed.address:#x}" if feed.address else "", 16, "address")
        spans.append(
            Span(cut(feed.exact or glyphs.unknown, 24, ""), "number" if feed.exact else "unknown")
        )
        lines.append(tuple(spans))
    if model.total > len(model.feeds):
        more = model.total - len(model.feeds)
        lines.append((Span(f"   {glyphs.ellipsis} {more:,} more", "dim"),))
    return [*lines, ()]


def _constants(model: MicroscopeModel, width: int, ellipsis: str) -> Line:
    pairs = [("arguments", "head")]
    for name, value in model.arguments:
        pairs += [(f"  {name} ", "type"), (value, "number")]
    return facts(pairs, width, ellipsis)
