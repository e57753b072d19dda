"""The graph drawn as boxes or as rows: the window of it that there is room for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from engine.inspect.models.autograd import Autograd, NodeBox
from engine.inspect.selection import NodeSelection, Selection
from tui.render import Target, cells, cut
from tui.render.glyphs import DOWN, UP, translated
from tui.render.graph import Layout, Link
from tui.render.graph.raster import Raster
from tui.views._view import DrawContext
from tui.views.autograd.fold import NODE, Folded
from tui.views.autograd.glyphs import StateGlyph, buffer_text, item_glyph, wire_glyph
from tui.views.autograd.items import Edge, Group, node_target
from tui.views.autograd.scene import STATE, Scene


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """An item with its position, symbol and target in the drawing."""

    item: int
    x: int
    y: int
    width: int
    glyph: StateGlyph
    box: NodeBox | None
    target: Target
    highlighted: bool

    @property
    def style(self) -> str:
        return (
            f"{self.glyph.style} highlighted"
            if self.highlighted and self.glyph.style != "current"
            else self.glyph.style
        )

    @property
    def frame(self) -> str:
        return "path" if self.highlighted else self.glyph.frame


@dataclass
class Window:
    """A part of a layout, `width` x `height` cells, with the item `focus` in sight."""

    model: Autograd
    scene: Scene
    context: DrawContext
    width: int
    height: int
    focus: int
    x: int = 0
    y: int = 0
    _glyphs: dict[int, StateGlyph] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        assert self.scene.layout is not None
        return self.scene.layout

    @property
    def folded(self) -> Folded:
        return self.scene.folded

    def drawn(self) -> Raster:
        layout = self.layout
        raster = Raster(self.width, self.height, self.context.glyphs)
        x, y = layout.middle(self.focus) if self.focus >= 0 else (layout.width // 2, 0)
        self.x, self.y = corner(x, self.width, layout.width), corner(y, self.height, layout.height)
        layers = layout.layers_within(self.y, self.y + self.height)
        channels = range(max(0, layers.start - 1), min(layers.stop, len(layout.channels)))
        visible = [(at, self._visible(at)) for at in channels]
        for highlighted in (
            False,
            True,
        ):  # highlighted wires are drawn last, so that they are on top
            for at, links in visible:
                self._wires(raster, at, links, highlighted)
        for at in layers:
            for item in layout.nodes_within(at, self.x, self.x + self.width):
                if item < layout.count:
                    self._item(raster, item)
                elif item < layout.solid:
                    self._portal(raster, item)
        return raster

    def seen(self) -> str:
        """Return the visible layers and columns in words, if some are not visible."""
        tops, box = self.layout.tops, self.layout.box
        first = bisect_left(tops, self.y)
        last = bisect_right(tops, self.y + self.height - box)
        parts = []
        if first or last < len(tops):
            parts.append(f"layers {first + 1}-{last} of {len(tops)}")
        if self.layout.width > self.width:
            parts.append(f"columns {self.x + 1}-{self.x + self.width} of {self.layout.width}")
        return f" {self.context.glyphs.dot} ".join(parts)

    def _glyph(self, item: int) -> StateGlyph:
        if item not in self._glyphs:
            self._glyphs[item] = item_glyph(self.model, self.folded, item, self.context.glyphs)
        return self._glyphs[item]

    def _wire(self, edge: int) -> tuple[str, str]:
        state = self._glyph(self.folded.heads[edge])
        return wire_glyph(self.model, self.folded, edge, state, self.context.glyphs)

    def _label(self, item: int) -> str:
        return translated(self.scene.labels[item], self.context.glyphs)

    # Wires

    def _visible(self, at: int) -> list[Link]:
        """Return the links below a layer that are partly in the window."""
        left, right = self.x, self.x + self.width
        return [
            link
            for link in self.layout.channels[at].links
            if (link.x0 < right or link.x1 < right) and (link.x0 >= left or link.x1 >= left)
        ]

    def _wires(self, raster: Raster, at: int, links: list[Link], highlighted: bool) -> None:
        """Draw the channel below layer `at`, and the long wires that pass the layer under it."""
        layout = self.layout
        top = layout.tops[at] + layout.box - self.y
        end = layout.tops[at + 1] - 1 - self.y
        left, right = self.x, self.x + self.width
        buses: dict[int, tuple[int, int, int, int]] = {}  # by net: the ends of wires that only pass
        for link in links:
            head, tail = self.folded.heads[link.edge], self.folded.tails[link.edge]
            if (self.focus in (head, tail)) is not highlighted or not self._glyph(head).exists:
                continue
            if not left <= link.x1 < right:  # a stack of thousands has thousands of these
                _, low, high, _ = buses.get(link.net, (0, link.x0, link.x0, 0))
                low, high = min(low, link.x1), max(high, link.x1)
                buses[link.net] = (link.edge, low, high, link.track)
                continue
            glyph, style = self._wire(link.edge)
            style = "path" if highlighted else style
            raster.net = head  # a wire is one net all the way, bends and all
            x0, x1 = link.x0 - self.x, link.x1 - self.x
            turn = top + link.track if link.track >= 0 else end
            past = link.lower >= layout.solid  # a bend: the wire continues through the next layer
            raster.down(x0, top - 1, turn + (past and link.track < 0), style, highlighted)
            raster.across(x0, x1, turn, style, highlighted)
            if link.track >= 0:
                raster.down(x1, turn, end + past, style, highlighted)
            if past:
                raster.down(x1, end, layout.tops[at + 1] + layout.box - self.y, style, highlighted)
            elif link.lower < layout.count:
                raster.text(x1, end, glyph, style)
        for net, (edge, low, high, track) in buses.items():
            style = "path" if highlighted else self._wire(edge)[1]
            raster.net = self.folded.heads[edge]
            column = layout.left[net] + layout.widths[net] // 2 - self.x
            raster.down(column, top - 1, top + track, style, highlighted)
            raster.across(low - self.x, high - self.x, top + track, style, highlighted)

    # Items

    def _item(self, raster: Raster, item: int) -> None:
        glyph = self._glyph(item)
        if not glyph.exists:
            return
        key = self.folded.items[item].key
        box = self.model.nodes.of(key[0]) if key[1] == NODE else None
        placed = PlacedItem(
            item,
            self.layout.left[item] - self.x,
            self.layout.top[item] - self.y,
            self.layout.widths[item],
            glyph,
            box,
            item_target(self.folded, item, box),
            item == self.focus or belongs(box, self.context.selection),
        )
        if self.layout.box == 1:
            self._row(raster, placed)
        else:
            self._box(raster, placed)
        middle = placed.y + self.layout.box // 2
        if placed.x < 0 < placed.x + placed.width:  # more of it is outside the window
            raster.text(0, middle, self.context.glyphs.ellipsis, placed.frame, placed.target)
        if placed.x < self.width < placed.x + placed.width:
            last = self.width - 1
            raster.text(last, middle, self.context.glyphs.ellipsis, placed.frame, placed.target)

    def _box(self, raster: Raster, placed: PlacedItem) -> None:
        """Draw state and name inside a frame; in its top line the buffer and the tensor whose gradient it holds,
        in its bottom line the saved tensors."""
        glyphs, glyph, target = self.context.glyphs, placed.glyph, placed.target
        x, y, width = placed.x, placed.y, placed.width
        raster.box(x, y, width, 3, placed.frame, placed.highlighted)
        text = cut(f" {_state(glyph)}{self._label(placed.item)}", width - 2, glyphs.ellipsis)
        blank = " " * (width - 2 - cells(text))
        fills_box = glyph.style == "current"
        raster.text(x + 1, y + 1, text + (blank if fills_box else ""), placed.style, target)
        if not fills_box:
            raster.text(x + 1 + cells(text), y + 1, blank, "", target)
        buffer, name, below = self._notes(placed)
        room = width - 4
        if buffer:
            raster.text(x + 2, y, cut(buffer, room, glyphs.ellipsis), placed.frame)
            room -= cells(buffer) + 1
        name = cut(name, max(0, room), glyphs.ellipsis)
        raster.text(x + width - 2 - cells(name), y, name, "name")
        values = gradient_values(placed.box)
        if values and cells(values) + cells(name) + bool(name) <= room:
            raster.text(x + 3 + cells(buffer), y, values, "number")
        ends = placed.box is not None and placed.box.fact.leaf  # no wire leaves it
        below = cut(below, width - 4 if ends else max(0, width // 2 - 3), glyphs.ellipsis)
        raster.text(x + 2, y + 2, below, "error" if glyph.stale else "dim")

    def _notes(self, placed: PlacedItem) -> tuple[str, str, str]:
        """Return buffer, name of the tensor, what is saved."""
        glyphs, box = self.context.glyphs, placed.box
        far = len(self.layout.arriving.get(placed.item, ()))
        joins = f"{glyphs.joins}{far}" if far else ""
        if box is None:
            return joins, "", ""
        buffer = " ".join(filter(None, (buffer_text(box, glyphs), joins)))
        if box.fact.leaf:
            grad = box.grad
            note = "" if grad is None else f"grad {glyphs.single if grad.tensor else glyphs.none}"
            values = known_values(grad.text) if grad is not None else ""
            full = f"{note} {values}"
            fits = values and cells(full) <= placed.width - 4
            return buffer, "", full if fits else note
        saved = sum(each.released < 0 for each in box.saved)
        return buffer, tensor_name(box), f"{glyphs.saved}{saved}" if saved else ""

    def _row(self, raster: Raster, placed: PlacedItem) -> None:
        glyphs, glyph, target = self.context.glyphs, placed.glyph, placed.target
        x, y, width = placed.x, placed.y, placed.width
        text = cut(f"{_state(glyph)}{self._label(placed.item)}", width - 3, glyphs.ellipsis)
        raster.text(x, y, " " * width, "", target)
        wall = glyphs.wire(UP | DOWN, True)
        left, right = (wall, wall) if placed.highlighted else ("[", "]")
        raster.text(x, y, left, placed.frame, target)
        raster.text(x + 1, y, text, placed.style, target)
        buffer = buffer_text(placed.box, glyphs)[:1] if placed.box is not None else ""
        raster.text(x + width - 2, y, buffer or " ", placed.frame, target)
        raster.text(x + width - 1, y, right, placed.frame, target)

    def _portal(self, raster: Raster, item: int) -> None:
        """Draw a stub that names the end of a wire that is not drawn."""
        layout, glyphs = self.layout, self.context.glyphs
        head, tail, edges = layout.portals[item - layout.count]
        if not self._glyph(head).exists:
            return
        style = self._wire(edges[0])[1]
        text = cut(f"{glyphs.far}{self._label(tail)}", layout.widths[item], glyphs.ellipsis)
        x, y = layout.left[item] - self.x, layout.top[item] - self.y
        highlighted = self.focus in (head, tail)
        target = edge_target(self.folded, head, tail)
        raster.text(x, y, text, "path" if highlighted else style, target)


def corner(at: int, room: int, size: int) -> int:
    """Return the start of a window of `room` cells that shows `at`. It moves in steps of a third, so that most
    steps of the program do not move it; a picture smaller than the room is centred (< 0)."""
    if size <= room:
        return -((room - size) // 2)
    step = max(1, room // 3)
    wished = (at - room // 2 + step // 2) // step * step
    return max(0, min(wished, size - room))


def belongs(box: NodeBox | None, selection: Selection) -> bool:
    """Return whether a node is highlighted. A selected node highlights those that have to do with its tensor, not all
    nodes of its line."""
    if box is None or not box.highlighted or not selection.node:
        return box is not None and box.highlighted
    return NodeSelection(box.fact.id) == selection.node or selection.tensor in box.touches


def tensor_name(box: NodeBox) -> str:
    """Return the name of the tensor whose grad_fn a node is, if it has one."""
    named = (flow.label for flow in box.outputs if not flow.label.startswith("#"))
    return next(named, "")


def known_values(text: str) -> str:
    """Return the first numbers of a tensor; "" if the trace has none of them."""
    return text if text.strip("?, .") else ""


def gradient_values(box: NodeBox | None) -> str:
    """Return the numbers in a node's buffer, if it has one buffer and they are not all zero."""
    if box is None or len(box.inputs) != 1 or box.inputs[0].state == "zero":
        return ""
    return known_values(box.inputs[0].text)


def _state(glyph: StateGlyph) -> str:
    """Return the state, padded so that names are aligned."""
    return glyph.text.ljust(STATE - 1) + " "


def item_target(folded: Folded, item: int, box: NodeBox | None) -> Target:
    """Return the target of an item: a node with its tensor and its line, or a group that can be opened."""
    entry = folded.items[item]
    if entry.key[1] != NODE:
        return Target(Group(*entry.key))
    fact = folded.part.nodes[entry.members[0]]
    tensor = fact.variable or next((flow.tensor for flow in box.outputs), 0) if box else 0
    return node_target(fact, tensor)


def edge_target(folded: Folded, head: int, tail: int) -> Target:
    """Return the target of an edge: pointing at it selects the first item, Enter goes to the second."""
    start, end = (folded.items[item].key[0] for item in (head, tail))
    return Target(Edge(start, end))
