"""The timeline: the whole run as one bar, and descriptions of the events around this moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log

from engine.inspect.models.timeline import EventRow, Life, Timeline
from engine.inspect.selection import CallSelection, SelectionItem, StorageSelection, TensorSelection
from tui.render import Glyphs, Picture, Target, fit
from tui.render.boxes import Grid
from tui.render.glyphs import DOWN, LEFT, RIGHT, UP
from tui.views._view import DrawContext
from tui.views._zoom import ZoomView, zoom_caption

HELP = {
    "▁▂▃▄▅▆▇█": "The run, or the part that + and - zoom to, from left to right by event number. The height is "
    "the number of events of the busiest line in that range; each step roughly doubles it.",
    "▴": "This moment on the bar.",
    "·": "Below the bar: the program wrote to stdout or stderr. Elsewhere a separator.",
    "✖": "An error or an exception.",
    "╞": "The selected tensor was created here.",
    "━": "It exists.",
    "╡": "It was freed here.",
    "✎": "Bytes of its storage were written.",
    "├──┤": "Below the bar: a region, a named part of the program: a profile, a `record_function` block or a "
    "distribution's sample. Those inside are below it.",
    "◂": "The event that a step back at this grain leads to.",
    "▸": "The event that a step forward at this grain leads to.",
    "[line]": "In brackets: the grain of a step; `s` changes it.",
    "▶": "This moment: the event has just happened, those below it have not.",
    "▌": "The event is about the selection.",
    "│": "Inside an operator call; one line for each enclosing call.",
    "ƒ": "An operator was called.",
    "event": "The event's number, its kind, and what happened in plain words with the real names.",
    "+5 us": "At the right: the time after this moment, or before it (-).",
    ",": "Between thousands.",
}

_STYLES = {
    "LINE": "head",
    "OP_ENTER": "op",
    "OP_EXIT": "op",
    "WRITE": "good",
    "ERROR": "error",
    "EXCEPTION": "error",
    "NAME_BIND": "name",
    "NAME_UNBIND": "name",
    # bookkeeping of the trace itself
    "STRING": "dim",
    "SOURCE": "dim",
    "THREAD": "dim",
}
_MAX_REGIONS = 3  # rows of regions inside each other
_MAX_INDENT = 6  # nested calls that are indented


class TimelineView(ZoomView):
    name = "timeline"
    key = "2"
    title = "Timeline"
    summary = "The whole run, and the events around this moment."
    help = HELP

    def draw(self, model: Timeline, context: DrawContext) -> Picture:
        """Draw exactly as high as there is room; the moment a little above the middle of the list."""
        width, height = max(60, context.width), max(10, context.height)
        grid = Grid(width, height, context.glyphs)
        if not model.end:
            grid.put(1, 0, "nothing has been recorded yet", "dim")
            return grid.picture()
        _title(grid, model, context.glyphs)
        top = _bar(grid, model, context.glyphs)
        _steps(grid, model, context, top)
        _list(grid, model, context.glyphs, top + 2)
        return grid.picture()


def _title(grid: Grid, model: Timeline, glyphs: Glyphs) -> None:
    x = grid.put(1, 0, "event ", "dim")
    x = grid.put(x, 0, f"{model.moment:,}", "number")
    x = grid.put(x, 0, f" of {model.end - 1:,}", "dim")
    if model.line:
        x = grid.put(x, 0, f" {glyphs.dot} line ", "dim")
        x = grid.put(x, 0, str(model.line), "number")
    spent = f" {glyphs.dot} after {_time(model.elapsed)} of {_time(model.duration)}"
    x = grid.put(x, 0, spent, "dim")
    if model.errors:
        some = f"{len(model.errors):,} {'error' if len(model.errors) == 1 else 'errors'}"
        grid.put(x + 2, 0, f"{glyphs.fail} {some}", "error", Target(event=model.errors[0]))


def _bar(grid: Grid, model: Timeline, glyphs: Glyphs) -> int:
    """Draw density, marks below it, and the lifetime of the selected tensor; the line after them."""
    wide, size = grid.width - 2, model.last - model.first
    highest = log(1 + max(model.density))

    def column(moment: int) -> int:
        return 1 + (moment - model.first) * wide // size

    def inside(moments: Iterable[int]) -> Iterable[tuple[int, int]]:
        return ((each, column(each)) for each in moments if model.first <= each < model.last)

    for cell in range(wide):
        low = -(-cell * size // wide)  # the first event of this column; a short run skips some
        high = max(low, -(-(cell + 1) * size // wide) - 1)
        low = min(low, (cell * size) // wide) if low == high else low
        caused = max(model.density[low // model.span : high // model.span + 1])
        low += model.first
        style = "bar" if low <= model.moment else "track"
        target = Target(event=low)
        grid.put(1 + cell, 1, glyphs.level(log(1 + caused) / highest), style, target)
    _marks(grid, inside(model.outputs), 2, glyphs.dot, "name")
    _marks(grid, inside(model.errors), 2, glyphs.fail, "error")
    grid.put(column(model.moment), 2, glyphs.arrow_up, "current", Target(event=model.moment))
    measure = f"height: events of the busiest line, at most {max(model.density):,}"
    y = 3 if model.life is None else 4
    caption = zoom_caption(measure, model.first, model.last, model.end, glyphs)
    grid.put(1, y, caption, "dim")
    y = _regions(grid, model, column, y)
    if model.life is None:
        return y + 1
    life = model.life
    freed = life.freed_at if life.freed_at >= 0 else model.end - 1
    if freed < model.first or life.created_at >= model.last:
        return y + 1
    target = Target(TensorSelection(life.tensor), event=life.created_at)
    start = column(max(life.created_at, model.first))
    stop = column(min(freed, model.last - 1))
    grid.put(start, 3, glyphs.life * (stop - start + 1), "path", target)
    _marks(grid, inside(life.writes), 3, glyphs.write, "good")
    if life.created_at >= model.first:
        grid.put(start, 3, glyphs.created, "path", target)
    if 0 <= life.freed_at < model.last:
        grid.put(stop, 3, glyphs.freed, "path", Target(event=life.freed_at))
    _name_life(grid, life, start, stop, target)
    return y + 1


def _regions(grid: Grid, model: Timeline, column: Callable[[int], int], y: int) -> int:
    """Draw the regions of the window, those inside others below them; the last line that was used."""
    glyphs, depths = grid.glyphs, [b.depth for b in model.regions if b.depth < _MAX_REGIONS]
    for bar in model.regions:
        if bar.depth >= _MAX_REGIONS:
            continue
        row = y + 1 + bar.depth
        start = column(max(bar.since, model.first))
        stop = column(min(bar.until, model.last - 1) if bar.until >= 0 else model.last - 1)
        is_running = bar.since <= model.moment and not 0 <= bar.until <= model.moment
        style = "path" if is_running else "name"
        target = Target(event=bar.since)
        grid.put(start, row, glyphs.wire(RIGHT | LEFT) * (stop - start + 1), style, target)
        if bar.since >= model.first:
            grid.put(start, row, glyphs.wire(UP | RIGHT | DOWN), style, target)
        if 0 <= bar.until < model.last and stop > start:
            grid.put(stop, row, glyphs.wire(UP | DOWN | LEFT), style, target)
        if stop - start > 4:
            name = fit(bar.name, min(len(bar.name), stop - start - 3), glyphs.ellipsis)
            grid.put(start + 2, row, name, style, target)
    return y + 1 + max(depths) if depths else y


def _name_life(grid: Grid, life: Life, start: int, stop: int, target: Target) -> None:
    """Write the tensor's name where there is room: after its lifetime, else before it, else on it."""
    label = f" {life.label} "
    if stop + len(label) < grid.width:
        grid.put(stop + 1, 3, label, "name", target)
    elif start > len(label):
        grid.put(start - len(label), 3, label, "name", target)
    elif stop - start > len(label) + 4:
        grid.put((start + stop - len(label)) // 2, 3, label, "name", target)


def _marks(grid: Grid, marks: Iterable[tuple[int, int]], y: int, glyph: str, style: str) -> None:
    for moment, x in marks:
        grid.put(x, y, glyph, style, Target(event=moment))


def _steps(grid: Grid, model: Timeline, context: DrawContext, y: int) -> None:
    x, glyphs = 1, context.glyphs
    for step in model.steps:
        selected = step.grain == context.grain
        x = grid.put(
            x,
            y,
            f"[{step.grain}]" if selected else step.grain,
            "highlighted" if selected else "dim",
        )
        x += 1
        back, on = f"{glyphs.arrow_left} {step.previous:,}", f"{step.next:,} {glyphs.arrow}"
        x = grid.put(x, y, back, "number", Target(event=step.previous)) + 1
        x = grid.put(x, y, on, "number", Target(event=step.next)) + 3


def _list(grid: Grid, model: Timeline, glyphs: Glyphs, top: int) -> None:
    rows = grid.height - top
    current = next((i for i, row in enumerate(model.rows) if row.number == model.moment), 0)
    first = max(0, min(current - rows * 2 // 5, len(model.rows) - rows))
    for y, row in enumerate(model.rows[first : first + rows], top):
        _event(grid, y, row, model, glyphs)


def _items(row: EventRow) -> tuple[SelectionItem, ...]:
    """Return the tensor, storage or call of the event."""
    if row.tensor:
        return (TensorSelection(row.tensor, row.storage),)
    if row.storage:
        return (StorageSelection(row.storage),)
    return (CallSelection(row.call),) if row.call else ()


def _event(grid: Grid, y: int, row: EventRow, model: Timeline, glyphs: Glyphs) -> None:
    target = Target(also=_items(row), event=row.number)
    current, later = row.number == model.moment, row.number > model.moment
    if row.highlighted:
        grid.put(0, y, glyphs.highlighted, "path", target)
    if current:
        grid.put(1, y, glyphs.current, "current", target)
    digits = max(5, len(f"{model.end:,}"))
    number = fit(f"{row.number:,}", digits, align=">")
    x = grid.put(3, y, number, "number" if not later else "dim", target) + 1
    kind = fit(row.kind.lower().replace("_", " "), 15, glyphs.ellipsis)
    style = _STYLES.get(row.kind, "text")
    x = grid.put(x, y, kind, "dim" if later or row.bookkeeping else style, target) + 1
    x = grid.put(x, y, (glyphs.wire(1) + " ") * min(row.depth, _MAX_INDENT), "wire")
    if row.kind == "OP_ENTER":
        x = grid.put(x, y, f"{glyphs.call} ", "dim" if later else "op", target)
    sentence = row.sentence.replace("×", glyphs.times)
    aside = later or row.bookkeeping
    style = "highlighted" if current and not later else "dim" if aside else "text"
    last = grid.put(x, y, sentence, style, target)
    apart = row.time - model.elapsed
    when = _time(row.time) if current else ("+" if apart >= 0 else "-") + _time(abs(apart))
    if last + len(when) + 2 < grid.width:
        grid.put(grid.width - len(when) - 1, y, when, "dim", target)


def _time(nanoseconds: int) -> str:
    """Return `850 ns`, `12.3 us`, `4.56 ms`, `1.2 s`: three digits."""
    size = float(nanoseconds)
    for unit in ("ns", "us", "ms"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} s" if size < 999.5 else f"{size:,.0f} s"
