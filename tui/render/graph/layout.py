"""A layered drawing of a graph in whole cells.

Note [One layout per graph]: a graph is laid out once, with all nodes that it will ever have, and then
shown as far as it exists. So nothing moves while it grows or while its parts are freed.

Two kinds of edges are not drawn as wires: those that would pass more than FAR layers, and all but the first
few that lead to the same node, such as a weight that every step of a recurrent network uses. They end in a
portal: a stub below the node they leave, which names their target.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui.render.graph.columns import columns
from tui.render.graph.layers import depths, layers
from tui.render.graph.order import ordered
from tui.render.graph.route import Channel, Link, channel

__all__ = ["Layout", "Link", "layout"]

FAR = 24  # layers that a wire passes at most
SHARED = 6  # wires that end in one node at most
NEAR = 3  # layers within which twice as many are drawn


@dataclass(slots=True)
class Layout:
    """The position of everything. Rows and columns count from 0; a node covers `box` rows and widths[node] columns.

    Entries of `left`, `top`, `widths` past the nodes are portals: portals[i] (edges that go the same
    way) belongs to node number count + i.
    """

    count: int
    box: int
    left: list[int] = field(default_factory=list)
    top: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    layer: list[int] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)  # nodes, portals and bends by layer
    channels: list[Channel] = field(default_factory=list)
    tops: list[int] = field(default_factory=list)  # the first row of each layer
    portals: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)  # from, to, edges
    arriving: dict[int, list[int]] = field(default_factory=dict)  # node -> portals that lead to it
    bends: list[int] = field(
        default_factory=list
    )  # the edge of each bend, by number past the portals
    width: int = 0
    height: int = 0

    @property
    def solid(self) -> int:
        """Nodes and portals; what has a higher number is a bend of a long wire."""
        return self.count + len(self.portals)

    def layers_within(self, top: int, bottom: int) -> range:
        """Return the layers that are partly in rows [top, bottom), channels below them included."""
        first = max(0, bisect_right(self.tops, top) - 1)
        return range(first, bisect_left(self.tops, bottom))

    def nodes_within(self, layer: int, left: int, right: int) -> list[int]:
        """Return the nodes of a layer that are partly in columns [left, right)."""
        row = self.rows[layer]
        first = max(0, bisect_right(row, left, key=self.left.__getitem__) - 1)
        last = bisect_left(row, right, key=self.left.__getitem__)
        return row[first:last]

    def middle(self, node: int) -> tuple[int, int]:
        """Return the column and row in the middle of a node."""
        return self.left[node] + self.widths[node] // 2, self.top[node] + self.box // 2


def layout(
    widths: Sequence[int],
    heads: Sequence[int],
    tails: Sequence[int],
    box: int = 3,
    portal: int = 8,
) -> Layout:
    """Lay out a graph: node i is widths[i] cells wide, edge i leads down from heads[i] to tails[i].

    `box` is the height of a node and `portal` the width of a portal's stub, in cells.
    """
    count = len(widths)
    result = Layout(count, box, widths=list(widths))
    layer = layers(count, list(heads), list(tails))
    drawn = _portals(result, layer, heads, tails, portal)
    real = result.solid
    below: list[list[int]] = [[] for _ in range(real)]
    above: list[list[int]] = [[] for _ in range(real)]
    wires: list[list[tuple[int, int]]] = [[] for _ in range(real)]
    for edge, head, tail in drawn:
        _wire(result, layer, below, above, wires, edge, head, tail)
    depth = _depths(layer, below, real)
    result.rows = ordered(layer, below, above, depth)
    x = columns(result.rows, below, above, result.widths, layer, depth, real)
    _route(result, x, wires, real)
    result.layer = layer
    edge = min((x[node] - result.widths[node] // 2 for node in range(len(x))), default=0)
    result.left = [x[node] - result.widths[node] // 2 - edge for node in range(len(x))]
    if edge:
        for gap in result.channels:
            gap.links = [
                Link(k.edge, k.net, k.x0 - edge, k.x1 - edge, k.track, k.lower) for k in gap.links
            ]
    result.top = [result.tops[at] for at in layer]
    result.width = max(
        (left + width for left, width in zip(result.left, result.widths, strict=True)), default=0
    )
    return result


def _portals(
    layout: Layout, layer: list[int], heads: Sequence[int], tails: Sequence[int], width: int
) -> list[tuple[int, int, int]]:
    """Return (edge, head, tail) of every wire; an edge without a wire becomes a portal, a node below its head."""
    users = [0] * layout.count
    for tail in tails:
        users[tail] += 1
    entering = [0] * layout.count
    drawn: list[tuple[int, int, int]] = []
    stubs: dict[tuple[int, int], list[int]] = {}
    for edge, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        span = layer[tail] - layer[head]
        if span > FAR or span < 1 or users[tail] > SHARED * (2 if span <= NEAR else 1):
            stubs.setdefault((head, tail), []).append(edge)
        else:
            drawn.append((edge, head, tail))
            entering[tail] += 1
    for node, wires in enumerate(entering):  # room for each to come down on its own column
        layout.widths[node] = max(layout.widths[node], 2 * wires + 1)
    for (head, tail), edges in stubs.items():
        number = layout.solid
        layout.portals.append((head, tail, tuple(edges)))
        layout.arriving.setdefault(tail, []).append(number)
        layout.widths.append(width)
        layer.append(layer[head] + 1)
        drawn.append((edges[0], head, number))
    return drawn


def _wire(
    layout: Layout,
    layer: list[int],
    below: list[list[int]],
    above: list[list[int]],
    wires: list[list[tuple[int, int]]],
    edge: int,
    head: int,
    tail: int,
) -> None:
    """Connect two nodes, with a bend on every layer between them."""
    upper = head
    for at in range(layer[head] + 1, layer[tail]):
        bend = len(below)
        below.append([])
        above.append([upper])
        wires.append([])
        layer.append(at)
        layout.widths.append(1)
        layout.bends.append(edge)
        below[upper].append(bend)
        wires[upper].append((edge, bend))
        upper = bend
    below[upper].append(tail)
    above[tail].append(upper)
    wires[upper].append((edge, tail))


def _depths(layer: list[int], below: list[list[int]], real: int) -> list[int]:
    """Return the depth of the graph below each node; of bends a little less, so that boxes stay in line."""
    depth = depths(len(layer), below, layer)
    for bend in range(real, len(layer)):
        depth[bend] = max(0, depth[bend] - 2)
    return depth


def _route(layout: Layout, x: list[int], wires: list[list[tuple[int, int]]], real: int) -> None:
    y = 0
    for at, row in enumerate(layout.rows):
        layout.tops.append(y)
        y += layout.box
        if at + 1 < len(layout.rows):
            gap = channel(row, wires, x, layout.widths, real, layout.rows[at + 1])
            layout.channels.append(gap)
            y += gap.tracks + 1
    layout.height = y
