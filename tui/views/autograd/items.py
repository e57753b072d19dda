"""The items of the graph, and their targets: nodes, edges, and groups of nodes that are drawn as one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.inspect.models.autograd.boxes import NodeFact
from engine.inspect.selection import (
    CallSelection,
    LineSelection,
    NodeSelection,
    SelectionItem,
    TensorSelection,
)
from tui.render.target import Target, ViewItem


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


def node_target(fact: NodeFact, tensor: int = 0) -> Target:
    """Return the target of a node, with a tensor, its line and its call, as far as there are any."""
    also: list[SelectionItem] = []
    if tensor:
        also.append(TensorSelection(tensor))
    if fact.line:
        also.append(LineSelection(fact.file, fact.line))
    if fact.call:
        also.append(CallSelection(fact.call))
    return Target(NodeSelection(fact.id), tuple(also))


def tensor_target(tensor: int, node: int) -> Target:
    """Return the target of a tensor that belongs to a node; tensor 0: the node alone."""
    if not tensor:
        return Target(NodeSelection(node))
    return Target(TensorSelection(tensor), (NodeSelection(node),))
