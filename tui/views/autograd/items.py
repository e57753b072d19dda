"""The items of the graph that are not nodes: edges, and groups of nodes that are drawn as one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.inspect.selection import NodeSelection
from tui.render.target import ViewItem


@dataclass(frozen=True, slots=True)
class Edge(ViewItem):
    """An edge: pointing at it selects `node`, Enter goes to `next`."""

    node: int
    next: int = 0

    @property
    def selects(self) -> NodeSelection:
        return NodeSelection(self.node)


@dataclass(frozen=True, slots=True)
class Group(ViewItem):
    """Nodes that are drawn as one item, with the key of that item."""

    node: int
    number: int

    @property
    def selects(self) -> NodeSelection:
        return NodeSelection(self.node)


@dataclass(frozen=True, slots=True)
class Details(ViewItem):
    """The page about a node: Enter opens it."""

    node: int
    opens_details = True

    @property
    def selects(self) -> NodeSelection:
        return NodeSelection(self.node)
