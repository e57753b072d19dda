"""The strides, drawn: the tensor as the program sees it, its cells in memory, and the formula between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from engine.inspect.models._grid import Grid, GridCell
from engine.inspect.models._wording import shape_text
from engine.inspect.models.strides import AddressFormula, DerivationStep, StridesModel
from engine.inspect.selection import (
    NameSelection,
    ObjectSelection,
    StorageSelection,
    TensorSelection,
)
from tui.render import Glyphs, Line, Picture, Span, cells, fit
from tui.views._cells import (
    GUTTER,
    Box,
    cell_target,
    facts,
    framed,
    index_text,
    numbers_text,
    padded,
    per_row,
    wrapped,
)
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
    "size": "How many indices the dimension has.",
    "stride": "The distance of one step along the dimension, in elements of the storage.",
    "offset": "The element of the storage at index 0,0,...",
    "itemsize": "Bytes of one element.",
    "base": "The address at which the storage starts.",
    "i0, s0": "The index and the stride of dimension 0; i1, s1 of dimension 1, and so on.",
    "*": "Times, in a formula.",
    "[ ]": "Around the selected element, and around every other one that is the same memory.",
    "i0 \\ i1": "Dimension 0 runs downwards, dimension 1 to the right.",
    "slice": "Which table of a tensor with more than two dimensions is shown.",
    "◂ ▸": "At a dimension of the slice: select to go one index back or forward. Elsewhere ▸: leads to.",
    "cells": "Below: the storage as elements of this dtype, each with its first index.",
    "·": "A cell of the storage that this tensor does not use.",
    "+": "After an index: this many more indices lead to the same cell. Before a number: bytes from "
    "the start of the storage.",
    "?": "The trace does not hold this value: sampled away, over budget, or never written.",
    "contiguous": "yes: its elements are in memory in the order of their indices, without gaps.",
    "view(-1)": "yes: it can be flattened without a copy, because one stride leads through all of it.",
    "created by": "The operator that created this view, then the one that created its base.",
    "same memory": "Other indices of this tensor that are the same element.",
    "━┃┏┓┗┛┳┻": "The selected cell. `w` jumps to the line that wrote it.",
    "…": "More rows or columns than fit, or a truncated text.",
}
ASCII_HELP = {"<": "◂ ▸", ".": "·", "#=!": "━┃┏┓┗┛┳┻", "~": "…"}

STRIP_ROWS = 2
_INDENT = 11  # of the formula, below `address =`


class StridesView(View):
    name = "strides"
    key = "5"
    title = "Strides"
    summary = "The way from an index to an address."
    help = HELP
    opens: ClassVar = {
        TensorSelection: 0,
        NameSelection: 1,
        ObjectSelection: 1,
        StorageSelection: 1,
    }

    def draw(self, model: StridesModel, context: DrawContext) -> Picture:
        """Draw formula, table, strip of cells, then the layout in words."""
        if not model.tensor or model.grid is None or model.layout is None:
            return Picture.of([(), (Span("  " + model.why, "dim"),)], context.width)
        # The formula comes first: on 24 lines it must not fall below the grid it explains.
        lines = [_head(model, context), _pattern(model, context), ()]
        if model.grid.hole >= 0:
            cell = f"cell {model.grid.hole // model.itemsize}"
            sentence = f": no index of {model.label} leads to byte {model.grid.hole}"
            lines += [
                facts(
                    [(cell, "highlighted"), (sentence, "text")],
                    context.width,
                    context.glyphs.ellipsis,
                ),
                (),
            ]
        if model.formula is not None:
            lines += [*_formula(model.formula, context), ()]
        lines += slice_lines(model.tensor, model.storage, model.grid, context)
        lines += _table(model, model.grid, context)
        lines += [(), *_strip(model, context), ()]
        lines += [*_dims(model), (), *_facts(model, context)]
        return Picture.of(lines, context.width)


def _head(model: StridesModel, context: DrawContext) -> Line:
    pairs = [
        (model.label, "head"),
        (f"  {model.dtype} {shape_text(model.sizes, context.glyphs.times)}", "type"),
        (f"  strides {numbers_text(model.strides)}", "number"),
        (f"  offset {model.offset}", "number"),
        (f"  on storage {model.storage}", "dim"),
        (f" at {model.address:#x}" if model.address else ", without memory", "address"),
    ]
    return facts(pairs, context.width, context.glyphs.ellipsis)


def _pattern(model: StridesModel, context: DrawContext) -> Line:
    assert model.layout is not None
    pairs = [(model.layout.pattern, "name"), (f": {model.layout.sentence}", "dim")]
    return facts(pairs, context.width, context.glyphs.ellipsis)


def _table(model: StridesModel, grid: Grid, context: DrawContext) -> list[Line]:
    if grid.at_row < 0:
        return [(Span("  no element: a size is 0", "dim"),)]
    glyphs = context.glyphs
    width = table_width(grid)
    rows = window(grid.at_row, grid.rows, max(4, min(16, context.height - 17)))
    columns = window(grid.at_column, grid.columns, (context.width - LABEL) // width)
    lines: list[Line] = [column_numbers(grid, columns, width, width - 1)]
    for row in rows:
        row_cells = grid.row(row, columns.start, len(columns))
        label = row_label(grid, row, glyphs.ellipsis)
        lines.append((label, *(_cell(model, cell, width, glyphs) for cell in row_cells)))
    return lines + part_shown(grid, rows, columns, glyphs)


def _cell(model: StridesModel, cell: GridCell, width: int, glyphs: Glyphs) -> Span:
    text = fit(cell.text if cell.known else glyphs.unknown, width - 3, glyphs.ellipsis, ">")
    target = cell_target(model.tensor, model.storage, cell.byte, cell.index)
    if cell.selected:
        return Span(f" [{text}]", "number highlighted", target)
    return Span(f"  {text} ", "number" if cell.known else "unknown", target)


def _strip(model: StridesModel, context: DrawContext) -> list[Line]:
    """Return the cells of the storage around the selected one, two rows at most."""
    if not model.count:
        return []
    glyphs = context.glyphs
    index = max((cells(index_text(cell.index)) for cell in model.strip), default=0)
    more = 3 if any(cell.more for cell in model.strip) else 0
    value = max((cells(cell.text) for cell in model.strip), default=1)
    number = cells(str(model.count - 1))
    width = max(6, min(18, max(index + 2 + more, value + 4, number + 3)))
    count = per_row(context.width, width, model.count)
    selected = model.grid.byte if model.grid is not None else -1
    focus = selected // model.itemsize if selected >= 0 else model.offset
    visible = window(focus // count, -(-model.count // count), STRIP_ROWS)
    lines: list[Line] = []
    for number in visible:
        row = model.cells(number * count, count)
        boxes, under = [], [Span(" " * GUTTER)]
        for cell in row:
            target = cell_target(model.tensor, model.storage, cell.byte, cell.index)
            text = cell.text if cell.known else glyphs.unknown
            style = "hole" if not cell.used else "number" if cell.known else "unknown"
            boxes.append(Box(cell.number, text, style, cell.selected, "", target))
            label = index_text(cell.index) if cell.used else glyphs.hole
            label += f"+{cell.more}" if cell.more else ""
            style = (
                "hole" if not cell.used else "tensor0 highlighted" if cell.selected else "tensor0"
            )
            under += padded(label, width - 1, style, target, ">", glyphs.ellipsis)
            under.append(Span(" "))
        address = f"{row[0].address:#x} " if model.address else f"+{row[0].byte} "
        gutter = (Span(fit(address, GUTTER, glyphs.ellipsis, ">"), "address"),)
        lines += [*framed(boxes, width, glyphs, gutter), tuple(under)]
    if len(visible) * count < model.count:
        first, last = visible.start * count, min(visible.stop * count, model.count) - 1
        sentence = f"{glyphs.ellipsis} cells {first:,} to {last:,} of {model.count:,}"
        lines.append((Span(" " * GUTTER + sentence, "dim"),))
    return lines


def _formula(formula: AddressFormula, context: DrawContext) -> list[Line]:
    """Return the formula in symbols, below it the same in numbers, and the result."""
    parts = [("base", f"{formula.base:#x}", "address"), (" + (", " + (", "dim")]
    parts.append(("offset", str(formula.offset), "number"))
    for term in formula.terms:
        symbol, number = f"i{term.dim}*s{term.dim}", f"{term.index}*{term.stride}"
        width = max(len(symbol), len(number))
        parts.append((f" + {symbol:>{width}}", f" + {number:>{width}}", "number"))
    parts += [(") * ", ") * ", "dim"), ("itemsize", str(formula.itemsize), "number")]
    return [*_terms(parts, context.width), *_result(formula, context)]


def _terms(parts: list[tuple[str, str, str]], width: int) -> list[Line]:
    """Return symbols above numbers, on as many pairs of lines as they need."""
    lines: list[Line] = []
    symbols, numbers = [Span(" address = ", "head")], [Span("         = ", "head")]
    x = _INDENT
    for symbol, number, style in parts:
        room = max(len(symbol), len(number))
        if x + room + len(") * itemsize") > width and symbol.startswith(" + "):
            lines += [tuple(symbols), tuple(numbers)]
            symbols, numbers, x = [Span(" " * _INDENT)], [Span(" " * _INDENT)], _INDENT
        symbols.append(Span(fit(symbol, room, "", ">"), "dim"))
        numbers.append(Span(fit(number, room, "", ">"), style))
        x += room
    return [*lines, tuple(symbols), tuple(numbers)]


def _result(formula: AddressFormula, context: DrawContext) -> list[Line]:
    """Return the result: element, byte, address and value."""
    glyphs = context.glyphs
    total = "".join(f" + {term.index}*{term.stride}" for term in formula.terms)
    first = (
        Span(" " * _INDENT),
        Span(f"offset {formula.offset}{total} = {formula.element}", "number"),
    )
    arrow = Span(f"  {glyphs.arrow}  ", "dim")
    then = (
        arrow,
        Span(f"byte {formula.byte}", "number"),
        arrow,
        Span(f"{formula.address:#x}", "address"),
        arrow,
        Span(
            formula.text if formula.known else glyphs.unknown,
            "highlighted" if formula.known else "unknown",
        ),
    )
    if sum(span.width for span in (*first, *then)) <= context.width:
        return [(*first, *then)]
    return [first, (Span(" " * (_INDENT - 2)), *then)]


def _dims(model: StridesModel) -> list[Line]:
    assert model.layout is not None
    titles = ("dim", "size", "stride", "bytes", "one step goes")
    rows: list[Sequence[str]] = [titles]
    for dim in model.layout.dims:
        in_bytes = str(dim.stride * model.itemsize)
        rows.append((str(dim.dim), str(dim.size), str(dim.stride), in_bytes, dim.description))
    if len(rows) == 1:
        return [(Span(" no dimensions: one element, no index, no stride", "dim"),)]
    widths = [max(cells(row[c]) for row in rows) for c in range(4)]
    lines: list[Line] = []
    for at, row in enumerate(rows):
        numbers = "  ".join(fit(row[c], widths[c], "", ">") for c in range(4))
        lines.append(
            (
                Span(f" {numbers}", "number" if at else "head"),
                Span(f"   {row[4]}", "dim" if at else "head"),
            )
        )
    return lines


def _facts(model: StridesModel, context: DrawContext) -> list[Line]:
    assert model.layout is not None
    layout, glyphs, formula = model.layout, context.glyphs, model.formula
    rows = [
        ("contiguous", ("yes: " if layout.contiguous else "no: ") + layout.why),
        ("view(-1)", ("yes: " if layout.flat else "no: ") + layout.why_flat),
        ("created by", f" {glyphs.arrow} ".join(map(_derivation, model.derivation)) or "not seen"),
    ]
    if formula is not None and formula.shared:
        others = " ".join(f"[{index_text(index)}]" for index in formula.sharers[:8])
        at_least = "" if formula.counted else "at least "
        rows.append(("same memory", f"{at_least}{formula.shared} more: {others}"))
    lines: list[Line] = []
    for title, text in rows:
        first, *rest = wrapped(text, context.width - 1, "text", 13)
        lines += [(Span(f" {title:<12}", "head"), first[1]), *rest]
    return lines


def _derivation(step: DerivationStep) -> str:
    line = f" (line {step.line})" if step.line else ""
    return f"{step.label} = {step.op or 'created before the recording'}{line}"
