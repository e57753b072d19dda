"""The timeline, drawn: the whole run as one bar, and the events round this moment in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from engine.inspect.models.timeline import EventRow, Life, Timeline
from engine.inspect.selection import CallSelection, SelectionItem, StorageSelection, TensorSelection
from tui.render import Glyphs, Picture, Target, fit
from tui.render.boxes import Grid
from tui.views._view import DrawContext, View

HELP = {
    "▁▂▃▄▅▆▇█": "The whole run from left to right by event number. The height says how many events "
    "the busiest line of that stretch caused; each step is a doubling, roughly.",
    "▴": "This moment on the bar.",
    "✖": "An error or an exception.",
    "╞": "The selected tensor was made here.",
    "━": "It lives.",
    "╡": "It was freed here.",
    "✎": "Bytes of its storage were written.",
    "◂": "Where a step back at this grain leads.",
    "▸": "Where a step forward at this grain leads.",
    "[line]": "In brackets: how far one step goes; `s` changes it.",
    "▶": "This moment: the event has just happened, those below it have not.",
    "▌": "The event is about what is selected.",
    "│": "Inside an operator call; one line for each call it is inside of.",
    "ƒ": "An operator was called.",
    "event": "The event's number, its kind, and what happened in plain words with the real names.",
    "+5 us": "At the right: how long after this moment, or before it (-).",
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
_DEEPEST = 6  # calls inside calls that still move the words to the right


class TimelineView(View):
    """The whole run, and the events round this moment."""

    name = "timeline"
    key = "2"
    title = "Timeline"
    help = HELP

    def draw(self, model: Timeline, context: DrawContext) -> Picture:
        """Exactly as high as there is room; the moment a little above the middle of the list."""
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
    """Density, marks below it, and the life of what is selected; the line after it."""
    wide = grid.width - 2
    most = log(1 + max(model.density))

    def column(moment: int) -> int:
        return 1 + moment * wide // model.end

    for cell in range(wide):
        low = -(-cell * model.end // wide)  # the first event of this column; a short run skips some
        high = max(low, -(-(cell + 1) * model.end // wide) - 1)
        low = min(low, (cell * model.end) // wide) if low == high else low
        caused = max(model.density[low // model.span : high // model.span + 1])
        style = "bar" if low <= model.moment else "track"
        target = Target(event=low)
        grid.put(1 + cell, 1, glyphs.level(log(1 + caused) / most), style, target)
    _marks(grid, ((moment, column(moment)) for moment in model.errors), 2, glyphs.fail, "error")
    grid.put(column(model.moment), 2, glyphs.arrow_up, "here", Target(event=model.moment))
    if model.life is None:
        return 3
    life = model.life
    stop = column(life.freed_at if life.freed_at >= 0 else model.end - 1)
    target = Target(TensorSelection(life.tensor), event=life.created_at)
    born = column(life.created_at)
    grid.put(born, 3, glyphs.life * (stop - born + 1), "path", target)
    _marks(grid, ((moment, column(moment)) for moment in life.writes), 3, glyphs.write, "good")
    grid.put(born, 3, glyphs.born, "path", target)
    if life.freed_at >= 0:
        grid.put(stop, 3, glyphs.died, "path", Target(event=life.freed_at))
    _name_life(grid, life, born, stop, target)
    return 4


def _name_life(grid: Grid, life: Life, born: int, stop: int, target: Target) -> None:
    """The tensor's name where there is room: after its life, else before it, else on it."""
    words = f" {life.label} "
    if stop + len(words) < grid.width:
        grid.put(stop + 1, 3, words, "name", target)
    elif born > len(words):
        grid.put(born - len(words), 3, words, "name", target)
    elif stop - born > len(words) + 4:
        grid.put((born + stop - len(words)) // 2, 3, words, "name", target)


def _marks(grid: Grid, places: Iterable[tuple[int, int]], y: int, sign: str, style: str) -> None:
    for moment, x in places:
        grid.put(x, y, sign, style, Target(event=moment))


def _steps(grid: Grid, model: Timeline, context: DrawContext, y: int) -> None:
    x, glyphs = 1, context.glyphs
    for step in model.steps:
        chosen = step.grain == context.grain
        x = grid.put(x, y, f"[{step.grain}]" if chosen else step.grain, "lit" if chosen else "dim")
        x += 1
        back, on = f"{glyphs.arrow_left} {step.previous:,}", f"{step.next:,} {glyphs.arrow}"
        x = grid.put(x, y, back, "number", Target(event=step.previous)) + 1
        x = grid.put(x, y, on, "number", Target(event=step.next)) + 3


def _list(grid: Grid, model: Timeline, glyphs: Glyphs, top: int) -> None:
    rows = grid.height - top
    place = next((i for i, row in enumerate(model.rows) if row.number == model.moment), 0)
    first = max(0, min(place - rows * 2 // 5, len(model.rows) - rows))
    for y, row in enumerate(model.rows[first : first + rows], top):
        _event(grid, y, row, model, glyphs)


def _items(row: EventRow) -> tuple[SelectionItem, ...]:
    """The tensor, storage or call of the event."""
    if row.tensor:
        return (TensorSelection(row.tensor, row.storage),)
    if row.storage:
        return (StorageSelection(row.storage),)
    return (CallSelection(row.call),) if row.call else ()


def _event(grid: Grid, y: int, row: EventRow, model: Timeline, glyphs: Glyphs) -> None:
    target = Target(also=_items(row), event=row.number)
    now, coming = row.number == model.moment, row.number > model.moment
    if row.highlighted:
        grid.put(0, y, glyphs.lit, "path", target)
    if now:
        grid.put(1, y, glyphs.here, "here", target)
    digits = max(5, len(f"{model.end:,}"))
    number = fit(f"{row.number:,}", digits, align=">")
    x = grid.put(3, y, number, "number" if not coming else "dim", target) + 1
    kind = fit(row.kind.lower().replace("_", " "), 14, glyphs.ellipsis)
    style = _STYLES.get(row.kind, "text")
    x = grid.put(x, y, kind, "dim" if coming else style, target)
    x = grid.put(x, y, (glyphs.wire(1) + " ") * min(row.depth, _DEEPEST), "wire")
    if row.kind == "OP_ENTER":
        x = grid.put(x, y, f"{glyphs.call} ", "dim" if coming else "op", target)
    words = row.sentence.replace("×", glyphs.times)
    style = "dim" if coming else "lit" if now else "text"
    last = grid.put(x, y, words, style, target)
    apart = row.time - model.elapsed
    when = _time(row.time) if now else ("+" if apart >= 0 else "-") + _time(abs(apart))
    if last + len(when) + 2 < grid.width:
        grid.put(grid.width - len(when) - 1, y, when, "dim", target)


def _time(nanoseconds: int) -> str:
    """`850 ns`, `12.3 us`, `4.56 ms`, `1.2 s`: three digits."""
    size = float(nanoseconds)
    for unit in ("ns", "us", "ms"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} s" if size < 999.5 else f"{size:,.0f} s"
