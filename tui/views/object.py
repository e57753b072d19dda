"""The Python object of one tensor, drawn as words of memory, and the holders that keep it alive."""

from __future__ import annotations

from typing import ClassVar

from engine.inspect.events import BINDINGS
from engine.inspect.models.object import Count, HolderRow, ObjectModel
from engine.inspect.selection import (
    NameSelection,
    ObjectSelection,
    StorageSelection,
    TensorSelection,
)
from tui.render import Picture, Span, Target, cut_middle, fit
from tui.render.boxes import Grid
from tui.render.target import OwnersPage
from tui.views._view import DrawContext, View

HELP = {
    "address": "The address of the word in the recorded process.",
    "bytes": "The word's eight bytes in memory, lowest address first (little endian).",
    "+": "The distance of the word from the start of the object, in bytes.",
    "ob_refcnt": "How many references Python counts to the object; at 0 it is freed at once.",
    "ob_type": "The address of the object's type.",
    "_h": "The address of the TensorImpl, of which the object owns a reference.",
    "__weakref__": "A slot: the list of weak references, which do not keep the object alive.",
    "__dict__": "A slot: the dictionary of attributes, created with the first of them.",
    "Python object": "The references to the object, one line for each holder.",
    "TensorImpl": "The engine's own count of uses of the tensor.",
    "Storage": "The engine's own count of uses of the bytes; each tensor on them holds one.",
    "held elsewhere": "References that are counted but have no name: the running call, for example.",
    "=": "The holders of this count, added up.",
    "∞": "Immortal: Python never changes this count and never frees the object.",
}

_WIDTH = 80
_SIDE_BY_SIDE = 78  # from this width the counts are side by side


class ObjectView(View):
    name = "object"
    key = "6"
    title = "Object"
    summary = "The Python object of a tensor, and its holders."
    help = HELP
    opens: ClassVar = {NameSelection: 0, OwnersPage: 0}

    def draw(self, model: ObjectModel, context: DrawContext) -> Picture:
        """Draw words of memory above, counts below."""
        if not model.tensor:
            return Picture.of([[Span(f" {model.why}", "dim")]])
        width = max(_WIDTH, context.width)
        side_by_side = context.width >= _SIDE_BY_SIDE
        room = width // len(model.counts) - 2 if side_by_side and model.counts else width - 1
        tables = [_table(count, model, context, room) for count in model.counts]
        header_lines = len(model.header) + 2 if model.header else 1
        lines = max(map(len, tables)) if side_by_side else sum(map(len, tables)) + len(tables)
        grid = Grid(width, 3 + header_lines + lines, context.glyphs)
        _title(grid, model, context)
        _header(grid, model, context)
        x, y = 1, 3 + header_lines
        for table in tables:
            for number, line in enumerate(table):
                grid.spans(x, y + number, line, room)
            x, y = (x + width // len(tables), y) if side_by_side else (x, y + len(table) + 1)
        return grid.picture()


def _title(grid: Grid, model: ObjectModel, context: DrawContext) -> None:
    target = Target(TensorSelection(model.tensor, model.storage))
    dot = context.glyphs.dot
    x = grid.put(1, 0, model.label, "name", target)
    about = f"  tensor {model.tensor} {dot} {model.why}"
    if model.seen >= 0:
        about += f" {dot} last sampled by event {model.seen:,}"
    grid.put(x, 0, about, "dim")


def _header(grid: Grid, model: ObjectModel, context: DrawContext) -> None:
    if not model.header:
        grid.put(1, 2, "Python object not sampled yet: step on by a line", "unknown")
        return
    target = Target(ObjectSelection(model.tensor, model.storage))
    wide = len("00 " * 8) + 3
    grid.put(1, 2, "address", "head")
    grid.put(18, 2, " bytes ", "head")
    grid.box(16, 2, wide, len(model.header) + 2)
    for number, word in enumerate(model.header):
        y = 3 + number
        grid.put(1, y, f"{model.address + word.offset:#x}", "address", target, 14)
        grid.put(18, y, word.bytes, "number", target)
        x = 16 + wide + 1
        grid.put(x, y, f"+{word.offset}", "dim", target)
        grid.put(x + 4, y, word.field, "name", target, 12)
        forever = word.field == "ob_refcnt" and model.immortal
        meaning = f"{context.glyphs.forever} immortal" if forever else word.meaning
        grid.put(x + 16, y, meaning, "text", target)


def _table(count: Count, model: ObjectModel, context: DrawContext, room: int) -> list[list[Span]]:
    """Return the count, its holders, and their sum."""
    thing = count.kind if count.kind == "Python object" else f"{count.kind} {count.id}"
    forever = count.kind == "Python object" and model.immortal
    total = f"{context.glyphs.forever} immortal" if forever else f"{count.count:,}"
    target = Target(StorageSelection(count.id)) if count.kind == "Storage" else None
    target = target or Target(TensorSelection(model.tensor, model.storage))
    lines = [
        [Span(thing, "head", target)],
        [Span(f"{count.field} ", "dim"), Span(total, "number", target)],
    ]
    lines += [_holder(holder, model, context, room) for holder in count.holders]
    lines.append([Span(context.glyphs.wire(2) * 5, "wire")])
    adds_up = count.sum == count.count or forever
    sentence = f" = {count.field}" if adds_up else f" named; {count.count} when last sampled"
    style = "good" if adds_up else "warn"
    lines.append([Span(fit(f"{count.sum:,}", 5, align=">"), "number"), Span(sentence, style)])
    return lines


def _holder(holder: HolderRow, model: ObjectModel, context: DrawContext, room: int) -> list[Span]:
    named = holder.kind in BINDINGS
    target: Target | None = None
    if holder.kind == "TENSOR":
        target = Target(TensorSelection(holder.tensor, model.storage))
    elif named:
        target = Target(
            NameSelection(model.tensor, model.storage, holder.label), event=holder.since
        )
    elif holder.since >= 0:
        target = Target(event=holder.since)
    data = context.selection.data
    name = data.name if isinstance(data, NameSelection) else ""
    highlighted = (holder.tensor == context.selection.tensor != 0) or (
        named and holder.label == name
    )
    kinds = {"NAME": "name ", "SLOT": "item ", "ATTRIBUTE": "attribute ", "CELL": "closure "}
    before = f" {kinds.get(holder.kind, '')}"
    label = cut_middle(holder.label, room - 5 - len(before), context.glyphs.ellipsis)
    return [
        Span(context.glyphs.highlighted if highlighted else " ", "path"),
        Span(fit(f"{holder.count:,}", 4, align=">"), "number"),
        Span(before, "dim"),
        Span(label, "name highlighted" if highlighted else "name" if named else "text", target),
    ]
