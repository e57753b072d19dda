"""The diagram of the JIT view's graph: boxes and wires if there is room, else one node per line, with lanes
from a Value down to its uses.

Lines are in the order of the text, so they keep their rows from pass to pass. Constants have no
line: they are written where they are used.
"""

from __future__ import annotations

from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.lines import GraphRow
from tui.render import Span, Target
from tui.render.boxes import Grid
from tui.render.glyphs import UP
from tui.render.graph import rails
from tui.views._view import DrawContext
from tui.views.jit.boxes import GONE, HIGH, WIDE, boxes_pane
from tui.views.jit.panes import STYLES, SYMBOLS
from tui.views.jit.rows import Region, first, listed, put_cut, sentence

CONSTANT = " = prim::Constant["


def diagram_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    """Draw the nodes around the selection or the last change, as many as there is room for."""
    if model.why_no_graph:
        sentence(grid, region, "diagram", model.why_no_graph)
        return
    if region.width >= WIDE and region.bottom - region.top > HIGH and len(model.boxes):
        boxes_pane(grid, region, model, context)
        return
    rows, constants = _rows(model, context.options.ghosts)
    heads, tails = _edges(rows)
    drawn = rails(len(rows), heads, tails, range(len(rows)))
    living = {row.node: at for at, row in enumerate(rows) if row.change not in GONE}
    glyphs = context.glyphs
    number_of = {id(row): at for at, row in enumerate(rows)}

    def draw(row: GraphRow, y: int) -> None:
        at = number_of[id(row)]
        target = Target(row.item)
        if row.highlighted or row.selected:
            grid.put(region.left, y, glyphs.highlighted, "path", target)
        if row.selected:
            grid.put(region.left + 1, y, glyphs.mark, "path", target)
        removed = living.get(row.node) != at
        glyph = SYMBOLS.get(row.change, glyphs.dot if removed else " ")
        own = STYLES.get(row.change, "")
        grid.put(region.left + 2, y, glyph, own or "number", target)
        x = region.left + 4
        lane = 2 * drawn.rows[at].lane
        for cell, sides in enumerate(drawn.sides(at)):
            is_node = cell == lane and not removed
            node = glyphs.came if sides & UP else glyphs.single
            text = node if is_node else glyphs.wire(sides) if sides else " "
            grid.put(x + cell, y, text, "op" if is_node else "wire", target if is_node else None)
        x += 2 * drawn.lanes
        highlighted = " highlighted" if row.highlighted or row.selected else ""
        spans = [
            Span(text, (own or style) + highlighted, target)
            for text, style in _label(row, constants)
        ]
        if drawn.rows[at].stubs:
            grid.put(x - 1, y, glyphs.far, "wire")
        put_cut(grid, x, y, spans, max(0, region.right - x), glyphs)

    focus = first(
        rows, lambda r: r.selected, lambda r: r.change not in ("", "gone"), lambda r: r.highlighted
    )
    listed(grid, region, glyphs, "diagram", rows, focus, draw)


def _rows(model: JitModel, ghosts: str) -> tuple[list[GraphRow], dict[int, str]]:
    """Return the rows that have a line, and the source of each constant by its Value."""
    hidden = {"": ("gone",), "all": (), "pass": ("gone",), "none": ("gone", "removed", "left")}[
        ghosts
    ]
    rows, constants = [], {}
    for row in model.rows:
        if CONSTANT in row.text or row.text.endswith(" = prim::Constant()"):
            text = row.text.partition(CONSTANT)[2].rpartition("]")[0].partition("=")[2]
            if row.defined:
                constants[row.defined[0]] = text or "None"
        elif row.change not in hidden or row.selected:
            rows.append(row)
    return rows, constants


def _edges(rows: list[GraphRow]) -> tuple[list[int], list[int]]:
    """Return the edges from each living node to the uses of its Values. (Parameters are only named.)"""
    alive = [(at, row) for at, row in enumerate(rows) if row.change not in GONE]
    maker = {
        value: at for at, row in alive for value in row.defined if row.parts[0].style == "name"
    }
    pairs = {(maker[v], at) for at, row in alive for v in row.used if v in maker}
    ordered = sorted(pair for pair in pairs if pair[0] < pair[1])
    return [head for head, _ in ordered], [tail for _, tail in ordered]


def _label(row: GraphRow, constants: dict[int, str]) -> list[tuple[str, str]]:
    """Return the line without types, with constants where they are used."""
    defined, spans = set(row.defined), []
    for part in row.parts:
        if part.style == "type":
            continue
        if part.value in constants and part.value not in defined:
            spans.append((constants[part.value], "number"))
        else:
            text = part.text.replace(" : ", "")
            spans.append((text.removeprefix("aten::"), part.style or "text"))
    return spans
