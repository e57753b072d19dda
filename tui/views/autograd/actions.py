"""Keys that are about graphs: another form, another folding, opening a group, following an edge.

Each takes the navigator and returns one sentence for the status line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.render import Glyphs, Picture, Span, Target

if TYPE_CHECKING:
    from engine.inspect.models.autograd import Autograd, NodeBox, Part
    from tui.navigator import Navigator
    from tui.views.autograd.fold import Folded

VIEW = "autograd"
FORMS = {"": "as suits the room", "boxes": "as boxes", "rows": "as rows", "list": "as a list"}
FOLDS = {
    "": "blocks that repeat, where the graph is large",
    "nothing": "nothing",
    "repeats": "blocks that repeat",
    "lines": "the nodes of each line",
    "modules": "the nodes of each module",
}


def next_form(nav: Navigator, name: str = "") -> str:
    """The next form, or the one of that name."""
    if name and name not in FORMS:
        return f"no form is called {name!r}; there are {', '.join(filter(None, FORMS))}"
    form = name or _after(FORMS, nav.look.form)
    nav.look = replace(nav.look, form=form)
    return f"graphs are drawn {FORMS[form]}"


def next_fold(nav: Navigator, name: str = "") -> str:
    """Fold something else; what was opened is closed."""
    if name and name not in FOLDS:
        return f"nothing is folded by {name!r}; there are {', '.join(filter(None, FOLDS))}"
    fold = name or _after(FOLDS, nav.look.fold)
    nav.look = replace(nav.look, fold=fold, opened=frozenset())
    return f"drawn as one: {FOLDS[fold]}"


def _after(names: dict[str, str], name: str) -> str:
    order = list(names)
    return order[(order.index(name) + 1) % len(order)]


def open_or_close(nav: Navigator) -> str:
    """Open the group in focus; if that is a node of an open group, close it."""
    from tui.views.autograd.fold import NODE
    from tui.views.autograd.scene import folded

    model = nav.model(VIEW)
    part = part_of(model, model.focus)
    if part is None:
        return "there is no graph to open anything in"
    what = folded(part, nav.look)
    key = what.items[what.item_of[model.focus]].key
    if key[1] != NODE:
        return _open(nav, what, key)
    for each in nav.look.opened:
        closed = replace(nav.look, opened=nav.look.opened - {each})
        what = folded(part, closed)
        if what.items[what.item_of[model.focus]].key == each:
            nav.look = closed
            nav.select(Target("group", node=each[0], index=each))
            return "closed; u opens it again"
    return "this is one node: nothing to open. f folds blocks, lines or modules"


def _open(nav: Navigator, what: Folded, key: tuple[int, int]) -> str:
    """Draw a group one by one, and go to its newest node: where gradients come in."""
    nav.look = replace(nav.look, opened=nav.look.opened | {key})
    group = next((item for item in what.items if item.key == key), None)
    inside = [what.part.nodes[place] for place in group.members] if group else []
    newest = max((node.id for node in inside if not node.leaf), default=key[0])
    nav.select(Target("edge", node=newest))
    return "opened; u closes it"


def details(nav: Navigator, glyphs: Glyphs, width: int) -> Picture:
    """Everything about the node in focus, as long as it needs to be."""
    from tui.views import DrawContext
    from tui.views.autograd.node import node_lines
    from tui.views.autograd.scene import folded

    model = nav.model(VIEW)
    part = part_of(model, model.focus)
    if part is None:
        return Picture.of([(Span("no node is in focus: the program has made none", "dim"),)], width)
    context = DrawContext(width, 0, glyphs, nav.selection, look=nav.look)
    lines = node_lines(model, folded(part, nav.look), context, width)
    return Picture.of(lines, width)


def part_of(model: Autograd, node: int) -> Part | None:
    """The part that a node is drawn in."""
    from tui.views.autograd.fold import holds

    for part in reversed(model.parts):
        if holds(part, node):
            return part
    return None


def follow(nav: Navigator, target: Target) -> str:
    """Along an edge to its end, from a node along its first edge, into a group."""
    from tui.views.autograd.scene import folded

    index = target.index or (target.node, 0)
    if target.kind == "group":
        part = part_of(nav.model(VIEW), index[0])
        key = (index[0], index[1])
        return _open(nav, folded(part, nav.look), key) if part else "the group is gone"
    end = index[1]
    if target.kind == "node":
        box = nav.model(VIEW).nodes.of(target.node)
        ends = _ends(nav, box) if box else []
        if nav.view != VIEW:
            return nav.show_view(VIEW)
        if not ends:
            return "the way ends here: this node leads to no other"
        end = ends[0]
    nav.select(Target("edge", node=end))
    nav.show_view(VIEW)
    label = end_name(nav, end)
    return f"followed to {label}; Backspace returns"


def _ends(nav: Navigator, box: NodeBox) -> list[int]:
    """Where a node's edges lead: those first from where it goes on."""
    nodes = nav.model(VIEW).nodes
    ends = [edge.next for edge in box.fact.edges if edge.next]
    leaves = {end for end in ends if (each := nodes.of(end)) is not None and each.fact.leaf}
    return sorted(ends, key=lambda end: end in leaves)


def end_name(nav: Navigator, node: int) -> str:
    """What a node is called in a sentence."""
    box = nav.model(VIEW).nodes.of(node)
    if box is None:
        return f"node {node}"
    return f"{box.fact.name} {box.fact.label}" if box.fact.leaf else box.fact.name
