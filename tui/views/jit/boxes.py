"""The graph of the JIT view drawn with boxes and wires, where there is room for it.

All states of a graph are laid out together, once: a node keeps its place from pass to pass, and where one
is gone its place stays empty. Drawn is the window round what matters.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.dataflow import FlowBox, constants_of, label
from engine.inspect.models.jit.lines import GraphRow
from engine.inspect.selection import ValueSelection
from tui.render import Span, Target, cells
from tui.render.boxes import Grid
from tui.render.glyphs import translated
from tui.render.graph import Layout, layout
from tui.render.graph.raster import Raster
from tui.views._view import DrawContext
from tui.views.autograd.graph import corner
from tui.views.autograd.scene import Kept
from tui.views.jit.panes import SIGNS, STYLES
from tui.views.jit.rows import Region, first, put_cut

GONE = ("gone", "left", "removed")
WIDE, HIGH = 44, 14  # cells from which boxes are drawn instead of lanes
PORTAL = 10
FRAMED = 3 * (5 + 1)  # cells that a box with a frame takes at least
EDGE = 5  # cells of a box that are not its label


@dataclass(frozen=True, slots=True)
class Placed:
    """The layout of all boxes of a graph, and their nodes."""

    layout: Layout
    nodes: tuple[int, ...]
    at: dict[int, int]  # by node
    heads: tuple[int, ...]
    tails: tuple[int, ...]


def _place(boxes: tuple[FlowBox, ...], high: int) -> Placed:
    at = {box.node: place for place, box in enumerate(boxes)}
    pairs = [(at[above], at[box.node]) for box in boxes for above in box.above if above in at]
    heads, tails = tuple(head for head, _ in pairs), tuple(tail for _, tail in pairs)
    widths = [(box.width + EDGE) | 1 for box in boxes]
    made = layout(widths, heads, tails, high, PORTAL)
    return Placed(made, tuple(box.node for box in boxes), at, heads, tails)


_placed = Kept(_place)


def boxes_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    """The window of the drawing that there is room for."""
    Drawing(model, context, region).onto(grid)


class Drawing:
    """One state of a graph, drawn on the layout of all."""

    def __init__(self, model: JitModel, context: DrawContext, region: Region) -> None:
        self.model, self.context, self.region = model, context, region
        self.width, self.height = region.width, region.bottom - region.top - 1
        boxes = getattr(model.boxes, "boxes", lambda: tuple(model.boxes))()
        self.placed = self._framed(boxes) or _placed(boxes, 1)
        self.rows = self._rows()
        self.constants = constants_of([row.parts for row in model.rows])
        self.wired = frozenset(
            value
            for row in self.rows.values()
            if row.parts[0].text not in ("return (", "-> (")
            for value in row.made
        )

    def _framed(self, boxes: tuple[FlowBox, ...]) -> Placed | None:
        """With frames, if all of it fits so."""
        if len(boxes) * FRAMED > self.width * self.height:
            return None
        placed = _placed(boxes, 3)
        made = placed.layout
        return placed if made.width <= self.width and made.height <= self.height else None

    def _rows(self) -> dict[int, GraphRow]:
        """By the number of its box, the row of each node that is drawn."""
        ghosts = self.context.options.ghosts
        away = GONE if ghosts == "none" else () if ghosts == "all" else ("gone",)
        found: dict[int, GraphRow] = {}
        for row in self.model.rows:
            at = self.placed.at.get(row.node)
            if at is None or (row.change in away and not row.chosen):
                continue
            if at not in found or row.change not in GONE:
                found[at] = row
        return found

    def onto(self, grid: Grid) -> None:
        made, region = self.placed.layout, self.region
        focus = self._focus()
        x, y = made.middle(focus) if made.count else (0, 0)
        left, top = corner(x, self.width, made.width), corner(y, self.height, made.height)
        raster = Raster(self.width, self.height, self.context.glyphs)
        shown = made.layers_within(top, top + self.height)
        channels = range(max(0, shown.start - 1), min(shown.stop, len(made.channels)))
        alive = {
            (self.placed.at[a], self.placed.at[b])
            for a, b in self.model.wires
            if a in self.placed.at and b in self.placed.at
        }
        for lit in (False, True):  # what is lit is drawn last, so that it is on top
            for at in channels:
                self._wires(raster, at, left, top, alive, lit)
        for at in shown:
            for item in made.nodes_within(at, left, left + self.width):
                if item < made.count and item in self.rows:
                    self._box(raster, item, self.rows[item], left, top)
                elif made.count <= item < made.solid:
                    self._portal(raster, item, left, top, alive)
        self._head(grid, raster, left, top)
        for line in range(self.height):
            grid.spans(region.left, region.top + 1 + line, raster.line(line), self.width)

    def _focus(self) -> int:
        """The box that the window is drawn round: of what is gone long since, what it became."""
        rows = list(self.rows.items())
        tests = (
            lambda one: one[1].chosen and one[1].change != "gone",
            lambda one: one[1].change not in ("", "gone"),
            lambda one: one[1].highlighted and one[1].change != "gone",
            lambda one: one[1].chosen,
        )
        return rows[first(rows, *tests)][0] if rows else 0

    def _head(self, grid: Grid, raster: Raster, left: int, top: int) -> None:
        """The heading, with what of the drawing is outside of the window."""
        made, region, glyphs = self.placed.layout, self.region, self.context.glyphs
        x = grid.put(region.left + 1, region.top, "drawn", "head", room=region.width - 1)
        beyond = [
            (glyphs.arrow_up, sum(made.top[at] < top for at in self.rows)),
            (glyphs.arrow_down, sum(made.top[at] >= top + self.height for at in self.rows)),
            (glyphs.arrow_left, sum(made.left[at] + made.widths[at] <= left for at in self.rows)),
            (glyphs.arrow, sum(made.left[at] >= left + self.width for at in self.rows)),
        ]
        said = " ".join(f"{sign}{count}" for sign, count in beyond if count)
        grid.put(x + 1, region.top, said, "dim", room=max(0, region.right - x - 1))

    # Wires

    def _is_lit(self, head: int, tail: int) -> bool:
        rows = (self.rows.get(head), self.rows.get(tail))
        return all(row is not None and (row.highlighted or row.chosen) for row in rows)

    def _wires(
        self, raster: Raster, at: int, left: int, top: int, alive: set[tuple[int, int]], lit: bool
    ) -> None:
        """The channel below layer `at`, and the long wires that pass the layer under it."""
        made, placed = self.placed.layout, self.placed
        above = made.tops[at] + made.box - top
        end = made.tops[at + 1] - 1 - top
        for link in made.channels[at].links:
            head, tail = placed.heads[link.edge], placed.tails[link.edge]
            if (head, tail) not in alive or self._is_lit(head, tail) is not lit:
                continue
            if max(link.x0, link.x1) < left or min(link.x0, link.x1) >= left + self.width:
                continue
            style = "path" if lit else "wire"
            raster.net = head  # a wire is one net all the way, bends and all
            x0, x1 = link.x0 - left, link.x1 - left
            turn = above + link.track if link.track >= 0 else end
            past = link.lower >= made.solid  # a bend: the wire goes on through the next layer
            raster.down(x0, above - 1, turn + (past and link.track < 0), style, lit)
            raster.across(x0, x1, turn, style, lit)
            if link.track >= 0:
                raster.down(x1, turn, end + past, style, lit)
            if past:
                raster.down(x1, end, made.tops[at + 1] + made.box - top, style, lit)
            elif link.lower < made.count:
                raster.text(x1, end, self.context.glyphs.came, style)

    def _portal(
        self, raster: Raster, item: int, left: int, top: int, alive: set[tuple[int, int]]
    ) -> None:
        """A stub that says where a wire goes that is not drawn."""
        made, glyphs = self.placed.layout, self.context.glyphs
        head, tail, _ = made.portals[item - made.count]
        if (head, tail) not in alive or tail not in self.rows:
            return
        row = self.rows[tail]
        name = next((part.text for part in row.parts if part.value), "return")
        text = f"{glyphs.far}{name}"[: made.widths[item]]
        style = "path" if self._is_lit(head, tail) else "dim"
        target = Target(ValueSelection(row.number))
        raster.text(made.left[item] - left, made.top[item] - top, text, style, target)

    # Boxes

    def _box(self, raster: Raster, item: int, row: GraphRow, left: int, top: int) -> None:
        made, glyphs = self.placed.layout, self.context.glyphs
        x, y, width = made.left[item] - left, made.top[item] - top, made.widths[item]
        target = Target(ValueSelection(row.number))
        lit = row.highlighted or row.chosen
        frame = "path" if lit else "frame"
        if made.box == 3:
            raster.box(x, y, width, 3, frame, lit)
            y += 1
        else:
            raster.blank(x, y, width)
            left_wall, right_wall = (glyphs.lit, glyphs.lit) if lit else ("[", "]")
            raster.text(x, y, left_wall, frame, target)
            raster.text(x + width - 1, y, right_wall, frame, target)
        own = STYLES.get(row.change, "")
        gone = glyphs.dot if row.change == "gone" else " "
        line = Grid(max(2, width - 2), 1, glyphs)
        line.put(0, 0, glyphs.mark if row.chosen else " ", "path", target)
        line.put(1, 0, SIGNS.get(row.change, gone), own or "number", target)
        spans = [
            Span(
                translated(part.text, glyphs),
                (own or part.style or "text") + (" lit" if lit else ""),
                target,
            )
            for part in label(row.parts, self.constants, self.wired)
        ]
        put_cut(line, 2, 0, spans, max(0, width - 4), glyphs)
        at = x + 1
        for span in line.line(0):
            raster.text(at, y, span.text, span.style, span.target)
            at += cells(span.text)
