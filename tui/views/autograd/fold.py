"""What of a part of the graph is drawn as one: repeated blocks, the nodes of a line, of a module.

A group is always a stretch of nodes in the order in which the program made them (with the leaves that
only these use). Edges lead from newer nodes to older ones, so no folding ever makes a circle.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from engine.inspect.models.autograd import NodeFact, Part
from tui.render.graph import repeats

FOLDS = ("nothing", "repeats", "lines", "modules")
FROM = 40  # nodes from which repeated blocks are folded unless somebody says otherwise
NODE, PLACE, REPEAT = 0, 1, 2  # what an item is: a node; those of a line or module; repeated blocks
_DULL = {
    "T",
    "View",
    "Transpose",
    "Expand",
    "UnsafeView",
    "Permute",
    "Unsqueeze",
    "Squeeze",
    "Slice",
}
_REACH = 64  # blocks that a wire goes back and still counts as the same in each block


@dataclass(frozen=True, slots=True)
class Item:
    """A node, or nodes drawn as one."""

    key: tuple[int, int]  # (its first node, NODE, PLACE or REPEAT): what `opened` holds
    members: tuple[int, ...]  # places in the part's nodes
    times: int  # how many blocks follow each other
    label: str


@dataclass
class Folded:
    """A part as it is drawn: items from old to new, and edges between them by number of item."""

    part: Part
    items: list[Item]
    heads: list[int] = field(default_factory=list)
    tails: list[int] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)  # (place of the node, its edge)
    item_of: dict[int, int] = field(default_factory=dict)  # node id -> number of its item

    @cached_property
    def order(self) -> list[int]:
        """From the root down, as backward runs: newest first, a leaf after its last user."""
        after: dict[int, list[int]] = {}
        leaf = [self._leaf(item) for item in self.items]
        for number in range(len(self.items)):
            if leaf[number]:
                after.setdefault(min(self.users[number], default=number), []).append(number)
        listed: list[int] = []
        for number in range(len(self.items) - 1, -1, -1):
            if not leaf[number]:
                listed.append(number)
                listed += after.pop(number, ())
        return listed + [number for rest in after.values() for number in rest]

    @cached_property
    def users(self) -> list[list[int]]:
        """By item: the items that lead to it, each once."""
        found: list[dict[int, None]] = [{} for _ in self.items]
        for head, tail in zip(self.heads, self.tails, strict=True):
            found[tail][head] = None
        return [list(each) for each in found]

    @cached_property
    def ids(self) -> list[Any]:
        """By item: the ids of its nodes, ascending, as an array."""
        import numpy as np

        nodes = self.part.nodes
        return [np.array([nodes[at].id for at in item.members]) for item in self.items]

    @cached_property
    def grouped(self) -> bool:
        """Whether anything is drawn as one."""
        return any(item.key[1] != NODE for item in self.items)

    def _leaf(self, item: Item) -> bool:
        return item.key[1] == NODE and self.part.nodes[item.members[0]].leaf


def fold(part: Part, how: str = "", opened: frozenset[tuple[int, int]] = frozenset()) -> Folded:
    """Fold a part `how` (one of FOLDS; "" = repeats if it is large), except for what is opened."""
    nodes = part.nodes
    inner = [place for place, node in enumerate(nodes) if not node.leaf and not node.inside]
    how = how or (FOLDS[1] if len(nodes) > FROM else FOLDS[0])
    blocks = _blocks(part, inner, how, opened)
    groups = _groups(part, blocks, opened) if how != FOLDS[0] else [(1, [each]) for each in blocks]
    items: list[Item] = []
    item_at = [-1] * len(nodes)
    for times, members in groups:
        if len(members) == 1 and len(members[0]) == 1:
            place = members[0][0]
            made = Item((nodes[place].id, NODE), (place,), 1, nodes[place].label)
        else:
            made = _group(part, times, members, how)
        for place in made.members:
            item_at[place] = len(items)
        items.append(made)
    _add_inner(part, items, item_at)
    _add_leaves(part, items, item_at)
    return _connected(part, items, item_at)


def _blocks(
    part: Part, inner: list[int], how: str, opened: frozenset[tuple[int, int]]
) -> list[list[int]]:
    """The nodes in the order in which they were made, those of one line or module together."""
    if how not in ("lines", "modules"):
        return [[place] for place in inner]
    keys = _lines(part, inner) if how == "lines" else _modules(part, inner)
    made: list[list[int]] = []
    before: Hashable = None
    for place, key in zip(inner, keys, strict=True):
        if key and key == before:
            made[-1].append(place)
        else:
            made.append([place])
        before = key
    return [
        piece
        for block in made
        for piece in (
            [[place] for place in block] if (part.nodes[block[0]].id, PLACE) in opened else [block]
        )
    ]


def _lines(part: Part, inner: list[int]) -> list[Hashable]:
    """By node, the line that it was made on; None where that is not known."""
    nodes = (part.nodes[place] for place in inner)
    return [(node.file, node.line, node.frame) if node.line else None for node in nodes]


def _modules(part: Part, inner: list[int]) -> list[Hashable]:
    """By node, the module that it was made in: `net.layers.0` of all that is in that layer. Nodes
    without parameters belong to the module of those before and after them, if that is the same."""
    keys = [module_of(part.nodes[place].module) for place in inner]
    before, known = "", keys[:]
    for at in range(len(keys) - 1, -1, -1):  # the next module that is known
        before = known[at] = keys[at] or before
    before = ""
    for at, key in enumerate(keys):
        before = key or before
        if not key and before == known[at]:
            keys[at] = before
    return list(keys)


def module_of(path: str) -> str:
    """What a module is folded into: `net.layers.0` for `net.layers.0.attention.out`, else two names."""
    names = path.split(".")
    number = next((at for at, name in enumerate(names) if name.isdigit()), 1)
    return ".".join(names[: number + 1])


def _groups(
    part: Part, blocks: list[list[int]], opened: frozenset[tuple[int, int]]
) -> list[tuple[int, list[list[int]]]]:
    """(times, blocks) of every item: blocks that repeat are one."""
    place_of = {node.id: place for place, node in enumerate(part.nodes)}
    block_of = {place: number for number, block in enumerate(blocks) for place in block}

    def token(number: int) -> Hashable:
        shapes = []
        for place in blocks[number]:
            node = part.nodes[place]
            ways = []
            for edge in node.edges:
                end = block_of.get(place_of.get(edge.next, -1))
                back = -1 if end is None else number - end
                ways.append(back if back < _REACH else _REACH)
            shapes.append((node.name, *ways))
        return tuple(shapes)

    made: list[tuple[int, list[list[int]]]] = []
    at = 0
    for run in repeats([token(number) for number in range(len(blocks))]):
        made += [(1, [block]) for block in blocks[at : run.start]]
        inside = blocks[run.start : run.stop]
        if (part.nodes[inside[0][0]].id, REPEAT) in opened:
            made += [(1, [block]) for block in inside]
        else:
            made.append((run.times, inside))
        at = run.stop
    return made + [(1, [block]) for block in blocks[at:]]


def _group(part: Part, times: int, blocks: list[list[int]], how: str) -> Item:
    members = tuple(place for block in blocks for place in block)
    first = part.nodes[members[0]]
    one = members[: len(members) // times]
    words = _words([part.nodes[place].label for place in one])
    if times > 1:
        return Item((first.id, REPEAT), members, times, words)
    label = f"line {first.line}: {words}"
    if how == "modules":
        named = (part.nodes[place].module for place in members)
        label = module_of(next(filter(None, named), ""))
    return Item((first.id, PLACE), members, 1, label)


def _words(labels: Iterable[str]) -> str:
    """The telling operators of a block, newest last."""
    names = list(dict.fromkeys(labels))
    telling = [name for name in names if name not in _DULL] or names
    return " ".join(telling[:4]) + (" …" if len(telling) > 4 else "")


def _add_inner(part: Part, items: list[Item], item_at: list[int]) -> None:
    """A node that CopySlices runs as a part of itself is drawn as one with it."""
    place_of = {node.id: place for place, node in enumerate(part.nodes)}
    for place, node in enumerate(part.nodes):
        outer = place_of.get(node.inside, -1) if node.inside else -1
        if outer < 0 and node.inside:
            item_at[place] = len(items)
            items.append(Item((node.id, NODE), (place,), 1, node.label))
        elif outer >= 0:
            item_at[place] = number = item_at[outer]
            group = items[number]
            label = f"{group.label}({node.label})" if group.key[1] == NODE else group.label
            items[number] = Item(group.key, (*group.members, place), group.times, label)


def _add_leaves(part: Part, items: list[Item], item_at: list[int]) -> None:
    """A leaf that only one group uses is in it; all others are items, the oldest first."""
    place_of = {node.id: place for place, node in enumerate(part.nodes)}
    users: dict[int, set[int]] = {}
    for place, node in enumerate(part.nodes):
        if not node.leaf:
            for edge in node.edges:
                end = place_of.get(edge.next, -1)
                if end >= 0 and part.nodes[end].leaf:
                    users.setdefault(end, set()).add(item_at[place])
    within: dict[int, list[int]] = {}
    for place, node in enumerate(part.nodes):
        if not node.leaf:
            continue
        using = users.get(place, set())
        only = next(iter(using)) if len(using) == 1 else -1
        if only >= 0 and items[only].key[1] != NODE:
            item_at[place] = only
            within.setdefault(only, []).append(place)
        else:
            item_at[place] = len(items)
            items.append(Item((node.id, NODE), (place,), 1, node.label))
    for number, places in within.items():
        group = items[number]
        members = tuple(sorted((*group.members, *places)))
        items[number] = Item(group.key, members, group.times, group.label)


def _connected(part: Part, items: list[Item], item_at: list[int]) -> Folded:
    made = Folded(part, items)
    made.item_of = {node.id: item_at[place] for place, node in enumerate(part.nodes)}
    known: set[tuple[int, int]] = set()
    for place, node in enumerate(part.nodes):
        head = item_at[place]
        if node.inside and items[head].key[0] != node.id:
            continue  # it is run by another node: nothing goes along its own edges
        for number, edge in enumerate(node.edges):
            tail = made.item_of.get(edge.next, -1) if edge.next else -1
            if tail < 0 or tail == head:
                continue
            if items[head].key[1] != NODE:  # all wires from a group to one thing are one
                if (head, tail) in known:
                    continue
                known.add((head, tail))
            made.heads.append(head)
            made.tails.append(tail)
            made.edges.append((place, number))
    return made


def holds(part: Part, node: int) -> bool:
    """Whether a node is one of the part's, which are in the order of their ids."""
    place = bisect_left(part.nodes, node, key=lambda fact: fact.id)
    return place < len(part.nodes) and part.nodes[place].id == node


def fact_of(folded: Folded, number: int) -> NodeFact:
    """The node of an item, of a group the first one."""
    return folded.part.nodes[folded.items[number].members[0]]
