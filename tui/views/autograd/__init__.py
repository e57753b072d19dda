"""The autograd graph: it grows while the program runs, and a backward pass goes down it, node by node.

Next to it is everything about one node, above it the pass and its ready queue. What is selected, else
what runs, is the node in focus: the graph is drawn around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.inspect.models.autograd import Autograd, NodeBox, Part
from engine.inspect.selection import NodeSelection
from tui.render import Glyphs, Picture, Span, Target
from tui.render.dot import NoGraph
from tui.render.target import TargetItem
from tui.views._view import DrawContext, Page, View, action
from tui.views.autograd.dot import dot_text
from tui.views.autograd.drawing import draw
from tui.views.autograd.fold import NODE, Folded, holds
from tui.views.autograd.items import Edge, Group
from tui.views.autograd.node import node_lines
from tui.views.autograd.scene import AutogradOptions, folded

if TYPE_CHECKING:
    from tui.navigator import Navigator

HELP = {
    "node": "One backward function. Arrows lead from it to those it gives gradients to: what the graph "
    "computes flows down along them. PyTorch calls them next_functions.",
    "AccumulateGrad": "The end of a path: it adds the gradient into .grad of the leaf named next to it.",
    "○2": "Waits for this many gradients before it may run.",
    "◐1": "Some of its gradients have come; this many are still to come.",
    "◎1": "In the ready queue, with its position: 1 runs next.",
    "▶": "Runs now.",
    "✓3": "Has run, as the third of this pass.",
    "⊘": "Reached but not needed (inputs=, autograd.grad).",
    "✖": "The pass failed here; or: a saved tensor was overwritten.",
    "╌": "Freed. Its box stays, so that nothing moves.",
    "▽": "The end of a wire along which no gradient has arrived yet.",
    "▼": "A gradient has arrived along this wire.",
    "∅": "None: there is no gradient. That is neither zero nor a gradient that has not come yet.",
    "0": "At a buffer: a gradient is there and all of it is zero.",
    "·": "At a buffer: no gradient has arrived yet. Elsewhere a separator.",
    "■": "At a buffer: one gradient, unchanged. After grad: the leaf has a .grad.",
    "Σ 1/2": "In the frame of a node: its input buffer. Σ: a sum of several gradients; 1/2: one has "
    "come of two that will. A number after it: what the gradient holds.",
    "▪2": "The node keeps two tensors for its formula; red when one of them was overwritten since.",
    "×12": "Equal blocks in a row, collapsed. 5/36: five of its 36 nodes have run. Enter expands it, u "
    "collapses it; f chooses what is collapsed.",
    "⇢": "A long edge is not drawn: it leads to the node named. Enter goes there.",
    "⇠": "This many long edges end here; the pane lists them.",
    "[ ]": "A node drawn in one row: its state, its name and the content of its buffer. f t u: the keys "
    "that collapse, change the form and expand.",
    "◆": "A node in the list, with its wires in the lanes; or: autograd.grad() "
    "returns the gradient that arrives here, so the node does not run.",
    "━┃┏┓┗┛┣┫┳┻╋": "The node in focus and its wires.",
    "◂": "A node that gives gradients to this one. Enter goes there.",
    "█░": "How much of the pass is done.",
    "L7": "Made on line 7 of the program.",
    "saved": "A tensor kept for backward, with the version it was saved at. Overwritten since, it is "
    "stale: using it is an error; the line that overwrote it is below.",
    "gradient in": "The input buffer: one slot for each result of the operator.",
    "gradient out": "One for each argument; the arrow names the node that gets it.",
    "formula": "The gradient of each argument as the operator's yaml entry declares it.",
    "queue": "Nodes that have all their gradients, in the order in which they will run: the newest "
    "(highest sequence number) first, AccumulateGrad before all others.",
    "released": "Saved tensors, nodes and memory that this pass has freed, newest first.",
    "…": "Truncated, or more than fits.",
}

FORMS = {"": "as suits the room", "boxes": "as boxes", "rows": "as rows", "list": "as a list"}
FOLDS = {
    "": "blocks that repeat, where the graph is large",
    "none": "nothing",
    "repeats": "blocks that repeat",
    "lines": "the nodes of each line",
    "modules": "the nodes of each module",
}


class AutogradView(View):
    name = "autograd"
    key = "0"
    title = "Autograd"
    summary = "The graph, the pass, the ready queue and the node in focus."
    help = HELP
    grain = "node"
    opens: ClassVar = {NodeSelection: 0, Edge: 0, Group: 0}
    draws_graph = True
    Options = AutogradOptions

    def draw(self, model: Autograd, context: DrawContext) -> Picture:
        """Draw two lines about the pass, the graph, and everything about the node in focus."""
        return draw(model, self.with_options(context))

    @action("t", "form", "Draw the graph as boxes, as rows, as a list.", option="form")
    def form(self, nav: Navigator, name: str = "") -> str:
        """Switch to the next form, or to the named form."""
        if name and name not in FORMS:
            return f"unknown form {name!r}; choose from {', '.join(filter(None, FORMS))}"
        form = name or _after(FORMS, nav.options_of(self.name).form)
        self.change(nav, form=form)
        return f"graphs are drawn {FORMS[form]}"

    @action(
        "f",
        "fold",
        "Collapse: nothing, repeated blocks, the nodes of each line, of each module.",
        option="fold",
    )
    def fold(self, nav: Navigator, name: str = "") -> str:
        """Switch to the next fold, or to the named fold; what was expanded is collapsed."""
        if name and name not in FOLDS:
            return f"unknown fold {name!r}; choose from {', '.join(filter(None, FOLDS))}"
        fold = name or _after(FOLDS, nav.options_of(self.name).fold)
        self.change(nav, fold=fold, opened=frozenset())
        return f"collapsed: {FOLDS[fold]}"

    @action("u", "expand", "Expand the group under the cursor; again to collapse.")
    def expand(self, nav: Navigator) -> str:
        """Expand the group in focus; collapse the group of a node that is in an expanded one."""
        model, options = nav.model(self.name), nav.options_of(self.name)
        part = part_of(model, model.focus)
        if part is None:
            return "there is no graph to expand anything in"
        folding = folded(part, options)
        key = folding.items[folding.item_of[model.focus]].key
        if key[1] != NODE:
            return self._expand(nav, folding, key)
        for each in options.opened:
            opened = options.opened - {each}
            folding = folded(part, AutogradOptions(options.form, options.fold, opened))
            if folding.items[folding.item_of[model.focus]].key == each:
                self.change(nav, opened=opened)
                nav.select(Target(Group(*each)))
                return "collapsed; u expands it"
        return "this is one node: nothing to expand. f folds blocks, lines or modules"

    def _expand(self, nav: Navigator, folding: Folded, key: tuple[int, int]) -> str:
        """Expand a group, and go to its newest node, which gradients reach first."""
        self.change(nav, opened=nav.options_of(self.name).opened | {key})
        group = next((item for item in folding.items if item.key == key), None)
        members = [folding.part.nodes[index] for index in group.members] if group else []
        newest = max((node.id for node in members if not node.leaf), default=key[0])
        nav.select(Target(Edge(newest)))
        return "expanded; u collapses it"

    def follow(self, nav: Navigator, item: TargetItem) -> str:
        """Go to the end of an edge, along the first edge of a node, or into a group."""
        match item:
            case Group(node=node, number=number):
                part = part_of(nav.model(self.name), node)
                if part is None:
                    return "this group was freed"
                return self._expand(nav, folded(part, nav.options_of(self.name)), (node, number))
            case Edge(next=next_node):
                end = next_node
            case NodeSelection(node=node):
                if nav.view != self.name:
                    return nav.show_view(self.name)
                box = nav.model(self.name).nodes.of(node)
                ends = self._ends(nav, box) if box else []
                if not ends:
                    return "end of path: no successors"
                end = ends[0]
            case _:
                return nav.show_view(self.name)
        nav.select(Target(Edge(end)))
        nav.show_view(self.name)
        return f"followed to {self._label(nav, end)}; Backspace returns"

    def _ends(self, nav: Navigator, box: NodeBox) -> list[int]:
        """Return the nodes that a node's edges lead to: AccumulateGrad nodes last."""
        nodes = nav.model(self.name).nodes
        ends = [edge.next for edge in box.fact.edges if edge.next]
        leaves = {end for end in ends if (each := nodes.of(end)) is not None and each.fact.leaf}
        return sorted(ends, key=lambda end: end in leaves)

    def _label(self, nav: Navigator, node: int) -> str:
        """Return the name of a node in a sentence."""
        box = nav.model(self.name).nodes.of(node)
        if box is None:
            return f"node {node}"
        return f"{box.fact.name} {box.fact.label}" if box.fact.leaf else box.fact.name

    def focus_node(self, nav: Navigator) -> int:
        """Return the node that the graph is drawn round: the one that runs, else the newest result's."""
        return int(nav.model(self.name).focus)

    def details(self, nav: Navigator, glyphs: Glyphs) -> Page:
        """Return everything about the node in focus, as long as it needs to be."""

        def drawn(width: int) -> Picture:
            model, options = nav.model(self.name), nav.options_of(self.name)
            part = part_of(model, model.focus)
            if part is None:
                none = Span("no node is in focus: the program has not created any", "dim")
                return Picture.of([(none,)], width)
            context = DrawContext(width, 0, glyphs, nav.selection, options=options)
            return Picture.of(node_lines(model, folded(part, options), context, width), width)

        return Page("Node", drawn)

    def graph_dot(self, nav: Navigator) -> str:
        """Return the part of the graph in focus, folded as on the screen."""
        model = nav.model(self.name)
        part = part_of(model, model.focus) or next(iter(reversed(model.parts)), None)
        if part is None:
            raise NoGraph("there is no graph at this moment")
        return dot_text(model, folded(part, nav.options_of(self.name)))


def part_of(model: Autograd, node: int) -> Part | None:
    """Return the part that a node is drawn in."""
    return next((part for part in reversed(model.parts) if holds(part, node)), None)


def _after(names: dict[str, str], name: str) -> str:
    order = list(names)
    return order[(order.index(name) + 1) % len(order)]
