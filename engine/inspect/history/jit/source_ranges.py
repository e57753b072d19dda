"""Places in the source of compiled functions, and one number for each thing that can be pointed at.

A selection holds one number. A positive one is a Value of a graph. A negative one is a line, a token or
a node of the tree of a function (`number_of`), or a node of a graph that makes no Value (`node_number`),
so that these stay selected from pass to pass exactly as a Value does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

TREE, LINE, TOKEN = 0, 1, 2
_KINDS, _SHIFT = 4, 1 << 24  # sorts in an item; items of a function

Json = dict[str, Any]
Extent = tuple[int, int, int, int]
"""Line, column, last line, column after the last: as in the recorded tree."""


def number_of(function: int, kind: int, index: int) -> int:
    """The number of a tree node (by its place in `tree_of`), a line (of the file) or a token."""
    return -2 * (function * _SHIFT + index * _KINDS + kind)


def node_number(node: int) -> int:
    """The number of a node of a graph that makes no Value."""
    return -2 * node - 1


def what_is(number: int) -> tuple[str, int, int, int]:
    """("value", id, 0, 0), ("node", id, 0, 0) or ("place", function, sort, index)."""
    if number >= 0:
        return "value", number, 0, 0
    if number % 2:
        return "node", (-number - 1) // 2, 0, 0
    function, item = divmod(-number // 2, _SHIFT)
    return "place", function, item % _KINDS, item // _KINDS


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of the syntax tree. field: what it is of the node above (`value`, `body`)."""

    depth: int
    field: str
    kind: str
    text: str  # its names, numbers and operators
    span: Extent | None


def tree_of(syntax: Json) -> tuple[TreeNode, ...]:
    """The tree from the top, each node before those in it; () where none was recorded."""
    tree = syntax.get("tree")
    return tuple(_walk(tree, 0, "")) if isinstance(tree, dict) else ()


def _walk(node: Json, depth: int, field: str) -> Iterator[TreeNode]:
    span = node.get("span")
    names, inner = [], []
    for name, value in node.items():
        if name in ("kind", "span", "type_comment") or value is None or value == []:
            continue
        each = value if isinstance(value, list) else [value]
        if all(isinstance(item, dict) and not item.get("span") and _bare(item) for item in each):
            names += [
                str(item.get("kind", "")) for item in each
            ]  # Add, Mult, Lt: they have no range
        elif isinstance(value, (dict, list)):
            inner += [(name, item) for item in each if isinstance(item, dict)]
        else:
            names.append(str(value) if name in _NAMES else repr(value))
    kind = str(node.get("kind") or "") or "Constant"
    if span or kind != "arguments":
        extent = (span[0], span[1], span[2], span[3]) if span else None
        yield TreeNode(depth, field, kind, " ".join(names), extent)
        depth += 1
    for name, item in inner:
        yield from _walk(item, depth, name)


_NAMES = ("name", "id", "arg", "attr", "module", "asname")


def _bare(node: Json) -> bool:
    """A node of nothing but its kind."""
    return all(name in ("kind", "span") for name in node) and "kind" in node


def inside(inner: Extent, outer: Extent) -> bool:
    """Return whether a range is inside another."""
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]
