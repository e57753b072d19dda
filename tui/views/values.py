"""The values: a table of numbers, each with its height on the tensor's scale."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from engine.inspect.models._grid import Grid
from engine.inspect.models._wording import pluralise, shape_text
from engine.inspect.models.values import Statistics, ValueCell, ValuesModel
from engine.inspect.selection import CellSelection
from tui.render import Glyphs, Line, Picture, Span, stack
from tui.views._cells import FAR, cell_target, facts, padded
from tui.views._table import (
    LABEL,
    column_numbers,
    part_shown,
    row_label,
    slice_lines,
    table_width,
    window,
)
from tui.views._view import DrawContext, View

HELP = {
    "known": "How many of the tensor's numbers the trace holds; statistics are over these.",
    "min, max, mean, std": "Over the known finite numbers (complex: over their absolute values, "
    "|z|, which the shades show too); std is the standard deviation.",
    "nan, inf": "How many known numbers are not a number, and how many are infinite.",
    "▁▂▃▄▅▆▇█": "After a number: where it is on the scale from smallest to largest.",
    "scale": "Where the shades begin and end: min to max, but at most 3 std from the mean.",
    "▴ ▾": "Above or below the scale: an outlier, or infinite.",
    "✖": "Not a number (nan).",
    "?": "The trace does not hold this number: sampled away, over budget, or never written.",
    "◆": "The last line changed this number.",
    "+": "Known since the last line: the number before it is not in the trace.",
    "was": "The number of the selected element before the last line ran.",
    "[ ]": "Around the selected element, and around every other one that is the same memory.",
    "slice": "Which table of a tensor with more than two dimensions is shown.",
    "◂ ▸": "At a dimension of the slice: select to go one index back or forward.",
    "i0 \\ i1": "Dimension 0 runs downwards, dimension 1 to the right.",
    "sampled": "The write was too large to record in full: every n-th element was recorded, and the "
    "engine computed the statistics over all of them.",
    "…": "More columns than fit: move the selection to see them.",
}
ASCII_HELP = {
    ".:-=+*%#": "▁▂▃▄▅▆▇█",
    "^ v": "▴ ▾",
    "!": "✖",
    "*": "◆",
    "< >": "◂ ▸",
    "~": "…",
}

BESIDES = 5  # cells of a column that are not the number: bracket, mark, blank, height, bracket


class ValuesView(View):
    name = "values"
    key = "7"
    title = "Values"
    summary = "The numbers of a tensor."
    help = HELP
    opens: ClassVar = {CellSelection: 1}

    def draw(self, model: ValuesModel, context: DrawContext) -> Picture:
        """Draw the statistics, then the table; rows are drawn when they become visible."""
        if not model.tensor or model.grid is None or model.statistics is None:
            return Picture.of([(), (Span("  " + model.why, "dim"),)], context.width)
        head = _head(model, model.statistics, context)
        grid = model.grid
        if grid.at_row < 0:
            empty = (Span("  no element: a size is 0", "dim"),)
            return Picture.of([*head, (), empty], context.width)
        width = table_width(grid) - 4 + BESIDES
        columns = window(grid.at_column, grid.columns, (context.width - LABEL) // width)
        head += [(), *slice_lines(model.tensor, model.storage, grid, context)]
        head += part_shown(grid, range(grid.rows), columns, context.glyphs)
        head.append(column_numbers(grid, columns, width, width - 2))
        rows = Picture(
            context.width, grid.rows, partial(_row, model, grid, columns, width, context)
        )
        if grid.at_row >= FAR:
            near = window(grid.at_row, grid.rows, 5)
            head += [*map(rows.line, near), (Span(f" all {grid.rows:,} rows", "head"),)]
        return stack([Picture.of(head, context.width), rows])


def _head(model: ValuesModel, statistics: Statistics, context: DrawContext) -> list[Line]:
    lines = [
        [
            (model.label, "head"),
            (f"  {model.dtype} {shape_text(model.sizes, context.glyphs.times)}", "type"),
            *_known(statistics),
            (_created_in(model, context.glyphs), "name"),
        ],
        _numbers(statistics, model.dtype.startswith("complex")),
        _scale(model, statistics, context),
    ]
    recorded = model.recorded
    if recorded is not None:
        sentence = (
            f"sampled: 1 in {recorded.step} recorded of {recorded.numel:,} written; over all of them"
            f" min {recorded.minimum:.6g}  max {recorded.maximum:.6g}  mean {recorded.mean:.6g}"
            f"  nan {recorded.nan}  inf {recorded.inf}"
        )
        lines.append([(sentence, "dim")])
    if (selected := _selected(model)) is not None:
        lines.append(selected)
    return [facts(line, context.width, context.glyphs.ellipsis) for line in lines if line]


def _created_in(model: ValuesModel, glyphs: Glyphs) -> str:
    """Return `  created in profile ▸ Normal.sample`."""
    return f"  created in {f' {glyphs.arrow} '.join(model.regions)}" if model.regions else ""


def _known(statistics: Statistics) -> list[tuple[str, str]]:
    numel, known = statistics.numel, statistics.known
    if known == numel:
        return [(f"  {pluralise(numel, 'number')}, all known", "dim")]
    if statistics.read < numel:
        return [(f"  {numel:,} numbers; of the first {statistics.read:,} {known:,} known", "warn")]
    return [(f"  {known:,} of {pluralise(numel, 'number')} known", "warn")]


def _numbers(statistics: Statistics, absolute: bool) -> list[tuple[str, str]]:
    if statistics.minimum is None:
        nothing = "no finite number is known" if statistics.numel else "no numbers"
        pairs = [(nothing, "dim")]
    else:
        pairs = [("of |z|: ", "dim")] if absolute else []
        for word, number in (
            ("min", statistics.minimum),
            ("max", statistics.maximum),
            ("mean", statistics.mean),
            ("std", statistics.deviation),
        ):
            pairs += [(f"{word} ", "dim"), (f"{number:.6g}  ", "number")]
    for word, count in (("nan", statistics.nan), ("inf", statistics.inf)):
        pairs.append((f"  {word} {count:,}", "warn" if count else "dim"))
    return pairs


def _scale(
    model: ValuesModel, statistics: Statistics, context: DrawContext
) -> list[tuple[str, str]]:
    glyphs = context.glyphs
    pairs = []
    if statistics.low is not None and statistics.low != statistics.high:
        pairs.append((glyphs.levels[1:], "bar"))
        pairs.append((f" {statistics.low:.6g} to {statistics.high:.6g}", "dim"))
        if statistics.clipped:
            ends = f"{glyphs.arrow_up}{glyphs.arrow_down}"
            pairs.append((f", {statistics.clipped:,} beyond {ends}", "warn"))
        pairs.append(("   ", ""))
    if model.before < 0:
        return [*pairs, ("allocated after the previous line", "dim")]
    changed = (
        "not compared" if model.changed is None else f"{model.changed:,} changed {glyphs.mark}"
    )
    return [
        *pairs,
        (changed, "warn" if model.changed else "dim"),
        (" since the previous line", "dim"),
    ]


def _selected(model: ValuesModel) -> list[tuple[str, str]] | None:
    """Return the selected element, exactly."""
    grid = model.grid
    if grid is None or grid.at_row < 0:
        return None
    if grid.hole >= 0:
        return [(f"byte {grid.hole} is selected: no element of {model.label} is there", "dim")]
    cell = model.cell(grid.cell(grid.index(grid.at_row, grid.at_column)))
    index = ", ".join(map(str, cell.index))
    pairs = [(f"{model.label}[{index}]", "highlighted"), (" = ", "dim")]
    pairs.append((cell.exact, "number") if cell.exact else ("not in the trace", "unknown"))
    if cell.before:
        pairs.append((f"   was {cell.before}", "warn"))
    return pairs


def _row(
    model: ValuesModel, grid: Grid, columns: range, width: int, context: DrawContext, row: int
) -> Line:
    drawn = (
        _cell(model, cell, width, context) for cell in model.row(row, columns.start, len(columns))
    )
    spans = [span for cell in drawn for span in cell]
    return (row_label(grid, row, context.glyphs.ellipsis), *spans)


def _cell(model: ValuesModel, cell: ValueCell, width: int, context: DrawContext) -> Line:
    """Bracket and mark, the number with its height, bracket."""
    glyphs = context.glyphs
    target = cell_target(model.tensor, model.storage, cell.byte, cell.index)
    mark = {"changed": glyphs.mark, "learned": "+"}.get(cell.changed, " ")
    begin, end, highlighted = ("[", "]", " highlighted") if cell.selected else (" ", " ", "")
    glyph, style = _glyph(cell, context)
    number = {"number": "number", "unknown": "unknown"}.get(cell.kind, "warn") + highlighted
    text = cell.text or glyphs.unknown
    return (
        Span(begin, highlighted.strip(), target),
        Span(mark, "name" + highlighted, target),
        *padded(text, width - BESIDES, number, target, ">", glyphs.ellipsis),
        Span(" ", highlighted.strip(), target),
        Span(glyph, style + highlighted, target),
        Span(end, highlighted.strip(), target),
    )


def _glyph(cell: ValueCell, context: DrawContext) -> tuple[str, str]:
    """Return the glyph after a number: its height on the scale, or why it has none."""
    glyphs = context.glyphs
    if cell.kind == "unknown":
        return " ", "unknown"
    if cell.kind == "nan":
        return glyphs.fail, "error"
    if cell.kind == "inf" or cell.clipped > 0:
        return glyphs.arrow_up, "warn"
    if cell.kind == "-inf" or cell.clipped < 0:
        return glyphs.arrow_down, "warn"
    if cell.share is None:
        return " ", "bar"
    return glyphs.level(max(cell.share, 0.01)), "bar"  # the smallest has the lowest bar, not none
