"""Memory over time: live bytes as a graph, the peak and what was alive then, and what leaks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from engine.inspect.history.why import why_alive
from engine.inspect.models._wording import bytes_text, pluralise
from engine.inspect.models.allocator import (
    Creator,
    DeviceMemory,
    Leak,
    LiveMemory,
    file_name,
    project,
)
from engine.inspect.selection import LineSelection, StorageSelection, TensorSelection
from tui.navigator import Navigator
from tui.render import Glyphs, Picture, Target, fit
from tui.render.boxes import Grid
from tui.views._view import DrawContext, action
from tui.views._zoom import ZoomView, zoom_caption

HELP = {
    "▁▂▃▄▅▆▇": "The top of a column of the graph, in eighths of a line.",
    "█": "Live bytes that the line at the top of the list created: most at the peak.",
    "▓": "Live bytes that the second line of the list created.",
    "░": "Live bytes that all other lines created.",
    "▴": "This moment.",
    "◆": "The peak: the first moment with most live bytes.",
    "✖": "A leak: each iteration of a loop leaves memory allocated.",
    "▌": "The line, tensor or storage is selected.",
    "▶": "The line that created most bytes is running at this moment.",
    ",": "Between thousands.",
}

_LISTED = 6  # lines and names on a page of W
_NARROWEST = 38  # columns for the graph of a device
_LABEL = 10  # columns for the bytes at the left of the graph
_FILLS = ("tensor0", "tensor1", "track")


@dataclass(frozen=True, slots=True)
class _Graph:
    """The position and size of a graph in cells, and its bytes by layer: of all storages, or of a device's."""

    x: int
    y: int  # of its first line
    width: int
    rows: int
    layers: tuple[tuple[int, ...], ...]
    peak_at: int
    device: DeviceMemory | None = None

    @property
    def axis(self) -> int:
        """The line below it, where moments are marked."""
        return self.y + self.rows


class AllocatorView(ZoomView):
    name = "allocator"
    key = "T"
    title = "Memory over time"
    summary = "Live bytes over time, their peak, and what grows."
    help = HELP

    def draw(self, model: LiveMemory, context: DrawContext) -> Picture:
        """Draw the graph above, what leaks and who created what below."""
        width, glyphs = max(60, context.width), context.glyphs
        graphs = _graphs(model, width, max(4, min(12, context.height // 3)))
        listed = len(model.creators) + bool(model.hidden) + (0 if model.leaks else 2)
        leaks = [_leak(leak, width, glyphs) for leak in model.leaks]
        leak_rows = sum(len(lines) + 1 for lines in leaks)
        caption = graphs[-1].axis + 1
        grid = Grid(width, caption + 3 + leak_rows + listed, glyphs)
        if model.peak_at < 0:
            grid.put(1, 0, "no storage has been created", "dim")
            return grid.picture()
        _title(grid, model)
        for graph in graphs:
            _draw_graph(grid, model, graph, glyphs)
        measure = "height: most live bytes of a column"
        zoom = zoom_caption(measure, model.first, model.last, model.end, glyphs)
        grid.put(1, caption, zoom, "dim")
        y = caption + 2
        for leak, lines in zip(model.leaks, leaks, strict=True):
            y = _draw_leak(grid, leak, lines, y)
        _list(grid, model, y, context)
        return grid.picture()

    @action("P", "peak", "Go to the peak: the moment with most live bytes.", leads_in=True)
    def to_peak(self, nav: Navigator) -> str:
        """Go to the first moment with most live bytes."""
        model = project(nav.history, nav.moment, nav.selection)
        if model.peak_at < 0:
            return "no storage has been created"
        nav.remember()
        nav.move(model.peak_at)
        return f"the peak: {bytes_text(model.peak)} in {_location(model)}"

    def why(self, nav: Navigator) -> str | None:
        """Explain what grows and who keeps it, or what is alive at the peak."""
        model = project(nav.history, nav.moment, nav.selection)
        if nav.selection or model.peak_at < 0:
            return None
        if not model.leaks:
            return _why_peak(model)
        return "\n".join(line for leak in model.leaks for line in _why_leak(nav, leak))


def _why_peak(model: LiveMemory) -> str:
    lines = [f"# Why is the peak {bytes_text(model.peak)}?", ""]
    lines += [
        f"It was reached in [{_location(model)}](event:{model.peak_at}). Alive then were:",
        "",
    ]
    for creator in model.creators[:_LISTED]:
        line = f"in line {creator.line} (`{creator.code}`)" if creator.line else "before any line"
        storages = pluralise(creator.peak_count, "storage")
        lines += [f"- {bytes_text(creator.peak_bytes)} on {storages}, created {line}"]
    return "\n".join([*lines, "", "No loop allocates memory in every iteration that stays."])


def _why_leak(nav: Navigator, leak: Leak) -> list[str]:
    """Explain who keeps what the iterations left: the names, and every holder of the newest storage."""
    each = bytes_text(round(leak.bytes / leak.leaving))
    lines = [f"# Why does memory grow in the loop at line {leak.line}?", ""]
    lines += [
        f"{leak.leaving} of {leak.iterations} iterations left {each} each, {bytes_text(leak.bytes)} in all.",
        "",
    ]
    created = ", ".join(map(str, leak.creators[:_LISTED]))
    lines += [f"- created in {'line' if len(leak.creators) == 1 else 'lines'} {created}"]
    lines += [f"- kept by `{name}`" for name in leak.held_by[:_LISTED]]
    lines += [f"- the newest was created at [event {leak.since:,}](event:{leak.since})"]
    if leak.tensor:
        answer = why_alive(nav.history, leak.tensor, nav.moment)
        lines += ["", "# What keeps the newest alive?", "", f"{answer.text}.", ""]
        lines += [f"- {fact}" for fact in answer.facts]
    return [*lines, ""]


def _location(model: LiveMemory) -> str:
    if not model.peak_line:
        return "no line of the program"
    return f"line {model.peak_line} of {file_name(model.peak_path)}"


def _title(grid: Grid, model: LiveMemory) -> None:
    x = grid.put(1, 0, bytes_text(model.live_bytes), "number")
    x = grid.put(x, 0, f" live on {pluralise(model.live_count, 'storage')}", "dim")
    dot = f" {grid.glyphs.dot} "
    x = grid.put(x, 0, f"{dot}peak ", "dim")
    target = Target(event=model.peak_at)
    x = grid.put(x, 0, bytes_text(model.peak), "number", target)
    x = grid.put(x, 0, f" at event {model.peak_at:,}", "dim", target)
    if model.peak_line:
        x = grid.put(x, 0, f", line {model.peak_line}", "dim", target)
        if grid.width - x > 24:
            grid.put(x, 0, f": {model.peak_code}", "text", target)


def _graphs(model: LiveMemory, width: int, rows: int) -> list[_Graph]:
    """Return the graph of all storages; if they are on several devices, one for each in columns."""
    if not model.devices:
        return [_Graph(0, 1, width - 1, rows, model.layers, model.peak_at)]
    columns = min(len(model.devices), width // _NARROWEST)
    bands = -(-len(model.devices) // columns)
    rows = max(4, rows // bands)
    graphs = []
    for index, memory in enumerate(model.devices):
        band, column = divmod(index, columns)
        x, y = column * (width // columns), 2 + band * (rows + 3)
        graphs.append(
            _Graph(x, y, width // columns - 2, rows, memory.layers, memory.peak_at, memory)
        )
    return graphs


def _draw_graph(grid: Grid, model: LiveMemory, graph: _Graph, glyphs: Glyphs) -> None:
    """Draw columns from the axis upwards, each layer on the one below it; what they show above, the moments below."""
    left, wide, rows = graph.x + _LABEL, graph.width - _LABEL, graph.rows
    if memory := graph.device:
        peak = Target(event=memory.peak_at)
        x = grid.put(graph.x + 1, graph.y - 1, memory.device, "head") + 1
        x = grid.put(x, graph.y - 1, bytes_text(memory.bytes), "number")
        x = grid.put(x, graph.y - 1, f" on {pluralise(memory.count, 'storage')}", "dim")
        text = f"{glyphs.dot} peak {bytes_text(memory.peak)}"
        if x + 1 + len(text) <= graph.x + graph.width:  # the highest column says it, too
            grid.put(x + 1, graph.y - 1, text, "dim", peak)
    highest = max((sum(column) for column in zip(*graph.layers, strict=True)), default=0)
    for label, y in ((bytes_text(highest), graph.y), ("0", graph.axis - 1)):
        grid.put(graph.x, y, fit(label, _LABEL - 1, glyphs.ellipsis, align=">"), "dim")
    fills = (glyphs.full, glyphs.part, glyphs.empty)
    columns = list(zip(*graph.layers, strict=True))
    for cell in range(wide if highest else 0):
        low = cell * len(columns) // wide
        high = max(low + 1, (cell + 1) * len(columns) // wide)
        values = max(columns[low:high], key=sum)
        event = min(model.last - 1, model.first + low * model.span)
        target = Target(event=event)
        total = sum(values)
        eighths = round(total / highest * rows * 8) or int(total > 0)
        for row in range(-(-eighths // 8)):
            level = (row + 0.5) / rows * highest
            layer, filled = 0, values[0]
            while layer < len(values) - 1 and level >= filled:
                layer += 1
                filled += values[layer]
            while layer and not values[layer]:
                layer -= 1
            part = eighths - row * 8
            glyph = fills[layer] if part >= 8 else glyphs.levels[part]
            grid.put(left + cell, graph.axis - 1 - row, glyph, _FILLS[layer], target)
    for moment, glyph, style in (
        (graph.peak_at, glyphs.mark, "warn"),
        (model.moment, glyphs.arrow_up, "current"),
    ):
        if model.first <= moment < model.last:
            x = left + (moment - model.first) * wide // (model.last - model.first)
            grid.put(x, graph.axis, glyph, style, Target(event=moment))


def _leak(leak: Leak, width: int, glyphs: Glyphs) -> list[tuple[str, str]]:
    """Return the lines about a leak, each with its style: the loop and its bytes; creators and holders."""
    each = bytes_text(round(leak.bytes / leak.leaving))
    text = (
        f"leak: {leak.leaving} of {pluralise(leak.iterations, 'iteration')} of line {leak.line} left "
        f"{each} each: {pluralise(leak.count, 'storage')}, {bytes_text(leak.bytes)}"
    )
    lines = ", ".join(map(str, leak.creators[:4]))
    more = f" and {len(leak.creators) - 4} more" if len(leak.creators) > 4 else ""
    holders = "; ".join(leak.held_by[:3]).replace("…", glyphs.ellipsis) or "no recorded name"
    word = "line" if len(leak.creators) == 1 else "lines"
    origin = f"created in {word} {lines}{more}, held by {holders}"
    return [
        (row, style)
        for part, style in ((text, "text"), (origin, "name"))
        for row in textwrap.wrap(part, width - 4)
    ]


def _draw_leak(grid: Grid, leak: Leak, rows: list[tuple[str, str]], y: int) -> int:
    """Draw the lines, and return the line after a blank one."""
    target = Target(_item(leak.tensor, leak.storage), event=leak.since)
    grid.put(1, y, grid.glyphs.fail, "error", target)
    for row, style in rows:
        grid.put(3, y, row, style, target)
        y += 1
    return y + 1


def _item(tensor: int, storage: int) -> Any:
    return TensorSelection(tensor, storage) if tensor else StorageSelection(storage)


def _list(grid: Grid, model: LiveMemory, y: int, context: DrawContext) -> None:
    glyphs, width = context.glyphs, grid.width
    bar = max(8, min(24, width // 6))
    code = width - 4 - 6 - 30 - bar
    grid.put(1, y, "alive at the peak, by line", "head")
    at = width - 30 - bar
    for title, x in (("storages", at), ("at the peak", at + 9), ("now", at + 25)):
        grid.put(x, y, title, "head")
    largest = max((creator.peak_bytes for creator in model.creators), default=1) or 1
    for index, creator in enumerate(model.creators):
        _creator(grid, creator, index, y + 1 + index, (code, at, bar), largest, context)
    if model.hidden:
        more = f"and {pluralise(model.hidden, 'more line')}"
        grid.put(3, y + 1 + len(model.creators), more, "dim", None)
    if model.leaks:
        return
    grid.put(
        1,
        y + 2 + len(model.creators) + bool(model.hidden),
        f"{glyphs.dot} no loop allocates memory in every iteration that stays",
        "dim",
    )


def _creator(
    grid: Grid,
    creator: Creator,
    index: int,
    y: int,
    room: tuple[int, int, int],
    largest: int,
    context: DrawContext,
) -> None:
    glyphs, selection, (code, at, bar) = context.glyphs, context.selection, room
    line = LineSelection(creator.file, creator.line)
    item = _item(creator.tensor, creator.storage)
    target = Target(item, (line,) if creator.line else (), event=creator.since)
    if selection.line == line or (creator.tensor and selection.tensor == creator.tensor):
        grid.put(0, y, glyphs.highlighted, "path", target)
    layer = min(index, len(_FILLS) - 1)
    grid.put(1, y, (glyphs.full, glyphs.part, glyphs.empty)[layer], _FILLS[layer], target)
    x = grid.put(3, y, f"{creator.line or '-':>4} ", "number", target)
    names = ", ".join(name for name in creator.names if not name.startswith("#"))
    text = creator.code or "before the first line"
    end = grid.put(x, y, text, "text", target, code)
    if names and x + code - end > 6:
        grid.put(end + 2, y, names, "name", target, x + code - end - 2)
    grid.put(at, y, f"{creator.peak_count:>8,}", "number", target)
    grid.put(at + 9, y, f"{bytes_text(creator.peak_bytes):>11}", "number", target)
    grid.put(at + 21, y, f"{bytes_text(creator.bytes):>11}", "dim", target)
    cells = max(1, round(creator.peak_bytes / largest * (bar - 4))) if creator.peak_bytes else 0
    grid.put(at + 34, y, glyphs.full * min(cells, grid.width - at - 34), _FILLS[layer], target)
