"""The panes of the JIT view: each draws a window of its rows into a part of the grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.lines import GraphRow
from engine.inspect.models.jit.passes import PassRow
from engine.inspect.selection import JitSelection, ValueSelection
from tui.render import Glyphs, Span, Target, cells, fit
from tui.render.boxes import Grid
from tui.render.highlight import python
from tui.views._view import DrawContext
from tui.views.jit.rows import Region, first, listed, put_cut, sentence

SYMBOLS = {
    "added": "+", "removed": "-", "changed": "~", "moved": ">", "left": "<",
}  # fmt: skip
STYLES = {"added": "good", "removed": "ghost", "left": "ghost", "gone": "ghost", "moved": "type"}


# The graph


FOLD = 3  # if room is short, this many adjacent removed lines are one row


@dataclass(frozen=True, slots=True)
class Folded:
    """Removed lines, drawn as one row."""

    count: int
    item: JitSelection
    change: str = "gone"
    selected: bool = False
    highlighted: bool = False


def graph_rows(model: JitModel, ghosts: str, room: int) -> list[GraphRow | Folded]:
    """Return the rows of the graph, with the removed lines that `ghosts` requests, and selected rows in any case."""
    if ghosts == "none":
        hidden: tuple[str, ...] = ("gone", "removed", "left")
    else:
        hidden = ("gone",) if ghosts == "pass" else ()
    rows: list[GraphRow | Folded] = [
        row for row in model.rows if row.change not in hidden or row.selected
    ]
    if len(rows) <= room or ghosts:
        return rows
    folded: list[GraphRow | Folded] = []
    for is_removed, group in groupby(rows, lambda row: row.change == "gone" and not row.selected):
        neighbours = list(group)
        if is_removed and len(neighbours) >= FOLD:
            last = neighbours[-1]
            assert isinstance(last, GraphRow)
            highlighted = any(row.highlighted for row in neighbours)
            folded.append(Folded(len(neighbours), last.item, highlighted=highlighted))
        else:
            folded += neighbours
    return folded


def graph_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    rows = graph_rows(model, context.options.ghosts, region.bottom - region.top - 1)
    if model.why_no_graph:
        sentence(grid, region, "graph", model.why_no_graph)
        return
    focus = first(
        rows, lambda r: r.selected, lambda r: r.change not in ("", "gone"), lambda r: r.highlighted
    )
    removed = sum(row.change == "gone" for row in model.rows)
    aside = f"{removed} removed" if removed else ""

    def draw(row: GraphRow | Folded, y: int) -> None:
        if isinstance(row, Folded):
            folded_line(grid, region, row, y, context.glyphs)
            return
        graph_line(grid, region, row, y, context)

    listed(grid, region, context.glyphs, f"graph {model.graph}", rows, focus, draw, aside)


def graph_line(grid: Grid, region: Region, row: GraphRow, y: int, context: DrawContext) -> None:
    glyphs = context.glyphs
    line_target = Target(row.item)
    x = region.left
    if row.highlighted or row.selected:
        grid.put(x, y, glyphs.highlighted, "path", line_target)
    if row.selected:
        grid.put(x + 1, y, glyphs.mark, "path", line_target)
    symbol = SYMBOLS.get(row.change, glyphs.dot if row.change == "gone" else " ")
    own = STYLES.get(row.change, "")
    grid.put(x + 2, y, symbol, own or ("number" if row.change == "changed" else ""), line_target)
    spans, outputs_end = [], False
    for part in row.parts:
        style = own or part.style or "text"
        highlighted = (
            f"{style} highlighted" if row.selected or (row.highlighted and part.value) else style
        )
        inputs = outputs_end and not part.value  # between inputs: belongs to none of them
        target = (
            Target(ValueSelection(part.value)) if part.value else None if inputs else line_target
        )
        outputs_end = outputs_end or part.text == "(" or part.text.endswith("return (")
        spans.append(Span(part.text, highlighted, target))
    indent = min(2 * row.depth, max(0, region.width // 3))
    put_cut(grid, x + 4 + indent, y, spans, max(0, region.right - x - 4 - indent), glyphs)


def folded_line(grid: Grid, region: Region, row: Folded, y: int, glyphs: Glyphs) -> None:
    target = Target(row.item)
    if row.highlighted:
        grid.put(region.left, y, glyphs.highlighted, "path", target)
    grid.put(region.left + 2, y, glyphs.dot, "ghost", target)
    text = f"{row.count} removed lines"
    grid.put(region.left + 4, y, text, "dim", target, max(0, region.width - 4))


def before_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    """Draw the graph before the pass or rewrite, row by row next to the graph after it."""
    rows = graph_rows(model, context.options.ghosts, region.bottom - region.top - 1)
    if model.why_no_graph:
        sentence(grid, region, "before", model.why_no_graph)
        return
    focus = first(
        rows, lambda r: r.selected, lambda r: r.change not in ("", "gone"), lambda r: r.highlighted
    )

    def draw(row: GraphRow | Folded, y: int) -> None:
        if isinstance(row, Folded):
            return
        target = Target(row.item)
        text = row.before or row.text
        symbol = {"changed": "-", "removed": "-", "left": "-"}.get(row.change, " ")
        if row.change in ("added", "moved", "gone"):
            return
        if row.highlighted or row.selected:
            grid.put(region.left, y, context.glyphs.highlighted, "path", target)
        style = "warn" if symbol == "-" else "dim"
        grid.put(region.left + 1, y, symbol, style, target)
        indent = min(2 * row.depth, region.width // 3)
        grid.put(
            region.left + 3 + indent, y, text, "text" if symbol == "-" else "dim", target,
            max(0, region.width - 3 - indent),
        )  # fmt: skip

    listed(grid, region, context.glyphs, "before", rows, focus, draw)


# Source, tree, tokens and code


def source_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    if not model.source:
        sentence(grid, region, "source", model.why_no_source)
        return
    coloured = python(tuple(row.text for row in model.source))
    row_of = {id(row): at for at, row in enumerate(model.source)}
    glyphs = context.glyphs

    def draw(row: Any, y: int) -> None:
        if not row.line:
            grid.put(region.left + 1, y, f"{glyphs.dot} {row.text}", "title", room=region.width - 1)
            return
        target = Target(row.item)
        if row.highlighted or row.selected:
            grid.put(region.left, y, glyphs.highlighted, "path", target)
        if row.selected:
            grid.put(region.left + 1, y, glyphs.mark, "path", target)
        grid.put(region.left + 2, y, fit(str(row.line), 4, align=">"), "dim", target)
        at, spans = 0, []
        for span in coloured.line(row_of[id(row)]):
            for character in span.text:
                highlighted = any(lo <= at < hi for lo, hi in row.spans)
                spans.append(
                    Span(
                        character,
                        f"{span.style} highlighted" if highlighted else span.style,
                        target,
                    )
                )
                at += 1
        put_cut(grid, region.left + 7, y, spans, max(0, region.width - 7), glyphs)

    focus = first(model.source, lambda r: r.selected, lambda r: r.highlighted)
    listed(grid, region, glyphs, "source", model.source, focus, draw)


def tree_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    if not model.tree:
        sentence(grid, region, "tree", "No syntax tree: only scripted functions have one.")
        return
    glyphs = context.glyphs

    def draw(row: Any, y: int) -> None:
        if not row.kind:
            grid.put(region.left + 1, y, f"{glyphs.dot} {row.text}", "title", room=region.width - 1)
            return
        target = Target(row.item)
        if row.highlighted or row.selected:
            grid.put(region.left, y, glyphs.highlighted, "path", target)
        if row.selected:
            grid.put(region.left + 1, y, glyphs.mark, "path", target)
        highlighted = " highlighted" if row.highlighted or row.selected else ""
        indent = min(row.depth, max(0, region.width // 3))
        spans = [
            Span(f"{row.field} " if row.field else "", "dim", target),
            Span(row.kind, f"op{highlighted}", target),
            Span(f" {row.text}" if row.text else "", f"name{highlighted}", target),
        ]
        put_cut(grid, region.left + 3 + indent, y, spans, region.width - 3 - indent, glyphs)

    focus = first(model.tree, lambda r: r.selected, lambda r: r.highlighted)
    listed(grid, region, glyphs, "tree", model.tree, focus, draw)


def token_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    if not model.tokens:
        sentence(grid, region, "tokens", "No tokens: only scripted functions have them.")
        return

    def draw(row: Any, y: int) -> None:
        target = Target(row.item)
        if row.highlighted or row.selected:
            grid.put(region.left, y, context.glyphs.highlighted, "path", target)
        if row.selected:
            grid.put(region.left + 1, y, context.glyphs.mark, "path", target)
        highlighted = " highlighted" if row.highlighted or row.selected else ""
        position = f"{row.line}:{row.column}"
        x = grid.put(region.left + 2, y, fit(position, 7, align=">"), "dim", target)
        x = grid.put(x + 1, y, fit(row.kind, 10, context.glyphs.ellipsis), "type", target)
        text = row.text if row.text.strip() else repr(row.text)
        grid.put(x + 1, y, text, f"name{highlighted}", target, max(0, region.right - x - 1))

    focus = first(model.tokens, lambda r: r.selected, lambda r: r.highlighted)
    listed(grid, region, context.glyphs, "tokens", model.tokens, focus, draw)


def code_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    if not model.code:
        sentence(
            grid, region, "code", "This graph was not compiled to instructions in this recording."
        )
        return
    glyphs = context.glyphs

    def draw(row: Any, y: int) -> None:
        target = Target(row.item) if row.item else None
        if row.highlighted:
            grid.put(region.left, y, glyphs.highlighted, "path", target)
        if row.selected:
            grid.put(region.left + 1, y, glyphs.mark, "path", target)
        grid.put(region.left + 2, y, fit(str(row.pc), 4, align=">"), "dim", target)
        if row.current:
            grid.put(region.left + 6, y, glyphs.current, "current", target)
        style = "dim" if model.code_ahead else "current" if row.current else "text"
        highlighted = f"{style} highlighted" if row.highlighted else style
        grid.put(region.left + 7, y, row.text, highlighted, target, max(0, region.width - 7))

    focus = first(model.code, lambda r: r.current, lambda r: r.selected, lambda r: r.highlighted)
    aside = "compiled later" if model.code_ahead else ""
    listed(grid, region, glyphs, "code", model.code, focus, draw, aside)


# Passes, rewrites, functions


def pass_list(model: JitModel, idle: bool) -> tuple[PassRow, ...]:
    """Return the passes to list: always the current one, idle ones only if `idle`."""
    return tuple(row for row in model.passes if idle or not row.idle or row.state == "current")


def pass_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    glyphs, idle = context.glyphs, context.options.idle
    rows = pass_list(model, idle)
    hidden = len(model.passes) - len(rows)
    aside = f"{hidden} idle hidden" if hidden else ""

    def draw(row: PassRow, y: int) -> None:
        pass_line(grid, region, row, y, glyphs)

    focus = first(rows, lambda r: r.state == "current")
    listed(grid, region, glyphs, "passes", rows, focus, draw, aside)


def pass_line(grid: Grid, region: Region, row: PassRow, y: int, glyphs: Glyphs) -> None:
    target = Target(event=row.at)
    style = {"current": "current", "ahead": "dim"}.get(row.state, "text")
    if row.highlighted:
        grid.put(region.left, y, glyphs.mark, "path", target)
    if row.state == "current":
        grid.put(region.left + 1, y, glyphs.current, "current", target)
    elif row.failed:
        grid.put(region.left + 1, y, glyphs.fail, "error", target)
    tail, time = "", ""
    if row.kind == "pass":
        tail = "failed" if row.failed else "not ended" if row.changes < 0 else f"{row.changes}"
        time = time_text(row.ns) if row.changes >= 0 else ""
    elif row.kind == "code":
        tail = f"{row.changes} instr."
    room = region.width - 3
    right = f"{fit(tail, 4, '', '>') if len(tail) < 5 else tail}"
    right += f" {fit(time, 7, '', '>')}" if time and room >= 20 else ""
    name = f"{row.index:>2} {row.name}" if row.kind == "pass" and row.index else f"{row.name}"
    wide = max(4, room - cells(right) - 1)
    name_style = "error" if row.failed else "dim" if row.idle and row.state != "current" else style
    grid.put(region.left + 3, y, fit(name, wide, glyphs.ellipsis), name_style, target)
    number = "error" if row.failed else "dim" if row.idle or row.state == "ahead" else "number"
    grid.put(region.left + 4 + wide, y, right, number, target, max(0, room - wide - 1))


def time_text(ns: int) -> str:
    """Return `12us`, `3.4ms`: two or three digits."""
    if ns < 1_000:
        return f"{ns}ns"
    if ns < 10_000:
        return f"{ns / 1e3:.1f}us"
    if ns < 1_000_000:
        return f"{ns / 1e3:.0f}us"
    return f"{ns / 1e6:.1f}ms" if ns < 1e9 else f"{ns / 1e9:.1f}s"


def rule_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    """Draw the rewrites of the pass, and below them the source of the last one's rule."""
    glyphs = context.glyphs
    if not model.rewrites:
        sentence(
            grid,
            region,
            "rule",
            "Nothing was rewritten here. Press . to go to the next pass that changed something.",
        )
        return
    high = region.bottom - region.top
    room = min(len(model.rewrites), max(1, (high - 4) // 3))
    upper = Region(region.left, region.right, region.top, region.top + 1 + room)

    def draw(row: Any, y: int) -> None:
        target = Target(event=row.at)
        if row.current:
            grid.put(region.left + 1, y, glyphs.current, "current", target)
        text = f"{row.index + 1} {row.rule}" + (f" {glyphs.dot} {row.reason}" if row.reason else "")
        style = "current" if row.current else "text"
        grid.put(region.left + 3, y, text, style, target, max(0, region.width - 3))

    focus = model.rewrite.index if model.rewrite is not None else 0
    listed(grid, upper, glyphs, "rewrites", model.rewrites, focus, draw)
    lower = Region(region.left, region.right, upper.bottom, region.bottom)
    rule = model.rule
    if not rule.lines:
        why = rule.why or "Step by rewrite (s, then ]) to see the rule of each."
        sentence(grid, lower, "rule", why)
        return

    def code(row: tuple[int, str], y: int) -> None:
        number, text = row
        is_current = number == rule.line
        if is_current:
            grid.put(region.left + 1, y, glyphs.current, "current")
        grid.put(region.left + 2, y, fit(str(number), 4, align=">"), "dim")
        grid.put(
            region.left + 7,
            y,
            text,
            "head" if is_current else "text",
            room=max(0, region.width - 7),
        )

    numbered = list(enumerate(rule.lines, rule.first))
    listed(
        grid, lower, glyphs, "rule", numbered, rule.line - rule.first, code,
        f"{rule.path}:{rule.line}",
    )  # fmt: skip


def function_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    """Draw every function, and below each its graphs. Enter goes to the row's event."""
    glyphs = context.glyphs
    rows: list[tuple[Any, Any]] = []
    for function in model.functions:
        rows.append((function, None))
        rows += [(function, graph) for graph in function.graphs]

    def draw(row: tuple[Any, Any], y: int) -> None:
        function, graph = row
        is_current = graph.current if graph else function.current and not function.graphs
        at = graph.until if graph else function.at
        target = Target(event=at)
        if is_current:
            grid.put(region.left + 1, y, glyphs.current, "current", target)
        if graph:
            text = f"  graph {graph.graph}: {graph.phase}"
        else:
            location = f" {glyphs.dot} line {function.line}" if function.line else ""
            mode = f" {glyphs.dot} {function.mode}" if function.mode else ""
            text = f"{function.name}{mode}{location}"
        style = "current" if is_current else "text" if graph else "title"
        grid.put(region.left + 3, y, text, style, target, max(0, region.width - 3))

    focus = first(rows, lambda r: bool(r[1]) and r[1].current, lambda r: r[0].current)
    listed(grid, region, glyphs, "functions", rows, focus, draw)


ALONE = "none"
"""The graph has all the room."""
PANES: dict[str, Callable[[Grid, Region, JitModel, DrawContext], None]] = {
    "passes": pass_pane,
    "source": source_pane,
    "tree": tree_pane,
    "tokens": token_pane,
    "before": before_pane,
    "rule": rule_pane,
    "code": code_pane,
    "functions": function_pane,
    ALONE: graph_pane,
}
"""The panes that can be next to the graph, by name."""
