"""A sparse convolution: the kernel, the active sites of both sides, and the rows that feed each other at one offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.inspect.models._wording import pluralise, shape_text
from engine.inspect.models.rulebook import (
    OffsetRow,
    RulebookModel,
    Site,
    offset_moments,
    product_calls,
)
from engine.inspect.selection import CallSelection
from tui.render import Glyphs, Picture, Target, fit
from tui.render.boxes import Grid
from tui.views._cells import numbers_text
from tui.views._table import window
from tui.views._view import DrawContext, View, action

if TYPE_CHECKING:
    from tui.navigator import Navigator

HELP = {
    "kernel": "The number of pairs of each kernel offset. Enter on one goes to where its product begins.",
    "input, output": "The grids, with the row of each active site in the features.",
    "[ ]": "In the kernel: the current offset. In a grid: a site that is in a pair of this offset.",
    "·": "A cell without a site; an offset without pairs.",
    "✓": "The product of this offset has been added.",
    "▸": "The input row on the left is gathered, multiplied by the offset's matrix, and added to the row on the right.",
    "pair": "An input row and the output row that it feeds.",
    "sample": "The first index of a site: which member of the batch.",
    "slice": "Of a grid with three dimensions one slice is drawn, that of the first pair.",
    "weight[k]": "The matrix of kernel offset k, of shape (in_channels, out_channels).",
    "…": "More rows or columns than fit.",
    "?": "The trace does not hold this value.",
}

_GAP = 3  # cells between two grids


class RulebookView(View):
    name = "rulebook"
    key = "D"
    title = "Rulebook"
    summary = "The rulebook of a sparse convolution, one kernel offset at a time."
    help = HELP

    def draw(self, model: RulebookModel, context: DrawContext) -> Picture:
        """Draw the kernel and both grids side by side, then the pairs of the current offset."""
        width, glyphs = max(40, context.width), context.glyphs
        height = max(12, context.height)
        grid = Grid(width, height, glyphs)
        if not model.call:
            _sentence(grid, model.why)
            return grid.picture()
        target = Target(CallSelection(model.call))
        x = grid.put(1, 0, model.op, "op", target)
        if model.line:
            x = grid.put(x, 0, f"  line {model.line}: ", "dim")
            grid.put(x, 0, model.code, "text")
        if model.why:
            _sentence(grid, model.why)
            return grid.picture()
        _about(grid, model)
        bottom = _grids(grid, model, 4, max(5, height - 9))
        _pairs(grid, model, bottom + 1, height)
        return grid.picture()

    @action("full_stop", "next offset", "To where the product of the next kernel offset begins.")
    def next_offset(self, nav: Navigator) -> str:
        return nav.move_along(offset_moments(nav.history), 1, "offset")

    @action("comma", "previous offset", "To where the product of the previous offset begins.")
    def previous_offset(self, nav: Navigator) -> str:
        return nav.move_along(offset_moments(nav.history), -1, "offset")

    @action("m", "next convolution", "To the next sparse convolution, or gradient of one.")
    def next_convolution(self, nav: Navigator) -> str:
        return nav.move_along(_call_moments(nav), 1, "sparse convolution")

    @action("M", "previous convolution", "To the previous sparse convolution, or gradient of one.")
    def previous_convolution(self, nav: Navigator) -> str:
        return nav.move_along(_call_moments(nav), -1, "sparse convolution")


def _call_moments(nav: Navigator) -> tuple[int, ...]:
    calls = (nav.history.call(number) for number in product_calls(nav.history))
    return tuple(call.since for call in calls if call is not None)


def _sentence(grid: Grid, text: str) -> None:
    y, x = 1, 2
    for word in text.split():
        if x + len(word) >= grid.width and y < grid.height - 1:
            y, x = y + 1, 2
        x = grid.put(x, y, f"{word} ", "dim")


def _about(grid: Grid, model: RulebookModel) -> None:
    glyphs = grid.glyphs
    kind = "submanifold" if model.submanifold else "regular"
    parts = [f"{kind} {shape_text(model.kernel_size, glyphs.times)}"]
    if not model.submanifold:
        parts.append(f"stride {numbers_text(model.stride)}")
        parts.append(f"padding {numbers_text(model.padding)}")
    if any(step != 1 for step in model.dilation):
        parts.append(f"dilation {numbers_text(model.dilation)}")
    parts.append(model.role)
    parts.append(f"{model.in_count} {glyphs.arrow} {pluralise(model.out_count, 'site')}")
    parts.append(pluralise(model.pair_count, "pair"))
    grid.put(1, 1, f" {glyphs.dot} ".join(parts), "dim")
    if model.current < 0:
        grid.put(1, 2, "before the first kernel offset", "dim")
        return
    row = model.offsets[model.current]
    x = grid.put(1, 2, f"kernel offset {row.number}", "head")
    x = grid.put(x, 2, f" at {numbers_text(row.position)}: {pluralise(row.pairs, 'pair')}", "text")
    if not model.running:
        grid.put(x, 2, ", the last; all are added", "dim")


def _grids(grid: Grid, model: RulebookModel, y: int, room: int) -> int:
    """Draw kernel, input and output; the line below them."""
    x, bottom = _kernel(grid, model, 1, y, room)
    in_rows = {pair.in_row for pair in model.pairs}
    out_rows = {pair.out_row for pair in model.pairs}
    first = model.pairs[0] if model.pairs else None
    left, right = x + _GAP, (grid.width - x - 3 * _GAP) // 2
    sides = (
        ("input", model.in_shape, model.in_sites, model.in_count, in_rows),
        ("output", model.out_shape, model.out_sites, model.out_count, out_rows),
    )
    for number, (name, shape, sites, count, rows) in enumerate(sides):
        site = () if first is None else (first.in_site, first.out_site)[number]
        focus = site or (sites[0] if sites else (0,) * (len(shape) + 1))
        start = left + number * (right + _GAP)
        title = f"{name} {shape_text(shape, grid.glyphs.times)}"
        if count and not sites:
            grid.put(
                start, y + 1, "sites were sampled: not all are recorded", "unknown", room=right
            )
            grid.put(start, y, title, "head", room=right)
            bottom = max(bottom, y + 2)
            continue
        end = _side(grid, (start, y, right, room), title, shape, sites, focus, rows)
        if count > len(sites):
            grid.put(
                start,
                end,
                f"{grid.glyphs.ellipsis} {count - len(sites)} sites not held",
                "dim",
                room=right,
            )
            end += 1
        bottom = max(bottom, end)
    return bottom


def _kernel(grid: Grid, model: RulebookModel, x: int, y: int, room: int) -> tuple[int, int]:
    """Return the pairs of each offset; slices of a kernel with three dimensions one below the other."""
    glyphs = grid.glyphs
    columns = model.kernel_size[-1]
    digits = max((len(str(row.pairs)) for row in model.offsets), default=1)
    width = digits + 3
    grid.put(x, y, "kernel", "head")
    lines = (len(model.offsets) + columns - 1) // columns
    focus = max(0, model.current) // columns
    visible = window(focus, lines, room - 1)
    fits = max(1, min(columns, (grid.width // 3) // width))
    drawn = window(max(0, model.current) % columns, columns, fits)
    for line, number in enumerate(visible):
        for column, index in enumerate(drawn):
            row = model.offsets[number * columns + index]
            text, style = _offset_cell(row, digits, glyphs, row.number == model.current)
            target = Target(event=row.moment) if row.moment >= 0 else None
            grid.put(x + column * width, y + 1 + line, text, style, target)
    hidden = lines > len(visible) or columns > len(drawn)
    if hidden:
        grid.put(x + 7, y, glyphs.ellipsis, "dim")
    return x + max(len(drawn) * width, 8), y + 1 + len(visible)


def _offset_cell(row: OffsetRow, digits: int, glyphs: Glyphs, current: bool) -> tuple[str, str]:
    text = fit(str(row.pairs) if row.pairs else glyphs.dot, digits, glyphs.ellipsis, ">")
    if current:
        return f"[{text}]", "number highlighted"
    if row.state == "done":
        return f" {text}{glyphs.done}", "done"
    return f" {text} ", "number" if row.pairs else "hole"


def _side(
    grid: Grid,
    region: tuple[int, int, int, int],
    title: str,
    shape: tuple[int, ...],
    sites: tuple[Site, ...],
    focus: Site,
    paired: set[int],
) -> int:
    """Return one grid: the slice of the focus, with the row of each site; the line below it."""
    x, y, room, height = region
    glyphs = grid.glyphs
    lead, at_row, at_column = _parts(focus)
    rows_of_slice = {
        (row, column): number
        for number, site in enumerate(sites)
        for own, row, column in (_parts(site),)
        if own == lead
    }
    slice_text = f", sample {lead[0]}"
    if len(lead) > 1:
        slice_text += f", slice {numbers_text(lead[1:])}"
    grid.put(x, y, title, "head", room=room)
    grid.put(x + len(title), y, slice_text, "dim", room=max(0, room - len(title)))
    digits = max(1, len(str(max(len(sites) - 1, 0))))
    width = digits + 2
    rows, columns = (shape[-2] if len(shape) > 1 else 1), shape[-1]
    visible = window(at_row, rows, height - 2)
    drawn = window(at_column, columns, room // width)
    for line, row in enumerate(visible):
        for column, index in enumerate(drawn):
            number = rows_of_slice.get((row, index), -1)
            text = fit(str(number) if number >= 0 else glyphs.dot, digits, glyphs.ellipsis, ">")
            start = x + column * width
            if number in paired:
                grid.put(start, y + 1 + line, f"[{text}]", "number highlighted")
            else:
                grid.put(start + 1, y + 1 + line, text, "number" if number >= 0 else "hole")
    end = y + 1 + len(visible)
    if len(visible) < rows or len(drawn) < columns:
        note = f"{glyphs.ellipsis} rows {visible.start} to {visible.stop - 1}, "
        note += f"columns {drawn.start} to {drawn.stop - 1}"
        grid.put(x, end, note, "dim", room=room)
        end += 1
    return end


def _parts(site: Site) -> tuple[tuple[int, ...], int, int]:
    """Return a site as its slice, its line and its column."""
    if len(site) < 3:
        return site[:1], 0, site[-1]
    return site[:-2], site[-2], site[-1]


def _pairs(grid: Grid, model: RulebookModel, y: int, height: int) -> None:
    """Draw the pairs of the current offset, one on each line."""
    glyphs = grid.glyphs
    if not model.pairs:
        return
    count = model.offsets[model.current].pairs
    y = min(y, height - 2)
    room = height - y - 1
    listed = model.pairs[
        : room if len(model.pairs) <= room and count == len(model.pairs) else max(1, room - 1)
    ]
    for_weight = model.op == "weight_gradient"
    grid.put(1, y, "pair: gather, multiply, add", "head")
    for line, pair in enumerate(listed, y + 1):
        x = grid.put(1, line, f"row {pair.in_row}", "number")
        x = grid.put(x, line, f" at {_site_text(pair.in_site)} ", "dim")
        x = grid.put(x, line, pair.features, "number")
        other = f" {glyphs.times} gradient of row {pair.out_row} at {_site_text(pair.out_site)} "
        if for_weight:
            x = grid.put(x, line, other, "text")
            x = grid.put(x, line, f"{glyphs.arrow} ", "wire")
            grid.put(x, line, f"weight[{model.current}]", "text")
            continue
        x = grid.put(x, line, f" @ weight[{model.current}] ", "text")
        x = grid.put(x, line, f"{glyphs.arrow} ", "wire")
        x = grid.put(x, line, f"row {pair.out_row}", "number")
        grid.put(x, line, f" at {_site_text(pair.out_site)}", "dim")
    if len(listed) < count and y + 1 + len(listed) < height:
        more = f"{glyphs.ellipsis} {pluralise(count - len(listed), 'more pair')}"
        grid.put(1, y + 1 + len(listed), more, "dim")


def _site_text(site: Site) -> str:
    return numbers_text(site) if site else "?"
