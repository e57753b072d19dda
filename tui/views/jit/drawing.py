"""The picture of the JIT view: its panes, side by side as far as there is room."""

from __future__ import annotations

from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.rejected import HERE
from tui.render import Picture
from tui.render.boxes import Grid
from tui.render.picture import Guide
from tui.views._view import DrawContext
from tui.views.jit.diagram import drawn_pane
from tui.views.jit.navigation import guide_of
from tui.views.jit.panes import ALONE, PANES, graph_pane, graph_rows, pass_pane
from tui.views.jit.rows import Region, wrap

PANES["drawn"] = drawn_pane
_BESIDE = 100  # from this width three panes stand side by side
_FOUR = 150  # and from this one four
TALL = ("before", "drawn")  # panes that have the whole column
_HIGH = 24  # lines from which the left column holds two panes
_PASSES = 31  # cells for the list of passes


def draw(model: JitModel, context: DrawContext) -> Picture:
    """Windows round what matters in each pane, exactly as high as there is room."""
    width, height = max(40, context.width), max(12, context.height)
    grid = Grid(width, height, context.glyphs)
    if model.why:
        why = [(line, "dim") for line in wrap(model.why, width - 4)]
        lines = [*why, ("", ""), *refusal(model.refused, width - 4)]
        for y, (line, style) in enumerate(lines[: height - 1], 1):
            grid.put(2, y, line, style, room=width - 3)
        return grid.picture()
    _title(grid, model, context)
    about = _about(model, width)
    # always as high, so that nothing moves when something is selected
    top, bottom = 1, height - max(3, min(6, height // 6)) - 1
    _about_lines(grid, about, bottom, context)
    pane = chosen_pane(context, width)
    if pane == ALONE:
        graph_pane(grid, Region(0, width, top, bottom), model, context)
    elif width >= _BESIDE:
        _side_by_side(grid, model, context, pane, top, bottom)
    else:
        share = 2 / 5 if pane == "passes" else 1 / 2
        upper = bottom - max(5, round((bottom - top) * share))
        graph_pane(grid, Region(0, width, top, upper), model, context)
        grid.across(0, width - 1, upper)
        PANES[pane](grid, Region(0, width, upper + 1, bottom), model, context)
    grid.across(0, width - 1, bottom)
    made = grid.picture()
    made.guide = _guide(model, context, bottom - top)
    return made


def _guide(model: JitModel, context: DrawContext, room: int) -> Guide:
    """Pages go along the graph, or along the source or the tree when something of these is selected."""
    rows = graph_rows(model, context.options.ghosts, room)
    chosen = next((row.number for row in rows if row.chosen), model.selected)
    lists = (
        [row.number for row in rows],
        [row.number for row in model.source if row.line],
        [row.number for row in model.tree if row.kind],
    )
    return guide_of(chosen, lists, room)


def chosen_pane(context: DrawContext, width: int) -> str:
    """The pane next to the graph: the chosen one, else the most useful one in this room."""
    name: str = context.options.pane
    if name in PANES and not (name == "passes" and width >= _BESIDE):
        return name
    return "source" if width >= _BESIDE else "passes"


def _side_by_side(
    grid: Grid, model: JitModel, context: DrawContext, pane: str, top: int, bottom: int
) -> None:
    width = grid.width
    right, whole = width - _PASSES, bottom
    if pane == "drawn" and width < _FOUR:  # boxes need room more than they need their text
        PANES[pane](grid, Region(0, right - 1, top, bottom), model, context)
        grid.down(right - 1, top, bottom)
        pass_pane(grid, Region(right, width, top, bottom), model, context)
        return
    if pane == "rule":  # lines of our own source are long: below the others, as wide as can be
        band = bottom - (bottom - top) * 2 // 5
        PANES[pane](grid, Region(0, right - 1, band + 1, bottom), model, context)
        grid.across(0, right - 1, band)
        pass_pane(grid, Region(right, width, top, bottom), model, context)
        grid.down(right - 1, top, bottom)
        pane, bottom = "source", band
    alone = context.options.pane == "source" and bottom == whole
    columns = [["source"]] if alone else _columns(model, pane, width, bottom - top)
    percent = 62 if pane == "drawn" else 42 if len(columns) == 1 else 54
    left, share = 0, (right * percent // 100) // len(columns)
    for names in columns:
        high = (bottom - top) // len(names)
        for at, name in enumerate(names):
            y = top + at * high
            end = bottom if name == names[-1] else y + high - 1
            PANES[name](grid, Region(left, left + share - 1, y, end), model, context)
            if end < bottom:
                grid.across(left, left + share - 1, end)
        left += share
        grid.down(left - 1, top, bottom)
    graph_pane(grid, Region(left, right - 1, top, bottom), model, context)
    if bottom == whole:
        grid.down(right - 1, top, bottom)
        pass_pane(grid, Region(right, width, top, bottom), model, context)


def _columns(model: JitModel, pane: str, width: int, height: int) -> list[list[str]]:
    """The panes left of the graph, by column: what was chosen, and what else there is room for."""
    stepping = model.rewrite is not None
    beside = "rule" if stepping else "tree" if model.tree else "code"
    other = pane if pane != "source" else beside
    if width >= _FOUR and pane != "drawn":  # a drawing has the room of two columns
        return [["source"], [other]]
    return [["source", other]] if height >= _HIGH and pane not in TALL else [[pane]]


def _title(grid: Grid, model: JitModel, context: DrawContext) -> None:
    dot = context.glyphs.dot
    where = model.file.rpartition("/")[2] + (f":{model.line}" if model.line else "")
    x = grid.put(1, 0, model.function, "title", room=grid.width // 3)
    counts = [
        (f"{sign}{count}", style)
        for sign, count, style in (
            ("+", model.added, "good"), ("-", model.removed, "warn"),
            ("~", model.changed, "number"), (">", model.moved, "type"),
        )
        if count
    ]  # fmt: skip
    said = model.position
    after = sum(len(text) + 1 for text, _ in counts) + len(said) + 2
    aside = f" {dot} {model.how} {dot} {where}" if model.how else ""
    x = grid.put(x, 0, aside, "dim", room=max(0, grid.width - x - after))
    x = grid.put(max(x + 2, grid.width - after), 0, said, "head")
    for text, style in counts:
        x = grid.put(x + 1, 0, text, style)


def _about(model: JitModel, width: int) -> list[tuple[str, str]]:
    """(text, style) of the lines at the bottom: an error, the rewrite, and what is selected."""
    lines: list[tuple[str, str]] = []
    if model.refused:
        head, *rest = model.refused
        said = f"The compiler refused what came next. {head} {rest[0] if rest else ''}"
        lines += [(line, "error") for line in wrap(said, width - 2)]
        lines += refusal(tuple(rest[1:]), width - 2)
    if model.failed:
        lines += [(line, "error") for line in wrap(f"The pass failed: {model.failed}", width - 2)]
    here = model.rewrite
    if here is not None and not model.story:
        reason = f" · {here.reason}" if here.reason else ""
        place = f" · {model.rule.path}:{model.rule.line or here.line}" if here.file else ""
        lines += [(line, "op") for line in wrap(f"rewrite: {here.rule}{reason}{place}", width - 2)]
    chosen = next((row for row in model.rows if row.chosen), None)
    if chosen is not None:
        lines += [(line, "title") for line in wrap(chosen.text, width - 2)]
        if chosen.before:
            lines += [(line, "dim") for line in wrap(f"before: {chosen.before}", width - 2)]
    lines += [(line, "text") for text in model.story for line in wrap(text, width - 2)]
    lines += [(line, "warn") for text in model.warnings[-1:] for line in wrap(text, width - 2)]
    return lines or [
        ("Select a line, a node or a Value: all that it came from and became lights up.", "dim")
    ]


def refusal(lines: tuple[str, ...], width: int) -> list[tuple[str, str]]:
    """(text, style) of an error of the front end: the source as it is, words over several lines."""
    made: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("  "):  # source: what does not fit is cut
            made.append((line, "error" if HERE in line else "text"))
        else:
            style = "good" if line.startswith(("Hint", "Instead")) else "title"
            made += [(part, style) for part in wrap(line, width)]
    return made


def _about_lines(
    grid: Grid, about: list[tuple[str, str]], bottom: int, context: DrawContext
) -> None:
    room = grid.height - bottom - 1
    shown = about[:room]
    for y, (text, style) in enumerate(shown, bottom + 1):
        grid.put(1, y, text.replace("·", context.glyphs.dot), style)
    if len(about) > room:
        said = f" {context.glyphs.arrow_down}{len(about) - room} "
        grid.put(grid.width - len(said), grid.height - 1, said, "head")
