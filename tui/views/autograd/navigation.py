"""The ways of the cursor keys from the node in focus: in the graph, not on the screen alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from engine.inspect.models.autograd import Autograd
from tui.render import Line, Target
from tui.render.graph import Layout
from tui.views.autograd.fold import NODE, Folded
from tui.views.autograd.graph import item_target
from tui.views.autograd.scene import Scene

FAR = 400  # layers or lines that are searched for a node that exists


def ways(
    model: Autograd, scene: Scene, focus: int, rows: int, pane: list[Line]
) -> dict[str, Target]:
    """Return the target to which each key leads, if there is one."""
    folded = scene.folded

    def exists(item: int) -> bool:
        return any(
            model.nodes.place_of(folded.part.nodes[at].id) >= 0 for at in folded.items[item].members
        )

    if scene.layout is not None:
        items = _in_layout(scene.layout, focus, rows, exists)
    else:
        items = _in_list(scene, focus, rows, exists)
    targets = {key: _target(model, folded, item) for key, item in items.items() if item >= 0}
    if "right" not in targets and (first := _first(pane)) is not None:
        targets["right"] = first
    return targets


def _target(model: Autograd, folded: Folded, item: int) -> Target:
    key = folded.items[item].key
    return item_target(folded, item, model.nodes.of(key[0]) if key[1] == NODE else None)


def _first(pane: list[Line]) -> Target | None:
    return next((span.target for line in pane for span in line if span.target), None)


def _in_layout(
    layout: Layout, focus: int, rows: int, exists: Callable[[int], bool]
) -> dict[str, int]:
    at, (x, y) = layout.layer[focus], layout.middle(focus)

    def nearest(layers: Iterable[int]) -> int:
        for layer in layers:
            row = layout.rows[layer]
            column = bisect_left(row, x, key=lambda item: layout.middle(item)[0])
            near = [item for item in row[max(0, column - 8) : column + 8] if item < layout.count]
            near.sort(key=lambda item: abs(layout.middle(item)[0] - x))
            for item in near:
                if exists(item):
                    return item
        return -1

    def page(by: int) -> Iterable[int]:
        to = layout.layers_within(max(0, y + by), max(0, y + by) + 1)
        near = min(max(to.start, 0), len(layout.rows) - 1)
        return range(near, at, -1 if by > 0 else 1)

    last = len(layout.rows)
    row = layout.rows[at]
    column = row.index(focus)
    near = row[max(0, column - 8) : column + 9] if column >= 0 else [focus]
    own = near.index(focus)
    neighbours = {"left": near[:own][::-1], "right": near[own + 1 :]}
    ends = {
        key: next((item for item in items if item < layout.count and exists(item)), -1)
        for key, items in neighbours.items()
    }
    ends["up"] = nearest(range(at - 1, max(-1, at - FAR), -1))
    ends["down"] = nearest(range(at + 1, min(last, at + FAR)))
    ends["pageup"] = nearest(page(-rows))
    ends["pagedown"] = nearest(page(rows))
    ends["home"] = nearest(range(at))
    ends["end"] = nearest(range(last - 1, at, -1))
    return ends


def _in_list(scene: Scene, focus: int, rows: int, exists: Callable[[int], bool]) -> dict[str, int]:
    rails = scene.rails
    assert rails is not None
    at, last = rails.line_of[focus], len(rails.rows)

    def first(lines: Iterable[int]) -> int:
        return next((rails.rows[line].node for line in lines if exists(rails.rows[line].node)), -1)

    step = max(1, rows - 1)
    return {
        "up": first(range(at - 1, -1, -1)),
        "down": first(range(at + 1, last)),
        "pageup": first(range(max(0, at - step), at)),
        "pagedown": first(range(min(last - 1, at + step), at, -1)),
        "home": first(range(at)),
        "end": first(range(last - 1, at, -1)),
    }
