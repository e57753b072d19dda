"""The graph of the JIT view drawn with boxes and wires, if there is room for it.

All states of a graph are laid out together, once: a node keeps its position from pass to pass, and the
position of a removed node stays empty. The window around the selection or the last change is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.dataflow import FlowBox, constants_of, label
from engine.inspect.models.jit.lines import GraphRow
from tui.render import Span, Target, cells
from tui.render.boxes import Grid
from tui.render.glyphs import translated
from tui.render.graph import Layout, layout
from tui.render.graph.raster import Raster
from tui.views._view import DrawContext
from tui.views.autograd.graph import corner
from tui.views.autograd.scene import IdentityCache
from tui.views.jit.panes import STYLES, SYMBOLS
from tui.views.jit.rows import Region, first, put_cut

GONE = ("gone", "left", "removed")
"""The changes of nodes that are not in the graph of this moment."""
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


def _placed_boxes(boxes: tuple[FlowBox, ...], high: int) -> Placed:
    at = {box.node: index for index, box in enumerate(boxes)}
    pairs = [(at[above], at[box.node]) for box in boxes for above in box.above if above in at]
    heads, tails = tuple(head for head, _ in pairs), tuple(tail for _, tail in pairs)
    widths = [(box.width + EDGE) | 1 for box in boxes]
    return Placed(
        layout(widths, heads, tails, high, PORTAL),
        tuple(box.node for box in boxes),
        at,
        heads,
        tails,
    )


_placed = IdentityCache(_placed_boxes)


def boxes_pane(grid: Grid, region: Region, model: JitModel, context: DrawContext) -> None:
    """Draw the window of the diagram that there is room for."""
    Drawing(model, context, region).onto(grid)


def within(start: int, room: int, low: int, high: int, at: int) -> int:
    """Return the start of a window, moved as little as needed so that nothing from `low` to `high` is cut if it
    fits, and no room is lost if it does not; `at` stays in sight."""
    if high - low <= room:
        return min(max(start, high - room), low)
    start = min(max(start, low), high - room)
    return min(max(start, at - room + 1), at)


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
            for value in row.defined
        )

    def _framed(self, boxes: tuple[FlowBox, ...]) -> Placed | None:
        """Return the layout with frames, if all of it fits."""
        if len(boxes) * FRAMED > self.width * self.height:
            return None
        placed = _placed(boxes, 3)
        boxes_layout = placed.layout
        return (
            placed
            if boxes_layout.width <= self.width and boxes_layout.height <= self.height
            else None
        )

    def _rows(self) -> dict[int, GraphRow]:
        """Return the row of each drawn node, by the number of its box."""
        ghosts = self.context.options.ghosts
        hidden = GONE if ghosts == "none" else () if ghosts == "all" else ("gone",)
        drawn: dict[int, GraphRow] = {}
        for row in self.model.rows:
            at = self.placed.at.get(row.node)
            if at is None or (row.change in hidden and not row.selected):
                continue
            if at not in drawn or row.change not in GONE:
                drawn[at] = row
        return drawn

    def onto(self, grid: Grid) -> None:
        boxes_layout, region = self.placed.layout, self.region
        focus = self._focus()
        x, y = boxes_layout.middle(focus) if boxes_layout.count else (0, 0)
        left, top = self._corner(x, y)
        raster = Raster(self.width, self.height, self.context.glyphs)
        layers = boxes_layout.layers_within(top, top + self.height)
        channels = range(max(0, layers.start - 1), min(layers.stop, len(boxes_layout.channels)))
        alive = {
            (self.placed.at[a], self.placed.at[b])
            for a, b in self.model.wires
            if a in self.placed.at and b in self.placed.at
        }
        for highlighted in (
            False,
            True,
        ):  # highlighted wires are drawn last, so that they are on top
            for at in channels:
                self._wires(raster, at, left, top, alive, highlighted)
        for at in layers:
            for item in boxes_layout.nodes_within(at, left, left + self.width):
                if item < boxes_layout.count and item in self.rows:
                    self._box(raster, item, self.rows[item], left, top)
                elif boxes_layout.count <= item < boxes_layout.solid:
                    self._portal(raster, item, left, top, alive)
        self._head(grid, raster, left, top)
        for line in range(self.height):
            grid.spans(region.left, region.top + 1 + line, raster.line(line), self.width)

    def _corner(self, x: int, y: int) -> tuple[int, int]:
        """Return the start of the window round (x, y). The places of nodes of other states need not be in sight."""
        placed, drawn = self.placed.layout, list(self.rows)
        left, top = corner(x, self.width, placed.width), corner(y, self.height, placed.height)
        if drawn:
            right = max(placed.left[at] + placed.widths[at] for at in drawn)
            bottom = max(placed.top[at] + placed.box for at in drawn)
            left = within(left, self.width, min(placed.left[at] for at in drawn), right, x)
            top = within(top, self.height, min(placed.top[at] for at in drawn), bottom, y)
        return left, top

    def _focus(self) -> int:
        """Return the box that the window is drawn round; not one that an earlier pass removed, if there is another."""
        rows = list(self.rows.items())
        tests = (
            lambda item: item[1].selected and item[1].change != "gone",
            lambda item: item[1].change not in ("", "gone"),
            lambda item: item[1].highlighted and item[1].change != "gone",
            lambda item: item[1].selected,
        )
        return rows[first(rows, *tests)][0] if rows else 0

    def _head(self, grid: Grid, raster: Raster, left: int, top: int) -> None:
        """Draw the heading, which counts the boxes outside the window."""
        boxes_layout, region, glyphs = self.placed.layout, self.region, self.context.glyphs
        x = grid.put(region.left + 1, region.top, "diagram", "head", room=region.width - 1)
        beyond = [
            (glyphs.arrow_up, sum(boxes_layout.top[at] < top for at in self.rows)),
            (glyphs.arrow_down, sum(boxes_layout.top[at] >= top + self.height for at in self.rows)),
            (
                glyphs.arrow_left,
                sum(boxes_layout.left[at] + boxes_layout.widths[at] <= left for at in self.rows),
            ),
            (glyphs.arrow, sum(boxes_layout.left[at] >= left + self.width for at in self.rows)),
        ]
        hidden = " ".join(f"{glyph}{count}" for glyph, count in beyond if count)
        grid.put(x + 1, region.top, hidden, "dim", room=max(0, region.right - x - 1))

    # Wires

    def _is_highlighted(self, head: int, tail: int) -> bool:
        rows = (self.rows.get(head), self.rows.get(tail))
        return all(row is not None and (row.highlighted or row.selected) for row in rows)

    def _wires(
        self,
        raster: Raster,
        at: int,
        left: int,
        top: int,
        alive: set[tuple[int, int]],
        highlighted: bool,
    ) -> None:
        """Draw the channel below layer `at`, and the long wires that pass the layer under it."""
        boxes_layout, placed = self.placed.layout, self.placed
        above = boxes_layout.tops[at] + boxes_layout.box - top
        end = boxes_layout.tops[at + 1] - 1 - top
        for link in boxes_layout.channels[at].links:
            head, tail = placed.heads[link.edge], placed.tails[link.edge]
            if (head, tail) not in alive or self._is_highlighted(head, tail) is not highlighted:
                continue
            if max(link.x0, link.x1) < left or min(link.x0, link.x1) >= left + self.width:
                continue
            style = "path" if highlighted else "wire"
            raster.net = head  # a wire is one net all the way, bends and all
            x0, x1 = link.x0 - left, link.x1 - left
            turn = above + link.track if link.track >= 0 else end
            past = (
                link.lower >= boxes_layout.solid
            )  # a bend: the wire continues through the next layer
            raster.down(x0, above - 1, turn + (past and link.track < 0), style, highlighted)
            raster.across(x0, x1, turn, style, highlighted)
            if link.track >= 0:
                raster.down(x1, turn, end + past, style, highlighted)
            if past:
                raster.down(
                    x1, end, boxes_layout.tops[at + 1] + boxes_layout.box - top, style, highlighted
                )
            elif link.lower < boxes_layout.count:
                raster.text(x1, end, self.context.glyphs.came, style)

    def _portal(
        self, raster: Raster, item: int, left: int, top: int, alive: set[tuple[int, int]]
    ) -> None:
        """Draw a stub that names the end of a wire that is not drawn."""
        boxes_layout, glyphs = self.placed.layout, self.context.glyphs
        head, tail, _ = boxes_layout.portals[item - boxes_layout.count]
        if (head, tail) not in alive or tail not in self.rows:
            return
        row = self.rows[tail]
        name = next((part.text for part in row.parts if part.value), "return")
        text = f"{glyphs.far}{name}"[: boxes_layout.widths[item]]
        style = "path" if self._is_highlighted(head, tail) else "dim"
        target = Target(row.item)
        raster.text(
            boxes_layout.left[item] - left, boxes_layout.top[item] - top, text, style, target
        )

    # Boxes

    def _box(self, raster: Raster, item: int, row: GraphRow, left: int, top: int) -> None:
        boxes_layout, glyphs = self.placed.layout, self.context.glyphs
        x, y, width = (
            boxes_layout.left[item] - left,
            boxes_layout.top[item] - top,
            boxes_layout.widths[item],
        )
        target = Target(row.item)
        highlighted = row.highlighted or row.selected
        frame = "path" if highlighted else "frame"
        if boxes_layout.box == 3:
            raster.box(x, y, width, 3, frame, highlighted)
            y += 1
        else:
            raster.blank(x, y, width)
            left_wall, right_wall = (
                (glyphs.highlighted, glyphs.highlighted) if highlighted else ("[", "]")
            )
            raster.text(x, y, left_wall, frame, target)
            raster.text(x + width - 1, y, right_wall, frame, target)
        own = STYLES.get(row.change, "")
        removed = glyphs.dot if row.change == "gone" else " "
        line = Grid(max(2, width - 2), 1, glyphs)
        line.put(0, 0, glyphs.mark if row.selected else " ", "path", target)
        line.put(1, 0, SYMBOLS.get(row.change, removed), own or "number", target)
        spans = [
            Span(
                translated(part.text, glyphs),
                (own or part.style or "text") + (" highlighted" if highlighted else ""),
                target,
            )
            for part in label(row.parts, self.constants, self.wired)
        ]
        put_cut(line, 2, 0, spans, max(0, width - 4), glyphs)
        at = x + 1
        for span in line.line(0):
            raster.text(at, y, span.text, span.style, span.target)
            at += cells(span.text)
        if x < 0 < x + width:  # more of it is outside the window
            raster.text(0, y, glyphs.ellipsis, frame, target)
        if x < self.width < x + width:
            raster.text(self.width - 1, y, glyphs.ellipsis, frame, target)
