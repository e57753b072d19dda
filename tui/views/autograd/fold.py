"""Collapsed groups of a part of the graph: repeated blocks, the nodes of a line, of a module.

A group is always a run of nodes in the order in which the program created them, with the leaves that
only these use. Edges lead from newer nodes to older ones, so a folding never creates a cycle.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from engine.inspect.models.autograd import NodeFact, Part
from tui.render.graph import repeats

FOLDS = ("none", "repeats", "lines", "modules")
FOLD_FROM = 40  # nodes from which repeated blocks are folded by default
# Kinds of items: a node; the nodes of a line or module; repeated blocks.
NODE, ORIGIN, REPEAT = range(3)
_REACH = 64  # edges that reach further back count as equal when blocks are compared


@dataclass(frozen=True, slots=True)
class Item:
    """A node, or nodes drawn as one."""

    key: tuple[int, int]  # (its first node, NODE, ORIGIN or REPEAT): an element of `opened`
    members: tuple[int, ...]  # indices in the part's nodes
    times: int  # how many blocks follow each other
    label: str


@dataclass
class Folded:
    """A part as it is drawn: items from old to new, and edges between them by number of item."""

    part: Part
    items: list[Item]
    heads: list[int] = field(default_factory=list)
    tails: list[int] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)  # (index of the node, its edge)
    item_of: dict[int, int] = field(default_factory=dict)  # node id -> number of its item

    @cached_property
    def order(self) -> list[int]:
        """Return the items from the root down, as backward runs: newest first, a leaf after its last user."""
        after: dict[int, list[int]] = {}
        leaf = [self._leaf(item) for item in self.items]
        for number in range(len(self.items)):
            if leaf[number]:
                after.setdefault(min(self.users[number], default=number), []).append(number)
        order: list[int] = []
        for number in range(len(self.items) - 1, -1, -1):
            if not leaf[number]:
                order.append(number)
                order += after.pop(number, ())
        return order + [number for leaves in after.values() for number in leaves]

    @cached_property
    def users(self) -> list[list[int]]:
        """Return for each item the items with an edge to it, each once."""
        users: list[dict[int, None]] = [{} for _ in self.items]
        for head, tail in zip(self.heads, self.tails, strict=True):
            users[tail][head] = None
        return [list(each) for each in users]

    @cached_property
    def ids(self) -> list[Any]:
        """Return for each item the ids of its nodes, ascending, as an array."""
        import numpy as np

        nodes = self.part.nodes
        return [np.array([nodes[at].id for at in item.members]) for item in self.items]

    @cached_property
    def grouped(self) -> bool:
        """Return whether any item is a group."""
        return any(item.key[1] != NODE for item in self.items)

    def _leaf(self, item: Item) -> bool:
        return item.key[1] == NODE and self.part.nodes[item.members[0]].leaf


def fold(part: Part, mode: str = "", opened: frozenset[tuple[int, int]] = frozenset()) -> Folded:
    """Fold a part by `mode` (one of FOLDS; "" = repeats if it is large), except for the `opened` groups."""
    nodes = part.nodes
    inner = [index for index, node in enumerate(nodes) if not node.leaf and not node.inside]
    mode = mode or (FOLDS[1] if len(nodes) > FOLD_FROM else FOLDS[0])
    blocks = _blocks(part, inner, mode, opened)
    groups = _groups(part, blocks, opened) if mode != FOLDS[0] else [(1, [each]) for each in blocks]
    items: list[Item] = []
    item_at = [-1] * len(nodes)
    for times, members in groups:
        if (
            len(members) == 1
            and len(members[0]) == 1
            and not _is_module(part, members[0][0], mode, opened)
        ):
            index = members[0][0]
            item = Item((nodes[index].id, NODE), (index,), 1, nodes[index].label)
        else:
            item = _group(part, times, members, mode)
        for index in item.members:
            item_at[index] = len(items)
        items.append(item)
    _add_inner(part, items, item_at)
    _add_leaves(part, items, item_at)
    return _connected(part, items, item_at)


def _is_module(part: Part, index: int, mode: str, opened: frozenset[tuple[int, int]]) -> bool:
    """Return whether a node alone is a folded module: a convolution with its weight and bias."""
    node = part.nodes[index]
    return mode == "modules" and bool(node.module) and (node.id, ORIGIN) not in opened


def _blocks(
    part: Part, inner: list[int], mode: str, opened: frozenset[tuple[int, int]]
) -> list[list[int]]:
    """Return the nodes in the order of their creation; those of one line or module are one block."""
    if mode not in ("lines", "modules"):
        return [[index] for index in inner]
    keys = _lines(part, inner) if mode == "lines" else _modules(part, inner)
    merged: list[list[int]] = []
    before: Hashable = None
    for index, key in zip(inner, keys, strict=True):
        if key and key == before:
            merged[-1].append(index)
        else:
            merged.append([index])
        before = key
    return [
        piece
        for block in merged
        for piece in (
            [[index] for index in block] if (part.nodes[block[0]].id, ORIGIN) in opened else [block]
        )
    ]


def _lines(part: Part, inner: list[int]) -> list[Hashable]:
    """Return the line that created each node; None if unknown."""
    nodes = (part.nodes[index] for index in inner)
    return [(node.file, node.line, node.frame) if node.line else None for node in nodes]


def _modules(part: Part, inner: list[int]) -> list[Hashable]:
    """Return the module that created each node: `net.layers.0` for all nodes of that layer.

    A node without parameters belongs to the module of its neighbours, if both have the same one."""
    keys = [module_of(part.nodes[index].module) for index in inner]
    before, known = "", keys[:]
    for at in range(len(keys) - 1, -1, -1):  # the next known module
        before = known[at] = keys[at] or before
    before = ""
    for at, key in enumerate(keys):
        before = key or before
        if not key and before == known[at]:
            keys[at] = before
    return list(keys)


def module_of(path: str) -> str:
    """Return the module that a path is folded into: `net.layers.0` of `net.layers.0.attention.out`, else two names."""
    names = path.split(".")
    number = next((at for at, name in enumerate(names) if name.isdigit()), 1)
    return ".".join(names[: number + 1])


def _groups(
    part: Part, blocks: list[list[int]], opened: frozenset[tuple[int, int]]
) -> list[tuple[int, list[list[int]]]]:
    """Return (times, blocks) of every item; repeated blocks are one item."""
    index_of = {node.id: index for index, node in enumerate(part.nodes)}
    block_of = {index: number for number, block in enumerate(blocks) for index in block}

    def token(number: int) -> Hashable:
        shapes = []
        for index in blocks[number]:
            node = part.nodes[index]
            edges = []
            for edge in node.edges:
                end = block_of.get(index_of.get(edge.next, -1))
                back = -1 if end is None else number - end
                edges.append(back if back < _REACH else _REACH)
            shapes.append((node.name, *edges))
        return tuple(shapes)

    groups: list[tuple[int, list[list[int]]]] = []
    at = 0
    for run in repeats([token(number) for number in range(len(blocks))]):
        groups += [(1, [block]) for block in blocks[at : run.start]]
        inside = blocks[run.start : run.stop]
        if (part.nodes[inside[0][0]].id, REPEAT) in opened:
            groups += [(1, [block]) for block in inside]
        else:
            groups.append((run.times, inside))
        at = run.stop
    return groups + [(1, [block]) for block in blocks[at:]]


def _group(part: Part, times: int, blocks: list[list[int]], mode: str) -> Item:
    members = tuple(index for block in blocks for index in block)
    first = part.nodes[members[0]]
    first_block = members[: len(members) // times]
    operators = _operators([part.nodes[index] for index in first_block])
    if times > 1:
        return Item((first.id, REPEAT), members, times, operators)
    label = f"line {first.line}: {operators}"
    if mode == "modules":
        named = (part.nodes[index].module for index in members)
        label = module_of(next(filter(None, named), ""))
    return Item((first.id, ORIGIN), members, 1, label)


def _operators(nodes: Iterable[NodeFact]) -> str:
    """Return the characteristic operators of a block, newest last: those that do more than rearrange elements."""
    is_view = {node.label: node.is_view for node in nodes}
    characteristic = [name for name, view in is_view.items() if not view] or list(is_view)
    return " ".join(characteristic[:4]) + (" …" if len(characteristic) > 4 else "")


def _add_inner(part: Part, items: list[Item], item_at: list[int]) -> None:
    """Merge each node that CopySlices runs into the item of that CopySlices."""
    index_of = {node.id: index for index, node in enumerate(part.nodes)}
    for index, node in enumerate(part.nodes):
        outer = index_of.get(node.inside, -1) if node.inside else -1
        if outer < 0 and node.inside:
            item_at[index] = len(items)
            items.append(Item((node.id, NODE), (index,), 1, node.label))
        elif outer >= 0:
            item_at[index] = number = item_at[outer]
            group = items[number]
            label = f"{group.label}({node.label})" if group.key[1] == NODE else group.label
            items[number] = Item(group.key, (*group.members, index), group.times, label)


def _add_leaves(part: Part, items: list[Item], item_at: list[int]) -> None:
    """Add each leaf to the only group that uses it, or else as an item, the oldest first."""
    index_of = {node.id: index for index, node in enumerate(part.nodes)}
    users: dict[int, set[int]] = {}
    for index, node in enumerate(part.nodes):
        if not node.leaf:
            for edge in node.edges:
                end = index_of.get(edge.next, -1)
                if end >= 0 and part.nodes[end].leaf:
                    users.setdefault(end, set()).add(item_at[index])
    leaves_of: dict[int, list[int]] = {}
    for index, node in enumerate(part.nodes):
        if not node.leaf:
            continue
        using = users.get(index, set())
        only = next(iter(using)) if len(using) == 1 else -1
        if only >= 0 and items[only].key[1] != NODE:
            item_at[index] = only
            leaves_of.setdefault(only, []).append(index)
        else:
            item_at[index] = len(items)
            items.append(Item((node.id, NODE), (index,), 1, node.label))
    for number, leaves in leaves_of.items():
        group = items[number]
        members = tuple(sorted((*group.members, *leaves)))
        items[number] = Item(group.key, members, group.times, group.label)


def _connected(part: Part, items: list[Item], item_at: list[int]) -> Folded:
    folded = Folded(part, items)
    folded.item_of = {node.id: item_at[index] for index, node in enumerate(part.nodes)}
    known: set[tuple[int, int]] = set()
    for index, node in enumerate(part.nodes):
        head = item_at[index]
        if node.inside and items[head].key[0] != node.id:
            continue  # another node runs it, so no gradient follows its own edges
        for number, edge in enumerate(node.edges):
            tail = folded.item_of.get(edge.next, -1) if edge.next else -1
            if tail < 0 or tail == head:
                continue
            if items[head].key[1] != NODE:  # a group has one wire to each item
                if (head, tail) in known:
                    continue
                known.add((head, tail))
            folded.heads.append(head)
            folded.tails.append(tail)
            folded.edges.append((index, number))
    return folded


def holds(part: Part, node: int) -> bool:
    """Return whether a node is in the part, whose nodes are in the order of their ids."""
    index = bisect_left(part.nodes, node, key=lambda fact: fact.id)
    return index < len(part.nodes) and part.nodes[index].id == node


def fact_of(folded: Folded, number: int) -> NodeFact:
    """Return the node of an item, or the first node of a group."""
    return folded.part.nodes[folded.items[number].members[0]]
