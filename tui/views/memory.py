"""The memory map, drawn: five columns, left to right the way from a name to its bytes.

Wide enough (116 columns and more) each thing is a box; below that each is three lines of text. Either
way tensors that share a Storage run into one wire that ends at that Storage, and what belongs to the
selection is drawn with heavy lines and marked at the left edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from engine.inspect.models._wording import bytes_text, pluralise
from engine.inspect.models.memory import DeviceSection, FreedTensor, MemoryMap
from engine.inspect.selection import TensorSelection
from tui.render import Glyphs, Picture, Span, Target, cut_apart, stack
from tui.render.boxes import Grid
from tui.views._memory_group import BarScale, Columns, Group
from tui.views._view import DrawContext, View

HELP = {
    "names": "Python names, container items, attributes and closure variables that lead to the tensor.",
    "PyObject": "The Python object: its address, and how many references Python counts to it.",
    "TensorImpl": "The engine's tensor: dtype, sizes, strides and offset in elements, version.",
    "Storage": "The owner of the bytes: size, who allocated them, how many holders keep them.",
    "bytes": "The address of the tensor's first element and the part of the storage it touches.",
    "+": "A distance in bytes from the start of the storage.",
    "▸": "Points at: follow the wire from left to right. Wires that meet lead to the same thing. Below a device: "
    "copies from the host to it.",
    "◂": "Copies back to the host.",
    "pinned": "Copies with pinned memory, which the device reads and writes by itself.",
    "opencl": "A device: its storages are below it. Those of the CPU come first.",
    "█": "Bytes that this tensor touches.",
    "▓": "A stretch of bytes that this tensor touches only in part.",
    "░": "Bytes of the storage that this tensor does not touch.",
    "◆": "The selected byte is in this stretch.",
    "◌": "No Python name leads to this tensor; what keeps it alive is written below.",
    "╌": "Freed since the previous line started.",
}


class MemoryView(View):
    """The way from names to bytes, in five columns."""

    name = "memory"
    key = "3"
    title = "Memory map"
    help = HELP
    role = "first"

    def draw(self, model: MemoryMap, context: DrawContext) -> Picture:
        """The whole map; each storage's part is drawn when it is first looked at."""
        labels = tuple(
            name.text
            for storage in model.storages
            for tensor in storage.tensors
            for name in tensor.names
        )
        columns = Columns.within(context.width, max(map(len, labels), default=0))
        parts = [_head(model, columns, context.glyphs)]
        bars = BarScale.of(model, columns)
        names = _cut_names(labels, columns.names[1], context.glyphs.ellipsis)
        sections = {section.device: section for section in model.devices}
        for storage in model.storages:
            if section := sections.pop(storage.device, None):
                parts.append(_section(section, context.glyphs))
            parts.append(Group(storage, columns, bars, context.glyphs, names).picture())
        if not model.storages:
            parts.append(Picture.of([[Span("  no tensor exists at this moment", "dim")]]))
        if model.hidden:
            more = f"  {pluralise(model.hidden, 'more tensor')} not drawn: select one to see it"
            parts.append(Picture.of([[Span(more, "warn")]]))
        if model.freed:
            parts.append(_freed(model.freed, columns, context.glyphs))
        return stack(parts)


@lru_cache(maxsize=8)  # from one step to the next they rarely change
def _cut_names(names: tuple[str, ...], width: int, ellipsis: str) -> dict[str, str]:
    return cut_apart(names, width, ellipsis)


def _section(section: DeviceSection, glyphs: Glyphs) -> Picture:
    """The heading of a device, and under it what was copied between it and the host."""
    counted = pluralise(section.storages, "storage")
    lines: list[list[Span]] = [
        [
            Span(f" {section.device}", "head"),
            Span(f"  {counted} with {bytes_text(section.bytes)}", "dim"),
        ]
    ]
    for copies, arrow, text in (
        (section.to_device, glyphs.arrow, f"from the host to {section.device}"),
        (section.to_host, glyphs.arrow_left, f"back to the host from {section.device}"),
    ):
        if copies.count:
            pinned = f", {copies.pinned} with pinned memory" if copies.pinned else ", none pinned"
            copied = f"  {pluralise(copies.count, 'copy', 'copies')}, {bytes_text(copies.bytes)}"
            lines.append([Span(f"   {arrow} {text}", "name"), Span(copied + pinned, "number")])
    return Picture.of([*lines, []])


def _head(model: MemoryMap, columns: Columns, glyphs: Glyphs) -> Picture:
    summary = [
        Span(f" {pluralise(model.tensors, 'tensor')}", "number"),
        Span(" on ", "dim"),
        Span(pluralise(model.storage_count, "storage"), "number"),
        Span(" with ", "dim"),
        Span(bytes_text(model.live_bytes), "number"),
    ]
    if model.line:
        preposition = "in" if model.started else "before"
        summary += [Span(f", {preposition} line {model.line}: ", "dim"), Span(model.code, "text")]
    grid = Grid(columns.width, 3 if columns.boxed else 4, glyphs)
    grid.spans(0, 0, summary)
    grid.put(*_scale_note(model, columns), "dim")
    names = ("names", "PyObject", "TensorImpl", "Storage", "bytes")
    at = (columns.names, columns.object, columns.tensor, columns.storage, columns.bytes)
    for title, (left, _) in zip(names, at, strict=True):
        inside = columns.boxed and title not in ("names", "bytes")
        grid.put(left + inside, 2, title, "head")
    return grid.picture()


def _scale_note(model: MemoryMap, columns: Columns) -> tuple[int, int, str]:
    """Position and text of the scale of all bars; no text if there is no bar."""
    bars = BarScale.of(model, columns)
    if not model.storages or not bars.cell:
        return 1, 1, ""
    text = f"bars: {bytes_text(bars.cell)} a cell"
    return max(1, columns.width - len(text)), 1, text


def _freed(freed: Sequence[FreedTensor], columns: Columns, glyphs: Glyphs) -> Picture:
    grid = Grid(columns.width, 1 + len(freed), glyphs)
    grid.put(1, 0, "freed since the previous line started", "dim")
    for y, tensor in enumerate(freed, 1):
        grid.put(1, y, glyphs.ghost, "dim")
        text = f"tensor {tensor.id} {tensor.label}  {tensor.text}"
        grid.put(3, y, text, "ghost", Target(TensorSelection(tensor.id, tensor.storage)))
    return grid.picture()
