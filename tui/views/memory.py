"""The memory map, drawn: five columns, left to right the way from a name to its bytes.

Wide enough (116 columns and more) each thing is a box; below that each is three lines of text. Either
way tensors that share a Storage run into one wire that ends at that Storage, and what belongs to the
selection is drawn with heavy lines and marked at the left edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from engine.inspect.models._wording import bytes_text, pluralise
from engine.inspect.models.memory import Copies, DeviceSection, FreedTensor, MemoryMap
from engine.inspect.selection import TensorSelection
from tui.render import Glyphs, Picture, Span, Target, cut_apart, side_by_side, stack
from tui.render.boxes import Grid
from tui.views._memory_group import NARROWEST, BarScale, Columns, Group
from tui.views._view import DrawContext, View

HELP = {
    "names": "Python names, container items, attributes and closure variables that lead to the tensor.",
    "PyObject": "The Python object: its address, and how many references Python counts to it.",
    "TensorImpl": "The engine's tensor: dtype, sizes, strides and offset in elements, version.",
    "Storage": "The owner of the bytes: size, who allocated them, how many holders keep them.",
    "bytes": "The address of the tensor's first element and the part of the storage it touches.",
    "+": "A distance in bytes from the start of the storage.",
    "▸": "Points at: follow the wire from left to right. Wires that meet lead to the same thing. Between devices: "
    "copies from the host.",
    "◂": "Copies back to the host.",
    "pinned": "Copies with pinned memory, which the device reads and writes without the host.",
    "opencl": "A device: its storages are below its name, next to those of the CPU if there is room.",
    "█": "Bytes that this tensor touches.",
    "▓": "A stretch of bytes that this tensor touches only in part.",
    "░": "Bytes of the storage that this tensor does not touch.",
    "◆": "The selected byte is in this stretch.",
    "◌": "No Python name leads to this tensor; what keeps it alive is written below.",
    "╌": "Freed since the previous line started.",
}


class MemoryView(View):
    name = "memory"
    key = "3"
    title = "Memory map"
    summary = "The way from names to bytes, in five columns."
    help = HELP
    role = "first"

    def draw(self, model: MemoryMap, context: DrawContext) -> Picture:
        """Draw the whole map; each storage's part is drawn when it is first looked at."""
        labels = tuple(
            name.text
            for storage in model.storages
            for tensor in storage.tensors
            for name in tensor.names
        )
        devices = list(dict.fromkeys(storage.device for storage in model.storages))
        count = max(1, len(devices))
        in_columns = count > 1 and context.width // count >= NARROWEST
        width = context.width // count if in_columns else context.width
        columns = Columns.within(width, max(map(len, labels), default=0))
        names = _cut_names(labels, columns.names[1], context.glyphs.ellipsis)
        bars = BarScale.of(model, columns)
        full_width = columns.width + (width * (count - 1) if in_columns else 0)
        head = [_summary(model, columns, full_width, context.glyphs)]
        if model.devices:
            head.append(_devices(model.devices, context))
        titles = _titles(columns, context.glyphs)
        sections: list[Picture] = []
        for device in devices:
            section = [_heading(device)] if count > 1 else []
            if in_columns or not sections:
                section.append(titles)
            section += [
                Group(storage, columns, bars, context.glyphs, names).picture()
                for storage in model.storages
                if storage.device == device
            ]
            sections.append(stack(section))
        parts = [*head, side_by_side(sections, width)] if in_columns else [*head, *sections]
        if not sections:
            parts.append(titles)
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


def _heading(device: str) -> Picture:
    return Picture.of([[Span(f" {device}", "head")]])


def _devices(devices: Sequence[DeviceSection], context: DrawContext) -> Picture:
    """Return the host at the left, each device at the right, and between them what was copied."""
    glyphs, gap = context.glyphs, 9
    host, others = devices[0], devices[1:]
    room = min(50, (max(NARROWEST, context.width) - 2 - gap) // 2)
    right = 1 + room + gap
    copies = [
        [(section.to_device, True), (section.to_host, False)]
        if section.to_device.count or section.to_host.count
        else []
        for section in others
    ]
    heights = [3 + len(rows) for rows in copies]
    grid = Grid(right + room, sum(heights) + 1, glyphs)
    grid.box(1, 0, room, sum(heights))
    _device(grid, host, 1, 0, room)
    y = 0
    for section, rows, height in zip(others, copies, heights, strict=True):
        grid.box(right, y, room, height)
        _device(grid, section, right, y, room)
        for row, (copied, to_device) in enumerate(rows, y + 2):
            if copied.count:
                grid.across(room + 2, right - 2, row)
                arrow = (right - 2, glyphs.arrow) if to_device else (room + 2, glyphs.arrow_left)
                grid.put(arrow[0], row, arrow[1], "wire")
            grid.put(right + 2, row, _copies_text(copied), "number", None, room - 4)
        y += height
    return grid.picture()


def _device(grid: Grid, section: DeviceSection, x: int, y: int, room: int) -> None:
    grid.put(x + 2, y, f" {section.device} ", "head", None, room - 4)
    counted = f"{pluralise(section.storages, 'storage')} with {bytes_text(section.bytes)}"
    grid.put(x + 2, y + 1, counted, "number", None, room - 4)


def _copies_text(copied: Copies) -> str:
    if not copied.count:
        return "no copies"
    count = pluralise(copied.count, "copy", "copies")
    return f"{count}, {bytes_text(copied.bytes)}, {copied.pinned} pinned"


def _summary(model: MemoryMap, columns: Columns, width: int, glyphs: Glyphs) -> Picture:
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
    grid = Grid(width, 2, glyphs)
    grid.spans(0, 0, summary)
    note = _scale_note(model, columns)
    grid.put(max(1, width - len(note)), 1, note, "dim")
    return grid.picture()


def _titles(columns: Columns, glyphs: Glyphs) -> Picture:
    grid = Grid(columns.width, 1 if columns.boxed else 2, glyphs)
    names = ("names", "PyObject", "TensorImpl", "Storage", "bytes")
    at = (columns.names, columns.object, columns.tensor, columns.storage, columns.bytes)
    for title, (left, _) in zip(names, at, strict=True):
        inside = columns.boxed and title not in ("names", "bytes")
        grid.put(left + inside, 0, title, "head")
    return grid.picture()


def _scale_note(model: MemoryMap, columns: Columns) -> str:
    """Return the scale of all bars; nothing if there is no bar."""
    bars = BarScale.of(model, columns)
    return f"bars: {bytes_text(bars.cell)} a cell" if model.storages and bars.cell else ""


def _freed(freed: Sequence[FreedTensor], columns: Columns, glyphs: Glyphs) -> Picture:
    grid = Grid(columns.width, 1 + len(freed), glyphs)
    grid.put(1, 0, "freed since the previous line started", "dim")
    for y, tensor in enumerate(freed, 1):
        grid.put(1, y, glyphs.ghost, "dim")
        text = f"tensor {tensor.id} {tensor.label}  {tensor.text}"
        grid.put(3, y, text, "ghost", Target(TensorSelection(tensor.id, tensor.storage)))
    return grid.picture()
