"""Keys that are about graphs: another form, another folding, opening a group, following an edge.

Each takes the stage and returns one sentence for the status line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.render import Glyphs, Picture, Span, Target

if TYPE_CHECKING:
    from engine.inspect.models.autograd import Autograd, NodeBox, Part
    from tui.stage import Stage
    from tui.views._autograd_fold import Folded

VIEW = "autograd"
FORMS = {"": "as suits the room", "boxes": "as boxes", "rows": "as rows", "list": "as a list"}
FOLDS = {
    "": "blocks that repeat, where the graph is large",
    "nothing": "nothing",
    "repeats": "blocks that repeat",
    "lines": "the nodes of each line",
    "modules": "the nodes of each module",
}


def next_form(stage: Stage, name: str = "") -> str:
    """The next form, or the one of that name."""
    if name and name not in FORMS:
        return f"no form is called {name!r}; there are {', '.join(filter(None, FORMS))}"
    form = name or _after(FORMS, stage.look.form)
    stage.look = replace(stage.look, form=form)
    return f"graphs are drawn {FORMS[form]}"


def next_fold(stage: Stage, name: str = "") -> str:
    """Fold something else; what was opened is closed."""
    if name and name not in FOLDS:
        return f"nothing is folded by {name!r}; there are {', '.join(filter(None, FOLDS))}"
    fold = name or _after(FOLDS, stage.look.fold)
    stage.look = replace(stage.look, fold=fold, opened=frozenset())
    return f"drawn as one: {FOLDS[fold]}"


def _after(names: dict[str, str], name: str) -> str:
    order = list(names)
    return order[(order.index(name) + 1) % len(order)]


def open_or_close(stage: Stage) -> str:
    """Open the group in focus; if that is a node of an open group, close it."""
    from tui.views._autograd_fold import NODE
    from tui.views._autograd_scene import folded

    model = stage.model(VIEW)
    part = part_of(model, model.focus)
    if part is None:
        return "there is no graph to open anything in"
    what = folded(part, stage.look)
    key = what.items[what.item_of[model.focus]].key
    if key[1] != NODE:
        return _open(stage, what, key)
    for each in stage.look.opened:
        closed = replace(stage.look, opened=stage.look.opened - {each})
        what = folded(part, closed)
        if what.items[what.item_of[model.focus]].key == each:
            stage.look = closed
            stage.select(Target("group", node=each[0], index=each))
            return "closed; u opens it again"
    return "this is one node: nothing to open. f folds blocks, lines or modules"


def _open(stage: Stage, what: Folded, key: tuple[int, int]) -> str:
    """Draw a group one by one, and go to its newest node: where gradients come in."""
    stage.look = replace(stage.look, opened=stage.look.opened | {key})
    group = next((item for item in what.items if item.key == key), None)
    inside = [what.part.nodes[place] for place in group.members] if group else []
    newest = max((node.id for node in inside if not node.leaf), default=key[0])
    stage.select(Target("edge", node=newest))
    return "opened; u closes it"


def details(stage: Stage, glyphs: Glyphs, width: int) -> Picture:
    """Everything about the node in focus, as long as it needs to be."""
    from tui.views import DrawContext
    from tui.views._autograd_node import node_lines
    from tui.views._autograd_scene import folded

    model = stage.model(VIEW)
    part = part_of(model, model.focus)
    if part is None:
        return Picture.of([(Span("no node is in focus: the program has made none", "dim"),)], width)
    context = DrawContext(width, 0, glyphs, stage.selection, look=stage.look)
    lines = node_lines(model, folded(part, stage.look), context, width)
    return Picture.of(lines, width)


def part_of(model: Autograd, node: int) -> Part | None:
    """The part that a node is drawn in."""
    from tui.views._autograd_fold import holds

    for part in reversed(model.parts):
        if holds(part, node):
            return part
    return None


def follow(stage: Stage, target: Target) -> str:
    """Along an edge to its end, from a node along its first edge, into a group."""
    from tui.views._autograd_scene import folded

    index = target.index or (target.node, 0)
    if target.kind == "group":
        part = part_of(stage.model(VIEW), index[0])
        key = (index[0], index[1])
        return _open(stage, folded(part, stage.look), key) if part else "the group is gone"
    end = index[1]
    if target.kind == "node":
        box = stage.model(VIEW).nodes.of(target.node)
        ends = _ends(stage, box) if box else []
        if stage.view != VIEW:
            return stage.show_view(VIEW)
        if not ends:
            return "the way ends here: this node leads to no other"
        end = ends[0]
    stage.select(Target("edge", node=end))
    stage.show_view(VIEW)
    label = end_name(stage, end)
    return f"followed to {label}; Backspace returns"


def _ends(stage: Stage, box: NodeBox) -> list[int]:
    """Where a node's edges lead: those first from where it goes on."""
    nodes = stage.model(VIEW).nodes
    ends = [edge.next for edge in box.fact.edges if edge.next]
    leaves = {end for end in ends if (each := nodes.of(end)) is not None and each.fact.leaf}
    return sorted(ends, key=lambda end: end in leaves)


def end_name(stage: Stage, node: int) -> str:
    """What a node is called in a sentence."""
    box = stage.model(VIEW).nodes.of(node)
    if box is None:
        return f"node {node}"
    return f"{box.fact.name} {box.fact.label}" if box.fact.leaf else box.fact.name
