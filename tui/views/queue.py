"""A device's queue: two lanes over time, the host that waits and the device that runs, and their commands as a list."""

from __future__ import annotations

from math import prod

from engine.inspect.models._wording import bytes_text, pluralise
from engine.inspect.models.queue import CommandRow, QueueModel, WaitRow, moments_of
from engine.inspect.selection import CallSelection
from tui.navigator import Navigator
from tui.render import Glyphs, Picture, Target, fit
from tui.render.boxes import Grid
from tui.views._view import DrawContext, action
from tui.views._zoom import ZoomView, zoom_caption

HELP = {
    "host": "The first lane: the share of time in which the host waited for the device.",
    "enqueues": "The middle lane: the host put something into the queue.",
    "device": "The last lane: the share of time in which the device ran a kernel or a copy.",
    "▁▂▃▄▅▆▇█": "A share of the time of this column.",
    "·": "Something was enqueued here. In a sentence a separator.",
    "▴": "This moment.",
    "▶": "The newest command or wait.",
    "▌": "The selected call enqueued it.",
    "▸": "From the host to the device: bytes are copied there; a kernel runs there.",
    "◂": "From the device to the host: bytes are copied back, and the reader waits.",
    "✓": "The device has finished it at this moment.",
    "○": "Enqueued; the device has not started it.",
    "◎": "The device is doing it at this moment.",
    "pinned": "The bytes of the host are in pinned memory: the device copies without the host, which may continue.",
    "pageable": "They are not: the host waits, or the bytes are first copied to where they may stay.",
    "new buffer": "The first byte of a new buffer was written, so that one without memory fails at once.",
    "after": "How long the command was in the queue before the device began.",
    "waits": "The host waits until the device has reached this point.",
    ",": "Between thousands.",
}

_LABEL = 10


class QueueView(ZoomView):
    name = "queue"
    key = "Q"
    title = "Queue"
    summary = "When a device's commands were enqueued and run, and where the host waited."
    help = HELP

    def draw(self, model: QueueModel, context: DrawContext) -> Picture:
        """Draw the lanes above, the commands and waits round this moment below."""
        grid = Grid(max(60, context.width), max(12, context.height), context.glyphs)
        if model.why:
            grid.put(1, 0, model.why, "dim")
            return grid.picture()
        _title(grid, model)
        _lanes(grid, model)
        _list(grid, model, context, 8)
        return grid.picture()

    @action("full_stop", "next command", "To where the next command is enqueued.")
    def next_command(self, nav: Navigator) -> str:
        return _go(nav, "command", 1)

    @action("comma", "previous command", "To where the previous command is enqueued.")
    def previous_command(self, nav: Navigator) -> str:
        return _go(nav, "command", -1)

    @action("m", "next wait", "To where the host waits next.")
    def next_wait(self, nav: Navigator) -> str:
        return _go(nav, "wait", 1)

    @action("M", "previous wait", "To where the host waited before.")
    def previous_wait(self, nav: Navigator) -> str:
        return _go(nav, "wait", -1)


def _go(nav: Navigator, kind: str, direction: int) -> str:
    return nav.move_along(moments_of(nav.history, kind), direction, kind)


def _title(grid: Grid, model: QueueModel) -> None:
    dot = f" {grid.glyphs.dot} "
    x = grid.put(1, 0, model.device, "head")
    x = grid.put(x, 0, f"{dot}{pluralise(model.commands, 'command')}, ", "dim")
    x = grid.put(x, 0, f"{model.pending:,}", "number")
    x = grid.put(x, 0, " not over", "dim")
    x = grid.put(x, 0, f"{dot}ran {model.busy_text}", "dim")
    grid.put(x, 0, f"{dot}host waited {model.waited} of {model.window}", "dim")


def _lanes(grid: Grid, model: QueueModel) -> None:
    glyphs, wide = grid.glyphs, grid.width - _LABEL - 1
    count = len(model.busy)
    for label, y in (("host", 2), ("enqueues", 3), ("device", 4)):
        grid.put(1, y, label, "dim")
    for cell in range(wide):
        low = cell * count // wide
        high = max(low + 1, (cell + 1) * count // wide)
        target = Target(event=model.moments[low])
        x = _LABEL + cell
        grid.put(x, 2, glyphs.level(max(model.host[low:high]) / 100), "warn", target)
        grid.put(x, 3, glyphs.dot if any(model.enqueued[low:high]) else " ", "op", target)
        grid.put(x, 4, glyphs.level(max(model.busy[low:high]) / 100), "bar", target)
    if model.first <= model.moment < model.last:
        target = Target(event=model.moment)
        grid.put(_LABEL + model.column * wide // count, 5, glyphs.arrow_up, "current", target)
    measure = "from left to right by time"
    grid.put(1, 6, zoom_caption(measure, model.first, model.last, model.end, glyphs), "dim")


def _list(grid: Grid, model: QueueModel, context: DrawContext, top: int) -> None:
    room = grid.height - top
    current = max((i for i, row in enumerate(model.rows) if row.moment <= model.moment), default=-1)
    first = max(0, min(current - room * 2 // 3, len(model.rows) - room))
    for number, row in enumerate(model.rows[first : first + room], first):
        y = top + number - first
        target = Target(CallSelection(row.call) if row.call else None, event=row.moment)
        selected = context.selection.call
        if row.call and selected is not None and selected.call == row.call:
            grid.put(0, y, grid.glyphs.highlighted, "highlighted", target)
        if number == current:
            grid.put(1, y, grid.glyphs.current, "current", target)
        if isinstance(row, WaitRow):
            _wait(grid, y, row, model, target)
        else:
            _command(grid, y, row, target)


def _wait(grid: Grid, y: int, row: WaitRow, model: QueueModel, target: Target) -> None:
    later = row.moment > model.moment
    x = grid.put(3, y, "host waits ", "dim" if later else "warn", target)
    x = grid.put(x, y, row.duration, "dim" if later else "number", target)
    grid.put(x, y, f": {row.reason}", "dim" if later else "text", target)


def items_text(items: tuple[int, ...], glyphs: Glyphs) -> str:
    """Return `1 item`, `64 × 1,000 items`: how often the function of a kernel runs."""
    sizes = f" {glyphs.times} ".join(f"{n:,}" for n in items)
    return f"{sizes} {'item' if prod(items) == 1 else 'items'}"


def _command(grid: Grid, y: int, row: CommandRow, target: Target) -> None:
    glyphs, later = grid.glyphs, row.state == "later"
    symbols = {"over": glyphs.done, "running": glyphs.ready, "waiting": glyphs.waits}
    x = grid.put(
        3, y, symbols.get(row.state, " "), "good" if row.state == "over" else "dim", target
    )
    back = row.kind == "device to host"
    x = grid.put(x + 1, y, glyphs.arrow_left if back else glyphs.arrow, "dim", target)
    is_kernel = row.kind == "kernel"
    name = row.name if is_kernel else row.kind
    x = grid.put(
        x + 1,
        y,
        fit(name, 18, glyphs.ellipsis),
        "dim" if later else "op" if is_kernel else "name",
        target,
    )
    if is_kernel:
        text = items_text(row.items, glyphs)
    else:
        of_host = row.kind in ("host to device", "device to host")
        memory = (", pinned" if row.pinned else ", pageable") if of_host else ""
        text = f"{bytes_text(row.bytes)}{memory}"
    x = grid.put(x + 1, y, fit(text, 24, glyphs.ellipsis), "dim" if later else "number", target)
    if row.duration_ns:
        grid.put(x + 1, y, f"{row.duration} after {row.delay}", "dim", target)
