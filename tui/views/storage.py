"""The storage, drawn: its cells in framed rows, and under each row one line per tensor over it."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from engine.inspect.models._wording import bytes_text, pluralise, shape_text
from engine.inspect.models.storage import Cell, Lane, StorageModel, Touch
from engine.inspect.selection import (
    CellSelection,
    ObjectSelection,
    StorageSelection,
    TensorSelection,
)
from tui.render import Line, Picture, Span, Target, cells, cut, fit, stack
from tui.render.glyphs import LEFT, RIGHT
from tui.render.theme import tensor_style
from tui.views._cells import (
    FAR,
    GUTTER,
    Box,
    cell_target,
    facts,
    framed,
    index_text,
    numbers_text,
    padded,
    per_row,
)
from tui.views._view import DrawContext, View

HELP = {
    "storage": "A block of memory. Tensors are views of it.",
    "cells": "The storage as elements of the smallest dtype of its tensors.",
    "version": "How often the engine wrote to the storage in place; all its views share this count.",
    "0x…": "The address of the first cell of the row.",
    "+": "Before a number, left: bytes from the start of the storage. After an index: this many "
    "more elements of the same tensor are in this cell (expand, overlapping windows).",
    "tensor": "One line for each tensor over this storage: label, element type, shape.",
    "strides": "For each dimension: the distance of one step, in elements.",
    "offset": "The element of the storage at which the tensor starts.",
    "layout": "The pattern of the strides in a word.",
    "unused": "Bytes between the tensor's first and last byte that it does not use: its holes.",
    "meets": "The tensors that share at least one byte with this one: they alias.",
    "1,2": "Under a cell: the index of the element that is there, in the tensor at the left.",
    "x[1,2]": "At the top: the elements that the selected cell belongs to, by label and index.",
    "▸": "The tensor starts here: its offset.",
    "·": "A hole: a cell between the tensor's first and last cell that it does not use.",
    "─": "In a tensor's line: the element continues from the cell on the left.",
    "✎": "Written by the newest write to this storage.",
    "?": "The trace does not hold this value: sampled away, over budget, or never written.",
    "▌": "The selected tensor.",
    "━┃┏┓┗┛┳┻": "The selected cell. `w` jumps to the line that wrote it.",
    "…": "Truncated; select it to read all of it.",
}
ASCII_HELP = {">": "▸", ".": "·", "-": "─", "w": "✎", "]": "▌", "#=!": "━┃┏┓┗┛┳┻", "~": "…"}

DRAWN_LANES = 8
_COLUMNS = ("tensor", "", "strides", "offset", "layout", "unused", "meets")
_ROOM = (10, 26, 14, 8, 14, 8, 99)  # the most cells that each column takes
_RIGHT = (3, 5)  # columns of numbers


class StorageView(View):
    name = "storage"
    key = "4"
    title = "Storage"
    summary = "The cells of a storage and the tensors over them."
    help = HELP
    opens: ClassVar = {ObjectSelection: 0, StorageSelection: 0, CellSelection: 0}

    def draw(self, model: StorageModel, context: DrawContext) -> Picture:
        """Draw the head, the table of tensors, then the cells; rows are drawn when they become visible."""
        if not model.storage:
            return Picture.of([(), (Span("  " + model.why, "dim"),)], context.width)
        lanes = _drawn(model)
        head = [*_head(model, context), (), *_table(model, lanes, context), ()]
        return stack([Picture.of(head, context.width), _rows(model, lanes, context)])


def _drawn(model: StorageModel) -> list[tuple[int, Lane]]:
    """Return (ordinal, lane) of the lanes that are drawn: the first few, and always the selected one."""
    lanes = list(enumerate(model.lanes))
    drawn = lanes[:DRAWN_LANES]
    if all(lane.tensor != model.tensor for _, lane in drawn):
        drawn[-1:] = [pair for pair in lanes if pair[1].tensor == model.tensor] or drawn[-1:]
    return drawn


def _head(model: StorageModel, context: DrawContext) -> list[Line]:
    gap = ("  ", "")
    device = "" if model.allocator.startswith(model.device) else f" on {model.device}"
    shared = f"{model.counters} version counters, highest {model.version}"
    version = f"version {model.version}" if model.counters <= 1 else shared
    address = f" at {model.address:#x}" if model.address else ", without memory"
    first = [
        (f"storage {model.storage}", "head"),
        gap,
        (bytes_text(model.nbytes), "number"),
        (address, "address"),
        gap,
        (model.allocator, "type"),
        (device, "dim"),
        gap,
        (version, "number"),
        gap,
        (f"{pluralise(model.count, 'cell')} of {model.dtype}", "number"),
    ]
    lines = [first, _written(model), _selected(model)]
    return [facts(line, context.width, context.glyphs.ellipsis) for line in lines if line]


def _written(model: StorageModel) -> list[tuple[str, str]]:
    write = model.last_write
    if model.device == "meta":
        return [("the meta device keeps sizes and strides only: there are no values", "dim")]
    if write is None:
        return [("not written yet: its bytes are whatever the memory held", "dim")]
    who = [("by ", "dim"), (write.by, "warn" if write.foreign else "op")]
    line = f", line {write.line}" if write.line else ""
    through = f" through {write.label}" if write.label else ""
    return [
        ("last written ", "dim"),
        *who,
        (f"{line}, event {write.moment}: bytes {write.lo} to {write.hi}{through}", "dim"),
    ]


def _selected(model: StorageModel) -> list[tuple[str, str]]:
    if model.byte < 0:
        unused = model.unused
        if unused is None or not unused:
            return []
        return [(f"{pluralise(unused, 'byte')} of it belong to no tensor", "dim")]
    cell = model.row(model.byte // model.itemsize, 1)[0]
    labels = {lane.tensor: lane.label for lane in model.lanes}
    value = cell.exact if cell.known else "unknown value"
    line = [
        (f"cell {cell.number}", "highlighted"),
        (f"   byte {cell.byte}   ", "number"),
        (f"{cell.address:#x}   ", "address"),
        (value, "number" if cell.known else "unknown"),
    ]
    for touch in cell.touches:
        line.append((f"   {labels[touch.tensor]}[{index_text(touch.index).strip('()')}]", "name"))
        if touch.more:
            line.append((f" and {touch.more}{'' if touch.counted else ' or more'} more", "dim"))
    return line if cell.touches else [*line, ("   belongs to no tensor", "dim")]


def _table(model: StorageModel, lanes: list[tuple[int, Lane]], context: DrawContext) -> list[Line]:
    """Return a line of titles, a line per tensor, and how many tensors are not drawn."""
    rows = [_COLUMNS, *(_facts_of(model, lane, context) for _, lane in lanes)]
    widths = [min(room, max(cells(row[c]) for row in rows)) for c, room in enumerate(_ROOM)]
    lines = [_table_line(_COLUMNS, widths, ("head",) * len(_COLUMNS), None, False, context)]
    for row, (ordinal, lane) in zip(rows[1:], lanes, strict=True):
        own = tensor_style(ordinal)
        styles = (own, own, "number", "number", "type", "number", "name")
        target = Target(TensorSelection(lane.tensor, lane.storage))
        selected = lane.tensor == model.tensor
        lines.append(_table_line(row, widths, styles, target, selected, context))
    hidden = len(model.lanes) - len(lanes) + model.more_tensors
    if hidden:
        sentence = f" {pluralise(hidden, 'more tensor')} over it: select one to see it"
        lines.append((Span(sentence, "warn"),))
    return lines


def _facts_of(model: StorageModel, lane: Lane, context: DrawContext) -> tuple[str, ...]:
    """Return the row of one tensor in the table."""
    unknown = context.glyphs.unknown
    labels = {other.tensor: other.label for other in model.lanes}
    meets = [labels[other] for other in lane.aliases]
    meets += [labels[other] + unknown for other in lane.undecided]
    elsewhere = f" (storage {lane.storage})" if lane.storage != model.storage else ""
    return (
        lane.label,
        f"{lane.dtype} {shape_text(lane.sizes, context.glyphs.times)}",
        numbers_text(lane.strides),
        str(lane.offset),
        lane.pattern,
        unknown if lane.holes is None else str(lane.holes),
        (" ".join(meets) or "none") + elsewhere,
    )


def _table_line(
    row: tuple[str, ...],
    widths: list[int],
    styles: tuple[str, ...],
    target: Target | None,
    selected: bool,
    context: DrawContext,
) -> Line:
    glyphs = context.glyphs
    line, x = [Span(glyphs.highlighted if selected else " ", "highlighted" if selected else "")], 1
    for column, text in enumerate(row):
        last = column == len(row) - 1
        room = max(0, context.width - x if last else min(widths[column], context.width - x))
        align = ">" if column in _RIGHT else "<"
        line += padded(text, room, styles[column], target, align, glyphs.ellipsis)
        line.append(Span("" if last else "  "))
        x += room + 2
    return tuple(line)


def _rows(model: StorageModel, lanes: list[tuple[int, Lane]], context: DrawContext) -> Picture:
    if not model.count:
        return Picture.of([(Span("  a storage of 0 bytes has no cells", "dim"),)], context.width)
    width = _cell_width(model, lanes)
    count = per_row(context.width, width, model.count)
    block = 4 + len(lanes)
    blocks = -(-model.count // count)
    drawn: dict[int, list[Line]] = {}

    def make(y: int) -> Line:
        number = y // block
        if number not in drawn:
            drawn[number] = _block(model, lanes, context, number * count, count, width)
        return drawn[number][y % block]

    all_rows = Picture(context.width, blocks * block, make)
    selected = max(0, model.byte) // model.itemsize // count * block
    if selected < FAR:
        return all_rows
    around = [(Span(" the selected cell", "head"),), *map(make, range(selected, selected + block))]
    return stack([Picture.of([*around, (Span(" all cells", "head"),)]), all_rows])


def _cell_width(model: StorageModel, lanes: list[tuple[int, Lane]]) -> int:
    """Return a width wide enough for the values that are listed and for the longest index of each tensor."""
    index = max((cells(index_text([n - 1 for n in lane.sizes])) for _, lane in lanes), default=0)
    repeated = any(lane.repeats for _, lane in lanes)
    value = max((cells(cell.text) for cell in model.cells), default=1)
    number = cells(str(model.count - 1))
    return max(6, min(18, max(index + 3 + 2 * repeated, value + 4, number + 3)))


def _block(
    model: StorageModel,
    lanes: list[tuple[int, Lane]],
    context: DrawContext,
    first: int,
    count: int,
    width: int,
) -> list[Line]:
    """Draw one row of cells and the tensors under it."""
    row = model.row(first, count)
    glyphs = context.glyphs
    label = f"{row[0].address:#x} " if model.address else f"+{row[0].byte} "
    gutter = (Span(fit(label, GUTTER, glyphs.ellipsis, ">"), "address"),)
    box = partial(_box, model, context)
    lines: list[Line] = list(framed([box(cell) for cell in row], width, glyphs, gutter))
    for ordinal, lane in lanes:
        lines.append(_lane(model, ordinal, lane, row, width, context))
    return [*lines, ()]


def _box(model: StorageModel, context: DrawContext, cell: Cell) -> Box:
    own = next((t for t in cell.touches if t.tensor == model.tensor), None)
    target = cell_target(
        model.tensor if own else 0, model.storage, cell.byte, own.index if own else None
    )
    text = cell.text if cell.known else context.glyphs.unknown
    style = "unknown" if not cell.known else "number" if cell.touches else "hole"
    mark = context.glyphs.write if cell.written else ""
    return Box(cell.number, text, style, cell.selected, mark, target)


def _lane(
    model: StorageModel,
    ordinal: int,
    lane: Lane,
    row: tuple[Cell, ...],
    width: int,
    context: DrawContext,
) -> Line:
    """Return the elements of one tensor among the cells of a row."""
    glyphs, style = context.glyphs, tensor_style(ordinal)
    selected = lane.tensor == model.tensor
    target = Target(TensorSelection(lane.tensor, lane.storage))
    line = [Span(glyphs.highlighted if selected else " ", "highlighted" if selected else "")]
    label = f"{style} highlighted" if selected else style
    line += padded(lane.label, GUTTER - 2, label, target, ">", glyphs.ellipsis)
    line.append(Span(" "))
    lo, hi = lane.extent.span
    for cell in row:
        touch = next((t for t in cell.touches if t.tensor == lane.tensor), None)
        if touch is None:
            inside = lo < cell.byte + model.itemsize and cell.byte < hi
            line += padded(glyphs.hole if inside else "", width - 1, "hole", align=">")
            line.append(Span(" "))
            continue
        own = f"{style} highlighted" if cell.selected else style
        # the cell is a byte of the lane's own storage, which may start elsewhere in this memory
        byte = lane.extent.byte(touch.index) - lane.extent.start
        byte += lane.offset * lane.extent.itemsize
        own_target = cell_target(lane.tensor, lane.storage, byte, touch.index)
        text = _touch_text(touch, width - 1, context)
        line += padded(text, width - 1, own, own_target, ">", glyphs.ellipsis)
        line.append(Span(" "))
    return tuple(line)


def _touch_text(touch: Touch, room: int, context: DrawContext) -> str:
    """Return the index of the element that begins here, or a line if it began further left."""
    glyphs = context.glyphs
    if touch.part:
        return glyphs.wire(LEFT + RIGHT) * (room - 1)
    more = f"+{touch.more}" if touch.more else ""
    begins = glyphs.arrow if not any(touch.index) else ""
    return cut(begins + index_text(touch.index), room - len(more), glyphs.ellipsis) + more
