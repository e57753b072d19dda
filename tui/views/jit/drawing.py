"""The picture of the JIT view: its panes, side by side as far as there is room."""

from __future__ import annotations

from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.rejected import HERE
from tui.render import Picture
from tui.render.boxes import Grid
from tui.render.picture import Guide
from tui.views._view import DrawContext
from tui.views.jit.diagram import diagram_pane
from tui.views.jit.navigation import guide_of
from tui.views.jit.panes import ALONE, PANES, graph_pane, graph_rows, pass_pane
from tui.views.jit.rows import Region, wrap

PANES["diagram"] = diagram_pane
_THREE = 100  # from this width three panes are side by side
_FOUR = 150  # and from this one four
TALL = ("before", "diagram")  # panes that have the whole column
_HIGH = 24  # lines from which the left column holds two panes
_PASSES = 31  # cells for the list of passes


def draw(model: JitModel, context: DrawContext) -> Picture:
    """Draw in each pane the lines around its focus, as many as there is room for."""
    width, height = max(40, context.width), max(12, context.height)
    grid = Grid(width, height, context.glyphs)
    if model.why:
        why = [(line, "dim") for line in wrap(model.why, width - 4)]
        lines = [*why, ("", ""), *rejection(model.rejected, width - 4)]
        for y, (line, style) in enumerate(lines[: height - 1], 1):
            grid.put(2, y, line, style, room=width - 3)
        return grid.picture()
    _title(grid, model, context)
    about = _about(model, width)
    # always the same height, so that nothing moves when something is selected
    top, bottom = 1, height - max(3, min(6, height // 6)) - 1
    _about_lines(grid, about, bottom, context)
    pane = side_pane(context, width)
    if pane == ALONE:
        graph_pane(grid, Region(0, width, top, bottom), model, context)
    elif width >= _THREE:
        _side_by_side(grid, model, context, pane, top, bottom)
    else:
        share = 2 / 5 if pane == "passes" else 1 / 2
        upper = bottom - max(5, round((bottom - top) * share))
        graph_pane(grid, Region(0, width, top, upper), model, context)
        grid.across(0, width - 1, upper)
        PANES[pane](grid, Region(0, width, upper + 1, bottom), model, context)
    grid.across(0, width - 1, bottom)
    picture = grid.picture()
    picture.guide = _guide(model, context, bottom - top)
    return picture


def _guide(model: JitModel, context: DrawContext, room: int) -> Guide:
    """Let pages go along the graph, or along the source or the tree when something of these is selected."""
    rows = graph_rows(model, context.options.ghosts, room)
    selected = next((row.item for row in rows if row.selected), model.selected)
    lists = (
        [row.item for row in rows],
        [row.item for row in model.source if row.line],
        [row.item for row in model.tree if row.kind],
    )
    return guide_of(selected, lists, room)


def side_pane(context: DrawContext, width: int) -> str:
    """Return the pane next to the graph: the user's choice, else the most useful one at this width."""
    name: str = context.options.pane
    if name in PANES and not (name == "passes" and width >= _THREE):
        return name
    return "source" if width >= _THREE else "passes"


def _side_by_side(
    grid: Grid, model: JitModel, context: DrawContext, pane: str, top: int, bottom: int
) -> None:
    width = grid.width
    right, full = width - _PASSES, bottom
    if pane == "diagram" and width < _FOUR:  # boxes need room more than they need their text
        PANES[pane](grid, Region(0, right - 1, top, bottom), model, context)
        grid.down(right - 1, top, bottom)
        pass_pane(grid, Region(right, width, top, bottom), model, context)
        return
    if pane == "rule":  # the engine's source has long lines: below the others, as wide as possible
        band = bottom - (bottom - top) * 2 // 5
        PANES[pane](grid, Region(0, right - 1, band + 1, bottom), model, context)
        grid.across(0, right - 1, band)
        pass_pane(grid, Region(right, width, top, bottom), model, context)
        grid.down(right - 1, top, bottom)
        pane, bottom = "source", band
    alone = context.options.pane == "source" and bottom == full
    columns = [["source"]] if alone else _columns(model, pane, width, bottom - top)
    percent = 62 if pane == "diagram" else 42 if len(columns) == 1 else 54
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
    if bottom == full:
        grid.down(right - 1, top, bottom)
        pass_pane(grid, Region(right, width, top, bottom), model, context)


def _columns(model: JitModel, pane: str, width: int, height: int) -> list[list[str]]:
    """Return the panes left of the graph, by column: the user's choice, and another if there is room."""
    stepping = model.rewrite is not None
    default = "rule" if stepping else "tree" if model.tree else "code"
    other = pane if pane != "source" else default
    if width >= _FOUR and pane != "diagram":  # a drawing has the room of two columns
        return [["source"], [other]]
    return [["source", other]] if height >= _HIGH and pane not in TALL else [[pane]]


def _title(grid: Grid, model: JitModel, context: DrawContext) -> None:
    dot = context.glyphs.dot
    location = model.file.rpartition("/")[2] + (f":{model.line}" if model.line else "")
    x = grid.put(1, 0, model.function, "title", room=grid.width // 3)
    counts = [
        (f"{glyph}{count}", style)
        for glyph, count, style in (
            ("+", model.added, "good"), ("-", model.removed, "warn"),
            ("~", model.changed, "number"), (">", model.moved, "type"),
        )
        if count
    ]  # fmt: skip
    position = model.position
    after = sum(len(text) + 1 for text, _ in counts) + len(position) + 2
    aside = f" {dot} {model.mode} {dot} {location}" if model.mode else ""
    x = grid.put(x, 0, aside, "dim", room=max(0, grid.width - x - after))
    x = grid.put(max(x + 2, grid.width - after), 0, position, "head")
    for text, style in counts:
        x = grid.put(x + 1, 0, text, style)


def _about(model: JitModel, width: int) -> list[tuple[str, str]]:
    """Return (text, style) of the lines at the bottom: an error, the rewrite, and what is selected."""
    lines: list[tuple[str, str]] = []
    if model.rejected:
        head, *rest = model.rejected
        sentence = f"The compiler rejected the next function. {head} {rest[0] if rest else ''}"
        lines += [(line, "error") for line in wrap(sentence, width - 2)]
        lines += rejection(tuple(rest[1:]), width - 2)
    if model.failed:
        lines += [(line, "error") for line in wrap(f"The pass failed: {model.failed}", width - 2)]
    rewrite = model.rewrite
    if rewrite is not None and not model.story:
        reason = f" · {rewrite.reason}" if rewrite.reason else ""
        location = f" · {model.rule.path}:{model.rule.line or rewrite.line}" if rewrite.file else ""
        lines += [
            (line, "op") for line in wrap(f"rewrite: {rewrite.rule}{reason}{location}", width - 2)
        ]
    selected = next((row for row in model.rows if row.selected), None)
    if selected is not None:
        lines += [(line, "title") for line in wrap(selected.text, width - 2)]
        if selected.before:
            lines += [(line, "dim") for line in wrap(f"before: {selected.before}", width - 2)]
    lines += [(line, "text") for text in model.story for line in wrap(text, width - 2)]
    lines += [(line, "warn") for text in model.warnings[-1:] for line in wrap(text, width - 2)]
    return lines or [
        ("Select a line, a node or a Value to highlight its origins and results.", "dim")
    ]


def rejection(lines: tuple[str, ...], width: int) -> list[tuple[str, str]]:
    """Return (text, style) of an error of the front end: source lines unchanged, sentences wrapped."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("  "):  # source: what does not fit is cut
            rows.append((line, "error" if HERE in line else "text"))
        else:
            style = "good" if line.startswith("Hint") else "title"
            rows += [(part, style) for part in wrap(line, width)]
    return rows


def _about_lines(
    grid: Grid, about: list[tuple[str, str]], bottom: int, context: DrawContext
) -> None:
    room = grid.height - bottom - 1
    visible = about[:room]
    for y, (text, style) in enumerate(visible, bottom + 1):
        grid.put(1, y, text.replace("·", context.glyphs.dot), style)
    if len(about) > room:
        hidden = f" {context.glyphs.arrow_down}{len(about) - room} "
        grid.put(grid.width - len(hidden), grid.height - 1, hidden, "head")
