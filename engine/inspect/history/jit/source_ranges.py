"""The syntax tree of a compiled function, and ranges of its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Extent = tuple[int, int, int, int]
"""Line, column, last line, column after the last: as in the recorded tree."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of the syntax tree. field: its field in the parent (`value`, `body`)."""

    depth: int
    field: str
    kind: str
    text: str  # its names, numbers and operators
    span: Extent | None


def tree_of(syntax: Json) -> tuple[TreeNode, ...]:
    """Return the tree in preorder; () if none was recorded."""
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
    """Return whether a node has nothing but its kind."""
    return all(name in ("kind", "span") for name in node) and "kind" in node


def inside(inner: Extent, outer: Extent) -> bool:
    """Return whether a range is inside another."""
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]
