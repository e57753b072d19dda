"""Tables of a tensor's elements: which part fits, how wide a column is, and the line of the slice."""

from __future__ import annotations

from engine.inspect.models._grid import Grid
from engine.inspect.models._wording import shape_text
from tui.render import Glyphs, Line, Span, cells, fit
from tui.views._cells import cell_target
from tui.views._view import DrawContext

LABEL = 9  # cells left of the table, for the row's index


def window(at: int, count: int, room: int) -> range:
    """Return at most `room` of `count` rows or columns, with `at` in the middle if possible."""
    room = max(1, room)
    first = max(0, min(at - room // 2, count - room))
    return range(first, min(first + room, count))


def table_width(grid: Grid) -> int:
    """Return cells of one table column, from the values that are listed and the column numbers."""
    strings = (cell.text for row in grid.cells for cell in row)
    return max(5, min(16, max(map(cells, strings), default=1) + 4), len(str(grid.columns - 1)) + 2)


def column_numbers(grid: Grid, columns: range, width: int, text_end: int) -> Line:
    """Return the line above the table: which dimension runs which way, and the columns' indices."""
    down, right = f"i{grid.rank - 2}", f"i{grid.rank - 1}"
    corner = {0: "", 1: right}.get(grid.rank, f"{down} \\ {right}")
    numbers = (fit(str(n), text_end, "", ">") + " " * (width - text_end) for n in columns)
    return Span(fit(corner, LABEL - 1, "", ">") + " ", "dim"), Span("".join(numbers), "dim")


def row_label(grid: Grid, row: int, ellipsis: str) -> Span:
    return Span(fit(str(row) if grid.rank > 1 else "", LABEL - 2, ellipsis, ">") + "  ", "dim")


def part_shown(grid: Grid, rows: range, columns: range, glyphs: Glyphs) -> list[Line]:
    """Return the part of the table that is drawn, if it is not all of it."""
    parts = [
        f"{name} {part.start:,} to {part.stop - 1:,} of {count:,}"
        for name, part, count in (("rows", rows, grid.rows), ("columns", columns, grid.columns))
        if len(part) < count
    ]
    if not parts:
        return []
    return [(Span(" " * LABEL + f"{glyphs.ellipsis} {', '.join(parts)}", "dim"),)]


def slice_lines(tensor: int, storage: int, grid: Grid, context: DrawContext) -> list[Line]:
    """Return, for more than two dimensions, the leading indices, each with a step back and a step on."""
    if grid.rank <= 2:
        return []
    glyphs = context.glyphs
    line = [Span(" slice [", "dim")]
    for dim, (at, size) in enumerate(zip(grid.lead, grid.lead_sizes, strict=True)):
        for glyph, to in ((glyphs.arrow_left, at - 1), (f"{at}", at), (glyphs.arrow, at + 1)):
            target = None
            if 0 <= to < size and grid.at_row >= 0:
                index = (*grid.lead[:dim], to, *grid.lead[dim + 1 :], grid.at_row, grid.at_column)
                target = cell_target(tensor, storage, grid.extent.byte(index), index)
            style = "number" if to == at else "name" if target else "dim"
            line.append(Span(glyph, style, target))
            line.append(Span("" if glyph == glyphs.arrow else " "))
        line.append(Span(", ", "dim"))
    sizes = shape_text(grid.lead_sizes, glyphs.times)
    return [(*line, Span(":, :]", "dim"), Span(f"   one table of {sizes}", "dim"))]
